// The rule for `import`: a body is refused when, and only when, the parser sees the keyword. Each spelling runs from end to end on the Node under test:
// an honest one must give its value, a disguised one must be refused before V8 sees it.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { runBody } from './harness.mjs';

/** Each gives 1. */
const HONEST = [
  'const s = "import(1)"; return 1',
  "const s = 'import x from \"y\"'; return 1",
  'const s = `import("x")`; return 1',
  'const s = `${"import"}("x")`; return 1',
  'const s = String.raw`import("x")`; return 1',
  'const s = "a\\\nimport(1)"; return 1',
  '// import("x")\nreturn 1',
  '/* import("x") */ return 1',
  '/* a\nimport x from "y" */ return 1',
  'let a = 1 <!-- import("x")\nreturn a',
  'let a = 1;\n--> import("x")\nreturn a',
  '#!/usr/bin/env import("x")\nreturn 1',
  'return /import\\(/.test("import(") ? 1 : 0',
  'return /[/]import("x")/.test("/importx") ? 1 : 1',
  'return /import/dgimsuy.flags.length - 6',
  'return /[[a-z]--[import]]/v.test("b") ? 1 : 0',
  'return /(?<import>1)/.exec("1").groups.import * 1',
  'const o = { import: 1 }; return o.import',
  'const o = { "import": 1 }; return o["import"]',
  'const o = { import() { return 1 } }; return o.import()',
  'const o = { async import() { return 1 } }; return o.import()',
  'const o = { *import() { yield 1 } }; return [...o.import()][0]',
  'const o = { async *import() { yield 1 } }; return (await o.import().next()).value',
  'const o = { get import() { return 1 }, set import(x) {} }; return o.import',
  'const o = { a: { import: 1 } }; return o.a?.import',
  'const o = { import: 1 }; return o?.import',
  'const o = { import: 1 }; return o\n.\nimport',
  'const o = { import: 1 }; return o./* x */import',
  'const { import: a } = { import: 1 }; return a',
  'const { import: a = 1 } = {}; return a',
  'const o = { import: { import: 1 } }; return o.import.import',
  'const o = { im\\u0070ort: 1 }; return o.import',
  'const o = { import: 1 }; return o.im\\u0070ort',
  'class A { import() { return 1 } } return new A().import()',
  'class A { static import = 1 } return A.import',
  'class A { import = 1 } return new A().import',
  'class A { static import() { return 1 } } return A.import()',
  'class A { #import = 1; get() { return this.#import } } return new A().get()',
  'class A { static #import() { return 1 } static go() { return A.#import() } } return A.go()',
  'class A { #import = 1; static has(x) { return #import in x } } return A.has(new A()) ? 1 : 0',
  'class A { get import() { return 1 } } return new A().import',
  'class A { static { this.import = 1 } } return A.import',
  'class A { "import" = 1 } return new A().import',
  'class B { import() { return 1 } } class A extends B { go() { return super.import() } } return new A().go()',
  'const importer = 1; return importer',
  'const $import = 1, _import = 0, import1 = 0; return $import',
  'const imports = { exports: 1 }; return imports.exports',
  'const ımport = 1; return ımport',
  'importing: for (;;) break importing; return 1',
  'const n = 1_000, x = 0b1_0; return n - 999 /* import */',
  'const a = 4, g = 1, b = a /g/ 2; return b > 0 && "import".length === 6 ? 1 : 0',
  'const t = (s) => s.raw[0].length; return t`import` - 5',
  'return `${`${/import/.source}`}`.length - 5',
  'const o = { get: 1, set: 2, import: 3, async: 4 }; return o.get',
  'const x = { import: 1 } satisfies { import: number }; return x.import',
  'interface A { import: number; import2?(): void } const a: A = { import: 1 }; return a.import',
  'type A = "import"; const a: A = "import"; return a.length - 5',
  'import type { A } from "a"; const a: A = 1; return a',
  'return ["import"].map((x) => x.length)[0] - 5',
  'switch ("import") { case "import": return 1 }',
  'return "\\u0069mport".length - 5',
  'return `\n\\`import("x")\\`\n`.length > 0 ? 1 : 0',
  'const f = function () { return { import: 1 } }; return f().import',
  'return Object.keys({ import: 1 }).length',
  'try { throw { import: 1 } } catch ({ import: e }) { return e }',
  'const o = { ["import"]: 1 }; return o["im" + "port"]',
];

