// One conversation: hello, the run request, the body, its calls, the answer.
import { prepare } from '../forms/index.js';
import { offsetOf, originalOffset, placeAt } from '../forms/lines.js';
import { compile } from './realm.js';

/** `read` turns the text a caller sent into the text that is compiled. */
export const makeConversation = (take, frames, realm, read = prepare) => {
  const { parseJson, toJson, runMicrotasks, wellFormed, byteLength } = take;
  const { context, guest } = realm;
  const hello = `{"jsonrpc":"2.0","method":"hello","params":{"protocol":1,"node":"${take.version}"}}`;

  const refuse = ({ code, name, message, line, column }) => {
    const data = { code, name, line, column, stack: line === undefined ? undefined : `${name}: ${wellFormed(message)}\n    at body.js:${line}:${column}` };
    frames.send(toJson({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: wellFormed(message), data } }));
  };

  return () => {
    frames.send(hello);
    const { body, seed, limits } = runRequest(parseJson(frames.receive()));
    const size = byteLength(body);
    if (size > limits.bodyBytes) {
      refuse({ code: 'invalid_body', name: 'InvalidBody', message: `the body takes ${size} bytes, the limit is ${limits.bodyBytes}` });
      return;
    }
    const ready = read(body);
    if (!ready.ok) {
      refuse(ready.error);
      return;
    }
    let compiled;
    try {
      compiled = compile(take, context, ready.code);
    } catch (error) {
      refuse(compileError(error, ready, body));
      return;
    }
    guest.begin(
      seed,
      body,
      toJson({ inserts: ready.inserts, throwAt: ready.throwAt, idle: ready.idle, parameters: ready.parameters }),
      limits.inFlight,
      limits.requests,
      limits.argsBytes,
      limits.valueBytes,
      limits.consoleEntryBytes,
      limits.consoleFloodBytes,
    );
    // From here on a body has run in this process: nothing below touches an object of its realm, or calls anything of Node but the natives taken at boot.
    guest.start(compiled);
    for (;;) {
      runMicrotasks();
      if (guest.poll()) return;
      guest.onFrame(frames.receive());
    }
  };
};

const LIMITS = ['inFlight', 'requests', 'argsBytes', 'valueBytes', 'bodyBytes', 'consoleEntryBytes', 'consoleFloodBytes'];

/** The supervisor is trusted, so this is a check for bugs: a wrong request ends the child instead of running something else. */
const runRequest = ({ method, id, params }) => {
  const { body, seed, limits } = params;
  const sound = method === 'run' && id === 1 && typeof body === 'string' && /^[0-9a-f]{32}$/.test(seed) && LIMITS.every((name) => Number.isSafeInteger(limits[name]));
  if (!sound) throw new TypeError('not a run request');
  return params;
};

/**
 * V8 refuses what the parser took: rare, e.g. a newer syntax on an older Node. Node writes the place in front of the stack: file and line, the source
 * line, and a line with a mark under the column.
 */
const compileError = (error, ready, body) => {
  const failed = { code: 'syntax_error', name: 'SyntaxError', message: `${error.message}` };
  if (error instanceof RangeError) return { ...failed, message: 'the body is nested too deeply to be compiled', line: 1, column: 1 };
  const shown = /^body\.js:(\d+)\n.*\n( *)\^/.exec(`${error.stack}`);
  if (shown === null) return failed;
  const position = offsetOf(ready.code, Number(shown[1]), shown[2].length);
  return { ...failed, ...placeAt(body, originalOffset(position, ready.inserts)) };
};
