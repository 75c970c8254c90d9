// Every built-in the guest half of the bridge uses, taken once before any body runs. A body may replace whatever it likes afterwards: nothing in this
// folder looks a name up on an object that a body can touch. `uncurry(f)` gives a bound `Function.prototype.call`: invoking it reads no property.

export const { bind } = Function.prototype;
const { call } = Function.prototype;
export const uncurry = bind.bind(call);

export const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
export const { freeze, keys, hasOwn } = Object;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const IteratorProto = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
// From a generator's own prototype up: that of all generators, then that of all iterators.
export const AsyncIteratorProto = Object.getPrototypeOf(Object.getPrototypeOf((async function* () {}).prototype));
export const { parse: jsonParse, stringify: jsonStringify } = JSON;
export const { isFinite: numberIsFinite, isSafeInteger } = Number;
export const { floor } = Math;

export const PromiseCtor = Promise;
export const MapCtor = Map;
export const WeakMapCtor = WeakMap;
export const Uint8ArrayCtor = Uint8Array;
export const ErrorCtor = Error;
export const TypeErrorCtor = TypeError;
export const RangeErrorCtor = RangeError;
export const StringCtor = String;
export const NumberCtor = Number;

export const ObjectProto = Object.prototype;
export const FunctionProto = Function.prototype;
export const ErrorProto = Error.prototype;

export const isPrototypeOf = uncurry(Object.prototype.isPrototypeOf);

export const mapGet = uncurry(Map.prototype.get);
export const mapSet = uncurry(Map.prototype.set);
export const mapDelete = uncurry(Map.prototype.delete);
export const mapForEach = uncurry(Map.prototype.forEach);
export const setForEach = uncurry(Set.prototype.forEach);
export const weakGet = uncurry(WeakMap.prototype.get);
export const weakSet = uncurry(WeakMap.prototype.set);
export const weakSetHas = uncurry(WeakSet.prototype.has);
export const weakHas = uncurry(WeakMap.prototype.has);

export const stringSlice = uncurry(String.prototype.slice);
export const stringIndexOf = uncurry(String.prototype.indexOf);
export const charCodeAt = uncurry(String.prototype.charCodeAt);
export const wellFormed = uncurry(String.prototype.toWellFormed);
export const parseInteger = parseInt;

export const dateTime = uncurry(Date.prototype.getTime);
export const dateIso = uncurry(Date.prototype.toISOString);
export const regexpText = uncurry(RegExp.prototype.toString);
export const symbolDescription = uncurry(Object.getOwnPropertyDescriptor(Symbol.prototype, 'description').get);
export const symbolText = uncurry(Symbol.prototype.toString);
export const symbolValue = uncurry(Symbol.prototype.valueOf);
export const numberValue = uncurry(Number.prototype.valueOf);
export const stringValue = uncurry(String.prototype.valueOf);
export const booleanValue = uncurry(Boolean.prototype.valueOf);
export const bigintValue = uncurry(BigInt.prototype.valueOf);
export const bigintText = uncurry(BigInt.prototype.toString);
export const functionText = uncurry(Function.prototype.toString);

const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
const getter = (proto, name) => uncurry(Object.getOwnPropertyDescriptor(proto, name).get);
export const typedArrayTag = getter(typedArray, Symbol.toStringTag);
export const typedArrayBuffer = getter(typedArray, 'buffer');
export const typedArrayOffset = getter(typedArray, 'byteOffset');
export const typedArrayBytes = getter(typedArray, 'byteLength');
export const typedArrayLength = getter(typedArray, 'length');
export const dataViewBuffer = getter(DataView.prototype, 'buffer');
export const dataViewOffset = getter(DataView.prototype, 'byteOffset');
export const dataViewBytes = getter(DataView.prototype, 'byteLength');
export const arrayBufferBytes = getter(ArrayBuffer.prototype, 'byteLength');
export const mapSize = getter(Map.prototype, 'size');
export const setSize = getter(Set.prototype, 'size');
export const regexpExec = uncurry(RegExp.prototype.exec);
// Throws on what is no regular expression; `false` on one.
export const isRegExp = getter(RegExp.prototype, 'global');
