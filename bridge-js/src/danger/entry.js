// For tests of the outer walls only, in a bundle of its own: the body runs in the MAIN realm with `process` and `require` in reach, as if it had already
// escaped. The API, the console and the wire are the same code as in the guest realm. Released builds do not carry this file.
import { capture } from '../main/capture.js';
import { makeFrames } from '../main/frames.js';
import { nothingGranted } from '../main/permissions.js';

const REPORT = 4;
const BRIDGE = 3;

export default (boot) => {
  if (boot.magic !== 'CMBUNDLM') throw new Error('codemode: this bundle only runs as main-realm mode');
  const take = capture(boot);
  const { vm, parseJson, toJson, runMicrotasks } = take;
  const frames = makeFrames(take);
  const { setTimeout, setImmediate } = globalThis;
  const host = { __proto__: null, send: frames.send, bytes: frames.bytes, receive: frames.receive, park: frames.park, promise: take.promiseDetails };
  const guest = boot.script.runInThisContext()('guest')(host);
  guest.check(false, () => Promise.reject(new Error()), () => {});
  take.hooks.errors.setPrepareStackTraceCallback(guest.formatter);
  take.hooks.taskQueue.setPromiseRejectCallback(guest.onReject);
  globalThis.require = boot.require;
  globalThis.__RPC_FD = BRIDGE;
  const report = {
    node: take.version,
    guest_realm: false,
    barren_main_realm: false,
    permission_model: nothingGranted(take.permission),
    cacheRejected: boot.cacheRejected,
  };
  frames.tell(REPORT, `J${toJson(report)}`);

  frames.gate();
  frames.send(`{"jsonrpc":"2.0","method":"hello","params":{"protocol":1,"node":"${take.version}"}}`);
  const { body, seed, limits } = parseJson(frames.receive()).params;
  const prefix = '(async()=>{';
  const compiled = new vm.Script(`${prefix}${body}\n})`, {
    filename: 'body.js',
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext();
  const { inFlight, requests, argsBytes, valueBytes, consoleEntryBytes, consoleFloodBytes } = limits;
  const notes = toJson({ inserts: [0, prefix.length], throwAt: -1, idle: '', parameters: [] });
  guest.begin(seed, body, notes, inFlight, requests, argsBytes, valueBytes, consoleEntryBytes, consoleFloodBytes);
  guest.start(compiled);
  // Bodies of this mode use timers and sockets, so the event loop turns here; a frame is only waited for while a call is open.
  const turn = () => {
    runMicrotasks();
    if (guest.waiting()) {
      guest.onFrame(frames.receive());
      setImmediate(turn);
    } else if (guest.settled()) {
      guest.poll();
      frames.park();
    } else {
      setTimeout(turn, 2);
    }
  };
  turn();
};
