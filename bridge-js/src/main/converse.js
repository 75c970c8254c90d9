// One conversation: hello, the run request, the body, its calls, the answer.
import { prepare } from '../forms/index.js';
import { compile } from './realm.js';

export const makeConversation = (take, frames, realm) => {
  const { parseJson, toJson, runMicrotasks, wellFormed, byteLength } = take;
  const { context, guest } = realm;
  const hello = `{"jsonrpc":"2.0","method":"hello","params":{"protocol":1,"node":"${take.version}"}}`;

  const refuse = ({ code, name, message, line, column }) => {
    const data = { code, name, line, column, stack: line === undefined ? undefined : `${name}: ${wellFormed(message)}\n    at body.js:${line}:${column}` };
    frames.send(toJson({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: wellFormed(message), data } }));
  };

  return () => {
    frames.send(hello);
    const { body, seed, limits } = parseJson(frames.receive()).params;
    const size = byteLength(body);
    if (size > limits.bodyBytes) {
      refuse({ code: 'invalid_body', name: 'InvalidBody', message: `the body takes ${size} bytes, the limit is ${limits.bodyBytes}` });
      return;
    }
    const ready = prepare(body);
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
      toJson(ready.inserts),
      ready.throwAt,
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

/** V8 refuses what the parser took: rare (a newer syntax on an older Node), so only the line is looked for. */
const compileError = (error, ready, body) => {
  const message = `${error.message}`;
  if (error instanceof RangeError) return { code: 'syntax_error', name: 'SyntaxError', message: 'the body is nested too deeply to be compiled', line: 1, column: 1 };
  const line = /^body\.js:(\d+)/.exec(`${error.stack}`);
  return { code: 'syntax_error', name: 'SyntaxError', message, line: line === null ? 1 : Number(line[1]), column: 1 };
};
