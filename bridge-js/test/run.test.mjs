// What a body can do and what comes back, rule by rule.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { TOOLS, runBody } from './harness.mjs';

const value = async (body, options) => {
  const run = await runBody(body, options);
  assert.ok(run.result, `${run.how} ${run.error?.message} ${run.stderr}`);
  return run.result.value;
};
const failure = async (body, options) => {
  const run = await runBody(body, options);
  assert.ok(run.error, `${run.how} ${JSON.stringify(run.result)} ${run.stderr}`);
  return { message: run.error.message, ...run.error.data, logs: run.logs, calls: run.calls };
};
const texts = (run) => run.logs.map((entry) => entry.text);

test('search, describe and call give native values', async () => {
  const body = 'const [h] = await openclaw.tools.search("echo", {limit: 1}); const d = await openclaw.tools.describe(h.id);\nconst r = await openclaw.tools.call(h.id, {n: 5}); return [typeof d, r.n + 1];';
  const run = await runBody(body);
  assert.deepEqual(run.result.value, ['object', 6]);
  assert.deepEqual(run.calls, [
    { method: 'openclaw.tools.search', query: 'echo', limit: 1 },
    { method: 'openclaw.tools.describe', id: 'echo' },
    { method: 'openclaw.tools.call', id: 'echo', args: { n: 5 } },
  ]);
});

test('no arguments, undefined and null are an empty object', async () => {
  const run = await runBody('await openclaw.tools.call("noop"); await openclaw.tools.call("noop", undefined); await openclaw.tools.call("noop", null); return 1');
  assert.deepEqual(run.calls.map((call) => call.args), [{}, {}, {}]);
});

test('arguments that are not plain JSON are refused before dispatch, naming the path', async () => {
  const cases = {
    '[1]': 'args must be a plain object, got an array',
    '"x"': 'args must be a plain object, got a string',
    '5': 'args must be a plain object, got a number',
    '{ a: { b: [1, 10n] } }': 'args.a.b[1] must be plain JSON, not a bigint',
    '{ "x y": () => 1 }': 'args["x y"] must be plain JSON, not a function',
    '{ m: new Map() }': 'args.m must be plain JSON, not a Map',
    '{ n: NaN }': 'args.n must be plain JSON, not the number NaN',
    '{ p: Promise.resolve(1) }': 'args.p must be plain JSON, not a promise (await it first)',
    '(() => { const a = {}; a.me = a; return a })()': 'args.me must be plain JSON, not a reference back to args',
    '{ l: [undefined] }': 'args.l[0] must be plain JSON, not undefined',
    '{ b: new Uint8Array(2) }': 'args.b must be plain JSON, not a Uint8Array',
  };
  for (const [args, text] of Object.entries(cases)) {
    const error = await failure(`await openclaw.tools.call("echo", ${args})`);
    assert.equal(error.name, 'TypeError');
    assert.ok(error.message.includes(text), error.message);
    assert.equal(error.line, 1);
    assert.deepEqual(error.calls, []);
  }
});

test('undefined fields are left out, dates and toJSON are text, once', async () => {
  const body = 'let n = 0; const r = await openclaw.tools.call("echo", { a: undefined, d: new Date(0), t: { toJSON() { n++; return "t" } }, get g() { n++; return 1 } }); return [r, n]';
  assert.deepEqual(await value(body), [{ d: '1970-01-01T00:00:00.000Z', t: 't', g: 1 }, 2]);
});

test('a failed call throws an Error with code, data and toolId, made where the call was', async () => {
  const tools = { ...TOOLS, no: () => { throw { code: 'denied', message: 'not for you', data: { why: 1 } }; } };
  const body = 'try {\n  await openclaw.tools.call("no", {});\n} catch (e) { return [e instanceof Error, e.name, e.message, e.code, e.data, e.toolId, /body.js:2:24/.test(e.stack)] }';
  assert.deepEqual(await value(body, { tools }), [true, 'ToolError', 'not for you', 'denied', { why: 1 }, 'no', true]);
  const error = await failure('\nawait openclaw.tools.call("no", {})', { tools });
  assert.deepEqual([error.code, error.line, error.column, error.data], ['body_error', 2, 22, { code: 'denied', data: { why: 1 }, toolId: 'no' }]);
});

