// What to use in place of names that models reach for by habit: globals of Node and of browsers, of other languages and of other executors.
// Code between backticks can be run as it stands, with `query`, `id` and `args` filled in; tests do so.

export const CALL = '`await openclaw.tools.call(id, args)`';
export const API = `find tools with \`await openclaw.tools.search(query)\`, see what one takes with \`await openclaw.tools.describe(id)\`, run it with ${CALL}`;
export const AVAILABLE = 'available are the globals of ECMAScript, console.log/warn/error and openclaw.tools.search/describe/call';

/** Made when the first run ends in such a way: no start pays for it. */
export const makeAdvice = () => {
  const NET = `there is no network here, only the tools of the catalog: ${API}`;
  const FILES = `there are no files, modules or processes here, only the tools of the catalog: ${API}`;
  const TIMER = 'there are no timers here and nothing to wait for but calls; await each call, several at once with `await Promise.all(calls)`';
  const TEXT = 'only the globals of ECMAScript are available';
  const MODULE = 'there are no modules here; give the result with `return value`, or send one function alone';
  const NEWER = 'this version of JavaScript does not have it; write it out in the body';
  const GIVEN = 'nothing is handed to a body; write the values into it';
  const GIVE = 'to give the result: `return value`';
  const LIBRARY = 'there are no libraries here, only the globals of ECMAScript';
  const CHECK = 'there is no test library here; to fail a run: `if (!value) throw new Error("what is wrong")`';
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
    require: FILES, process: FILES, module: MODULE, exports: MODULE, fs: FILES, path: FILES, os: FILES, child_process: FILES, Deno: FILES, Bun: FILES,
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
    Iterator: NEWER, Temporal: NEWER, Float16Array: NEWER, SuppressedError: NEWER, DisposableStack: NEWER, AsyncDisposableStack: NEWER,
    arguments: GIVEN, args: GIVEN, params: GIVEN, input: GIVEN, inputs: GIVEN, event: GIVEN, context: GIVEN, ctx: GIVEN, env: GIVEN, payload: GIVEN, req: GIVEN, request: GIVEN,
    exit: GIVE, quit: GIVE, finish: GIVE, done: GIVE, final_answer: GIVE, finalAnswer: GIVE, submit: GIVE, respond: GIVE, emit: GIVE, postMessage: GIVE, res: GIVE, return_value: GIVE,
    _: LIBRARY, lodash: LIBRARY, moment: LIBRARY, dayjs: LIBRARY, luxon: LIBRARY, jQuery: LIBRARY, z: LIBRARY, zod: LIBRARY, util: LIBRARY, cheerio: LIBRARY,
    assert: CHECK, expect: CHECK, test: CHECK, it: CHECK,
    window: GLOBAL, document: GLOBAL, self: GLOBAL, global: GLOBAL, navigator: GLOBAL, location: GLOBAL,
    tools: TOOLS, mcp: TOOLS, codemode: TOOLS, api: TOOLS, client: TOOLS, search: TOOLS, describe: TOOLS, call: TOOLS, callTool: TOOLS, call_tool: TOOLS,
    use_mcp_tool: TOOLS, call_mcp_tool: TOOLS, invoke: TOOLS, execute: TOOLS, executeTool: TOOLS, execute_tool: TOOLS, invokeTool: TOOLS, runTool: TOOLS, run_tool: TOOLS, useTool: TOOLS,
    callMcpTool: TOOLS, mcpClient: TOOLS, server: TOOLS, default_api: TOOLS, sdk: TOOLS, listTools: TOOLS, list_tools: TOOLS, getTool: TOOLS, toolbox: TOOLS,
    searchTools: TOOLS, tool: TOOLS, functions: TOOLS, servers: TOOLS, OpenClaw: TOOLS, Openclaw: TOOLS, openClaw: TOOLS,
    print: PRINT, echo: `${PRINT}; if it is a tool: ${CALL}`, puts: PRINT, println: PRINT, printf: PRINT, alert: PRINT, log: PRINT, output: PRINT,
    prompt: 'there is nobody to ask here; `return value` gives the result', confirm: 'there is nobody to ask here; `return value` gives the result',
    True: 'in JavaScript it is `true`', False: 'in JavaScript it is `false`', None: 'in JavaScript it is `null`', nil: 'in JavaScript it is `null`',
    NULL: 'in JavaScript it is `null`', len: 'in JavaScript it is `text.length`', str: 'in JavaScript it is `String(value)`',
    range: 'in JavaScript it is `Array.from({ length: 3 }, (_, i) => i)`', dict: 'in JavaScript it is `({})`', list: 'in JavaScript it is `[...text]`',
    json: 'in JavaScript it is `JSON.stringify(value)`', int: 'in JavaScript it is `Number.parseInt(text, 10)`', float: 'in JavaScript it is `Number(text)`',
    js: LANGUAGE, javascript: LANGUAGE, ts: LANGUAGE, typescript: LANGUAGE,
  };
};
