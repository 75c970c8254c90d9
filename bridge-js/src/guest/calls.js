// openclaw.tools.search, describe, call: each a request on the wire and a promise of this realm.
import {
  ErrorCtor, MapCtor, PromiseCtor, TypeErrorCtor, floor, freeze, hasOwn, isArray, jsonParse, mapDelete, mapGet, mapSet, numberIsFinite, setPrototypeOf,
} from './primordials.js';
import { bytes, send } from './host.js';
import { encodeArguments } from './encode.js';
import { failedCall } from './errors.js';
import { hints } from './hints.js';
import { cutOff, limits, run } from './state.js';
import { isArraySafely, kindOf, quote } from './text.js';

/** Refusals of the supervisor after the last allowed request; it ends the run itself before this many. */
const REFUSALS = 1024;

/** A query longer than this is not shown in an advice. */
const MAX_SHOWN = 80;

class Request {
  id = 0;
  method;
  params;
  toolId;
  /** Of a search: what it was for, as it can be shown. */
  query = '';
  resolve = null;
  reject = null;
  /** Made when the call was made: its stack names the line of the body. */
  error;
  next = null;
  constructor(method, params, toolId) {
    this.method = method;
    this.params = params;
    this.toolId = toolId;
    this.error = new ErrorCtor();
  }
}
setPrototypeOf(Request.prototype, null);

let sent = new MapCtor();
let first = null;
let last = null;

export const resetCalls = () => {
  sent = new MapCtor();
  first = null;
  last = null;
};

const dispatch = (request) => {
  request.id = run.nextId;
  if (request.id > limits.requests + REFUSALS) {
    cutOff('call_limit', `more than ${limits.requests} requests in one run, and ${REFUSALS} more after they were refused; call less often`);
  }
  // Near the stack limit `send` throws before anything is written: then nothing is counted, and the call rejects.
  send(`{"jsonrpc":"2.0","id":${request.id},"method":"openclaw.tools.${request.method}","params":${request.params}}`);
  run.nextId++;
  mapSet(sent, request.id, request);
  run.open++;
};

const start = (request) => {
  if (run.open < limits.inFlight && first === null) {
    dispatch(request);
    return;
  }
  if (last === null) first = request;
  else last.next = request;
  last = request;
  run.queued++;
};

/** Sends what waited, as far as there is room. */
const pump = () => {
  while (first !== null && run.open < limits.inFlight) {
    const request = first;
    first = request.next;
    if (first === null) last = null;
    run.queued--;
    dispatch(request);
  }
};

const promiseOf = (request) =>
  new PromiseCtor((resolve, reject) => {
    request.resolve = resolve;
    request.reject = reject;
    start(request);
  });

const rejected = (error) =>
  new PromiseCtor((_resolve, reject) => {
    reject(error);
  });

/** Calls that come after the body has returned are not sent: nothing may happen behind a result. */
const lateCall = (toolId) =>
  rejected(failedCall(new ErrorCtor(), 'the body has already returned; await every call before returning', 'cancelled', 'ToolError', toolId, null));

/** One frame from the supervisor: the answer to one of our requests. */
export const onFrame = (text) => {
  const message = jsonParse(text);
  // Only answers to our own requests may come; anything else throws, and the main half ends the child.
  const request = hasOwn(message, 'method') ? undefined : mapGet(sent, message.id);
  if (request === undefined) throw new TypeErrorCtor('an answer to nothing');
  mapDelete(sent, message.id);
  run.open--;
  pump();
  if (hasOwn(message, 'result')) {
    const resolve = request.resolve;
    if (request.query !== '' && isArray(message.result) && message.result.length === 0) hints.emptySearch = request.query;
    resolve(message.result);
  } else {
    const error = message.error;
    const data = error.data;
    const reject = request.reject;
    const toolId = hasOwn(data, 'toolId') ? data.toolId : request.toolId;
    reject(failedCall(request.error, error.message, data.code, hasOwn(data, 'name') ? data.name : 'ToolError', toolId, hasOwn(data, 'data') ? data.data : null));
  }
};