test('ids and queries must be strings', async () => {
  for (const call of ['call(undefined, {})', 'describe({})', 'search(5)', 'call()', 'search("x", { limit: "y" })']) {
    const error = await failure(`await openclaw.tools.${call}`);
    assert.equal(error.name, 'TypeError');
    assert.deepEqual(error.calls, []);
  }
});

test('calls start when made, run at the same time, and queue above the cap', async () => {
  let open = 0;
  let most = 0;
  const tools = {
    wait: async (args) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 30));
      open--;
      return args.n;
    },
  };
  const body = 'return Promise.all(Array.from({ length: 9 }, (_, n) => openclaw.tools.call("wait", { n })))';
  assert.deepEqual(await value(body, { tools, limits: { inFlight: 3 } }), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(most, 3);
});

test('a call is on the wire before a loop that follows it', async () => {
  const run = await runBody('openclaw.tools.call("noop", {}); console.log("here"); for (;;);', { timeout: 500 });
  assert.equal(run.how, 'timeout');
  assert.deepEqual([run.calls.length, texts(run)], [1, ['here']]);
});

test('work that was started and not awaited counts while the body has given no value', async () => {
  const run = await runBody('openclaw.tools.call("slow", {ms: 60}).then(r => console.log("got", r.done)); const x = 1;');
  assert.deepEqual(run.result, { value: null, valueType: 'undefined' });
  assert.deepEqual(texts(run), ['got 60']);
});

test('after a value nothing new starts, what was started is drained, and lost output is told', async () => {
  const run = await runBody('(async () => { for (;;) { await openclaw.tools.call("noop", {}); console.log("late") } })().catch(() => 0); return "v"');
  assert.equal(run.result.value, 'v');
  assert.equal(run.calls.length, 1);
  assert.deepEqual(run.logs, [{ level: 'warn', text: 'one console entry after the return of the body left out; await the work before returning' }]);
});

test('a rejection nobody handled fails the run and keeps the value', async () => {
  const error = await failure('Promise.reject(new TypeError("lost"));\nreturn { kept: 1 }');
  assert.deepEqual([error.code, error.name, error.value, error.valueType, error.line], ['unhandled_rejection', 'TypeError', { kept: 1 }, 'object', 1]);
});

test('a rejection that is handled later is no failure', async () => {
  const run = await runBody('const p = Promise.reject(1); await openclaw.tools.call("noop", {}); await p.catch(() => 0); return 1');
  assert.equal(run.result?.value, 1);
});

test('the loser of a race may fail without anybody listening', async () => {
  const body = 'const r = await Promise.race([openclaw.tools.call("slow", {ms: 20}), openclaw.tools.call("boom", {}).then(() => 0, () => new Promise(() => {}))]); return r';
  assert.deepEqual(await value(body), { done: 20 });
});

test('a body that waits for nothing is known at once', async () => {
  const run = await runBody('await new Promise(() => {});');
  assert.equal(run.code, 'never_settles');
  assert.ok(run.ms < 2000);
});

