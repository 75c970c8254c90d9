'use strict';
// Makes V8's code cache for the bundle: node <V8 flags of the child> cache.cjs BUNDLE CACHE
// The cache is taken after the bundle has booted and answered a few runs, so it holds every function a usual run needs. V8 takes a cache only from the
// same version under the same flags, so this runs on the very Node that will use it. No permission flag here: this has to read and write files.
const fs = require('node:fs');
const vm = require('node:vm');
const { internalBinding } = require('internal/test/binding');

const [bundlePath, cachePath] = process.argv.slice(2);
const script = new vm.Script(fs.readFileSync(bundlePath, 'latin1'), { filename: 'codemode:bridge' });
const out = fs.openSync(cachePath, 'w');
const { writeSync } = fs;
const exit = process.reallyExit.bind(process);
const { parse, stringify } = JSON;
const { alloc, concat, from } = Buffer;
// The bridge's buffers have no methods.
const { set, utf8Slice } = Buffer.prototype;

const limits = {
  inFlight: 2, requests: 1024, argsBytes: 1 << 20, valueBytes: 1 << 20, bodyBytes: 1 << 18, consoleEntryBytes: 8192, consoleFloodBytes: 1 << 24,
};
const bodies = [
  'return 1',
  '1 + 1',
  'const [row] = await openclaw.tools.search("echo", { limit: 1 }); const d = await openclaw.tools.describe(row.id);\n' +
    'const r = await openclaw.tools.call(row.id, { n: 5, list: [1, "two", { three: null }] }); console.log("got", r, [1, 2]); return [typeof d, r];',
  'const r = await Promise.all([1, 2, 3, 4].map((n) => openclaw.tools.call("echo", { n }))); return r.length;',
  'try { await openclaw.tools.call("fails", {}) } catch (e) { console.warn(e.message, e) }\nconst c = null;\nreturn c.x;',
  'async () => { return { when: new Date(0), big: 2n ** 64n, m: new Map([["a", 1]]), s: new Set([1]), b: new Uint8Array(3), e: new Error("x") }; }',
  '```js\nreturn await fetch("x")\n```',
  'return (',
  'const s = "import"; Promise.reject(new Error("late")); return this;',
];

// What the other end would send, one conversation after the other.
let input = alloc(0);
let next = 0;
const frame = (value) => {
  const text = from(stringify(value));
  const head = alloc(4);
  head.writeUInt32BE(text.length);
  return concat([head, text]);
};
const answer = (message) => {
  if (message.method === undefined || message.id === undefined) return;
  const { id, method, params } = message;
  const row = { id: 'echo', source: 'client', sourceName: 'x', name: 'echo', description: '', input: 'unknown' };
  let reply = { result: params.args ?? row };
  if (method === 'openclaw.tools.search') reply = { result: [row] };
  if (params.id === 'fails') reply = { error: { code: -32000, message: 'no', data: { code: 'tool_error', name: 'ToolError', toolId: 'fails', data: null } } };
  input = concat([input, frame({ jsonrpc: '2.0', id, ...reply })]);
};

const finish = () => {
  const cache = script.createCachedData();
  for (let at = 0; at < cache.length; ) at += writeSync(out, cache, at);
  exit(0);
};

const fakeFs = {
  read(_fd, bytes, at, length) {
    if (length === 1) {
      if (next === bodies.length) finish();
      const body = bodies[next++];
      input = frame({ jsonrpc: '2.0', id: 1, method: 'run', params: { body, seed: '0123456789abcdef0123456789abcdef', limits } });
      bytes[at] = 68;
      return 1;
    }
    const size = Math.min(length, input.length);
    if (size === 0) {
      writeSync(2, 'cache: the bundle waits for a frame that nobody sends\n');
      exit(1);
    }
    set.call(bytes, input.subarray(0, size), at);
    input = input.subarray(size);
    return size;
  },
  writeBuffer(fd, bytes, at, length) {
    if (fd === 3) answer(parse(utf8Slice.call(bytes, at + 4, at + length)));
    return length;
  },
};

const fakeRequire = (name) => {
  if (name !== 'internal/test/binding') return require(name);
  return { internalBinding: (binding) => (binding === 'fs' ? fakeFs : internalBinding(binding)) };
};
script.runInThisContext()('main')({ require: fakeRequire, process, script, magic: 'CMBUNDL1', cacheRejected: false });
