// What the main half keeps of Node, taken once at boot. Everything else is then removed (barren.js). While a body runs, nothing of Node's own JavaScript
// is called any more: reads and writes go straight to the natives behind `fs`, so a main realm that somebody got hold of has no code left to patch.

/** A bound `Function.prototype.call`: invoking the result looks nothing up. */
const { bind, call } = Function.prototype;
const uncurry = bind.bind(call);

export const capture = ({ require, process }) => {
  const { internalBinding } = require('internal/test/binding');
  const fs = internalBinding('fs');
  const buffer = Buffer.prototype;
  return {
    process,
    vm: require('vm'),
    version: process.version,
    permission: process.permission,
    // read(fd, buffer, offset, length, position) throws; writeBuffer(..., undefined, ctx) fills ctx. The same on Node 20 to 26 (tests check it).
    read: fs.read,
    writeBuffer: fs.writeBuffer,
    exit: process.reallyExit.bind(process),
    runMicrotasks: internalBinding('task_queue').runMicrotasks,
    promiseDetails: internalBinding('util').getPromiseDetails,
    hooks: {
      errors: internalBinding('errors'),
      taskQueue: internalBinding('task_queue'),
      moduleWrap: internalBinding('module_wrap'),
    },
    byteLength: Buffer.byteLength,
    allocate: Buffer.allocUnsafeSlow,
    utf8Slice: uncurry(buffer.utf8Slice),
    utf8Write: uncurry(buffer.utf8Write),
    copy: uncurry(Uint8Array.prototype.copyWithin),
    setBytes: uncurry(Uint8Array.prototype.set),
    part: uncurry(Uint8Array.prototype.subarray),
    functionText: uncurry(Function.prototype.toString),
    wellFormed: uncurry(String.prototype.toWellFormed),
    parseJson: JSON.parse,
    toJson: JSON.stringify,
  };
};
