// A body's values as JSON text. Written by hand instead of `JSON.stringify` because a body may replace `toJSON` on any prototype, because much of what
// bodies return is not JSON, and because size and depth must be bounded while the text is made. Getters, `toJSON` and proxy traps run here, each once.
import {
  arrayBufferBytes, bigintText, bigintValue, booleanValue, dataViewBuffer, dataViewBytes, dataViewOffset, dateIso, dateTime, ErrorProto,
  getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isPrototypeOf, isRegExp, keys, mapForEach, mapSize, numberIsFinite, numberValue, ObjectProto, regexpText,
  setForEach, setPrototypeOf, setSize, stringSlice, stringValue, symbolDescription, typedArrayBuffer, typedArrayBytes, typedArrayLength, typedArrayOffset,
  typedArrayTag, Uint8ArrayCtor, AsyncIteratorProto, IteratorProto, isView, symbolText, symbolValue, weakHas, weakSetHas,
} from './primordials.js';
import { FULFILLED, PENDING, bytes, promiseState } from './host.js';
import { claimName, namesInUse, uniqueName } from './names.js';
import { Place, pathOf, pointerOf } from './place.js';
import { isArraySafely, quote, readSafely, textOf } from './text.js';

/**
 * Levels of the JSON text, those of marks included, at which an object may still start; a deeper one is marked. With a map at the last of them the text
 * has four levels more. The wire carries 128, and its envelope takes three.
 */
export const MAX_DEPTH = 100;

/** Thrown to unwind when the budget is used up. Never seen by a body. */
const STOP = { __proto__: null };

// State of the encoding under way; `run` saves it, since a getter may itself log or call. `seen` counts what was written before `out` was dropped.
let out = '';
let seen = 0;
let limit = 0;
let steps = 0;
let strict = false;
let promises = 0;

/** Beyond the limit the text is counted and no longer kept, so that an error can name the size; this is where counting ends. */
const COUNT_FACTOR = 16;

/** Each thing looked at takes a unit of text at least, so that this many more than the limit has units are more than fit: then nobody counts on. */
const MARGIN = 16;

const put = (piece) => {
  out += piece;
  if (out.length > limit || seen > 0) {
    seen += out.length;
    out = '';
    if (seen > limit * COUNT_FACTOR) throw STOP;
  }
};

/** Thrown to unwind when arguments are refused; the error itself is made by the caller, where the stack is still short and names the body's line. */
class Refusal {
  message;
  constructor(message) {
    this.message = message;
  }
}
setPrototypeOf(Refusal.prototype, null);

const refuse = (at, what) => {
  throw new Refusal(`${pathOf(at, 'args')} must be plain JSON, not ${what}`);
};

const mark = (name, text, at, what) => {
  if (strict) refuse(at, what);
  put(`{"${name}":${quote(text)}}`);
};

const unreadable = (why, at) => mark('$unreadable', why, at, `something that cannot be read (${why})`);

/** Runs a built-in that throws on a foreign brand; undefined then. */
const brand = (probe, value) => {
  try {
    return probe(value);
  } catch {
    return undefined;
  }
};

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const base64 = (buffer, offset, length) => {
  const view = new Uint8ArrayCtor(buffer, offset, length);
  let text = '';
  let i = 0;
  for (; i + 2 < length; i += 3) {
    const n = (view[i] << 16) | (view[i + 1] << 8) | view[i + 2];
    text += ALPHABET[n >> 18] + ALPHABET[(n >> 12) & 63] + ALPHABET[(n >> 6) & 63] + ALPHABET[n & 63];
    if (text.length > limit) {
      // The rest is counted only.
      put(text);
      seen += ((length - i) / 3) * 4;
      throw STOP;
    }
  }
  if (i < length) {
    const n = (view[i] << 16) | ((i + 1 < length ? view[i + 1] : 0) << 8);
    text += ALPHABET[n >> 18] + ALPHABET[(n >> 12) & 63] + (i + 1 < length ? ALPHABET[(n >> 6) & 63] : '=') + '=';
  }
  return text;
};

const putBytes = (buffer, offset, length) => put(`{"$bytes":"${base64(buffer, offset, length)}"}`);

