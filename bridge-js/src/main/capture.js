// What the main half keeps of Node, taken once at boot. Everything else is then removed (barren.js). While a body runs, nothing of Node's own JavaScript
// is called any more: reads and writes go straight to the natives behind `fs`, so a main realm that somebody got hold of has no code left to patch.

/** A bound `Function.prototype.call`: invoking the result looks nothing up. */
const { bind, call } = Function.prototype;
const uncurry = bind.bind(call);

/**
 * What our buffers inherit from in place of `Buffer.prototype`: an object that nobody else can reach. A look-up on one of them, also one of Node's own, ends here;
 * through `Uint8Array.prototype` a lost main realm would be handed the frames.
 */
const views = Object.getPrototypeOf(Uint8Array.prototype);
const bytes = Object.create(null);
for (const name of ['length', 'byteLength', 'byteOffset', 'buffer']) Object.defineProperty(bytes, name, Object.getOwnPropertyDescriptor(views, name));
Object.freeze(bytes);
const { setPrototypeOf } = Reflect;

export const capture = ({ require, process }) => {
  const { internalBinding } = require('internal/test/binding');
  const fs = internalBinding('fs');
  const buffer = Buffer.prototype;
  const { allocUnsafeSlow } = Buffer;
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
    allocate: (size) => {
      const made = allocUnsafeSlow(size);
      setPrototypeOf(made, bytes);
      return made;
    },
    clear: uncurry(Uint8Array.prototype.fill),
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
