// The main half: takes what it needs of Node, makes the guest realm, puts the hooks in, empties its own realm, reports, and then serves the gate.
import { capture } from './capture.js';
import { makeFrames } from './frames.js';
import { makeRealm } from './realm.js';
import { installHooks } from './hooks.js';
import { leftovers, makeBarren } from './barren.js';
import { nothingGranted } from './permissions.js';
import { makeConversation } from './converse.js';
import { warm } from './warm.js';

const STDERR = 2;
const REPORT = 4;

export default (boot) => {
  const take = capture(boot);
  const template = boot.magic === 'CMBUNDLT';
  const frames = makeFrames(take);
  const host = { __proto__: null, send: frames.send, bytes: frames.bytes, receive: frames.receive, park: frames.park, promise: take.promiseDetails };
  const realm = makeRealm(take, boot.script, host);
  const { guest } = realm;
  installHooks(take, guest);
  const permissionModel = nothingGranted(take.permission);
  warm(take, realm, template);
  makeBarren(take);

  const failed = [];
  const importProbe = new take.vm.Script('()=>import("codemode:probe")', { filename: 'codemode:probe' }).runInContext(realm.context);
  guest.check(template, importProbe, (name) => failed.push(name));
  take.runMicrotasks();

  const left = leftovers(take);
  const report = {
    node: take.version,
    guest_realm: failed.length === 0,
    barren_main_realm: left.length === 0,
    permission_model: permissionModel,
    cacheRejected: boot.cacheRejected,
  };
  if (failed.length > 0) report.foreign = failed.slice(0, 8).join(' ');
  if (left.length > 0) report.left = left.slice(0, 8).join(' ');
  frames.tell(REPORT, `J${take.toJson(report)}`);

  const converse = makeConversation(take, frames, realm);
  for (;;) {
    frames.gate();
    try {
      converse();
    } catch {
      // The other end broke the wire's rules, or the bridge has a bug; going on would be guessing. The error may be an object of the guest realm: it is
      // not looked at.
      frames.tell(STDERR, 'codemode: the bridge stopped at a message it cannot take\n');
      take.exit(70);
    }
  }
};