const writeString = (text) => {
  // Not even quoted when it cannot fit: that would copy it several times.
  if (text.length <= limit) return put(quote(text));
  seen += text.length > limit * COUNT_FACTOR ? text.length : bytes(text) + 2;
  if (seen > limit * COUNT_FACTOR) throw STOP;
};

const writePrimitive = (value, at) => {
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'number':
      // Minus zero is 0 in JSON text, as `JSON.stringify` has it.
      return numberIsFinite(value) ? put(value === 0 ? '0' : `${value}`) : mark('$number', `${value}`, at, `the number ${value} (use null)`);
    case 'boolean':
      return put(value ? 'true' : 'false');
    case 'undefined':
      return strict ? refuse(at, 'undefined (use null, or leave it out)') : put('null');
    case 'bigint':
      return mark('$bigint', bigintText(value), at, 'a bigint (use Number(n) or String(n))');
    case 'symbol':
      return mark('$symbol', symbolDescription(value) ?? '', at, 'a symbol');
    default:
      return mark('$function', functionName(value), at, 'a function');
  }
};

export const functionName = (value) => {
  const found = brand((f) => getOwnPropertyDescriptor(f, 'name'), value);
  return found !== undefined && hasOwn(found, 'value') && typeof found.value === 'string' ? found.value : '';
};

const write = (value, at) => {
  if (++steps > limit + MARGIN) throw STOP;
  if (value === null) return put('null');
  if (typeof value !== 'object') return writePrimitive(value, at);
  for (let p = at.up; p !== null; p = p.up) {
    if (p.value === value) return mark('$circular', pointerOf(p), at, `a reference back to ${strict ? pathOf(p, 'args') : ''}`);
  }
  if (at.depth > MAX_DEPTH) return unreadable(`nested deeper than ${MAX_DEPTH} levels`, at);
  at.value = value;
  return writeObject(value, at);
};

const writeObject = (value, at) => {
  let proto;
  let toJSON;
  try {
    proto = getPrototypeOf(value);
    toJSON = value.toJSON;
  } catch (error) {
    return unreadable(reasonOf(error), at);
  }
  const plain = proto === ObjectProto || proto === null;
  if (!plain && !isArraySafely(value)) {
    const time = brand(dateTime, value);
    if (time !== undefined && !numberIsFinite(time)) return unreadable('invalid date', at);
    if (time !== undefined && typeof toJSON !== 'function') return put(quote(dateIso(value)));
  }
  if (typeof toJSON === 'function') {
    let replaced;
    try {
      replaced = value.toJSON(`${at.key}`);
    } catch (error) {
      return unreadable(reasonOf(error), at);
    }
    // The result is written as it is; a second `toJSON` on it is not asked.
    if (replaced === null || typeof replaced !== 'object') return replaced === null ? put('null') : writePrimitive(replaced, at);
    if (replaced !== value) {
      for (let p = at.up; p !== null; p = p.up) {
        if (p.value === replaced) return mark('$circular', pointerOf(p), at, 'a reference back to a parent');
      }
      at.value = replaced;
      value = replaced;
      try {
        proto = getPrototypeOf(value);
      } catch (error) {
        return unreadable(reasonOf(error), at);
      }
    }
  }
  if (isArraySafely(value)) return writeArray(value, at);
  if (proto === ObjectProto || proto === null) return writeRecord(value, at);
  return writeSpecial(value, at);
};

const reasonOf = (error) => {
  const text = typeof error === 'object' && error !== null ? textOf(readSafely(error, 'message', ''), '') : textOf(error, '');
  return text === '' ? 'reading it threw' : stringSlice(text, 0, 200);
};

const writeArray = (value, at) => {
  let length;
  try {
    length = value.length;
  } catch (error) {
    return unreadable(reasonOf(error), at);
  }
  if (typeof length !== 'number' || !(length >= 0)) return unreadable('an array without a length', at);
  put('[');
  for (let i = 0; i < length; i++) {
    if (i > 0) put(',');
    writeProperty(value, i, at);
  }
  put(']');
};

