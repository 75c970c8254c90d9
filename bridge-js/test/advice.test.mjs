// No advice that fails when it is followed: every piece of code that an advice shows is run, with what it leaves open filled in.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { adviceForText, EXPORTS, MODULES, ONLY_CODE } from '../src/forms/advice.js';
import { adviceFor, allAdvice } from '../src/guest/advice.js';
import { runBody } from './harness.mjs';

/** What the code of an advice leaves to its reader. */
const GIVEN = `const query = "echo", id = "echo", args = { a: "1" }, value = [1], text = "\\u00e9x", bytes = [0xc3, 0xa9], calls = [openclaw.tools.call(id)], f = () => 1;\n`;

/** Words and not code: what a message puts into backticks to name it. */
const WORDS = new Set(['async', 'return']);

const codeIn = (text) => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1]).filter((code) => !WORDS.has(code));

const TEXTS = [
  ...Object.values(allAdvice()),
  adviceFor('ReferenceError', 'get_weather is not defined', '', -1),
  adviceFor('TypeError', 'openclaw.tools.get_weather is not a function', '', -1),
  adviceFor('TypeError', 'openclaw.tools.list is not a function', '', -1),
  adviceFor('TypeError', 'console.info is not a function', '', -1),
  adviceFor('TypeError', "Cannot read properties of undefined (reading 'echo')", 'openclaw.demo.echo()', 14),
  adviceFor('TypeError', "Cannot read properties of undefined (reading '0')", 'const r = await openclaw.tools.call(id); r.content[0]', 51),
  adviceFor('TypeError', 'a.map is not a function', 'const a = openclaw.tools.search("x")', -1),
  adviceFor('TypeError', 'a.map is not a function', 'const a = openclaw.tools.describe("x")', -1),
  adviceFor('TypeError', 'a.map is not a function', 'const a = openclaw.tools.call("x")', -1),
  ...['{"a":1}', '{"a":1', '{ a: 1, b: 2 }', '<html>', 'ls -la', 'def f():', 'SELECT a FROM b', 'Please call the tool'].map(adviceForText),
  EXPORTS, MODULES, ONLY_CODE,
];

test('every advice that is meant to be there is there', () => {
  for (const [at, text] of TEXTS.entries()) assert.ok(text.length > 0, `text ${at}`);
});

const codes = [...new Set(TEXTS.flatMap(codeIn))];

for (const code of codes) {
  test(`advised: ${code}`, async () => {
    const { result, error, stderr } = await runBody(GIVEN + code);
    assert.ok(result, `${error?.message} ${stderr}`);
  });
}

test('the advised code does what its advice says', async () => {
  const value = async (code) => (await runBody(GIVEN + code)).result?.value;
  const of = (name) => codeIn(allAdvice()[name])[0];
  assert.deepEqual(await value(of('TextEncoder')), { $bytes: Buffer.from('\u00e9x').toString('base64') });
  assert.equal(await value(of('TextDecoder')), '\u00e9');
  assert.equal(await value(of('URLSearchParams')), 'a=1');
  assert.equal((await value(`const text = "https://h.x:1/p/q?r=1"; return (${of('URL').replace('(text)', '("https://h.x:1/p/q?r=1")')})`.replace('const text = "https://h.x:1/p/q?r=1"; ', '')))[2], 'h.x:1');
  assert.deepEqual(await value(of('range')), [0, 1, 2]);
  assert.deepEqual(await value('return [True]'.replace('True', codeIn(allAdvice().True)[0])), [true]);
});

test('the rig can fail: code that does not work is found', async () => {
  assert.ok((await runBody(`${GIVEN}await openclaw.tools.list()`)).error);
  assert.ok(codes.length > 15 && codes.includes('await openclaw.tools.call(id, args)'));
});
