// What a body that ends well but says little, or badly for a reason its error does not name, is told.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { TOOLS, runBody } from './harness.mjs';

const warned = async (body, options) => {
  const run = await runBody(body, options);
  assert.ok(run.result, `${body}: ${run.error?.message} ${run.stderr}`);
  return run.logs.filter((entry) => entry.level === 'warn').map((entry) => entry.text).join('\n');
};
const message = async (body, options) => {
  const run = await runBody(body, options);
  assert.ok(run.error, `${body}: ${JSON.stringify(run.result)} ${run.stderr}`);
  return run.error.message;
};
const value = async (body) => {
  const run = await runBody(body);
  assert.ok(run.result, `${body}: ${run.error?.message} ${run.stderr}`);
  return run.result.value;
};

const silent = {
  'function h() {}\nasync function execute() { return h() }': /`execute` is declared and never called: end with `return await execute\(\)`/,
  'class Task { run() { return 4 } }': /the class `Task` is declared and never used/,
  'const result = 5;': /`result` is set and never used: end with `return result`/,
  '{ a: 1 }': /a `\{` at the start of a statement opens a block/,
  'return\n{ a: 1 }': /`return` stands alone on its line/,
  '// only a plan': /there is no statement in it$/,
  '// a plan\\nreturn 1': /its line breaks are written out/,
  'export default class Foo { run() { return 4 } }': /returned a function or class, and nobody calls it/,
  'const get = async () => ({ v: 1 });\nconst r = get();\nreturn r.v': /get is an async function, and a promise of it is not awaited/,
  'const r = openclaw.tools.call("echo", { a: 1 });\nreturn JSON.stringify(r)': /looks like a promise that was made a text; openclaw\.tools\.call gives a promise/,
  'const r = openclaw.tools.call("echo", { a: 1 });\nreturn `got ${r}`': /looks like a promise that was made a text/,
  'return await openclaw.tools.call("echo", { a: 1 }).a': /put await and call into parentheses/,
};
for (const [body, advice] of Object.entries(silent)) test(`told: ${JSON.stringify(body)}`, async () => assert.match(await warned(body), advice));

test('a body that shows something, or means nothing, is told nothing', async () => {
  for (const body of [
    'return undefined', 'undefined', 'return null', 'const x = 1; console.log(x)', 'await openclaw.tools.call("noop")', 'for (const x of [1]) x', 'const x = 1; if (x) return; x',
    'return {}', 'const r = await openclaw.tools.call("echo", {}); return JSON.stringify(r)', 'const r = openclaw.tools.call("echo", {}); return [(await r).a, "{}"]',
  ]) assert.equal(await warned(body), '', body);
});

