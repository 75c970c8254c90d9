// The client against a real server.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { connect, ConnectionLostError, RunRefusedError } from '../index.js';
import { childrenOf, serve, sleep, tool, until } from './served.mjs';

let server;
let cm;
before(async () => {
  server = await serve();
  cm = await connect(server.path);
});
after(async () => {
  await cm?.close();
  const how = await server?.stop();
  assert.equal(how?.code, 0, how?.stderr);
});

/** A catalog with one tool that does this. */
const one = (call, parameters = { type: 'object' }) => ({
  search: () => [tool('act', { parameters })],
  describe: () => tool('act', { parameters }),
  call,
});
const ACT = "return openclaw.tools.call('plugin:test:act', {n: 1})";
const CAUGHT = "try { return await openclaw.tools.call('act', {}) } catch (e) { return [e.name, e.code, e.message, e.data] }";

test('a body runs, and its report comes', async () => {
  const report = await cm.run('return 6 * 7').report;
  assert.deepEqual([report.ok, report.value], [true, 42]);
});

test('searches, descriptions and calls are asked here, with who asks', async () => {
  const asked = [];
  const catalog = {
    search: (query, { limit, run }) => (asked.push(['search', query, limit, run]), [tool('act')]),
    describe: async (id, { run }) => (asked.push(['describe', id, run]), tool('act')),
    call: async (id, args, { seq, run }) => (asked.push(['call', id, args, seq, run]), { twice: args.n * 2 }),
  };
  const body = `const [t] = await openclaw.tools.search('act', {limit: 2}); await openclaw.tools.describe('act'); return openclaw.tools.call(t.id, {n: 4})`;
  const report = await cm.run(body, { catalog, id: 'mine' }).report;
  assert.deepEqual(report.value, { twice: 8 });
  assert.deepEqual(asked, [['search', 'act', 2, 'mine'], ['describe', 'act', 'mine'], ['call', 'plugin:test:act', { n: 4 }, 3, 'mine']]);
});

test('a static catalog is searched there', async () => {
  const catalog = { tools: [tool('act'), tool('other')], call: (id) => id };
  const report = await cm.run("return openclaw.tools.call((await openclaw.tools.search('act'))[0].id)", { catalog }).report;
  assert.equal(report.value, 'plugin:test:act');
  assert.equal(report.telemetry.catalogSize, 2);
});

test('what describe does not find is unknown', async () => {
  for (const nothing of [undefined, null]) {
    const report = await cm.run(CAUGHT, { catalog: { ...one(() => 1), describe: () => nothing } }).report;
    assert.deepEqual(report.value.slice(0, 3), ['UnknownToolError', 'unknown_tool', 'there is no tool "act"']);
  }
});

test('a misspelt option starts nothing', async () => {
  let calls = 0;
  const catalog = one(() => (calls += 1));
  const refused = await cm.run(ACT, { catalog, aprovals: { '*': 'deny' } }).report.catch((error) => error);
  assert.ok(refused instanceof RunRefusedError, refused);
  assert.equal(refused.code, 'unknown_option');
  assert.match(refused.message, /no option aprovals/);
  assert.equal(calls, 0);
  // Control: spelt well it is heard, and without it the call goes.
  assert.equal((await cm.run(ACT, { catalog, approvals: { '*': 'deny' } }).report).ok, false);
  assert.equal(calls, 0);
  assert.equal((await cm.run(ACT, { catalog }).report).value, 1);
});

test('logs and calls are told while the run goes on', async () => {
  const told = [];
  const options = { catalog: one(() => null), onLog: (entry) => told.push(entry.text), onCall: (call) => told.push(`${call.method} ${call.state}`) };
  await cm.run(`console.log('a'); await openclaw.tools.call('act', {}); console.warn('b')`, options).report;
  assert.deepEqual(told, ['a', 'call queued', 'call sent', 'call ok', 'b']);
});

test('hooks rewrite and block, approvals grant and refuse', async () => {
  const catalog = one((_, args) => args);
  const run = (options) => cm.run(CAUGHT, { catalog, ...options }).report.then((report) => report.value);
  assert.deepEqual(await run({ beforeToolCall: ({ args }) => ({ decision: 'allow', args: { ...args, more: 1 } }) }), { more: 1 });
  assert.equal((await run({ beforeToolCall: () => ({ decision: 'block', reason: 'no' }) }))[1], 'hook_blocked');
  assert.equal((await run({ beforeToolCall: () => { throw new Error('broken'); } }))[1], 'hook_failed');
  const approvals = { '*:act': 'ask' };
  assert.deepEqual(await run({ approvals, approve: () => true }), {});
  assert.equal((await run({ approvals, approve: async () => false }))[1], 'approval_denied');
  assert.equal((await run({ approvals, approve: () => { throw new Error('no screen'); } }))[1], 'approval_unavailable');
  assert.equal((await run({ approvals }))[1], 'approval_unavailable');
  assert.equal((await run({ approvals, approve: () => 'certainly' }))[1], 'approval_unavailable');
});

test('an error of a tool reaches the body with its code, name and data', async () => {
  const failing = (error) => cm.run(CAUGHT, { catalog: one(() => { throw error; }) }).report.then((report) => report.value);
  assert.deepEqual(await failing(Object.assign(new Error('out of paper'), { data: { tray: 2 } })), ['ToolError', 'tool_error', 'out of paper', { tray: 2 }]);
  assert.deepEqual(await failing(Object.assign(new RangeError('closed'), { code: 'tool_unavailable' })), ['RangeError', 'tool_unavailable', 'closed', null]);
  assert.equal((await failing('just text'))[2], 'just text');
});

