// A stand-in for the supervisor: starts a Node as the launcher does, minus the jail, and speaks the wire. The gate byte, which the native side would
// make, is the first byte written.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
export const NODE = process.env.CODEMODE_NODE ?? process.execPath;
export const DIST = process.env.CODEMODE_DIST ?? join(root, 'dist');

export const LIMITS = {
  inFlight: 32,
  requests: 1024,
  argsBytes: 1 << 20,
  valueBytes: 1 << 20,
  bodyBytes: 256 << 10,
  consoleEntryBytes: 8 << 10,
  consoleFloodBytes: 16 << 20,
};
export const SEED = '000102030405060708090a0b0c0d0e0f';

export const versionOf = (node) => execFileSync(node, ['-p', 'process.versions.node'], { env: {} }).toString().trim();

export const flagsFor = (major) => {
  const flags = JSON.parse(readFileSync(join(root, 'flags.json'), 'utf8'));
  return [...flags.common, ...(flags[major] ?? flags['26'])];
};

export const packBundle = (magic, source, cache = Buffer.alloc(0)) => {
  const head = Buffer.alloc(16);
  head.write(magic, 'latin1');
  head.writeUInt32BE(source.length, 8);
  head.writeUInt32BE(cache.length, 12);
  return Buffer.concat([head, source, cache]);
};

/** The code cache for the Node under test, made as the build does. */
const makeCache = (dir) => {
  const file = join(dir, 'cache');
  const flags = flagsFor(major()).filter((flag) => !flag.endsWith('permission'));
  execFileSync(NODE, [...flags, join(DIST, 'cache.cjs'), join(DIST, 'bundle.js'), file], { env: {} });
  return readFileSync(file);
};

let packed = null;
const bundleFile = (magic, useCache, danger) => {
  packed ??= new Map();
  const key = `${magic}${useCache}${danger}`;
  if (!packed.has(key)) {
    const dir = mkdtempSync(join(tmpdir(), 'codemode-bridge-'));
    process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
    const source = readFileSync(join(DIST, danger ? 'bundle-danger.js' : 'bundle.js'));
    const cache = useCache ? makeCache(dir) : Buffer.alloc(0);
    const file = join(dir, 'bundle');
    writeFileSync(file, packBundle(magic, source, cache));
    packed.set(key, file);
  }
  return packed.get(key);
};

let cachedMajor = null;
export const major = () => (cachedMajor ??= versionOf(NODE).split('.')[0]);

export const frame = (value) => {
  const text = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(text.length);
  return Buffer.concat([head, text]);
};

/** One child. `onFrame(message, child)` sees every frame; `report` is what came on descriptor 4. */
export const launch = ({ magic = 'CMBUNDL1', cache = false, danger = false, flags } = {}) => {
  flags ??= flagsFor(major());
  const fd = openSync(bundleFile(magic, cache, danger), 'r');
  const boot = readFileSync(join(DIST, 'boot.js'), 'utf8');
  const child = spawn(NODE, [...flags, '-e', boot], { env: {}, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', fd], cwd: '/' });
  closeSync(fd);
  const bridge = child.stdio[3];
  const state = { child, bridge, frames: [], stderr: '', report: '', waiting: [], ended: null };
  child.stderr.on('data', (d) => (state.stderr += d));
  child.stdio[4].on('data', (d) => {
    state.report += d;
    state.onReport?.();
  });
  bridge.on('error', () => {});
  let pending = Buffer.alloc(0);
  bridge.on('data', (d) => {
    pending = pending.length === 0 ? d : Buffer.concat([pending, d]);
    while (pending.length >= 4) {
      const length = pending.readUInt32BE(0);
      if (pending.length < 4 + length) break;
      const message = JSON.parse(pending.subarray(4, 4 + length).toString('utf8'));
      pending = pending.subarray(4 + length);
      state.frames.push(message);
      state.onFrame?.(message);
    }
  });
  state.exit = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal })));
  state.exit.then((how) => {
    state.ended = how;
    state.onEnd?.(how);
  });
  state.write = (bytes) => bridge.write(bytes);
  state.kill = () => child.kill('SIGKILL');
  return state;
};

/** The tools of the attack bodies and of the tests: name → function of the arguments, which may give a promise or throw `{code, message, data}`. */
export const TOOLS = {
  noop: () => null,
  echo: (args) => args,
  slow: (args) => new Promise((resolve) => setTimeout(() => resolve({ done: args.ms }), Math.min(args.ms, 300))),
  boom: () => {
    throw { code: 'tool_error', message: 'boom' };
  },
  big: (args) => 'x'.repeat(args.n),
};

const answerOf = async (message, tools) => {
  try {
    const { method, params } = message;
    if (method === 'openclaw.tools.search') return { result: Object.keys(tools).filter((t) => t.includes(params.query)).slice(0, params.limit ?? 8).map(row) };
    if (method === 'openclaw.tools.describe') return { result: { ...row(params.id), parameters: { type: 'object' }, signature: '' } };
    const name = params.id;
    if (!Object.hasOwn(tools, name)) throw { code: 'unknown_tool', message: `no tool with id ${JSON.stringify(params.id)}` };
    return { result: (await tools[name](params.args)) ?? null };
  } catch (error) {
    const { code = 'tool_error', message: text = String(error), data = null } = error;
    return { error: { code: -32000, message: text, data: { code, name: 'ToolError', toolId: message.params.id, data } } };
  }
};

const row = (id) => ({ id, source: 'client', sourceName: 'test', name: id, description: '', input: 'unknown' });

/** Runs one body and gives `{answer, logs, calls, frames, report, ended, ms}`. `ended` is set when the child died without an answer. */
export const runBody = async (body, { tools = TOOLS, limits = {}, seed = SEED, timeout = 5000, onMessage, ...options } = {}) => {
  const state = launch(options);
  const logs = [];
  const calls = [];
  const started = performance.now();
  let requests = 0;
  const done = new Promise((resolve) => {
    state.onFrame = (message) => {
      onMessage?.(message, state);
      if (message.method === 'console') logs.push(message.params);
      else if (message.method?.startsWith('openclaw.')) {
        calls.push({ method: message.method, ...message.params });
        requests++;
        const limit = { ...LIMITS, ...limits }.requests;
        const reply =
          requests > limit
            ? Promise.resolve({ error: { code: -32000, message: 'too many requests', data: { code: 'call_limit', name: 'ToolError' } } })
            : answerOf(message, tools);
        reply.then((part) => state.ended === null && state.write(frame({ jsonrpc: '2.0', id: message.id, ...part })));
      } else if (message.id === 1 && message.method === undefined) resolve('answered');
    };
    state.onEnd = () => resolve('ended');
    setTimeout(() => resolve('timeout'), timeout).unref();
  });
  state.write(Buffer.from('A'));
  state.write(frame({ jsonrpc: '2.0', id: 1, method: 'run', params: { body, seed, limits: { ...LIMITS, ...limits } } }));
  const how = await done;
  const ms = performance.now() - started;
  state.kill();
  await state.exit;
  const answer = state.frames.find((m) => m.id === 1 && m.method === undefined);
  const last = state.frames[state.frames.length - 1];
  return { how, answer, result: answer?.result, error: answer?.error, code: answer?.error?.data.code, logs, calls, frames: state.frames, last, report: state.report, stderr: state.stderr, ended: how === 'ended' ? state.ended : null, ms };
};
