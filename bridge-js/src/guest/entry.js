// The guest half. Evaluated once in the guest realm, before any body; what it returns goes to the main realm, and to no body.
import { PromiseCtor, TypeErrorCtor, apply, defineProperty, ownKeys, getOwnPropertyDescriptor, getPrototypeOf, FunctionProto, ObjectProto } from './primordials.js';
import { makeApi, onFrame } from './calls.js';
import { makeConsole } from './console.js';
import { installRandom } from './random.js';
import { onReject, onUncaught } from './rejections.js';
import { begin, poll, settled, start, waiting } from './run.js';
import { formatter, warmStack } from './stack.js';

/** Removed: shared memory and what a collector does can be told apart from outside the run, and WebAssembly calls back into host code. */
const REMOVED = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'WeakRef'];

const fix = (name, value) => defineProperty(globalThis, name, { __proto__: null, value, writable: false, enumerable: false, configurable: false });

for (const name of REMOVED) delete globalThis[name];
fix('openclaw', makeApi());
fix('console', makeConsole());
installRandom();

const rejectNow = PromiseCtor.reject;
/** What `import()` gives, should a body ever get one compiled. */
const onImport = () => apply(rejectNow, PromiseCtor, [new TypeErrorCtor('modules are not available; the catalog is reached through openclaw.tools')]);

const nothing = () => {};

const isOurs = (value) => {
  if (value === FunctionProto) return true;
  if (typeof value === 'function') {
    let top = value;
    for (let next = getPrototypeOf(top); next !== null; next = getPrototypeOf(top)) {
      if (next === FunctionProto) return true;
      top = next;
    }
    return false;
  }
  if (typeof value !== 'object' || value === null) return true;
  let top = value;
  for (let next = getPrototypeOf(top); next !== null; next = getPrototypeOf(top)) top = next;
  return top === ObjectProto || top === value;
};

/** Names of what the bridge put in (`thorough`: of every global) that is no object of this realm. V8 made the others, on Node 26 some only when asked. */
const foreignNames = (thorough) => {
  const found = [];
  const look = (object, path) => {
    for (const key of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      if (!isOurs(value) || !isOurs(get) || !isOurs(set)) found.push(`${path}${String(key)}`);
    }
  };
  if (thorough) look(globalThis, '');
  if (!isOurs(Math.random)) found.push('Math.random');
  look(openclaw.tools, 'openclaw.tools.');
  look(console, 'console.');
  if (!isOurs(globalThis)) found.push('globalThis');
  return found;
};

/** Every object that can be reached from the globals by properties, accessors and prototypes, counted; stops at the first foreign one. */
const walkRealm = () => {
  const seen = new Set([globalThis]);
  for (const object of seen) {
    if (object !== globalThis && !isOurs(object)) return false;
    const proto = getPrototypeOf(object);
    if (proto !== null) seen.add(proto);
    for (const key of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      for (const part of [value, get, set]) if ((typeof part === 'object' && part !== null) || typeof part === 'function') seen.add(part);
    }
  }
  return true;
};

/** Probes that an escape would use: an error's stack and its accessor, an import's rejection. `note` gets one word for each that fails. */
const check = (thorough, importProbe, note) => {
  for (const name of foreignNames(thorough)) note(name);
  for (const name of REMOVED) if (name in globalThis) note(name);
  for (const name of ['process', 'require', 'fetch', 'setTimeout', 'Buffer']) if (name in globalThis) note(name);
  if (!warmStack()) note('stack');
  const accessor = getOwnPropertyDescriptor(new Error('probe'), 'stack');
  if (!isOurs(accessor.get) || !isOurs(accessor.set) || !isOurs(accessor.value)) note('stack accessor');
  const nameless = new Error('probe');
  nameless.name = Symbol('probe');
  try {
    void nameless.stack;
  } catch (error) {
    if (!isOurs(error)) note('stack error');
  }
  importProbe().then(
    () => note('import'),
    (error) => isOurs(error) || note('import error'),
  );
  try {
    Function('return 1');
    note('code from strings');
  } catch (error) {
    if (!(error instanceof EvalError)) note('code from strings');
  }
  if (thorough && !walkRealm()) note('walk');
};

/** Runs what is slow or wants files the first time, so that no body is the first. */
const warm = (template) => {
  // Reads the local time zone from a file, once for the process. Nothing else in ECMAScript or Intl asks for one (watched on all four lines of Node).
  void new Date(0).toString();
  if (!template) return;
  void new Date(0).toLocaleString();
  void (1234.5).toLocaleString();
  void ['b', 'a'].sort((a, b) => a.localeCompare(b));
  void 'x'.normalize('NFD');
  void JSON.stringify(JSON.parse('{"a":[1,2,{"b":null}]}'));
  void (2n ** 70n);
};

export default { __proto__: null, begin, start, poll, settled, waiting, onFrame, formatter, onReject, onUncaught, onImport, nothing, check, warm };