test('values that are not JSON are marked', async () => {
  const body = `const loop = { list: [] }; loop.list.push(loop);
    return { big: 2n ** 64n, set: new Set([1, 2]), map: new Map([["a", new Map()]]), nan: NaN, inf: -Infinity, zero: -0, u: undefined, d: new Date(0), bad: new Date(NaN),
      bytes: new Uint8Array([65, 66]), buf: new ArrayBuffer(1), f64: new Float64Array([1.5, NaN]), err: Object.assign(new TypeError("x", { cause: 1 }), { code: 7 }),
      fn: function foo() {}, arrow: (() => () => 1)(), sym: Symbol("d"), rx: /a/g, loop, pending: new Promise(() => {}), done: Promise.resolve([1]), box: Object(1n),
      get bad2() { throw new Error("no") }, proxy: new Proxy({}, { ownKeys() { throw new Error("trap") } }), cls: new (class A { x = 1; #y = 2 }), json: { toJSON() { return { a: 1 } } },
      nul: Object.create(null), sparse: [, 1], key: { "é\\ud800": 1 } }`;
  assert.deepEqual(await value(body), {
    big: { $bigint: '18446744073709551616' }, set: { $set: [1, 2] }, map: { $map: [['a', { $map: [] }]] }, nan: { $number: 'NaN' }, inf: { $number: '-Infinity' }, zero: 0,
    u: null, d: '1970-01-01T00:00:00.000Z', bad: { $unreadable: 'invalid date' }, bytes: { $bytes: 'QUI=' }, buf: { $bytes: 'AA==' }, f64: [1.5, { $number: 'NaN' }],
    err: { $error: { name: 'TypeError', message: 'x', cause: 1, code: 7 } }, fn: { $function: 'foo' }, arrow: { $function: '' }, sym: { $symbol: 'd' }, rx: '/a/g',
    loop: { list: [{ $circular: '/loop' }] }, pending: { $promise: 'pending' }, done: [1], box: { $bigint: '1' }, bad2: { $unreadable: 'no' },
    proxy: { $unreadable: 'trap' }, cls: { x: 1 }, json: { a: 1 }, nul: {}, sparse: [null, 1], key: { 'é\ufffd': 1 },
  });
});

test('the type of a value', async () => {
  const types = { undefined: 'undefined', null: 'null', true: 'boolean', 1: 'number', '"s"': 'string', '1n': 'bigint', 'Symbol()': 'symbol', '(() => 1), Math.max': 'function', '({})': 'object', '[]': 'array' };
  for (const [text, type] of Object.entries(types)) assert.equal((await runBody(`return ${text}`)).result.valueType, type);
});

test('a rejected promise inside a value is marked and fails the run', async () => {
  const error = await failure('return [Promise.reject(new Error("x"))]');
  assert.deepEqual([error.code, error.value], ['unhandled_rejection', [{ $promise: 'rejected' }]]);
});

test('values nest to a depth and no further', async () => {
  const text = JSON.stringify(await value('let a = 1; for (let i = 0; i < 200; i++) a = [a]; return a'));
  assert.ok(text.includes('nested deeper than 100'));
});

/** Levels of objects and arrays in JSON text. */
const levelsOf = (item) => (item === null || typeof item !== 'object' ? 0 : 1 + Math.max(0, ...Object.values(item).map(levelsOf)));

const NESTERS = {
  array: '[a]',
  record: '({ a })',
  'map value': 'new Map([["k", a]])',
  'map key': 'new Map([[a, 1]])',
  set: 'new Set([a])',
  cause: 'new Error("x", { cause: a })',
  errors: 'new AggregateError([a])',
  'own field': 'Object.assign(new Error("x"), { a })',
};

test('the cap of the depth counts what marks add to the text', async () => {
  for (const [kind, next] of Object.entries(NESTERS)) {
    // 1 to 3 levels in front, so that the cap is met at every offset.
    for (const front of ['a', '[a]', '[[a]]']) {
      const made = await value(`let a = new Map([[new Float32Array([NaN]), 1n]]); for (let i = 0; i < 300; i++) a = ${next}; return ${front}`);
      const levels = levelsOf(made);
      assert.ok(levels > 95 && levels <= 110, `${kind}: ${levels}`);
      assert.ok(JSON.stringify(made).includes('nested deeper than 100'), kind);
    }
    const thrown = await failure(`let a = 1; for (let i = 0; i < 300; i++) a = ${next}; throw Object.assign(new Error("deep"), { a })`);
    assert.ok(levelsOf(thrown.data) > 95 && levelsOf(thrown.data) <= 110, `${kind}: ${levelsOf(thrown.data)}`);
  }
});

