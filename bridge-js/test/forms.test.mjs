// The forms a body may come in, end to end for their values, and directly for what is refused and for the wrapper.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import vm from 'node:vm';
import { runBody } from './harness.mjs';

// In the bundle the plug-in is a lazy part; here `require` of a module does the same.
globalThis.require = createRequire(import.meta.url);
const { prepare } = await import('../src/forms/index.js');
const { originalOffset } = await import('../src/forms/lines.js');

const fence = '```';

const values = [
  ['a fence', `${fence}js\nreturn 1 + 1;\n${fence}`, 2],
  ['a fence with blank lines around an arrow', `\n\n${fence}js\n\nasync () => { return (await openclaw.tools.call("echo", {a: 1})).a; };\n\n${fence}\n\n`, 1],
  ['a fence that is never closed', `${fence}\nreturn 3`, 3],
  ['a fence of tildes', `~~~ts\nreturn 4 as number\n~~~`, 4],
  ['a longer fence around a shorter one in a template', `${fence}\`js\nreturn \`\n\${'x'}\`.length\n${fence}\``, 2],
  ['a fence on one line', `${fence}return 5${fence}`, 5],
  ['a fence that is closed behind the last of the code', `${fence}js\nreturn 51${fence}`, 51],
  ['a fence with code behind its marks', `${fence}const a = 52;\nreturn a\n${fence}`, 52],
  ['a fence with code behind its language', `${fence}js const a = 53;\nreturn a\n${fence}`, 53],
  ['a fence with attributes', `${fence}ts title="a (b).ts" {1,3}\nreturn 54 as number\n${fence}`, 54],
  ['a fence that is closed and never opened', `return 55\n${fence}\n`, 55],
  ['an arrow', 'async () => { return (await openclaw.tools.call("echo", {a: 1})).a; };', 1],
  ['an arrow in parentheses', '(async () => 6)', 6],
  ['an arrow that calls itself', '(async () => 7)()', 7],
  ['a nameless function', 'async function () { return 8 }', 8],
  ['a nameless function with types', 'async function (x?: number): Promise<number> { return 9 };', 9],
  ['a named function', 'async function anything() { return 10 }', 10],
  ['export default function', 'export default async function () { return 11 }', 11],
  ['export default named function', 'const n = 2;\nexport default async function go() { return 6 * n }', 12],
  ['export default arrow', 'export default async () => 13', 13],
  ['export default value', 'export default { a: 14 };', { a: 14 }],
  ['export of main', 'export async function main() { return 15 }', 15],
  ['a lone main', 'const n = 4;\nfunction twice(x) { return 2 * x }\nasync function main() { return twice(8) }', 16],
  ['a lone run in a constant', 'const run = async () => 17;', 17],
  ['a lone function in a constant', 'const solve = async () => 56', 56],
  ['a lone function that is exported', 'export const handler = async (event) => 57', 57],
  ['main that is called', 'main();\nasync function main() { return 18 }', 18],
  ['main that is awaited', 'async function main() { return 19 }\nawait main()', 19],
  ['an expression', '1 + 1', 2],
  ['an object in parentheses', '({ n: 3 })', { n: 3 }],
  ['a call', 'await openclaw.tools.call("echo", {k: "v"})', { k: 'v' }],
  ['a call with a semicolon', 'await openclaw.tools.call("echo", {k: "v"});', { k: 'v' }],
  ['a call with a comment behind', 'await openclaw.tools.call("echo", {k: 1}) // done', { k: 1 }],
  ['a string alone', '"hello"', 'hello'],
  ['an expression over lines', 'const a = 1;\n[\n  a,\n  2,\n].map(\n  (x) => x * 2,\n)', [2, 4]],
  ['a return before a trailing expression', 'if (true) return 1; 2', 1],
  ['a trailing comment after return', 'return 1 // end', 1],
  ['no value', 'const x = 1;', null],
  ['this at the top', 'return [typeof this, (() => typeof this)(), (function () { return typeof this })(), { f() { return this.n }, n: 1 }.f()]', ['undefined', 'undefined', 'object', 1]],
  ['strict mode when asked for', '"use strict"; return (function () { return this })() === undefined', true],
  ['sloppy mode otherwise', 'undeclared = 1; return undeclared + 010', 9],
  ['import as a word', "// import x from 'y'\nconst py = \"from pathlib import Path\"; return py;", 'from pathlib import Path'],
  ['byte-order mark and CRLF', '\uFEFFconst a = 1;\r\nreturn a;\r\n', 1],
  ['shebang', '#!/usr/bin/env node\nreturn 1', 1],
  ['html-like comments', 'let a = 1 <!-- b\nreturn a', 1],
  ['types', 'const n: number = 3; interface Row { id: string } return n as number;', 3],
  ['types over lines', 'type A = {\n  x: number\n}\nconst f = async <T,>(v: T): Promise<{\n  a: T\n}> => ({ a: v })\nconst a = <A>{ x: 1 }\n;(a as any).y = 2\nreturn [a, await f(3)]', [{ x: 1, y: 2 }, { a: 3 }]],
  ['classes with types', 'abstract class B<T> { abstract go(): T; protected readonly n: number = 1; static s?: string }\nclass P extends B<number> implements Iterable<number> { declare z: string; private q!: string; override go(): number { return this.n } *[Symbol.iterator](): Iterator<number> { yield 2 } m<T>(this: P, a?: T): T | undefined { return a } }\nconst p = new P()\nreturn [p.go(), ...p, p.m<number>(4)]', [1, 2, 4]],
  ['assertions at the end of a line', 'const x = 1 as const\n;[1].map(String)\nlet y = x as number\n[y] = [5]\nreturn y', 5],
  ['satisfies, generics in calls, optional chains', 'const m = new Map<string, number[]>(); m.set("a", [1]); const s = { a: 1 } satisfies Record<string, number>; return [m.get("a")!.length, s?.a!, ((x: unknown): x is string => true)(1)]', [1, 1, true]],
  ['overloads and this parameters', 'function g(x: string): string;\nfunction g(x: number): number;\nfunction g(this: void, x: any) { return x }\nreturn g(1)', 1],
  ['type arguments that read as comparisons', 'return (await openclaw.tools.call<{ a: number }>("echo", { a: 1 })).a', 1],
  ['type arguments over lines', 'const r = await openclaw.tools.call<\n  { a: number }\n>("echo", { a: 2 });\nreturn r.a', 2],
  ['type arguments with type arguments', 'return [1, 2].reduce<Record<string, number>>((all, x) => { all[x] = x; return all }, {})', { 1: 1, 2: 2 }],
  ['type arguments of Promise.all', 'return await Promise.all<any>([1, 2].map<Promise<number>>(async (x) => x))', [1, 2]],
  ['comparisons that look like type arguments', 'const a = 3, b = 2, c = 1; return [a<b>(c), a<Map>(c), 1<b>(c)]', [false, false, false]],
  ['comparisons with a name that is set elsewhere', 'globalThis.Limit = 1; const a = 3; return a<Limit>(0)', false],
  ['imports with types alone in braces', 'import { type X, type Y } from "y";\nconst a: X = 58; return a', 58],
  ['imports of types', 'import type { X } from "y";\nimport type Z from "z"\nconst a: X = 1; return a', 1],
  ['declare and type-only statements', 'declare const zzz: number;\ntype Q<T> = T extends string ? 1 : 2;\nlet v!: string;\nreturn typeof v', 'undefined'],
];

