// The error of an answer, made from whatever a body threw. Reading it may run the body's code once more, and none of it may throw out of here.
import {
  ErrorProto, RangeErrorCtor, WeakMapCtor, isPrototypeOf, keys, hasOwn, stringIndexOf, stringSlice, weakHas, weakSet, weakGet, defineProperty, regexpExec,
} from './primordials.js';
import { adviceFor, endsWith, missingName } from './advice.js';
import { encodeValue } from './encode.js';
import { placeOf, placeOfBareThrow, placeOfName, source } from './stack.js';
import { isArraySafely, quote, readSafely, textOf } from './text.js';

const MAX_MESSAGE = 16_384;
const MAX_STACK = 16_384;
const MAX_DATA = 65_536;
const tooMuch = (most) => `{"$unreadable":"more than ${most} bytes of JSON, or it cannot be read"}`;

/** Errors the bridge itself made for failed calls, with their code: a body cannot make others look like them. */
const callCodes = new WeakMapCtor();

const hidden = (object, key, value) => defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
const shown = (object, key, value) => defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });

/** Turns `error` (made where the call was made, so that its stack names that line) into the error of a failed call. */
export const failedCall = (error, message, code, name, toolId, data) => {
  hidden(error, 'name', name);
  hidden(error, 'message', message);
  shown(error, 'code', code);
  shown(error, 'data', data);
  if (toolId !== undefined) shown(error, 'toolId', toolId);
  weakSet(callCodes, error, code);
  return error;
};

const UNHANDLED = 'a promise was rejected with this, and nothing awaited or caught it';

const isError = (value) => {
  try {
    return typeof value === 'object' && value !== null && isPrototypeOf(ErrorProto, value);
  } catch {
    return false;
  }
};

const encodeSafely = (value, most) => {
  try {
    const coded = encodeValue(value, most);
    return coded.over ? null : coded.text;
  } catch {
    return null;
  }
};

/** Fields that V8 makes, and makes not enumerable. */
const HIDDEN = ['cause', 'errors', 'error', 'suppressed'];

/** Own fields of an error (`code`, `data`, `cause`, `errors` ...) as JSON text, or 'null'. */
export const fieldsOf = (error, most) => {
  try {
    const names = keys(error);
    const picked = {};
    let any = false;
    for (let i = 0; i < names.length; i++) {
      const key = names[i];
      if (key === 'name' || key === 'message' || key === 'stack') continue;
      shown(picked, key, readSafely(error, key, null));
      any = true;
    }
    for (let i = 0; i < HIDDEN.length; i++) {
      if (!hasOwn(error, HIDDEN[i]) || hasOwn(picked, HIDDEN[i])) continue;
      shown(picked, HIDDEN[i], readSafely(error, HIDDEN[i], null));
      any = true;
    }
    return any ? (encodeSafely(picked, most) ?? tooMuch(most)) : 'null';
  } catch {
    return 'null';
  }
};

const clip = (text, most) => (text.length > most ? `${stringSlice(text, 0, most)}… (${text.length - most} more)` : text);

const isAllocationFailure = (error, message) =>
  isPrototypeOf(RangeErrorCtor.prototype, error) && (message === 'Array buffer allocation failed' || endsWith(message, 'Out of memory'));

/** `new Function` and its like: V8 names their place, and the start of the function for `eval`. */
const isCodeMaker = (text, offset) => regexpExec(/^(?:new\b|Function\b|\w*Function\()/, stringSlice(text, offset, offset + 40)) !== null;

/** What the failures under an AggregateError were, as far as one line tells. */
const failuresOf = (error) => {
  try {
    if (!hasOwn(error, 'errors')) return '';
    const { errors } = error;
    if (!isArraySafely(errors) || !(errors.length > 0)) return '';
    const first = errors[0];
    const text = isError(first) ? textOf(readSafely(first, 'message', ''), '') : textOf(first, '');
    return text === '' ? '' : `the first of ${errors.length}: ${clip(text, 400)}`;
  } catch {
    return '';
  }
};

/** `{code, name, message, stack, place, data}` of a thrown value; `data` is JSON text. */
export const describeThrown = (thrown, code) => {
  if (!isError(thrown)) return describeOther(thrown, code);
  const name = textOf(readSafely(thrown, 'name', 'Error'), 'Error');
  const message = textOf(readSafely(thrown, 'message', ''), '');
  const stack = readSafely(thrown, 'stack', undefined);
  let place = placeOf(thrown);
  const missing = missingName(name, message);
  const sought = name === 'EvalError' && place !== undefined && !isCodeMaker(source(), place.offset) ? 'eval' : missing;
  const exact = sought === '' || place === undefined ? place : placeOfName(place, sought);
  const told = typeof stack === 'string' ? clip(exact === place ? stack : moved(stack, place, exact), MAX_STACK) : undefined;
  place = exact;
  const habit = failuresOf(thrown) || adviceFor(name, message, source(), place === undefined ? -1 : place.offset);
  const advice = habit === '' && code === 'unhandled_rejection' ? UNHANDLED : habit;
  let verdict = code;
  if (isAllocationFailure(thrown, message)) verdict = 'memory_limit';
  else if (weakHas(callCodes, thrown) && weakGet(callCodes, thrown) === 'call_limit') verdict = 'call_limit';
  return {
    __proto__: null,
    code: verdict,
    name: clip(name, 200),
    message: clip(advice === '' ? message : `${endsWith(message, '.') ? stringSlice(message, 0, message.length - 1) : message}; ${advice}`, MAX_MESSAGE),
    stack: told,
    place,
    data: fieldsOf(thrown, MAX_DATA),
  };
};

/** The stack's text with the first place in it replaced. */
const moved = (stack, from, to) => {
  const place = `body.js:${from.line}:${from.column}`;
  const at = stringIndexOf(stack, place);
  return at < 0 ? stack : `${stringSlice(stack, 0, at)}body.js:${to.line}:${to.column}${stringSlice(stack, at + place.length)}`;
};

const describeOther = (thrown, code) => {
  const text = typeof thrown === 'string' ? thrown : thrown === undefined ? 'undefined' : encodeSafely(thrown, MAX_MESSAGE);
  const data = encodeSafely(thrown, MAX_DATA) ?? tooMuch(MAX_DATA);
  return {
    __proto__: null,
    code,
    name: 'Error',
    message: clip(`thrown: ${text ?? 'a value that cannot be shown'}${code === 'unhandled_rejection' ? `; ${UNHANDLED}` : ''}`, MAX_MESSAGE),
    stack: undefined,
    place: placeOfBareThrow(),
    data,
  };
};

export const plainError = (code, name, message) => ({ __proto__: null, code, name, message, stack: undefined, place: undefined, data: 'null' });

/** The `error` member of the answer, as JSON text. `value` and `valueType` are what the body had returned, if it had. */
export const errorText = (error, value, valueType) => {
  let data = `{"code":${quote(error.code)},"name":${quote(error.name)}`;
  if (error.place !== undefined) data += `,"line":${error.place.line},"column":${error.place.column}`;
  if (error.stack !== undefined) data += `,"stack":${quote(error.stack)}`;
  data += `,"data":${error.data}`;
  if (value !== undefined) data += `,"value":${value},"valueType":${quote(valueType)}`;
  return `{"code":-32000,"message":${quote(error.message)},"data":${data}}}`;
};
