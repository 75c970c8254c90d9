// Stack texts of the whole isolate. Node's own formatter is host JavaScript that V8 calls under a body; this one takes its place. It is of this realm, so
// whatever goes wrong in it - also at the stack limit - goes wrong with an error of this realm. Call sites never leave this file.
import {
  ErrorCtor, ErrorProto, WeakMapCtor, getPrototypeOf, stringIndexOf, stringSlice, charCodeAt, uncurry, weakGet, weakSet,
} from './primordials.js';

export const BODY_FILE = 'body.js';

// Filled by the first call of the formatter, in `installStack`.
let siteFile = null;
let siteFunction = null;
let sitePosition = null;
let siteIsAsync = null;
let siteIsConstructor = null;

const learnSites = (site) => {
  const proto = getPrototypeOf(site);
  siteFile = uncurry(proto.getFileName);
  siteFunction = uncurry(proto.getFunctionName);
  sitePosition = uncurry(proto.getPosition);
  siteIsAsync = uncurry(proto.isAsync);
  siteIsConstructor = uncurry(proto.isConstructor);
};

// The text the caller sent, and where the compiled text differs from it: `inserts` is a flat list of pairs (position in the caller's text, units put in).
let original = '';
let inserts = null;
let insertCount = 0;

/** Where each error was made: `{line, column}` by error, kept when its stack is first formatted. */
let places = new WeakMapCtor();

/** Position of the one `throw` of something that is no Error, or -1: such a value carries no stack. */
let bareThrow = -1;

export const setSource = (text, puts, throwAt) => {
  bareThrow = throwAt;
  original = text;
  inserts = puts;
  insertCount = inserts.length;
  places = new WeakMapCtor();
};

/** Where the compiled position stands in the caller's text, as `{line, column}` from 1. */
const locate = (position) => {
  let shift = 0;
  for (let i = 0; i < insertCount; i += 2) {
    if (position < inserts[i] + shift + inserts[i + 1]) {
      if (position > inserts[i] + shift) position = inserts[i] + shift;
      break;
    }
    shift += inserts[i + 1];
  }
  return placeAt(position - shift);
};

const placeAt = (offset) => {
  if (offset < 0) offset = 0;
  if (offset > original.length) offset = original.length;
  let line = 1;
  let start = 0;
  for (let i = 0; i < offset; i++) {
    const unit = charCodeAt(original, i);
    if (unit === 10 || (unit === 13 && charCodeAt(original, i + 1) !== 10)) {
      line++;
      start = i + 1;
    }
  }
  // A byte-order mark is not part of the first line for whoever reads it in an editor.
  if (line === 1 && offset > 0 && charCodeAt(original, 0) === 0xfeff) start = 1;
  return { __proto__: null, line, column: offset - start + 1, offset };
};

const header = (error) => {
  // The steps of Error.prototype.toString, on whatever was given to captureStackTrace.
  try {
    const name = error.name === undefined ? 'Error' : `${error.name}`;
    const message = error.message === undefined ? '' : `${error.message}`;
    return name === '' ? message : message === '' ? name : `${name}: ${message}`;
  } catch {
    return 'Error';
  }
};

const format = (_global, error, sites) => {
  let text = header(error);
  let found = null;
  const count = sites.length;
  for (let i = 0; i < count; i++) {
    const site = sites[i];
    if (siteFile === null) learnSites(site);
    if (siteFile(site) !== BODY_FILE) continue;
    const at = locate(sitePosition(site));
    if (found === null) found = at;
    const name = siteFunction(site);
    const where = `${BODY_FILE}:${at.line}:${at.column}`;
    const label = (siteIsAsync(site) ? 'async ' : siteIsConstructor(site) ? 'new ' : '') + (name ?? '');
    text += label === '' ? `\n    at ${where}` : `\n    at ${stringSlice(label, 0, 200)} (${where})`;
  }
  if (found !== null) weakSet(places, error, found);
  return text;
};

export const formatter = (global, error, sites) => format(global, error, sites);

/** `{line, column, offset}` of an error whose stack was formatted, or undefined. */
export const placeOf = (error) => weakGet(places, error);

/** The caller's text. */
export const source = () => original;

const isWord = (unit) => (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122) || unit === 95 || unit === 36 || unit > 127;

/** Position behind the string or comment that begins at `at`, or `at`. */
const behindText = (at) => {
  const unit = charCodeAt(original, at);
  if (unit === 34 || unit === 39) {
    let end = at + 1;
    while (end < original.length && charCodeAt(original, end) !== unit && charCodeAt(original, end) !== 10) end += charCodeAt(original, end) === 92 ? 2 : 1;
    return end + 1;
  }
  if (unit !== 47) return at;
  const next = charCodeAt(original, at + 1);
  const end = next === 47 ? stringIndexOf(original, '\n', at) : next === 42 ? stringIndexOf(original, '*/', at + 2) : at;
  return end < 0 ? original.length : end;
};

/** How far behind the place that V8 gives a name is looked for. */
const MAX_LOOK = 4096;

/**
 * The place of a name that is not defined. V8 gives the start of the statement for some of them; the name itself is the next of its kind from there on that
 * is no property and stands in no string or comment.
 */
export const placeOfName = (place, name) => {
  const end = place.offset + MAX_LOOK < original.length ? place.offset + MAX_LOOK : original.length;
  for (let at = place.offset; at < end; ) {
    const behind = behindText(at);
    if (behind > at) {
      at = behind;
      continue;
    }
    if (!isWord(charCodeAt(original, at))) {
      at++;
      continue;
    }
    let stop = at;
    while (stop < end && isWord(charCodeAt(original, stop))) stop++;
    const isProperty = at > 0 && charCodeAt(original, at - 1) === 46 && charCodeAt(original, at - 2) !== 46;
    if (!isProperty && stringSlice(original, at, stop) === name && charCodeAt(original, stop) !== 58) return placeAt(at);
    at = stop;
  }
  return place;
};

export const placeOfBareThrow = () => (bareThrow < 0 ? undefined : placeAt(bareThrow));

/** Touches the formatter once so that the methods of call sites are taken before a body could get at any. */
export const warmStack = () => {
  const error = new ErrorCtor('warm');
  return typeof error.stack === 'string' && siteFile !== null && getPrototypeOf(error) === ErrorProto;
};
