// What a server may say: each message with the fields that it must have. What is not here ends the connection.
import { oneLine, ProtocolError } from './errors.js';
import { isTooDeep, MOST_DEPTH } from './json.js';

const text = (value) => typeof value === 'string';
const count = (value) => Number.isSafeInteger(value) && value >= 0;
const object = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const optional = (is) => (value) => value === undefined || is(value);

const REQUESTS = {
  'catalog.search': { run: text, query: text, limit: optional(count) },
  'catalog.describe': { run: text, id: text },
  'catalog.call': { run: text, seq: count, id: text, args: object },
  'approval.request': { run: text, seq: count, tool: object, args: object },
  'hook.beforeToolCall': { run: text, seq: count, tool: object, args: object },
};

const FINAL = new Set(['ok', 'error', 'denied', 'refused', 'cancelled', 'unknown']);

const NOTICES = {
  'run.log': { run: text, level: text, text },
  'run.call': { run: text, seq: count, method: text, state: text, id: optional(text), entry: optional(object) },
  'run.finished': { run: text, report: object },
  'request.cancel': { id: count },
  goodbye: { code: text, message: text },
};

const REFUSALS = new Set([
  'unsupported_protocol', 'busy', 'draining', 'run_exists', 'invalid_limits', 'invalid_catalog', 'not_offered',
]);

const wrong = (what) => new ProtocolError(`the server sent ${what}`);

const only = (message, fields, what) => {
  for (const field of Object.keys(message)) if (!fields.includes(field)) throw wrong(`an unknown field in ${what}`);
};

/** The message of a text: `{kind: 'request' | 'notice' | 'answer', …}`. */
export const readMessage = (source) => {
  // Before it is read: what is told of a run is handed on to functions of the gateway, whose own code may go into it level by level.
  if (isTooDeep(source)) throw wrong(`a text of more than ${MOST_DEPTH} levels`);
  let message;
  try {
    message = JSON.parse(source);
  } catch {
    throw wrong('a text that is no JSON');
  }
  if (!object(message)) throw wrong('a message that is no object');
  if (message.jsonrpc !== '2.0') throw wrong('another version of JSON-RPC');
  const { id, method, params } = message;
  if (method !== undefined) {
    const request = Object.hasOwn(REQUESTS, method) ? REQUESTS[method] : null;
    const fields = request ?? (Object.hasOwn(NOTICES, method) ? NOTICES[method] : null);
    if (fields === null) throw wrong('a method that this end does not have');
    only(message, request ? ['jsonrpc', 'id', 'method', 'params'] : ['jsonrpc', 'method', 'params'], method);
    if (!object(params)) throw wrong(`${method} without params`);
    only(params, Object.keys(fields), method);
    for (const [name, is] of Object.entries(fields)) if (!is(params[name])) throw wrong(`${method} without a sound ${name}`);
    if (method === 'goodbye') return { kind: 'notice', method, params: { code: oneLine(params.code), message: oneLine(params.message) } };
    if (request && !(count(id) && id > 0)) throw wrong('a request without a sound id');
    if (method === 'run.call' && FINAL.has(params.state) !== (params.entry !== undefined)) throw wrong('run.call whose entry and state disagree');
    return { kind: request ? 'request' : 'notice', id, method, params };
  }
  if (!(count(id) && id > 0)) throw wrong('an answer without a sound id');
  if (Object.hasOwn(message, 'result')) {
    only(message, ['jsonrpc', 'id', 'result'], 'an answer');
    return { kind: 'answer', id, result: message.result };
  }
  only(message, ['jsonrpc', 'id', 'error'], 'an answer');
  const { error } = message;
  if (!object(error) || !text(error.message) || !object(error.data) || !REFUSALS.has(error.data.code)) throw wrong('an answer without a sound error');
  return { kind: 'answer', id, refusal: { code: error.data.code, message: oneLine(error.message) } };
};

/** The ids of both directions: each end counts its own from 1, and each request is answered once. */
export class Exchange {
  #heard = 0;
  #asked = 0;
  #open = new Map();

  /** A request of the server came. */
  hear(id) {
    if (id !== this.#heard + 1) throw wrong('a request whose id is out of order');
    this.#heard = id;
  }

  /** The id of the next request of this end; `settle` is called with its answer. */
  ask(settle) {
    this.#asked += 1;
    this.#open.set(this.#asked, settle);
    return this.#asked;
  }

  /** Who waits for this answer. */
  answered(id) {
    const settle = this.#open.get(id);
    if (settle === undefined) throw wrong('an answer to what was not asked');
    this.#open.delete(id);
    return settle;
  }
}