const wrongId = (method, id) =>
  rejected(
    new TypeErrorCtor(
      `openclaw.tools.${method}(id${method === 'call' ? ', args' : ''}): the id must be a string, got ${kindOf(id)}; rows of search have it as row.id`,
    ),
  );

const limitOf = (options) => {
  if (options === undefined || options === null) return undefined;
  const limit = typeof options === 'number' ? options : typeof options === 'object' ? options.limit : NaN;
  if (limit === undefined || limit === null) return undefined;
  if (typeof limit !== 'number' || !numberIsFinite(limit) || limit < 1) {
    throw new TypeErrorCtor(`openclaw.tools.search(query, {limit}): limit must be a number from 1, got ${typeof limit === 'number' ? limit : kindOf(limit)}`);
  }
  return limit > 1_000_000 ? 1_000_000 : floor(limit);
};

const tooLong = (text) => text.length * 3 > limits.argsBytes && bytes(text) > limits.argsBytes;

const tooLarge = (toolId, size) =>
  rejected(
    failedCall(
      new ErrorCtor(),
      `the arguments take ${size} bytes of JSON, the limit is ${limits.argsBytes}; send less in one call`,
      'too_large',
      'ToolError',
      toolId,
      null,
    ),
  );

const methods = {
  search(query, options) {
    if (run.closed) return lateCall(undefined);
    try {
      if (typeof query !== 'string') {
        return rejected(new TypeErrorCtor(`openclaw.tools.search(query, {limit}): the query must be a string, got ${kindOf(query)}`));
      }
      const limit = limitOf(options);
      const text = quote(query);
      if (tooLong(text)) return tooLarge(undefined, bytes(text));
      const request = new Request('search', limit === undefined ? `{"query":${text}}` : `{"query":${text},"limit":${limit}}`, undefined);
      request.query = text.length > MAX_SHOWN ? 'that text' : text;
      return promiseOf(request);
    } catch (error) {
      return rejected(error);
    }
  },
  describe(id) {
    if (run.closed) return lateCall(undefined);
    if (typeof id !== 'string') return wrongId('describe', id);
    const text = quote(id);
    if (tooLong(text)) return tooLarge(undefined, bytes(text));
    return promiseOf(new Request('describe', `{"id":${text}}`, id));
  },
  call(id, args) {
    if (run.closed) return lateCall(typeof id === 'string' ? id : undefined);
    if (typeof id !== 'string') return wrongId('call', id);
    try {
      const text = quote(id);
      if (tooLong(text)) return tooLarge(undefined, bytes(text));
      let json = '{}';
      if (args !== undefined && args !== null) {
        const coded = encodeArguments(args, limits.argsBytes);
        if (coded.refused !== undefined) return rejected(new TypeErrorCtor(coded.refused));
        if (coded.over) return tooLarge(id, coded.cut ? `more than ${coded.size}` : coded.size);
        json = coded.text;
        if (json[0] !== '{') {
          const how = typeof args === 'string' ? 'pass the object itself, not its JSON text' : 'arguments go by their names: { name: value }';
          const kind = typeof args === 'object' && !isArraySafely(args) ? 'an object that is no record as JSON' : kindOf(args);
          return rejected(new TypeErrorCtor(`openclaw.tools.call(id, args): args must be a plain object, got ${kind}; ${how}`));
        }
        if (tooLong(json)) return tooLarge(id, bytes(json));
        // A getter among the arguments may have ended the run.
        if (run.closed) return lateCall(id);
      }
      return promiseOf(new Request('call', `{"id":${text},"args":${json}}`, id));
    } catch (error) {
      return rejected(error);
    }
  },
};

export const makeApi = () => {
  freeze(methods.search);
  freeze(methods.describe);
  freeze(methods.call);
  freeze(methods);
  return freeze({ tools: methods });
};
