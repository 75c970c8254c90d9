// What to use instead: models reach for the globals of Node and of browsers, for other languages, and forget to await. The names are not defined at all
// (`typeof fetch` is "undefined"); advice is added to the error of a run that ended by such a mistake, so a body that catches the error sees V8's own text.
// Code between backticks can be run as it stands, with `query`, `id` and `args` filled in; tests do so.
import { hasOwn, regexpExec, stringIndexOf, stringSlice } from './primordials.js';

const CALL = '`await openclaw.tools.call(id, args)`';
const API = `find tools with \`await openclaw.tools.search(query)\`, see what one takes with \`await openclaw.tools.describe(id)\`, run it with ${CALL}`;
const AVAILABLE = 'available are the globals of ECMAScript, console.log/warn/error and openclaw.tools.search/describe/call';

/** Made when the first run ends in such a way: no start pays for it. */
const makeAdvice = () => {
  const NET = `there is no network here, only the tools of the catalog: ${API}`;
  const FILES = `there are no files, modules or processes here, only the tools of the catalog: ${API}`;
  const TIMER = 'there are no timers here and nothing to wait for but calls; await each call, several at once with `await Promise.all(calls)`';
  const TEXT = 'only the globals of ECMAScript are available';
  const SHELL = `there is no shell here, only the tools of the catalog: ${API}`;
  const TOOLS = `the catalog is reached through openclaw.tools: ${API}`;
  const BYTES = 'bytes are a Uint8Array, and come back as base64 when returned; UTF-8 of a text: `Uint8Array.from(unescape(encodeURIComponent(text)), (c) => c.charCodeAt(0))`';
  const PRINT = 'to show something: `console.log(value)`; to give the result: `return value`';
  const LANGUAGE = 'leave out the name of the language; send the code alone';
  const ABORT = 'a call cannot be aborted; there are no events here';
  const GLOBAL = 'the global object is `globalThis`; there is no page and no network here, only the tools of the catalog';
  return {
    __proto__: null,
    fetch: NET, XMLHttpRequest: NET, WebSocket: NET, EventSource: NET, Request: NET, Response: NET, Headers: NET, axios: NET, http: NET, https: NET, net: NET,
    got: NET, superagent: NET, requests: NET, urllib: NET, $: SHELL,
    require: FILES, process: FILES, module: FILES, exports: FILES, fs: FILES, path: FILES, os: FILES, child_process: FILES, Deno: FILES, Bun: FILES,
    __dirname: FILES, __filename: FILES, readFile: FILES, writeFile: FILES, readFileSync: FILES, writeFileSync: FILES, open: FILES, exec: FILES, execSync: FILES,
    spawn: FILES, Worker: FILES, importScripts: FILES, localStorage: FILES, sessionStorage: FILES, indexedDB: FILES,
    setTimeout: TIMER, setInterval: TIMER, setImmediate: TIMER, clearTimeout: TIMER, clearInterval: TIMER, sleep: TIMER, delay: TIMER, wait: TIMER,
    requestAnimationFrame: TIMER, time: TIMER,
    queueMicrotask: 'use `Promise.resolve().then(f)`', nextTick: 'use `Promise.resolve().then(f)`',
    Buffer: BYTES, TextEncoder: BYTES, btoa: BYTES,
    TextDecoder: 'text of UTF-8 bytes: `decodeURIComponent(escape(String.fromCharCode(...bytes)))`',
    atob: `${TEXT}, decode it in the body or with a tool`,
    URL: 'take the text apart: `/^(\\w+):\\/\\/([^/?#]*)([^?#]*)(\\?[^#]*)?/.exec(text)`',
    URLSearchParams: 'build the text: `Object.entries(args).map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&")`',
    crypto: 'for a number by chance, not for secrets: `Math.random()`', performance: 'for the time: `Date.now()`',
    structuredClone: 'use `JSON.parse(JSON.stringify(value))`', AbortController: ABORT, AbortSignal: ABORT, Event: ABORT, EventTarget: ABORT, EventEmitter: ABORT,
    Blob: BYTES, File: FILES, FormData: NET, ReadableStream: NET,
    SharedArrayBuffer: TEXT, Atomics: TEXT, WebAssembly: TEXT, WeakRef: TEXT, FinalizationRegistry: TEXT,
    ls: SHELL, cd: SHELL, cat: SHELL, pwd: SHELL, curl: SHELL, wget: SHELL, npm: SHELL, npx: SHELL, git: SHELL, pip: SHELL, grep: SHELL, python: SHELL,
    rm: SHELL, mkdir: SHELL, sudo: SHELL, bash: SHELL, sh: SHELL, subprocess: SHELL,
    window: GLOBAL, document: GLOBAL, self: GLOBAL, global: GLOBAL, navigator: GLOBAL, location: GLOBAL,
    tools: TOOLS, mcp: TOOLS, codemode: TOOLS, api: TOOLS, client: TOOLS, search: TOOLS, describe: TOOLS, call: TOOLS, callTool: TOOLS, call_tool: TOOLS,
    searchTools: TOOLS, tool: TOOLS, functions: TOOLS, servers: TOOLS, OpenClaw: TOOLS, Openclaw: TOOLS, openClaw: TOOLS,
    print: PRINT, echo: `${PRINT}; if it is a tool: ${CALL}`, puts: PRINT, println: PRINT, printf: PRINT, alert: PRINT, log: PRINT, output: PRINT,
    prompt: 'there is nobody to ask here; `return value` gives the result', confirm: 'there is nobody to ask here; `return value` gives the result',
    input: 'there is no input here; write the values into the body',
    True: 'in JavaScript it is `true`', False: 'in JavaScript it is `false`', None: 'in JavaScript it is `null`', nil: 'in JavaScript it is `null`',
    NULL: 'in JavaScript it is `null`', len: 'in JavaScript it is `text.length`', str: 'in JavaScript it is `String(value)`',
    range: 'in JavaScript it is `Array.from({ length: 3 }, (_, i) => i)`', dict: 'in JavaScript it is `({})`', list: 'in JavaScript it is `[...text]`',
    json: 'in JavaScript it is `JSON.stringify(value)`', int: 'in JavaScript it is `Number.parseInt(text, 10)`', float: 'in JavaScript it is `Number(text)`',
    js: LANGUAGE, javascript: LANGUAGE, ts: LANGUAGE, typescript: LANGUAGE,
  };
};

