// One run: what the server asks for it, what it tells, and how it ends.
import { ConnectionLostError, ProtocolError } from './errors.js';
import { jsonOf } from './json.js';

const CALL_CODES = new Set([
  'unknown_tool', 'ambiguous_tool', 'denied', 'approval_unavailable', 'approval_denied', 'approval_timeout', 'hook_blocked', 'hook_failed',
  'invalid_arguments', 'invalid_result', 'tool_error', 'tool_unavailable', 'tool_timeout', 'too_large', 'call_limit', 'cancelled',
]);

/** Requests of one run that have a place in its ledger: the hard cap, and those that a server refuses above it before it ends the run. */
const MOST_CALLS = 10_000 + 1_024 + 1;

/** Levels around a result, and around the data of an error. */
const RESULT_DEPTH = 1;
const DATA_DEPTH = 3;

/** Characters of an id that are kept: no id has more, but a body may ask for anything. */
const MOST_ID = 1_024;

/** Characters of a message that a server takes without cutting. */
const MOST_MESSAGE = 4_000;

const approvalOf = (word) => {
  if (word === true) return { answer: 'granted' };
  if (word === false || word === null || word === undefined) return { answer: 'refused' };
  return word;
};

const hookOf = (word) => {
  if (word === undefined || word === null || word === true) return { decision: 'allow' };
  if (word === false) return { decision: 'block' };
  return word;
};

/** Nothing is the usual word for what is not there: `tools.find(…)`. */
const described = async (catalog, id, about) => {
  const tool = await catalog.describe(id, about);
  if (tool !== undefined && tool !== null) return tool;
  throw Object.assign(new Error(`there is no tool ${JSON.stringify(id)}`), { name: 'UnknownToolError', code: 'unknown_tool' });
};

/** What `run` takes. */
const OPTIONS = ['id', 'catalog', 'limits', 'context', 'approvals', 'approve', 'beforeToolCall', 'onLog', 'onCall', 'signal'];

/** The first option that means nothing: a misspelt `approvals` would leave every call free. */
export const unknownOption = (options) => {
  const name = Object.keys(options).find((name) => !OPTIONS.includes(name));
  return name === undefined ? null : `there is no option ${name}; there are ${OPTIONS.join(', ')}`;
};

export class Run {
  #options;
  #calls = new Map();
  #settle;
  #onAbort = null;

  constructor(id, options) {
    this.id = id;
    this.#options = options;
    this.report = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    // A report that nobody looks at is no reason to end the program.
    this.report.catch(() => {});
  }

  /** Calls `act` when the caller's signal says so. */
  cancelBy(act) {
    const { signal } = this.#options;
    if (!signal) return;
    this.#onAbort = act;
    if (signal.aborted) act();
    else signal.addEventListener('abort', act, { once: true });
  }

  /** The text of the answer to a request of the server. */
  async answer(method, params, signal) {
    const { catalog, approve, beforeToolCall } = this.#options;
    const about = { run: this.id, signal };
    try {
      switch (method) {
        case 'catalog.search':
          return { result: jsonOf(await catalog.search(params.query, { ...about, limit: params.limit }), RESULT_DEPTH) };
        case 'catalog.describe':
          return { result: jsonOf(await described(catalog, params.id, about), RESULT_DEPTH) };
        case 'catalog.call':
          return { result: await this.#call(params, about) };
        case 'approval.request': {
          const { seq, tool, args } = params;
          return { result: jsonOf(approvalOf(await approve({ ...about, seq, tool, args })), RESULT_DEPTH) };
        }
        default: {
          const { seq, tool, args } = params;
          return { result: jsonOf(hookOf(await beforeToolCall({ ...about, seq, tool, args })), RESULT_DEPTH) };
        }
      }
    } catch (error) {
      return { error: errorText(error, params.id ?? params.tool?.id ?? null) };
    }
  }

  async #call({ seq, id, args }, about) {
    const call = this.#entry(seq);
    Object.assign(call, { method: 'call', id: id.slice(0, MOST_ID), here: 'unknown' });
    try {
      const text = jsonOf(await this.#options.catalog.call(id, args, { ...about, seq }), RESULT_DEPTH);
      call.here = 'ok';
      return text;
    } catch (error) {
      call.here = 'error';
      throw error;
    }
  }

  #entry(seq) {
    if (!this.#calls.has(seq)) {
      if (this.#calls.size >= MOST_CALLS) throw new ProtocolError('the server told of more calls than a run can have');
      this.#calls.set(seq, { seq });
    }
    return this.#calls.get(seq);
  }

  /** A notification of the server. Gives whether it was the last. */
  told(method, params) {
    if (method === 'run.log') {
      hear(this.#options.onLog, { level: params.level, text: params.text });
    } else if (method === 'run.call') {
      const { run, ...call } = params;
      const { seq, method: asked, state, id, entry } = call;
      // The entry itself is the listener's; what is kept of a call is small.
      Object.assign(this.#entry(seq), { method: asked, state, isFinal: entry !== undefined }, id === undefined ? {} : { id: id.slice(0, MOST_ID) });
      hear(this.#options.onCall, call);
    } else {
      this.#end();
      this.#settle.resolve(params.report);
      return true;
    }
    return false;
  }

  /** The run is over without a report. */
  fail(error) {
    this.#end();
    if (error instanceof ConnectionLostError) {
      const own = new ConnectionLostError(error.goodbye, error.cause);
      own.calls = this.#known();
      this.#settle.reject(own);
    } else this.#settle.reject(error);
  }

  #end() {
    if (this.#onAbort) this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#onAbort = null;
  }

  /** The calls as far as this end knows, whatever the server could not say any more. */
  #known() {
    const known = [...this.#calls.values()].sort((a, b) => a.seq - b.seq);
    return known.map(({ seq, method, id = null, state, isFinal, here }) => ({
      seq,
      method: method ?? 'call',
      id,
      state: isFinal ? state : (here ?? 'cancelled'),
    }));
  }
}

/** Tells a listener of the caller. What it throws is the caller's own uncaught error, and no reason to end other runs. */
const hear = (listener, told) => {
  try {
    listener?.(told);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
};

/** A text of anything: what a tool throws may be data of somebody else's, and what a server names may be no text. */
const line = (word) => {
  let text;
  try {
    text = String(word);
  } catch {
    text = 'what was thrown has no text';
  }
  return JSON.stringify(text.slice(0, MOST_MESSAGE).toWellFormed());
};

/** Never throws, whatever was thrown: a getter or a proxy that throws in its turn is a failure of the tool like any other. */
const errorText = (error, toolId) => {
  try {
    return toldText(error, toolId);
  } catch {
    return toldText('what was thrown cannot be read', toolId);
  }
};

const toldText = (error, toolId) => {
  const is = error !== null && typeof error === 'object';
  const code = is && CALL_CODES.has(error.code) ? error.code : 'tool_error';
  let data;
  try {
    data = is && error.data !== undefined ? jsonOf(error.data, DATA_DEPTH) : undefined;
  } catch {
    // What has no JSON is left out; the message says what happened.
  }
  const name = is && typeof error.name === 'string' && error.name !== 'Error' ? error.name : 'ToolError';
  const message = is ? (error.message ?? 'the tool failed') : error;
  const rest = `"code":"${code}","name":${line(name)},"toolId":${toolId === null ? 'null' : line(toolId)}${data === undefined ? '' : `,"data":${data}`}`;
  return `{"code":-32000,"message":${line(message)},"data":{${rest}}}`;
};
