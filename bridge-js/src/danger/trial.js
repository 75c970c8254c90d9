// For attack trials only, in a bundle of its own: the bridge with just those of the two realm walls that the launcher asks for, with a mark on every
// object of the main realm, and on demand with one hole open that the bridge closes. Released builds do not carry this file.
import { capture } from '../main/capture.js';
import { makeFrames } from '../main/frames.js';
import { makeRealm } from '../main/realm.js';
import { installHooks } from '../main/hooks.js';
import { leftovers, makeBarren } from '../main/barren.js';
import { nothingGranted } from '../main/permissions.js';
import { makeConversation } from '../main/converse.js';
import { warm } from '../main/warm.js';

const REPORT = 4;

/** The last letter of the magic is `@` and the sum of these. */
const GUEST = 1;
const BARREN = 2;
const TEMPLATE = 4;
const OPEN_IMPORT = 8;
const OPEN_STACK = 16;
const LOST = 32;

/** A property of every main-realm object, inherited from `Object.prototype`. Whoever can name its value holds an object of that realm. */
const MARK_NAME = 'realmMark';
const MARK = 'main-realm-3e9b41d7';

/** A binding whose setters are kept from setting: Node's own hooks stay. */
const untouched = (binding, setters) => {
  const kept = { __proto__: null };
  for (const key of Object.keys(binding)) kept[key] = typeof binding[key] === 'function' ? binding[key].bind(binding) : binding[key];
  for (const setter of setters) kept[setter] = () => {};
  return kept;
};

const withHoles = (take, has) => {
  const hooks = { ...take.hooks };
  if (has(OPEN_IMPORT)) hooks.moduleWrap = untouched(hooks.moduleWrap, ['setImportModuleDynamicallyCallback', 'setInitializeImportMetaObjectCallback']);
  if (has(OPEN_STACK)) hooks.errors = untouched(hooks.errors, ['setPrepareStackTraceCallback']);
  return { ...take, hooks };
};

/** The body's realm is the main realm itself. */
const lostRealm = (boot, host) => ({ context: undefined, guest: boot.script.runInThisContext()('guest')(host) });

const compilingHere = (vm) => ({
  Script: class extends vm.Script {
    runInContext() {
      return this.runInThisContext();
    }
  },
});

const PREFIX = '(async()=>{';
/** A body as it stands, `import` included. */
const unread = (body) => ({ ok: true, code: `${PREFIX}${body}\n})`, inserts: [0, PREFIX.length], throwAt: -1, idle: '', parameters: [] });

export default (boot) => {
  if (!boot.magic.startsWith('CMTRIAL')) throw new Error('codemode: this bundle only runs attack trials');
  const kind = boot.magic.charCodeAt(7) - 64;
  const has = (bit) => (kind & bit) !== 0;
  // A realm of its own: one that holds, or one that is handed the other's global object.
  const apart = has(GUEST) || has(LOST);
  const taken = capture(boot);
  const take = apart ? taken : { ...taken, vm: compilingHere(taken.vm) };
  const frames = makeFrames(take);
  const host = { __proto__: null, send: frames.send, bytes: frames.bytes, receive: frames.receive, park: frames.park, promise: take.promiseDetails };
  const realm = apart ? makeRealm(take, boot.script, host) : lostRealm(boot, host);
  const { guest } = realm;
  if (apart) Object.defineProperty(Object.prototype, MARK_NAME, { __proto__: null, value: MARK });
  const permissionModel = nothingGranted(take.permission);
  installHooks(withHoles(take, has), guest);
  warm(take, realm, has(TEMPLATE));
  if (has(BARREN)) makeBarren(take);
  guest.check(false, () => Promise.reject(new Error()), () => {});
  take.runMicrotasks();
  if (has(LOST)) {
    if (!has(BARREN)) globalThis.require = boot.require;
    const hand = new take.vm.Script('(lost)=>{Object.defineProperty(globalThis,"lost",{__proto__:null,value:lost})}').runInContext(realm.context);
    hand(globalThis);
  }
  const ours = ['openclaw', 'console'];
  const report = {
    node: take.version,
    guest_realm: has(GUEST),
    barren_main_realm: has(BARREN) && leftovers(take).every((name) => ours.includes(name)),
    permission_model: permissionModel,
    cacheRejected: boot.cacheRejected,
  };
  frames.tell(REPORT, `J${take.toJson(report)}`);

  const converse = has(OPEN_IMPORT) ? makeConversation(take, frames, realm, unread) : makeConversation(take, frames, realm);
  for (;;) {
    frames.gate();
    try {
      converse();
    } catch {
      take.exit(70);
    }
  }
};
