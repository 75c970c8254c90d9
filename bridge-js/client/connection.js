// One connection to a server: hello, many runs at once, and an end that every run hears of.
import { createConnection } from 'node:net';
import { CodemodeError, ConnectionLostError, ProtocolError, RunRefusedError } from './errors.js';
import { FrameReader, frame } from './frames.js';
import { jsonOf } from './json.js';
import { Exchange, readMessage } from './messages.js';
import { Run, unknownOption } from './run.js';

const PROTOCOL = 1;
const HELLO_WITHIN_MS = 10_000;

/** Requests that a server may have open, and those cancelled ones whose answers it may still wait for: protocol/docs/gateway.md. What it has not read counts. */
const MOST_UNREAD = 1_024 + 4_096 + 1;

/** Levels around the parts of run.start. */
const PARAMS_DEPTH = 1;

/** Connects to the server at this path, and says hello. */
export const connect = (path, { name = 'codemode-client', helloTimeoutMs = HELLO_WITHIN_MS } = {}) =>
  new Promise((resolve, reject) => {
    const socket = createConnection(path);
    const failed = (cause) => reject(new CodemodeError('connect_failed', `nobody answers on ${path}: ${cause.message}`, { cause }));
    socket.once('error', failed);
    socket.once('connect', () => {
      socket.off('error', failed);
      const connection = new Connection(socket);
      const late = setTimeout(() => connection.drop(new CodemodeError('connect_failed', `no answer to hello within ${helloTimeoutMs} ms`)), helloTimeoutMs);
      connection.hello(name).then(resolve, reject).finally(() => clearTimeout(late));
    });
  });

class Connection {
  #socket;
  #reader = new FrameReader();
  #exchange = new Exchange();
  #runs = new Map();
  /** What the server asks and this end works on: id → AbortController. */
  #working = new Map();
  /** Requests of the server whose answers are not with it yet. */
  #unread = 0;
  #lastRun = 0;
  #goodbye = null;
  #lost = null;
  #closing;
  #closed;
  #failHello = null;
  /** What the server said of itself in its hello. */
  server = null;