let advice = null;

/** All of it, for those who try what it says. */
export const allAdvice = () => makeAdvice();

const NOT_DEFINED = ' is not defined';
const NOT_FUNCTION = ' is not a function';

export const endsWith = (text, end) => text.length >= end.length && stringSlice(text, text.length - end.length) === end;

const startsWith = (text, start) => stringSlice(text, 0, start.length) === start;

const forName = (name) => {
  advice ??= makeAdvice();
  return hasOwn(advice, name) ? advice[name] : '';
};

/** The name that a "… is not defined" is about, or ''. */
export const missingName = (name, message) =>
  name === 'ReferenceError' && endsWith(message, NOT_DEFINED) ? stringSlice(message, 0, message.length - NOT_DEFINED.length) : '';

/** A word that a body took for a tool: search is sure to take it. */
const asTool = (word) =>
  regexpExec(/^[\w$:.-]{1,64}$/, word) === null ? API : `if it is meant as a tool, find its id with \`await openclaw.tools.search("${word}")\` and run it with ${CALL}`;

const API_TEXT = 'openclaw.tools.';

/** How many calls in a body are looked at, and how much before each: what is needed to see an `await`. */
const MAX_LOOKS = 64;
const LOOK_BACK = 80;

/**
 * The first call in the source whose promise is plainly taken for its value, as `{method, name}` (`name`: what it is assigned to, or ''), or null.
 * `isExcused(name)` says which are left out.
 */