/** Each is refused with a syntax error, and nothing of it runs. */
const DISGUISED = [
  'import("x")',
  'await import("x")',
  'await import ("x")',
  'await import/**/("x")',
  'await import/* a\n*/("x")',
  'await import\n("x")',
  'await import // a\n("x")',
  'await import\u00a0("x")',
  'await import\u2028("x")',
  'await import\uFEFF("x")',
  'im\\u0070ort("x")',
  '\\u0069mport("x")',
  '\\u{69}mport("x")',
  'const f = () => import("x")',
  'const f = async (x = import("x")) => x',
  'const o = { import: import("x") }',
  'const o = { import() { return import("x") } }',
  'const o = { [import("x")]: 1 }; o.import',
  'o.import(import("x"))',
  'o.import[import("x")]',
  'class A { import = import("x") }',
  'class A { static [import("x")] = 1 }',
  'class A { #import = import("x") }',
  'class A { static { import("x") } }',
  'class A extends import("x") {}',
  '`${import("x")}`',
  '`a${`b${import("x")}`}`',
  'tag`${import("x")}`',
  '/import/.test(import("x"))',
  'a = b\n/import("x")/g',
  'let a = 4; a /2/ import("x")',
  '"a" /* " */ + import("x")',
  'x = 1 <!-- \nimport("x")',
  '/* \n*/ --> a\nimport("x")',
  '#!/a\nimport("x")',
  'import.meta',
  'import.meta.url',
  'import . meta',
  'import.source("x")',
  'import.defer("x")',
  'import("x", { with: { type: "json" } })',
  'import x from "y"',
  'import "y"',
  'import * as x from "y"',
  'import { a as b } from "y"',
  'import x, { y } from "z"',
  'import source x from "y"',
  'import defer * as x from "y"',
  'import x from "y" with { type: "json" }',
  'import type { A } from "a"; import b from "b"',
  'import { type A, b } from "a"',
  'import x = require("y")',
  'export * from "x"',
  'export { a } from "x"',
  'const a: number = 1; import("x")',
  'const f = (x: import("y").Z) => import("x")',
  'label: import("x")',
  'if (0) import("x")',
  'for (const a of import("x")) ;',
  'for await (const a of [import("x")]) ;',
  'void import("x")',
  'new (import("x"))',
  'new import("x")',
  'async () => { await import("x") }',
  'export default () => import("x")',
  '({ ...import("x") })',
  'f(...[import("x")])',
  'a?.[import("x")]',
  'a ?? import("x")',
  'a ||= import("x")',
  'const { a = import("x") } = {}',
  'throw import("x")',
  'switch (import("x")) {}',
  '1_000; import("x")',
  '/[[a]&&[b]]/v; import("x")',
  '/(?<import>a)/u; import("x")',
  '#import in import("x")',
  '}; import("x"); {',
  '*/ import("x") /*',
  '`; import("x"); `',
  '\\u0060; import("x")',
];

const inFours = async (list, check) => {
  for (let at = 0; at < list.length; at += 4) await Promise.all(list.slice(at, at + 4).map(check));
};

test(`the word import in ${HONEST.length} honest bodies`, async () => {
  assert.ok(HONEST.length >= 60);
  await inFours(HONEST, async (body) => {
    const { result, error, stderr } = await runBody(body);
    assert.equal(result?.value, 1, `${JSON.stringify(body)}: ${error?.message} ${stderr}`);
  });
});

test(`${DISGUISED.length} ways to write the keyword`, async () => {
  assert.ok(DISGUISED.length >= 60);
  await inFours(DISGUISED, async (body) => {
    const { code, error, result, logs } = await runBody(`console.log("ran")\n${body}`);
    const alone = await runBody(body);
    if (body === '`; import("x"); `') {
      // A template that holds the letters: honest after all, and only text.
      assert.equal(alone.result?.value, '; import("x"); ');
      return;
    }
    for (const run of [{ code, error, result, logs }, alone]) {
      assert.equal(run.code, 'syntax_error', `${JSON.stringify(body)}: ${JSON.stringify(run.result)} ${run.error?.message}`);
      assert.deepEqual(run.logs, [], body);
    }
  });
});
