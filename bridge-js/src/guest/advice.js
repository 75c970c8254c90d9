// What to use instead: models reach for the globals of Node and of browsers. The names are not defined at all (`typeof fetch` is "undefined"); advice is
// added to the error of a run that ended by such a name, so a body that catches the error sees V8's own text.
import { hasOwn, stringIndexOf, stringSlice } from './primordials.js';

const API = 'openclaw.tools.search(query), openclaw.tools.describe(id) and openclaw.tools.call(id, args)';
const NET = `there is no network here; use a tool of the catalog: ${API}`;
const FILES = `there are no files, modules or processes here; use a tool of the catalog: ${API}`;
const TIMER = 'there are no timers here; await the call itself, several at once with Promise.all';
const TEXT = 'only the globals of ECMAScript are available';
const SHELL = `there is no shell here; use a tool of the catalog: ${API}`;
const TOOLS = `the catalog is reached through ${API}`;

const ADVICE = {
  __proto__: null,
  fetch: NET, XMLHttpRequest: NET, WebSocket: NET, EventSource: NET, Request: NET, Response: NET, Headers: NET, axios: NET, http: NET, https: NET,
  require: FILES, process: FILES, module: FILES, exports: FILES, fs: FILES, path: FILES, os: FILES, child_process: FILES, Deno: FILES, Bun: FILES,
  __dirname: FILES, __filename: FILES,
  setTimeout: TIMER, setInterval: TIMER, setImmediate: TIMER, clearTimeout: TIMER, clearInterval: TIMER, sleep: TIMER,
  queueMicrotask: 'use Promise.resolve().then(f)',
  Buffer: 'use Uint8Array', TextEncoder: TEXT, TextDecoder: TEXT, URL: TEXT, URLSearchParams: TEXT, atob: TEXT, btoa: TEXT, crypto: TEXT, performance: TEXT,
  structuredClone: 'use JSON.parse(JSON.stringify(value))', AbortController: TEXT, Event: TEXT, EventTarget: TEXT, Blob: TEXT, FormData: TEXT,
  SharedArrayBuffer: TEXT, Atomics: TEXT, WebAssembly: TEXT, WeakRef: TEXT, FinalizationRegistry: TEXT,
  ls: SHELL, cd: SHELL, cat: SHELL, curl: SHELL, wget: SHELL, npm: SHELL, npx: SHELL, git: SHELL, pip: SHELL, grep: SHELL, echo: SHELL, python: SHELL,
  window: TEXT, document: TEXT, self: TEXT, global: 'the global object is globalThis',
  tools: TOOLS, mcp: TOOLS, codemode: TOOLS, api: TOOLS, client: TOOLS, search: TOOLS, describe: TOOLS, call: TOOLS, callTool: TOOLS,
};

const NOT_DEFINED = ' is not defined';
const NOT_FUNCTION = ' is not a function';

export const endsWith = (text, end) => text.length >= end.length && stringSlice(text, text.length - end.length) === end;

/** Advice for an error that ended the run, or ''. */
export const adviceFor = (name, message) => {
  if (name === 'ReferenceError' && endsWith(message, NOT_DEFINED)) {
    const missing = stringSlice(message, 0, message.length - NOT_DEFINED.length);
    if (hasOwn(ADVICE, missing)) return ADVICE[missing];
    return `available are the globals of ECMAScript, console.log/warn/error and ${API}`;
  }
  if (name === 'TypeError') {
    if (stringIndexOf(message, 'openclaw') === 0 && endsWith(message, NOT_FUNCTION)) return TOOLS;
    if (stringIndexOf(message, 'console.') === 0 && endsWith(message, NOT_FUNCTION)) return 'console has log, warn and error';
  }
  if (name === 'EvalError') return 'code from strings is switched off; write the code in the body itself';
  return '';
};