const unawaitedCall = (source, isExcused) => {
  let at = stringIndexOf(source, API_TEXT);
  for (let looks = 0; at >= 0 && looks < MAX_LOOKS; looks++) {
    const before = regexpExec(/(?:([\w$]+|\}|\])\s*[^=!<>]?=|\bof|\bin|\.\.\.)\s*$/, stringSlice(source, at > LOOK_BACK ? at - LOOK_BACK : 0, at));
    const after = regexpExec(/^(search|describe|call)\(/, stringSlice(source, at + API_TEXT.length, at + API_TEXT.length + 9));
    if (before !== null && after !== null && !isExcused(before[1] ?? '')) return { __proto__: null, method: after[1] };
    at = stringIndexOf(source, API_TEXT, at + API_TEXT.length);
  }
  return null;
};

const unawaited = (source, isExcused = () => false) => {
  const found = unawaitedCall(source, isExcused);
  if (found === null) return '';
  const call = found.method === 'search' ? 'search(query)' : found.method === 'describe' ? 'describe(id)' : 'call(id, args)';
  return `openclaw.tools.${found.method} gives a promise, and one in this body is not awaited: \`await openclaw.tools.${call}\``;
};

/** `before`: the source up to the place of the error, as far as one looks. */
const forType = (message, source, before) => {
  const notFunction = endsWith(message, NOT_FUNCTION);
  if (notFunction && startsWith(message, 'openclaw.')) {
    const word = regexpExec(/([^.[\]"'()\s]+)["'\]]* is not a function$/, message);
    if (word === null || regexpExec(/^(?:search|describe|call|list|get)[A-Za-z]*$/, word[1]) !== null) return `openclaw.tools has search, describe and call: ${API}`;
    return `openclaw.tools has search, describe and call, and tools are not methods of it; ${asTool(word[1])}`;
  }
  if (notFunction && startsWith(message, 'console.')) return 'console has log, warn and error: `console.log(value)`';
  const reading = startsWith(message, 'Cannot read properties of undefined');
  if (notFunction || reading) {
    const global = regexpExec(/\b(?:globalThis|global|window|self)\s*\??\.\s*([\w$]+)\s*\??\.?\s*$/, before);
    const named = regexpExec(/^(?:\(intermediate value\)|globalThis)\.([\w$]+) is not a function$/, message);
    const text = forName(global !== null ? global[1] : named !== null ? named[1] : '');
    if (text !== '') return text;
    if (reading && regexpExec(/\bopenclaw\s*\.\s*[\w$]+\s*\??\.?\s*$/, before) !== null) {
      const word = regexpExec(/\(reading '([^']*)'\)$/, message);
      return `openclaw has tools alone, and tools are not properties of it; ${word === null ? API : asTool(word[1])}`;
    }
    if (reading && regexpExec(/\.content\s*(?:\??\.)?\s*\[?$/, before) !== null) {
      return 'a call gives the value of the tool itself, without an envelope; look at it with `console.log(value)`';
    }
  }
  if (notFunction || reading || endsWith(message, ' is not iterable') || endsWith(message, 'not iterable')) return unawaited(source);
  return '';
};

/** Advice for an error that ended the run, or ''. `offset`: where in `source` the error was made, or -1. */
export const adviceFor = (name, message, source, offset) => {
  const missing = missingName(name, message);
  if (missing !== '') {
    const known = forName(missing);
    return known !== '' ? known : `${AVAILABLE}; ${asTool(missing)}`;
  }
  if (name === 'TypeError') return forType(message, source, offset < 0 ? '' : stringSlice(source, offset > 200 ? offset - 200 : 0, offset));
  if (name === 'EvalError') return 'code from strings is switched off here; write the code in the body itself';
  if (name === 'SyntaxError' && stringIndexOf(message, '[object ') >= 0 && endsWith(message, 'is not valid JSON')) {
    return 'this is an object already: calls give native values, use them without JSON.parse';
  }
  return '';
};

/** What a body that ended without a value may have forgotten, or ''. */
export const adviceForNothing = (source) => unawaited(source, (name) => name !== '' && name !== '}' && name !== ']' && isUsedAsPromise(name, source));

const isUsedAsPromise = (name, source) =>
  stringIndexOf(source, `await ${name}`) >= 0 || stringIndexOf(source, `${name}.then(`) >= 0 || regexpExec(/\bPromise\s*\.\s*(?:all|allSettled|any|race)\b/, source) !== null;