for (const [name, body, expected] of values) {
  test(`form: ${name}`, async () => {
    const run = await runBody(body);
    assert.deepEqual(run.result?.value, expected, `${run.how} ${run.error?.message} ${run.stderr}`);
  });
}

const refused = [
  ['', 'invalid_body', /empty/],
  [' \n\t', 'invalid_body', /empty/],
  [`${fence}js\n\n${fence}`, 'invalid_body', /nothing in it/],
  [`${fence}js\n1\n${fence}\n\n${fence}js\n2\n${fence}`, 'invalid_body', /several/],
  [`First:\n${fence}js\n1\n${fence}\nthen:\n${fence}js\n2\n${fence}`, 'invalid_body', /several/],
  [`Here you are:\n${fence}js\nreturn 1\n${fence}`, 'syntax_error', /text around a fenced block; send only the code/, 1],
  [`${fence}js\nreturn 1\n${fence}\nHope it helps`, 'syntax_error', /text around a fenced block; send only the code/, 4],
  ['return (', 'syntax_error', /Unexpected end of the body: '\(' of line 1 is never closed/, 1],
  ['async () => {\n  const x = 1;\n  return x;\n\n', 'syntax_error', /Unexpected end of the body: '\{' of line 1 is never closed/, 3, 12],
  ['const a = 1\nconst b = a +\n', 'syntax_error', /something is missing behind '\+'/, 2, 14],
  ['const s = `abc\nreturn s', 'syntax_error', /backtick is never closed/, 1, 11],
  ['f()\n/* open', 'syntax_error', /Unterminated comment/, 2, 1],
  ['const a = {\n  b: [1, 2,\n  c: 3\n};', 'syntax_error', /'\[' of line 2 must be closed first/, 4],
  ['f("x", {a: 1};', 'syntax_error', /'\(' of line 1 is not closed yet/, 1, 14],
  ['const o = { a: 1 b: 2 }', 'syntax_error', /comma.* is missing between '1' and it/, 1, 18],
  ['const a = 1;\\nreturn a;', 'syntax_error', /a backslash stands outside of a string: the text was escaped once too often/, 1, 13],
  ['const s = \\"x\\";', 'syntax_error', /escaped once too often/, 1, 11],
  ['{"code": "return 1"}', 'syntax_error', /JSON around a body: send the text of "code" alone/, 1],
  ['const el = <div>hi</div>;\nreturn el', 'syntax_error', /JSX/, 1, 12],
  ['return (\n  <App foo={1} />\n)', 'syntax_error', /JSX/, 2, 3],
  ['return <><p/></>', 'syntax_error', /JSX/, 1, 8],
  ['const html = "<p></p>"; const x = <any>1; const z = ;', 'syntax_error', /^Unexpected token ';'$/, 1, 53],
  ['# get it\nreturn 1', 'syntax_error', /a comment begins with `\/\/`, not with #/, 1, 1],
  ['const a = 1;\n  # note\nreturn a', 'syntax_error', /a comment begins with/, 2, 3],
  ['if (a and b) { }', 'syntax_error', /`&&` for and/, 1, 7],
  ['if (not a) { }', 'syntax_error', /`!` for not/, 1, 9],
  ['if (a) { } elif (b) { }', 'syntax_error', /`else if` for elif/, 1],
  ['foreach (x in y) { }', 'syntax_error', /`for \(const value of list\)`/, 1],
  ['const f = lambda x: x', 'syntax_error', /lambda as `\(value\) => value`/, 1],
  ['const fn = () => { return 1 2 }', 'syntax_error', /is missing between '1' and it$/, 1],
  ['return f"x {y}"', 'syntax_error', /no letter in front/, 1, 9],
  ["const a = 'it's fine';", 'syntax_error', /the string ended at the quote before it; write \\' inside/, 1, 15],
  ['return [1].map(x => { a: x, b: 2 })', 'syntax_error', /needs parentheses around it: `\(value\) => \(\{ a: value \}\)`/, 1, 30],
  ['function f() { for await (const x of y) {} }', 'syntax_error', /not async; write `async`/, 1, 20],
  ['const a;', 'syntax_error', /a const needs a value/, 1, 8],
  ['foo() = 2', 'syntax_error', /left side of an assignment must be a variable or a property/, 1, 1],
  ['return 1\0', 'syntax_error', /U\+0000; there is an invisible character; delete it/, 1, 9],
  ['const md = `\n```js\nx\n```\n`;\nreturn md', 'syntax_error', /a template literal holds ```/, 2, 1],
  [`${fence}js\nconst md = \`\n${fence}js\nx\n${fence}\n\`;\nreturn md\n${fence}`, 'invalid_body', /a template literal holds ```/],
  [`return 1\n${fence}\n${fence}`, 'syntax_error', /text around a fenced block/, 1],
  ['"""Do it"""\nreturn 1', 'syntax_error', /Python/, 1],
  ['#!/usr/bin/env python3\nprint("hi")', 'syntax_error', /Python/, 1],
  ['FOO=$(curl -s http://x)', 'syntax_error', /shell/, 1],
  ['--- a\n+++ b\n@@ -1 +1 @@', 'syntax_error', /diff/, 1],
  ['1. Search tools\n2. Call it', 'syntax_error', /prose/, 1],
  ['import { type X, y } from "y"; return 1', 'syntax_error', /import is refused/, 1, 1],
  ['return 1 2', 'syntax_error', /semicolon is missing between '1' and it/, 1, 10],
  ['[1].map(x => await f(x))', 'syntax_error', /not async; write `async`/, 1],
  ['function f() { await g() }\nreturn f()', 'syntax_error', /not async; write `async`/, 1],
  ['const n: number = 3;\nconst m: string[] = [1, 2;\nreturn n', 'syntax_error', /'\[' of line 2 is not closed yet/, 2],
  ['return \u201chello\u201d', 'syntax_error', /plain quote/, 1, 8],
  ['const x = 1;\u200b', 'syntax_error', /invisible/, 1, 13],
  ['{ tool: "demo:echo", args: { a: 1 } }', 'syntax_error', /put `return` before it/, 1],
  ['Search for echo and call it', 'syntax_error', /prose/, 1],
  ['SELECT * FROM t WHERE', 'syntax_error', /SQL/, 1],
  ['openclaw tools call demo:echo', 'syntax_error', /shell/, 1],
  ['export FOO=bar', 'syntax_error', /shell/, 1],
  ['x = [i for i in range(3)]', 'syntax_error', /Python/, 1],
  ['<tool_call>{"name":"x"}</tool_call>', 'syntax_error', /markup/, 1],
  [`${fence}json\n{"a":1}\n${fence}`, 'syntax_error', /JSON/, 2],
  [`${fence}bash\nls -la\n${fence}`, 'syntax_error', /marked bash/, 1],
  [`${fence}python\nprint("x")\n${fence}`, 'syntax_error', /marked python/, 1],
  ['import.meta.url', 'syntax_error', /modules are not available/, 1],
  ['export * from "x"', 'syntax_error', /export is refused/, 1],
  ['import type { X } from "y"; import z from "z"; return 1', 'syntax_error', /import is refused/, 1],
  ['const a = 1;\nconst b = 2;\nconst c = ;', 'syntax_error', /Unexpected/, 3],
  ['}', 'syntax_error', /Unexpected/, 1],
  ['}); evil(); (async()=>{', 'syntax_error', /Unexpected/, 1],
  ['} catch {} {', 'syntax_error', /Unexpected/, 1],
  ['let a = 1;\nlet a = 2;', 'syntax_error', /already been declared/, 2],
  ['enum A { x }', 'syntax_error', /enum/, 1],
  ['\nnamespace N { const a = 1 }', 'syntax_error', /namespace/, 2],
  ['class A {\n constructor(private x: number) {} }', 'syntax_error', /parameter property/, 2],
  ['@dec class A {}', 'syntax_error', /decorator/, 1],
  ['{"tool": "x", "args": {}}', 'syntax_error', /JSON/, 1],
  ['$ ls -la /tmp', 'syntax_error', /shell/, 1],
  ['#!/bin/bash\necho hi', 'syntax_error', /shell/, 1],
  ['curl -s https://x.y/z | jq .', 'syntax_error', /shell/, 1],
  ['def main():\n    return 1', 'syntax_error', /Python/, 1],
  ['import fs from "fs"', 'syntax_error', /modules are not available/, 1],
  ['\n  await import("x")', 'syntax_error', /import is refused/, 2],
  ['const x = { import(y) { return import(y) } }', 'syntax_error', /import is refused/, 1],
  [`${'('.repeat(20_000)}1${')'.repeat(20_000)}`, 'syntax_error', /nested too deeply/],
];

for (const [body, code, message, line, column] of refused) {
  test(`refused: ${JSON.stringify(body).slice(0, 60)}`, () => {
    const { ok, error } = prepare(body);
    assert.equal(ok, false);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    if (line !== undefined) assert.equal(error.line, line);
    if (column !== undefined) assert.equal(error.column, column);
  });
}

test('a body that parses as it stands is compiled as it stands', () => {
  for (const body of ['return 1', 'const a = 1;\nif (a) return a;', 'for (;;) break', '// only\nvar x;']) {
    const { code, inserts } = prepare(body);
    assert.equal(code, `(async()=>{${body}\n})`);
    assert.deepEqual(inserts, [0, 11]);
  }
});

test('positions lead back through what was put in', () => {
  const { code, inserts } = prepare('async () => 1');
  assert.equal(code, '(async()=>{return (async () => 1)()\n})');
  for (let i = 0; i < 13; i++) assert.equal(originalOffset(code.indexOf('async () => 1') + i, inserts), i);
});

// A small generator, the same every time: tokens that open, close and comment, glued at random.
const random = (() => {
  let state = 12345;
  return (n) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state % n;
  };
})();
const TOKENS = [
  '{', '}', '(', ')', '[', ']', ';', '\n', ',', '`', '${', '"', "'", '/', '*', '/*', '*/', '//', '<!--', '-->', '\\', '=>', 'async', 'await', 'return', 'function', 'yield',
  'a', 'b', '1', '=', '+', '++', ':', '?', '.', '...', 'class', 'static', 'if', 'else', 'do', 'while', 'for', 'of', 'in', 'let', 'var', 'const', 'new', 'this', 'super',
  'import', 'export', 'default', 'get', 'set', '#x', '/a/g', '/[/', '\u2028', '\r\n', '\uFEFF', 'throw', 'try', 'catch', 'case', 'switch', 'arguments', 'as', 'number', '<', '>', '!', '@',
  '})', '})(', '(async()=>{', '\n})', 'enum', 'type', 'interface', '"use strict"', '=>{', '()=>', '```', '~~~', '0', 'n', 'using', '|', '&', '!', 'in', 'instanceof',
];

test('whatever the text, what is compiled is one function and nothing else', () => {
  const text = (count) => Array.from({ length: count }, () => TOKENS[random(TOKENS.length)] + (random(3) === 0 ? ' ' : '')).join('');
  let compiled = 0;
  for (let round = 0; round < 30_000; round++) {
    const body = round % 3 === 0 ? `${text(random(6))}return${text(random(6))}` : text(1 + random(round % 2 ? 12 : 5));
    const ready = prepare(body);
    if (!ready.ok) {
      assert.ok(['syntax_error', 'invalid_body'].includes(ready.error.code), JSON.stringify(body));
      continue;
    }
    let made;
    try {
      // A body that ended the wrapper would run code here, or give something that is not the whole text.
      made = new vm.Script(ready.code).runInThisContext();
    } catch (error) {
      // V8 may know a rule the parser does not; it may not run anything.
      assert.equal(error.name, 'SyntaxError', `${JSON.stringify(body)}: ${error}`);
      continue;
    }
    compiled++;
    assert.equal(typeof made, 'function');
    assert.equal(Function.prototype.toString.call(made), ready.code.slice(1, -1), JSON.stringify(body));
  }
  assert.ok(compiled > 500, `only ${compiled} of the texts parsed`);
});