const failing = {
  'const [t] = openclaw.tools.search("echo"); return t': /openclaw\.tools\.search gives a promise/,
  'return await openclaw.tools.search("echo").map((x) => x.id)': /`\(await openclaw\.tools\.search\(query\)\)\[0\]`/,
  'return await openclaw.tools.search("echo")[0].id': /`\(await openclaw\.tools\.search\(query\)\)\[0\]`/,
  'return await openclaw.tools.search("no such")[0].id': /`\(await openclaw\.tools\.search\(query\)\)\[0\]`/,
  'async function find() { return [] }\nreturn find().map((x) => x)': /find is an async function/,
  'const [t] = await openclaw.tools.search("no such"); return t.id': /the search for "no such" found no tool/,
  'const r = await openclaw.tools.search("echo"); return r.tools[0].id': /without an envelope/,
  'const r = await openclaw.tools.search("echo"); for (const t of r.results) t.id': /without an envelope/,
  'const { rows } = await openclaw.tools.search("echo"); return rows.length': /without an envelope/,
  'const { total, tools: found } = await openclaw.tools.search("echo"); for (const t of found) t': /without an envelope/,
  'await openclaw.tools.github.create_issue({})': /not methods of it; .*search\("create_issue"\)/,
  'const { tools } = openclaw; await tools.echo({})': /not methods of it; .*search\("echo"\)/,
  'const t = openclaw.tools; await t.echo({})': /not methods of it; .*search\("echo"\)/,
  'await openclaw.tools.execute("echo", {})': /has search, describe and call: find tools/,
  'await openclaw("echo")': /has search, describe and call: find tools/,
  'await github.create_issue({})': /search\("github create_issue"\)/,
  'return this.tools.call("echo")': /`this` is undefined here/,
  'async ({ tools }) => tools.call("echo")': /'undefined' as it is undefined; the function of a body is called without arguments/,
  'async (ctx) => ctx.tools.call("echo")': /the function of a body is called without arguments/,
  'const a = 1\n[1, 2].forEach((x) => x)': /the line begins with \[ and the one before it has no semicolon/,
  'const a = 1\n(async () => 1)()': /the line begins with \( and the one before it has no semicolon/,
  'module.exports = async () => 4': /no modules here; give the result with `return value`/,
  'return Object.noSuchThing({})': /this version of JavaScript has no Object\.noSuchThing/,
  'return context.tools': /nothing is handed to a body/,
  'exit(0)': /to give the result: `return value`/,
  'await Promise.any([openclaw.tools.call("boom")])': /All promises were rejected; the first of 1: boom/,
  'await openclaw.tools.call("echo", JSON.stringify({ a: 1 }))': /got a string; pass the object itself, not its JSON text/,
  'await openclaw.tools.call("echo", 1, 2)': /got a number; arguments go by their names/,
};
for (const [body, advice] of Object.entries(failing)) test(`advised: ${JSON.stringify(body)}`, async () => assert.match(await message(body), advice));

test('advice is for what is meant: other mistakes of the same kind get none of it', async () => {
  assert.doesNotMatch(await message('const rows = await openclaw.tools.search("echo"); return rows.foo()'), /openclaw\.tools has|promise/);
  assert.doesNotMatch(await message('const o = { tools: undefined }; return o.tools.x'), /envelope|promise/);
  assert.doesNotMatch(await message('const a = {};\n[1].map((x) => a.b.c)'), /semicolon/);
  assert.doesNotMatch(await message('const f = (ctx) => ctx.a.b; return f({})'), /without arguments/);
  assert.doesNotMatch(await message('const [t] = await openclaw.tools.search("echo"); return t.input.name.id'), /found no tool/);
});

test('a promise that is awaited by its name is not the mistake, and another one is', async () => {
  const start = 'const p = openclaw.tools.call("echo", {});\n';
  for (const use of ['const r = await p;', 'const [r] = await Promise.all([p]);', 'const r = await p.then((v) => v);']) {
    assert.doesNotMatch(await message(`${start}${use}\nreturn r.a.b`), /promise/, use);
  }
  assert.match(await message(`${start}await Promise.all([1, 2]);\nreturn p.a.b`), /gives a promise/);
});

test('code from strings is placed where it is asked for', async () => {
  const { error } = await runBody('const a = 1;\nreturn a + eval("1")');
  assert.deepEqual([error.data.line, error.data.column], [2, 12]);
});

test('what holds something and shows none of it is marked, not empty', async () => {
  const iterator = { $unreadable: 'an iterator, or a generator that has not run (use Array.from(it))' };
  assert.deepEqual(
    await value('const m = new Map([[1, 2]]); return [m.keys(), new Set().values(), [1].entries(), "a"[Symbol.iterator](), "aa".matchAll(/a/g), (function* () { yield 1 })()]'),
    Array(6).fill(iterator),
  );
  assert.deepEqual(await value('function* main() { yield 1 }'), iterator);
  assert.deepEqual(await value('async function* main() { yield 1 }'), { $unreadable: 'an async generator that has not run (use for await)' });
  assert.deepEqual(await value('return [new WeakMap(), new WeakSet()]'), Array(2).fill({ $unreadable: 'a weak collection, which cannot be listed' }));
  assert.deepEqual(await value('const b = new ArrayBuffer(8, { maxByteLength: 16 }); const d = new DataView(b, 4, 4); b.resize(2); return d'), { $unreadable: 'a view beyond the end of its buffer' });
  assert.deepEqual(await value('return Object(Symbol("s"))'), { $symbol: 's' });
  assert.deepEqual(await value('class A {} class B { x = [1].values() }; return [new A(), Object.assign([1].values(), { n: 1 })]'), [{}, { n: 1 }]);
  assert.match(await message('await openclaw.tools.call("echo", { d: new Map().keys() })'), /args\.d must be plain JSON, not an iterator.*Array\.from/);
});

test('a logged error tells its code, cause and the errors under it', async () => {
  const { logs } = await runBody(
    'try { await openclaw.tools.call("boom") } catch (e) { console.error("failed:", e) }\nconsole.log(new Error("a", { cause: new Error("b") }));\nconsole.log(new AggregateError([new Error("c")], "d"));\nconsole.log(new Error("plain"))',
    { tools: TOOLS },
  );
  const [call, cause, several, plain] = logs.map((entry) => entry.text);
  assert.match(call, /^failed: ToolError: boom\n {4}at body\.js:1:\d+\n {4}\{"code":"tool_error","data":null,"toolId":"boom"\}$/);
  assert.match(cause, /\n {4}\{"cause":\{"\$error":\{"name":"Error","message":"b"\}\}\}$/);
  assert.match(several, /\n {4}\{"errors":\[\{"\$error":\{"name":"Error","message":"c"\}\}\]\}$/);
  assert.match(plain, /^Error: plain\n {4}at body\.js:4:\d+$/);
});

test('a value that cannot fit is given up soon, and the size told is one it really passes', async () => {
  const sizes = /takes more than (\d+) bytes of JSON, the limit is (\d+)/.exec(await message('return Array(300_000).fill(0)', { limits: { valueBytes: 100_000 } }));
  assert.ok(Number(sizes[1]) > 100_000 && Number(sizes[1]) < 600_001, sizes[0]);
  assert.match(await message('return Array(70_000).fill(0)', { limits: { valueBytes: 100_000 } }), /takes 140001 bytes/);
});