test('a value above the limit names both sizes; one at the limit is whole', async () => {
  assert.equal((await value('return "x".repeat(998)', { limits: { valueBytes: 1000 } })).length, 998);
  const error = await failure('return "x".repeat(999)', { limits: { valueBytes: 1000 } });
  assert.equal(error.code, 'output_limit');
  assert.ok(/\b1001\b.*\b1000\b/.test(error.message), error.message);
  const wide = await failure('return "é".repeat(600)', { limits: { valueBytes: 1000 } });
  assert.ok(/\b1202\b/.test(wide.message), wide.message);
  const list = await failure('return Array.from({ length: 400 }, (_, i) => i + 100)', { limits: { valueBytes: 1000 } });
  assert.ok(/\b1601\b/.test(list.message), list.message);
});

test('large values and replies arrive whole', async () => {
  for (const n of [60_000, 65_532, 65_536, 70_000, 200_000, 1_000_000]) {
    const run = await runBody(`const s = await openclaw.tools.call("big", { n: ${n} }); return s`);
    assert.equal(run.result.value.length, n);
  }
});

test('lone surrogates become U+FFFD everywhere', async () => {
  const run = await runBody('console.log("x\\ud83d"); const r = await openclaw.tools.call("echo", { s: "\\udc00" }); return [r.s, "\\u{1F600}".slice(0, 1)]');
  assert.deepEqual([run.result.value, texts(run)], [['\ufffd', '\ufffd'], ['x\ufffd']]);
});

test('names that differ only in lone surrogates stay apart', async () => {
  const cases = [
    ["{ '\\ud800': 1, '\\ud801': 2 }", { '\ufffd': 1, '\ufffd~2': 2 }],
    ["{ '\\ud800': 1, '\\ufffd': 2 }", { '\ufffd~2': 1, '\ufffd': 2 }],
    ["{ '\\ufffd~2': 0, 'a\\ud800': 3, '\\ud800': 1, '\\ud801': 2 }", { '\ufffd~2': 0, 'a\ufffd': 3, '\ufffd': 1, '\ufffd~3': 2 }],
    ["{ '\\ud800': 1, '\\ud801': 2, '\\ud800~2': 3, '\\ud802': 4 }", { '\ufffd': 1, '\ufffd~2': 2, '\ufffd~2~2': 3, '\ufffd~3': 4 }],
    ["{ '\\ud83d\\ude00': 1, '\\ude00': 2 }", { '\u{1F600}': 1, '\ufffd': 2 }],
  ];
  for (const [text, expected] of cases) assert.deepEqual(await value(`return ${text}`), expected);
  const fields = "{ '\\ud800': 1, '\\ud801': 2, '\\ufffd': 3 }";
  const shown = { '\ufffd~2': 1, '\ufffd~3': 2, '\ufffd': 3 };
  assert.deepEqual(await value(`return Object.assign(new Error('x'), ${fields})`), { $error: { name: 'Error', message: 'x', ...shown } });
  assert.deepEqual((await failure(`throw Object.assign(new Error('x'), ${fields})`)).data, shown);
  assert.deepEqual((await failure(`throw ${fields}`)).data, shown);
  // What points at such a field has the name that is in the text.
  assert.deepEqual(await value("const o = { '\\ud800': 1, '\\ud801': {} }; o['\\ud801'].up = o['\\ud801']; return o"), {
    '\ufffd': 1,
    '\ufffd~2': { up: { $circular: '/\ufffd~02' } },
  });
});

test('many names that become the same are told apart in reasonable time', async () => {
  const body = 'const o = {}; for (let i = 0; i < 40000; i++) o[String.fromCharCode(0xd800 + (i & 1023), 0xd800 + (i >> 10))] = i; return o';
  const made = await value(body);
  assert.equal(Object.keys(made).length, 40_000);
  assert.equal(made['\ufffd\ufffd~40000'], 39_999);
});

