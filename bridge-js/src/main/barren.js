// The main realm after boot: ECMAScript's own globals and nothing else. Whoever gets an object of this realm finds no process, no require, no loader, no
// timers, no network and no way to the descriptors; what the bridge needs of these it holds in its closures.

const KEEP = new Set(
  (
    'Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error AggregateError EvalError ' +
    'RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array ' +
    'Uint32Array Int32Array Float16Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set Iterator WeakMap ' +
    'WeakSet Proxy Reflect decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN SuppressedError DisposableStack ' +
    'AsyncDisposableStack Temporal'
  ).split(' '),
);

/** What Node fixes on the process object: an accessor for a number, a list of feature flags, the word `node`, the permission query, a tag. */
const FIXED = new Set(['_fatalException', 'exitCode', 'features', 'argv0', 'permission', Symbol.toStringTag]);

/** Takes every own property off; what cannot be deleted becomes undefined where that is allowed. */
const strip = (object, keep) => {
  for (const key of Reflect.ownKeys(object)) {
    if (keep.has(key)) continue;
    if (Reflect.deleteProperty(object, key)) continue;
    Reflect.defineProperty(object, key, { __proto__: null, value: undefined, writable: false });
  }
};

export const makeBarren = (take) => {
  strip(globalThis, KEEP);
  // C++ holds the process object and asks it for `_fatalException` (hooks.js) and, finding no function, nothing else.
  strip(take.process, FIXED);
  Object.setPrototypeOf(take.process, null);
  Object.freeze(take.process);
};

/** Names of what is left besides ECMAScript; empty when the realm is barren. */
export const leftovers = (take) => {
  const left = [];
  for (const key of Reflect.ownKeys(globalThis)) if (!KEEP.has(key) && globalThis[key] !== undefined) left.push(String(key));
  for (const key of Reflect.ownKeys(take.process)) if (!FIXED.has(key) && take.process[key] !== undefined) left.push(`process.${String(key)}`);
  if (Object.getPrototypeOf(take.process) !== null) left.push('process.__proto__');
  try {
    Function('return 1');
    left.push('code from strings');
  } catch {
    // As it should be.
  }
  return left;
};
