// Small things done to strings and property reads that may run a body's code.
import { StringCtor, charCodeAt, isArray, jsonStringify, stringSlice, wellFormed } from './primordials.js';

/** JSON text of a string. Lone surrogates become U+FFFD: the reader on the other side refuses them. A primitive string has no `toJSON` step. */
export const quote = (text) => jsonStringify(wellFormed(text));

/** `object[key]`, or `fallback` when reading it throws. */
export const readSafely = (object, key, fallback) => {
  try {
    return object[key];
  } catch {
    return fallback;
  }
};

/** A string for any value; never throws, runs at most the value's own conversion. */
export const textOf = (value, fallback) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'symbol') return StringCtor(value);
  try {
    return `${value}`;
  } catch {
    return fallback;
  }
};

/** What kind of thing a value is, in words for an error message. */
export const kindOf = (value) => {
  if (value === null) return 'null';
  const type = typeof value;
  if (type !== 'object') return type === 'undefined' ? 'undefined' : `a ${type}`;
  return isArraySafely(value) ? 'an array' : 'an object';
};

export const isArraySafely = (value) => {
  try {
    return isArray(value);
  } catch {
    return false; // a revoked proxy
  }
};

const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

const unitBytes = (unit) => (unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3);

/** The longest head of `text` that takes at most `budget` bytes of UTF-8 and ends at a whole character. */
export const headWithin = (text, budget) => {
  let at = 0;
  let used = 0;
  while (at < text.length) {
    const unit = charCodeAt(text, at);
    const pair = isHigh(unit) && at + 1 < text.length && isLow(charCodeAt(text, at + 1));
    const size = pair ? 4 : unitBytes(unit);
    if (used + size > budget) break;
    used += size;
    at += pair ? 2 : 1;
  }
  return stringSlice(text, 0, at);
};

/** The same from the other end. */
export const tailWithin = (text, budget) => {
  let at = text.length;
  let used = 0;
  while (at > 0) {
    const unit = charCodeAt(text, at - 1);
    const pair = isLow(unit) && at > 1 && isHigh(charCodeAt(text, at - 2));
    const size = pair ? 4 : unitBytes(unit);
    if (used + size > budget) break;
    used += size;
    at -= pair ? 2 : 1;
  }
  return stringSlice(text, at);
};

/** `text` cut to `limit` bytes, head and tail kept, the gap told in the text. `dropped`: the bytes left out. */
export const cutMiddle = (text, limit, bytes) => {
  if (text.length * 3 <= limit) return { __proto__: null, text, dropped: 0 };
  const total = bytes(text);
  if (total <= limit) return { __proto__: null, text, dropped: 0 };
  const budget = limit > 128 ? limit - 64 : 0;
  const head = headWithin(text, budget - (budget >> 2));
  const tail = tailWithin(text, budget >> 2);
  const dropped = total - bytes(head) - bytes(tail);
  const gap = `\n… ${dropped} bytes cut …\n`;
  return { __proto__: null, text: budget > 0 ? head + gap + tail : '', dropped };
};