  constructor(socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => (this.#closing = resolve));
    socket.on('data', (chunk) => this.#data(chunk));
    socket.on('error', (cause) => this.drop(new ConnectionLostError(this.#goodbye, cause)));
    socket.on('close', () => this.drop(new ConnectionLostError(this.#goodbye)));
  }

  /** Settles when the connection is over, with why. */
  get closed() {
    return this.#closed;
  }

  async hello(name) {
    const offered = ['catalog', 'approvals', 'hooks'];
    return new Promise((resolve, reject) => {
      this.#failHello = reject;
      this.#ask('hello', JSON.stringify({ protocol: PROTOCOL, name, capabilities: offered }), ({ result: server, refusal }) => {
        if (refusal) {
          this.drop(new CodemodeError(refusal.code, refusal.message));
          return;
        }
        if (server?.protocol !== PROTOCOL || !(Number.isSafeInteger(server.frameBytes) && server.frameBytes > 0)) {
          throw new ProtocolError('the server answered hello with something else');
        }
        // Before anything else of the server is read: what it asks is answered within this.
        this.server = server;
        this.#failHello = null;
        resolve(this);
      });
    });
  }

  /** Starts a run. Nothing of it is thrown here: `report` of what is returned says it. */
  run(body, options = {}) {
    const { catalog = { tools: [] }, limits, context, approvals, signal } = options;
    const id = options.id ?? `run-${(this.#lastRun += 1)}`;
    const run = new Run(id, { ...options, catalog });
    run.cancel = () => this.#cancel(run);
    if (this.#lost) {
      run.fail(this.#lost);
      return run;
    }
    const unknown = unknownOption(options);
    if (unknown !== null) {
      run.fail(new RunRefusedError('unknown_option', unknown));
      return run;
    }
    if (signal?.aborted) {
      run.fail(signal.reason);
      return run;
    }
    if (this.#runs.has(id)) {
      run.fail(new RunRefusedError('run_exists', `a run with the name ${id} goes on`));
      return run;
    }
    const params = {
      run: id,
      body: String(body).toWellFormed(),
      limits,
      context,
      catalog: catalog.tools ? { tools: catalog.tools } : 'gateway',
      approvals,
      // Calls are always told: without them an end without a report could not say what has happened.
      wants: { approvals: Boolean(options.approve), hooks: Boolean(options.beforeToolCall), logs: Boolean(options.onLog), calls: true },
    };
    let text;
    try {
      text = jsonOf(params, PARAMS_DEPTH);
      const bytes = Buffer.byteLength(text);
      if (bytes > this.server.frameBytes - 256) throw new RunRefusedError('too_large', `the run has ${bytes} bytes, the server takes ${this.server.frameBytes}`);
    } catch (error) {
      run.fail(error);
      return run;
    }
    this.#runs.set(id, run);
    this.#ask('run.start', text, ({ refusal }) => {
      if (!refusal) return;
      this.#runs.delete(id);
      run.fail(new RunRefusedError(refusal.code, refusal.message));
    });
    run.cancelBy(() => this.#cancel(run));
    return run;
  }

  /** Closes the connection; runs that go on end, and their reports say so. */
  async close() {
    this.drop(new ConnectionLostError(null));
    await this.#closed;
  }

  /** Ends everything, once. */
  drop(reason) {
    if (this.#lost) return this.#lost;
    this.#lost = reason instanceof ConnectionLostError ? reason : new ConnectionLostError(this.#goodbye, reason);
    for (const work of this.#working.values()) work.abort(this.#lost);
    this.#working.clear();
    for (const run of this.#runs.values()) run.fail(this.#lost);
    this.#runs.clear();
    this.#socket.destroy();
    this.#failHello?.(reason);
    this.#closing(this.#lost);
    return this.#lost;
  }

  #cancel(run) {
    if (this.#lost || this.#runs.get(run.id) !== run) return;
    this.#ask('run.cancel', JSON.stringify({ run: run.id }), () => {});
  }

  #ask(method, params, settle) {
    const id = this.#exchange.ask(settle);
    this.#say(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`);
  }

  #say(text, written) {
    if (!this.#lost) this.#socket.write(frame(text), written);
  }

  #data(chunk) {
    try {
      for (const text of this.#reader.push(chunk)) {
        if (this.#lost) return;
        this.#heard(readMessage(text));
      }
    } catch (error) {
      this.drop(error);
    }
  }

  #heard(message) {
    const { kind, id, method, params } = message;
    if (this.server === null && kind !== 'answer' && method !== 'goodbye') throw new ProtocolError('the server spoke before it answered hello');
    if (kind === 'answer') {
      this.#exchange.answered(id)(message);
    } else if (kind === 'request') {
      this.#exchange.hear(id);
      this.#unread += 1;
      if (this.#unread > MOST_UNREAD) throw new ProtocolError('the server asks and does not read the answers');
      this.#work(id, method, params).catch((error) => this.drop(error));
    } else if (method === 'request.cancel') {
      this.#working.get(params.id)?.abort(new CodemodeError('cancelled', 'nobody waits for this any more'));
    } else if (method === 'goodbye') {
      this.#goodbye = { code: params.code, message: params.message };
    } else {
      const run = this.#runs.get(params.run);
      if (!run) throw new ProtocolError('the server told of a run that does not go on');
      if (run.told(method, params)) this.#runs.delete(params.run);
    }
  }

  /** Answers a request of the server, once, whatever becomes of it. */
  async #work(id, method, params) {
    const work = new AbortController();
    this.#working.set(id, work);
    const run = this.#runs.get(params.run);
    const gone = '{"code":-32000,"message":"this run is over","data":{"code":"cancelled","name":"CancelledError","toolId":null}}';
    const answer = run ? await run.answer(method, params, work.signal) : { error: gone };
    this.#working.delete(id);
    let text = answer.error === undefined ? `"result":${answer.result}` : `"error":${answer.error}`;
    const bytes = Buffer.byteLength(text);
    if (bytes > this.server.frameBytes - 64) {
      const message = `the answer has ${bytes} bytes, the server takes ${this.server.frameBytes}`;
      text = `"error":{"code":-32000,"message":"${message}","data":{"code":"too_large","name":"TooLargeError","toolId":null}}`;
    }
    this.#say(`{"jsonrpc":"2.0","id":${id},${text}}`, () => (this.#unread -= 1));
  }
}