test('no function of the gateway can say what lies deeper than the wire allows', async () => {
  const deep = (levels) => (levels === 0 ? 1 : [deep(levels - 1)]);
  // The message is the one level around a result.
  const called = (levels) => cm.run(`return (await openclaw.tools.call('act', {}))${'[0]'.repeat(levels)}`, { catalog: one(() => deep(levels)) }).report;
  assert.equal((await called(100)).value, 1);
  const refused = async (options) => (await cm.run(CAUGHT, options).report).value[1];
  assert.equal(await refused({ catalog: one(() => deep(128)) }), 'invalid_result');
  assert.equal(await refused({ catalog: one(() => 1), beforeToolCall: () => ({ decision: 'allow', args: { a: deep(127) } }) }), 'hook_failed');
  const failing = () => Promise.reject(Object.assign(new Error('no'), { data: deep(127) }));
  assert.equal(await refused({ catalog: one(failing) }), 'tool_error', 'the data is left out, the error is not');
  const started = await cm.run('return 1', { catalog: { tools: [tool('act', { parameters: { type: 'object', x: deep(127) } })] } }).report.catch((error) => error);
  assert.equal(started.code, 'invalid_result');
  assert.equal((await cm.run('return 1').report).value, 1, 'the connection goes on');
});

test('values that JSON or the wire does not have fail the one call or are made fit', async () => {
  const giving = (value) => cm.run(CAUGHT, { catalog: one(() => value) }).report.then((report) => report.value);
  const cycle = {};
  cycle.self = cycle;
  let deep = 1;
  for (let at = 0; at < 200; at += 1) deep = [deep];
  assert.equal(await giving(undefined), null);
  assert.equal((await giving(cycle))[1], 'invalid_result');
  assert.equal((await giving(deep))[1], 'invalid_result');
  assert.equal((await giving(10n))[1], 'invalid_result');
  assert.equal(await giving('half \ud83d of a pair'), 'half \ufffd of a pair');
  assert.deepEqual(await giving({ '\udc00': ['\\ud800'] }), { '\ufffd': ['\\ud800'] });
  assert.equal((await giving('x'.repeat(17 << 20)))[1], 'too_large');
  assert.equal((await giving('x'.repeat(5 << 20)))[1], 'too_large');
  assert.equal((await cm.run('return 1').report).value, 1, 'the connection goes on');
});

test('answers of another shape fail the one request', async () => {
  const catalog = { search: () => 'none', describe: () => ({ name: 'act' }), call: () => 1 };
  const body = "const f = (p) => p.catch((e) => e.code); return [await f(openclaw.tools.search('x')), await f(openclaw.tools.describe('x'))]";
  assert.deepEqual((await cm.run(body, { catalog }).report).value, ['tool_unavailable', 'tool_unavailable']);
});

test('a signal cancels the run, and what was asked for it', async () => {
  const stop = new AbortController();
  let withdrawn;
  const catalog = one((_, __, { signal }) => new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve((withdrawn = signal.reason.code)));
    stop.abort();
  }));
  const report = await cm.run(ACT, { catalog, signal: stop.signal }).report;
  assert.deepEqual([report.error.code, report.calls[0].state], ['cancelled', 'unknown']);
  await until('the tool hears of it', () => withdrawn === 'cancelled');
  await assert.rejects(cm.run('return 1', { signal: AbortSignal.abort(new Error('before')) }).report, /before/);
  const run = cm.run('for(;;);', { limits: { wallMs: 60_000 } });
  run.cancel();
  assert.equal((await run.report).error.code, 'cancelled');
});

test('a run that is not taken is refused by name', async () => {
  const refused = (code) => (error) => error instanceof RunRefusedError && error.code === code;
  await assert.rejects(cm.run('1', { limits: { wallMs: 0 } }).report, refused('invalid_limits'));
  await assert.rejects(cm.run('1', { catalog: { tools: [tool('a'), tool('a')] } }).report, refused('invalid_catalog'));
  const first = cm.run('for(;;);', { id: 'same', limits: { wallMs: 60_000 } });
  await assert.rejects(cm.run('1', { id: 'same' }).report, refused('run_exists'));
  first.cancel();
  await first.report;
  await assert.rejects(connect('/nowhere/s.sock'), { code: 'connect_failed' });
});

test('a server that lets a connection go says why, and every run hears it', async () => {
  const other = await connect(server.path);
  const run = other.run(ACT, { catalog: one(() => new Promise(() => {})) });
  await sleep(300);
  // What a server calls a violation: a field that runs do not have.
  const wrong = other.run('1', { context: { shell: 'yes' } });
  const lost = await run.report.then(assert.fail, (error) => error);
  assert.ok(lost instanceof ConnectionLostError);
  assert.equal(lost.goodbye.message, 'unknown_field (params.context)');
  assert.deepEqual(lost.calls.map((call) => call.state), ['unknown']);
  await assert.rejects(wrong.report, { code: 'connection_lost' });
  assert.equal((await other.closed).code, 'connection_lost');
  await assert.rejects(other.run('1').report, { code: 'connection_lost' });
});

test('closing a connection ends its runs, here and there', async () => {
  const idle = childrenOf(server.pid).length;
  const other = await connect(server.path);
  const runs = Array.from({ length: 12 }, () => other.run('for(;;);', { limits: { wallMs: 60_000 } }));
  await until('they have begun', () => childrenOf(server.pid).length >= 12);
  await other.close();
  for (const run of runs) await assert.rejects(run.report, { code: 'connection_lost' });
  // A template keeps up to 8 by processor waiting, which do not compute.
  const computing = () => childrenOf(server.pid).length;
  await until('no more children than can wait', () => computing() <= Math.max(idle, 2 + 8 * navigatorProcessors()));
  assert.equal((await cm.run('return 1').report).value, 1);
});

const navigatorProcessors = () => globalThis.navigator?.hardwareConcurrency ?? 2;
