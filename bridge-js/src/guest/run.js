// The life of one run, as the main realm drives it: `begin`, `start` with the compiled body, then `poll` after every time the micro-tasks are drained.
import { PromiseCtor, defineProperty, jsonParse, regexpExec, stringIndexOf } from './primordials.js';
import { bytes } from './host.js';
import { resetCalls } from './calls.js';
import { writeEntry } from './console.js';
import { adviceForNothing, adviceForTrace } from './advice.js';
import { setHints } from './hints.js';
import { encodeValue, valueTypeOf } from './encode.js';
import { describeThrown, errorText, plainError } from './errors.js';
import { seedRandom } from './random.js';
import { firstUnhandled, forgetRejections } from './rejections.js';
import { setSource, source } from './stack.js';
import { limits, resetState, run, sendAnswer } from './state.js';

const PENDING = 0;
const RETURNED = 1;
const THREW = 2;

let state = PENDING;
let outcome;

const NOTHING = /(?:)/;

/** `notes`: JSON text of what reading the body has shown (see `forms`). */
export const begin = (seed, original, notes, inFlight, requests, argsBytes, valueBytes, consoleEntryBytes, consoleFloodBytes) => {
  resetState();
  resetCalls();
  forgetRejections();
  seedRandom(seed);
  const { inserts, throwAt, idle, parameters } = jsonParse(notes);
  setSource(original, inserts, throwAt);
  setHints(idle, parameters);
  limits.inFlight = inFlight;
  limits.requests = requests;
  limits.argsBytes = argsBytes;
  limits.valueBytes = valueBytes;
  limits.consoleEntryBytes = consoleEntryBytes;
  limits.consoleFloodBytes = consoleFloodBytes;
  state = PENDING;
  outcome = undefined;
  // `RegExp.$1`, `lastMatch`, `input` and their like tell of the last match of the realm, whoever made it: after this one they are as in a new realm.
  regexpExec(NOTHING, '');
};

/** Calls the compiled body. It is an async function: it gives a promise of this realm whatever happens in it. */
export const start = (body) => {
  let promise;
  try {
    promise = body();
  } catch (error) {
    finishWith(THREW, error);
    return;
  }
  // `await` asks a promise for its `constructor`, and would call a replaced `then` if the answer were not ours.
  defineProperty(promise, 'constructor', { __proto__: null, value: PromiseCtor });
  watch(promise);
};

const finishWith = (how, value) => {
  state = how;
  outcome = value;
  // With a value, or an error, the body has said its last word: what it left running may settle but not act. A body that ends without one has said
  // nothing yet, so work it started and did not await still counts.
  if (how === THREW || value !== undefined) run.closed = true;
};

const watch = async (promise) => {
  try {
    finishWith(RETURNED, await promise);
  } catch (error) {
    finishWith(THREW, error);
  }
};

/** True while a request waits for its answer. */
export const waiting = () => run.open > 0;

/** True once the body has returned or thrown. */
export const settled = () => state !== PENDING;

/** True when the answer has been sent; false when the next frame is needed. Called with no micro-task left. */
export const poll = () => {
  if (run.open > 0 || run.queued > 0) return false;
  run.closed = true;
  try {
    answer();
  } catch {
    // Reading the value or the error overflowed or ran out of memory in a place that has no better word for it.
    if (!run.answered) fail(plainError('body_error', 'RangeError', 'the value could not be read'), undefined, undefined);
  }
  outcome = undefined;
  return true;
};

const fail = (error, value, type) => sendAnswer(`"error":${errorText(error, value, type)}`);

const answer = () => {
  if (run.lateEntries > 0) {
    const entries = run.lateEntries === 1 ? 'one console entry' : `${run.lateEntries} console entries`;
    writeEntry('warn', `${entries} after the return of the body left out; await the work before returning`, 0);
  }
  if (run.verdict !== null) return fail(run.verdict, undefined, undefined);
  if (state === THREW) return fail(describeThrown(outcome, 'body_error'), undefined, undefined);
  const unhandled = firstUnhandled();
  if (state === PENDING) {
    if (unhandled !== null) return fail(describeThrown(unhandled.reason, 'unhandled_rejection'), undefined, undefined);
    const message = 'the body waits for a promise that nothing can settle: no call is open and there are no timers; await calls of openclaw.tools, or promises that the body itself resolves';
    return fail(plainError('never_settles', 'Error', message), undefined, undefined);
  }
  const type = valueTypeOf(outcome);
  const coded = encodeValue(outcome, limits.valueBytes);
  const size = coded.over ? coded.size : coded.text.length * 3 > limits.valueBytes ? bytes(coded.text) : coded.text.length;
  if (coded.over || size > limits.valueBytes) {
    const message = `the returned value takes ${coded.cut ? 'more than ' : ''}${size} bytes of JSON, the limit is ${limits.valueBytes}; return less`;
    return fail(plainError('output_limit', 'LimitError', message), undefined, undefined);
  }
  if (unhandled !== null) return fail(describeThrown(unhandled.reason, 'unhandled_rejection'), coded.text, type);
  if (coded.promises > 0) {
    const are = coded.promises === 1 ? 'a promise that has' : `${coded.promises} promises that have`;
    writeEntry('warn', `the returned value holds ${are} no value; await each, several at once with Promise.all, and return what they give`, 0);
  } else {
    const told = remark(coded.text);
    if (told !== '') writeEntry('warn', told, 0);
  }
  sendAnswer(`"result":{"value":${coded.text},"valueType":"${type}"}`);
};

/** What a caller who looks at a value alone could not see, or ''. */
const remark = (text) => {
  if (outcome === undefined) {
    const forgotten = adviceForNothing(source(), run.nextId > 1, run.consoleBytes > 0);
    return forgotten === '' ? '' : `the body returned nothing; ${forgotten}`;
  }
  if (typeof outcome === 'function') return 'the body returned a function or class, and nobody calls it; call it and return what it gives';
  // A promise that was made a text, or JSON.
  if (run.nextId > 1 && (stringIndexOf(text, '[object Promise]') >= 0 || stringIndexOf(text, '{}') >= 0)) {
    const forgotten = adviceForTrace(source());
    return forgotten === '' ? '' : `the returned value looks like a promise that was made a text; ${forgotten}`;
  }
  return '';
};