/** Reads `value[key]` once and writes it. */
const writeProperty = (value, key, at, here = new Place(key, at)) => {
  let item;
  try {
    item = value[key];
  } catch (error) {
    return unreadable(reasonOf(error), here);
  }
  return write(item, here);
};

const writeRecord = (value, at) => {
  put('{');
  writeFields(value, at);
  put('}');
};

const writeFields = (value, at) => {
  let names;
  let first = true;
  try {
    names = keys(value);
  } catch (error) {
    // A proxy that hides its keys: an object with one honest field.
    if (strict) refuse(at, `something that cannot be read (${reasonOf(error)})`);
    put(`"$unreadable":${quote(reasonOf(error))}`);
    return;
  }
  const used = namesInUse(names, !strict);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const shown = strict ? name : uniqueName(name, used);
    const here = new Place(shown, at);
    let item;
    let failed = false;
    try {
      item = value[name];
    } catch (error) {
      item = error;
      failed = true;
    }
    // As in JSON, an argument that is `undefined` is an argument not given.
    if (strict && !failed && item === undefined) continue;
    if (strict && !claimName(name, used)) refuse(here, 'a second field of that name (lone surrogates are sent as U+FFFD)');
    put(first ? `${quote(shown)}:` : `,${quote(shown)}:`);
    first = false;
    if (failed) unreadable(reasonOf(item), here);
    else write(item, here);
  }
};

const writeSpecial = (value, at) => {
  const state = promiseState(value);
  if (state !== null) {
    if (strict) refuse(at, 'a promise (await it first)');
    if (state[0] === FULFILLED) return write(state[1], new Place(at.key, at.up));
    promises++;
    return put(`{"$promise":"${state[0] === PENDING ? 'pending' : 'rejected'}"}`);
  }
  const tag = brand(typedArrayTag, value);
  if (tag !== undefined) {
    if (strict) refuse(at, `a ${tag} (use Array.from(bytes))`);
    if (tag === 'Uint8Array' || tag === 'Uint8ClampedArray') return putBytes(typedArrayBuffer(value), typedArrayOffset(value), typedArrayBytes(value));
    put('[');
    const length = typedArrayLength(value);
    for (let i = 0; i < length; i++) {
      if (i > 0) put(',');
      writePrimitive(value[i], at);
    }
    return put(']');
  }
  if (isPrototypeOf(ErrorProto, value)) {
    if (strict) refuse(at, 'an Error');
    return writeError(value, at);
  }
  if (brand(mapSize, value) !== undefined) {
    if (strict) refuse(at, 'a Map (use Object.fromEntries(map))');
    return writeMap(value, at);
  }
  if (brand(setSize, value) !== undefined) {
    if (strict) refuse(at, 'a Set (use [...set])');
    return writeSet(value, at);
  }
  const length = brand(arrayBufferBytes, value);
  if (length !== undefined) {
    if (strict) refuse(at, 'an ArrayBuffer');
    return putBytes(value, 0, length);
  }
  const viewLength = brand(dataViewBytes, value);
  if (viewLength !== undefined) {
    if (strict) refuse(at, 'a DataView');
    return putBytes(dataViewBuffer(value), dataViewOffset(value), viewLength);
  }
  const boxed = brand(stringValue, value) ?? brand(numberValue, value) ?? brand(booleanValue, value) ?? brand(bigintValue, value);
  if (boxed !== undefined) {
    if (strict) refuse(at, `a boxed ${typeof boxed}`);
    return writePrimitive(boxed, at);
  }
  const pattern = brand(regexpSource, value);
  if (pattern !== undefined) {
    if (strict) refuse(at, 'a regular expression');
    return put(quote(pattern));
  }
  if (brand(symbolText, value) !== undefined) return writePrimitive(symbolValue(value), at);
  const hidden = hiddenKind(value);
  if (hidden !== '') return strict ? refuse(at, hidden) : unreadable(hidden, at);
  // An instance of a class: its own enumerable fields, as in JSON.
  return writeRecord(value, at);
};