test('arguments whose names would become the same are refused', async () => {
  for (const fields of ["{ '\\ud800': 1, '\\ud801': 2 }", "{ '\\ufffd': 1, '\\ud801': 2 }", "{ '\\ud801': 1, '\\ufffd': 2 }"]) {
    const error = await failure(`await openclaw.tools.call("echo", { fields: ${fields} })`);
    assert.deepEqual([error.name, error.line, error.calls], ['TypeError', 1, []]);
    assert.equal(error.message, 'args.fields["\ufffd"] must be plain JSON, not a second field of that name (lone surrogates are sent as U+FFFD)');
  }
  const alone = `return openclaw.tools.call("echo", { '\\ud800': 1, '\\ud801': undefined, '\\ufffd': undefined })`;
  assert.deepEqual(await value(alone), { '\ufffd': 1 });
});

test('console entries: levels, kinds, directives', async () => {
  const body = `console.log("a", 1, 2n, null, undefined, true, Symbol("s"), { b: [1] }, ["x"], function f() {}, new Map([[1, 2]])); console.warn("%s is %d, %j %%", "n", 4.5, { a: 1 }, "rest");
    console.error(new Error("boom")); console.log(); console.log("100%", 1);`;
  const run = await runBody(body);
  assert.deepEqual(run.logs.slice(0, 2), [
    { level: 'log', text: 'a 1 2n null undefined true Symbol(s) {"b":[1]} ["x"] [Function: f] {"$map":[[1,2]]}' },
    { level: 'warn', text: 'n is 4.5, {"a":1} % rest' },
  ]);
  assert.ok(run.logs[2].text.startsWith('Error: boom\n    at body.js:2:'), run.logs[2].text);
  assert.deepEqual(run.logs.slice(3).map((entry) => entry.text), ['', '100% 1']);
});

test('a long entry keeps head and tail at whole characters and counts what is missing', async () => {
  const run = await runBody('console.log("é".repeat(3000) + "😀".repeat(1000)); return "tail"', { limits: { consoleEntryBytes: 1000 } });
  const [{ text, dropped }] = run.logs;
  assert.equal(run.result.value, 'tail');
  assert.ok(Buffer.byteLength(text) <= 1000);
  assert.ok(text.startsWith('éé') && text.endsWith('😀') && !text.includes('\ufffd'));
  const kept = text.replace(/\n… \d+ bytes cut …\n/, '');
  assert.equal(dropped, 10_000 - Buffer.byteLength(kept));
});

test('a console flood ends the run from inside the loop, after open calls are answered', async () => {
  const run = await runBody('openclaw.tools.call("slow", { ms: 50 }); while (true) console.log("x".repeat(1000));', { limits: { consoleFloodBytes: 100_000 } });
  assert.equal(run.code, 'output_limit');
  assert.ok(run.logs.length >= 100 && run.logs.length < 110);
  assert.equal(run.last, run.answer);
});

test('hostile things in the console do not end the run', async () => {
  const body = 'console.log({ toJSON() { throw new Error("no") } }, { toString() { throw 1 } }, Object.create(null), new Proxy([], { get() { throw 2 } })); const r = Proxy.revocable({}, {}); r.revoke(); console.log(r.proxy); return 1';
  assert.equal(await value(body), 1);
});

test('a getter of a value may log and be late', async () => {
  const run = await runBody('return { get a() { console.log({ x: [1] }); openclaw.tools.call("noop", { y: [2] }).catch(() => 0); return [3] } }');
  assert.deepEqual(run.result.value, { a: [3] });
  assert.equal(run.calls.length, 0);
});

test('a getter of arguments may itself call', async () => {
  const run = await runBody('const r = await openclaw.tools.call("echo", { a: [1], get b() { openclaw.tools.call("noop", { z: [9] }); return 2 }, c: 3 }); return r');
  assert.deepEqual(run.result.value, { a: [1], b: 2, c: 3 });
  assert.deepEqual(run.calls.map((call) => call.id), ['noop', 'echo']);
});