/** What holds something and shows none of it, in words, or ''. An instance of a class without fields is none of these: nothing built in names its kind. */
const hiddenKind = (value) => {
  const isIterator = isPrototypeOf(IteratorProto, value);
  if (!isIterator && !isPrototypeOf(AsyncIteratorProto, value) && brand(weakMapProbe, value) === undefined && brand(weakSetProbe, value) === undefined && !isView(value)) return '';
  try {
    if (keys(value).length > 0) return '';
  } catch {
    return '';
  }
  if (isIterator) return 'an iterator, or a generator that has not run (use Array.from(it))';
  if (isPrototypeOf(AsyncIteratorProto, value)) return 'an async generator that has not run (use for await)';
  return isView(value) ? 'a view beyond the end of its buffer' : 'a weak collection, which cannot be listed';
};

const regexpSource = (value) => (isRegExp(value) === undefined ? undefined : textOf(regexpText(value), undefined));

const writeMap = (value, at) => {
  put('{"$map":[');
  let i = 0;
  mapForEach(value, (item, key) => {
    put(i > 0 ? ',[' : '[');
    const here = new Place(i, at, 2);
    write(key, new Place(0, here));
    put(',');
    write(item, new Place(1, here));
    put(']');
    i++;
  });
  put(']}');
};

const writeSet = (value, at) => {
  put('{"$set":[');
  let i = 0;
  setForEach(value, (item) => {
    if (i > 0) put(',');
    write(item, new Place(i, at, 2));
    i++;
  });
  put(']}');
};

const writeError = (value, at) => {
  put(`{"$error":{"name":${quote(textOf(readSafely(value, 'name', 'Error'), 'Error'))},"message":${quote(textOf(readSafely(value, 'message', ''), ''))}`);
  writeOwn(value, 'cause', at);
  writeOwn(value, 'errors', at);
  // Own fields such as `code`; name, message and stack are not enumerable unless a body made them so.
  let names;
  try {
    names = keys(value);
  } catch {
    names = [];
  }
  const used = namesInUse(names, true);
  for (let i = 0; i < names.length; i++) {
    const key = names[i];
    if (key === 'name' || key === 'message' || key === 'stack' || key === 'cause' || key === 'errors') continue;
    const shown = uniqueName(key, used);
    put(`,${quote(shown)}:`);
    writeProperty(value, key, at, new Place(shown, at, 2));
  }
  put('}}');
};

const writeOwn = (value, key, at) => {
  try {
    if (!hasOwn(value, key)) return;
  } catch {
    return;
  }
  put(`,"${key}":`);
  writeProperty(value, key, at, new Place(key, at, 2));
};

const PROBE = {};
const weakMapProbe = (value) => weakHas(value, PROBE);
const weakSetProbe = (value) => weakSetHas(value, PROBE);

const isRefusal = (error) => typeof error === 'object' && error !== null && getPrototypeOf(error) === Refusal.prototype;

const run = (value, most, asArguments) => {
  const outerOut = out;
  const outerSeen = seen;
  const outerLimit = limit;
  const outerSteps = steps;
  const outerStrict = strict;
  const outerPromises = promises;
  out = '';
  seen = 0;
  limit = most;
  steps = 0;
  strict = asArguments;
  promises = 0;
  let cut = false;
  try {
    try {
      write(value, new Place('', null));
    } catch (error) {
      if (isRefusal(error)) return { __proto__: null, refused: error.message };
      if (error !== STOP) throw error;
      cut = true;
    }
    // `size` is a lower bound when `cut`: the rest was not looked at.
    return { __proto__: null, refused: undefined, text: out, over: cut || seen > 0, cut, size: seen + out.length, promises };
  } finally {
    out = outerOut;
    seen = outerSeen;
    limit = outerLimit;
    steps = outerSteps;
    strict = outerStrict;
    promises = outerPromises;
  }
};

/** JSON text of a result, with the marked forms. `over` when the text would be longer than `most` units. */
export const encodeValue = (value, most) => run(value, most, false);

/** JSON text of call arguments; `refused` names the path of what is not plain JSON. */
export const encodeArguments = (value, most) => run(value, most, true);

export const valueTypeOf = (value) => (value === null ? 'null' : typeof value === 'object' ? (isArraySafely(value) ? 'array' : 'object') : typeof value);