test('advice knows the global object, wrong namespaces, tools as methods and a forgotten await', async () => {
  const cases = {
    'globalThis.fetch("x")': /no network/, 'return globalThis.process.env': /no files/, 'window.fetch("x")': /globalThis/,
    'await openclaw.search("x")': /openclaw\.tools has search/, 'await openclaw.tools.get_weather({})': /tools are not methods.*search\("get_weather"\)/,
    'await openclaw.demo.echo({})': /tools are not properties/, 'await get_weather({})': /search\("get_weather"\)/,
    'const rows = openclaw.tools.search("echo"); return rows.map((r) => r.id)': /search gives a promise.*not awaited/,
    'const rows = openclaw.tools.search("echo"); return rows[0].id': /not awaited/, 'for (const r of openclaw.tools.search("echo")) r': /not awaited/,
    'const r = await openclaw.tools.call("echo", {}); return r.content[0].text': /value of the tool itself/,
    'return JSON.parse(await openclaw.tools.call("echo", {}))': /object already/, 'return True': /`true`/, 'print(1)': /console\.log/,
  };
  for (const [body, advice] of Object.entries(cases)) assert.match((await failure(body)).message, advice, body);
});

test('a forgotten await that fails nothing is told in the log', async () => {
  const warned = async (body) => (await runBody(body)).logs.map((entry) => `${entry.level}: ${entry.text}`);
  assert.match((await warned('const r = openclaw.tools.call("echo", { a: 1 }); return r.a'))[0], /^warn: the body returned nothing; .*not awaited/);
  assert.match((await warned('return [new Promise(() => {}), new Promise(() => {})]'))[0], /^warn: the returned value holds 2 promises/);
  for (const fine of ['await openclaw.tools.call("noop")', 'const p = openclaw.tools.call("noop"); await p', 'const p = openclaw.tools.call("noop"); await Promise.all([p])', 'return 1']) {
    assert.deepEqual(await warned(fine), [], fine);
  }
});

test('a name that is not defined is placed where it stands', async () => {
  const cases = [
    ['return [\n 1,\n fetch("x")\n]', 3, 2],
    ['return { fetch: "fetch", // fetch\n  a: fetch }', 2, 6],
    ['const x = {\n a: 1,\n b: process.env.X,\n};', 3, 5],
    ['return await fetch("x")', 1, 14],
    ['return globalThis.nosuch || nosuch', 1, 29],
  ];
  for (const [body, line, column] of cases) {
    const error = await failure(body);
    assert.deepEqual([error.line, error.column], [line, column], body);
    assert.ok(error.stack.includes(`body.js:${line}:${column}`), error.stack);
  }
});

test('aggregated and suppressed errors, causes and undefined are kept', async () => {
  const error = await failure('throw new AggregateError([new Error("one"), 2], "several", { cause: "c" })');
  assert.deepEqual(error.data, { cause: 'c', errors: [{ $error: { name: 'Error', message: 'one' } }, 2] });
  assert.equal((await failure('throw undefined')).message, 'thrown: undefined');
  const large = await failure('throw Object.assign(new Error("x"), { big: "y".repeat(100000) })');
  assert.match(large.data.$unreadable, /more than 65536 bytes/);
});

test('a value far above the limit is counted, not copied', async () => {
  const error = await failure('return "x".repeat(200_000_000)');
  assert.equal(error.code, 'output_limit');
  assert.match(error.message, /more than 200000000 bytes/);
});

test('errors of habit say what is there instead', async () => {
  const cases = { 'return await fetch("http://x/")': /network/, 'return process.env.HOME': /files, modules or processes/, 'return require("fs")': /openclaw\.tools\.call/, 'setTimeout(() => 1)': /no timers/, 'return tools.x()': /openclaw\.tools/, 'openclaw.foo()': /openclaw\.tools/, 'console.info(1)': /log, warn and error/, 'nosuch()': /globals of ECMAScript/ };
  for (const [body, advice] of Object.entries(cases)) assert.match((await failure(body)).message, advice);
  assert.equal(await value('return typeof fetch'), 'undefined');
  assert.equal(await value('try { fetch } catch (e) { return e.message }'), 'fetch is not defined');
});

test('errors name line and column of the caller\u2019s text', async () => {
  const fence = '```';
  const cases = [
    ['const a = 1;\nconst b = 2;\nconst c = null;\nreturn c.x;', 4, 10],
    [`${fence}js\nconst a = 1;\nreturn null.x;\n${fence}`, 3, 13],
    ['\uFEFFconst c = null; c.x', 1, 19],
    ['const a = 1;\r\nreturn null.x', 2, 13],
    ['#!/usr/bin/env node\nreturn null.x', 2, 13],
    ['const s = "\u2028\u2029";\nreturn null.x', 2, 13],
    ['interface A { x: string }\nconst a: A = null as any;\nreturn a.x', 3, 10],
    ['const f = () => {\n  throw new Error("x");\n};\nf()', 2, 9],
    ['async () => {\n  null.x;\n}', 2, 8],
    ['throw { code: "CARD_DECLINED" }', 1, 1],
  ];
  for (const [body, line, column] of cases) {
    const error = await failure(body);
    assert.deepEqual([error.line, error.column], [line, column], body);
    for (const frame of (error.stack ?? '').split('\n').slice(1)) assert.match(frame, /^ {4}at (?:.* \()?body\.js:\d+:\d+\)?$/);
  }
});

test('thrown things of every kind are told', async () => {
  assert.match((await failure('throw { code: "CARD_DECLINED", retry: false }')).message, /CARD_DECLINED/);
  for (const thrown of ['null', 'undefined', '"text"', '5', 'Symbol("s")', '10n', 'Object.create(null)', 'new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })', 'Object.defineProperty(new Error("x"), "stack", { get() { throw 1 } })']) {
    assert.equal((await failure(`throw ${thrown}`)).code, 'body_error');
  }
  const error = await failure('throw Object.assign(new RangeError("r"), { code: 7, nested: { a: [1n] } })');
  assert.deepEqual([error.name, error.data], ['RangeError', { code: 7, nested: { a: [{ $bigint: '1' }] } }]);
});

test('arguments above the limit fail that call only', async () => {
  const body = 'try { await openclaw.tools.call("echo", { s: "x".repeat(2000) }) } catch (e) { return [e.code, e.message, await openclaw.tools.call("echo", { s: 1 })] }';
  const [code, message, after] = await value(body, { limits: { argsBytes: 1000 } });
  assert.deepEqual([code, after], ['too_large', { s: 1 }]);
  assert.match(message, /2008.*1000/);
});

test('an uncaught call_limit is the verdict; a caught one is not', async () => {
  const loop = 'for (let i = 0; i < 5; i++) await openclaw.tools.call("noop", {});';
  assert.equal((await failure(loop, { limits: { requests: 3 } })).code, 'call_limit');
  assert.equal(await value(`try { ${loop} } catch (e) { return e.code }`, { limits: { requests: 3 } }), 'call_limit');
});

test('a body above its limit is invalid', async () => {
  assert.equal((await failure(`return "${'x'.repeat(200)}"`, { limits: { bodyBytes: 100 } })).code, 'invalid_body');
});

test('code from strings and modules are refused', async () => {
  for (const code of ['eval("1")', 'Function("return 1")()', 'new (async () => {}).constructor("return 1")']) assert.equal((await failure(code)).name, 'EvalError');
  for (const code of ['await import("node:fs")', 'import fs from "fs"', 'import("x").then()', 'export { x } from "y"', 'return import.meta.url', 'import\u00a0/* */ ("x")']) {
    const error = await failure(code);
    assert.equal(error.code, 'syntax_error');
    assert.match(error.message, /import|export/);
  }
  assert.equal(await value('// import("x")\nconst o = { import: 1 }; return `import(${o.import})` + /import\\(/.source'), 'import(1)import\\(');
});
