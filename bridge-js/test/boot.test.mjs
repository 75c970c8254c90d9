import { test } from 'node:test';
import assert from 'node:assert/strict';
import vm from 'node:vm';
import { LIMITS, SEED, frame, launch, runBody } from './harness.mjs';

const reportOf = async (options) => {
  const state = launch(options);
  await new Promise((resolve) => {
    state.onReport = resolve;
    state.onEnd = resolve;
  });
  state.kill();
  await state.exit;
  assert.equal(state.report[0], 'J', `no report; stderr: ${state.stderr}`);
  return JSON.parse(state.report.slice(1));
};

test('the report says what the self-checks found', async () => {
  const report = await reportOf({});
  assert.equal(report.guest_realm, true, report.foreign);
  assert.equal(report.barren_main_realm, true, report.left);
  assert.equal(report.permission_model, true);
  assert.equal(report.cacheRejected, false);
});

test('a template walks the whole realm and finds nothing foreign', async () => {
  const report = await reportOf({ magic: 'CMBUNDLT' });
  assert.equal(report.guest_realm, true, report.foreign);
});

test('without the permission model the report says so', async () => {
  const { flagsFor, major } = await import('./harness.mjs');
  const report = await reportOf({ flags: flagsFor(major()).filter((flag) => !flag.endsWith('permission')) });
  assert.equal(report.permission_model, false);
});

test('the code cache made under the same flags is accepted, and serves a run', async () => {
  const report = await reportOf({ cache: true });
  assert.equal(report.cacheRejected, false);
  const { result } = await runBody('const n: number = 1; return n', { cache: true });
  assert.deepEqual(result, { value: 1, valueType: 'number' });
});

test('a cache made under other flags is rejected and the run works all the same', async () => {
  const { flagsFor, major } = await import('./harness.mjs');
  const flags = [...flagsFor(major()).filter((flag) => flag !== '--jitless')];
  const { result, report } = await runBody('return 1', { cache: true, flags });
  assert.equal(JSON.parse(report.slice(1)).cacheRejected, true);
  assert.equal(result.value, 1);
});

test('hello comes first and names the version', async () => {
  const { frames, report } = await runBody('return 1');
  assert.deepEqual(frames[0], { jsonrpc: '2.0', method: 'hello', params: { protocol: 1, node: JSON.parse(report.slice(1)).node } });
});

const answersOf = async (bytes, count) => {
  const state = launch();
  const answers = [];
  let heard = () => {};
  const done = new Promise((resolve) => {
    state.onFrame = (message) => {
      if (message.id === 1 && message.method === undefined) answers.push(message);
      heard();
      if (answers.length === count) resolve();
    };
    state.onEnd = resolve;
    setTimeout(resolve, 20_000).unref();
  });
  let conversations = 0;
  for (const part of bytes) {
    if (part.length === 1 && (part[0] === 0x41 || part[0] === 0x44)) {
      // The gate drops what stands behind an answer, so the next conversation begins when the answer of the one before is here, however slow the machine.
      const before = conversations++;
      while (answers.length < before && state.ended === null) await Promise.race([new Promise((resolve) => (heard = resolve)), done]);
    }
    state.write(part);
    // Each part gets a read of its own.
    await new Promise((resolve) => setTimeout(resolve, 120));
  }
  await done;
  state.kill();
  await state.exit;
  return { answers, frames: state.frames, ended: state.ended, stderr: state.stderr };
};

const run = (body) => frame({ jsonrpc: '2.0', id: 1, method: 'run', params: { body, seed: SEED, limits: LIMITS } });

test('a rehearsed process answers a later body like a fresh one', async () => {
  const probe = 'console.log("x"); return [Math.random(), Object.keys(globalThis), RegExp.lastMatch, (await openclaw.tools.search("a").catch(() => 0))]';
  const search = frame({ jsonrpc: '2.0', id: 1, result: [] });
  const once = await answersOf([Buffer.from('A'), run(probe), search], 1);
  const thrice = await answersOf([Buffer.from('D'), run('return 1'), Buffer.from('D'), run('const c = null; return c.x'), Buffer.from('A'), run(probe), search], 3);
  assert.equal(once.answers.length, 1, once.stderr);
  assert.equal(thrice.answers.length, 3, thrice.stderr);
  assert.deepEqual(thrice.answers[2], once.answers[0]);
  assert.deepEqual(thrice.frames.slice(-4), once.frames);
});

test('what RegExp remembers of the last match is not of an earlier run', async () => {
  const names = ['$1', '$2', '$3', '$4', '$5', '$6', '$7', '$8', '$9', '$_', '$&', '$+', '$`', "$'"];
  names.push('input', 'lastMatch', 'lastParen', 'leftContext', 'rightContext');
  const probe = `return ${JSON.stringify(names)}.map((name) => RegExp[name])`;
  const fresh = vm.runInContext(`(() => { ${probe} })()`, vm.createContext(vm.constants.DONT_CONTEXTIFY));
  const matches = [
    '/(a)(b)(c)(d)(e)(f)(g)(h)(i)/.exec("<abcdefghi>"); return RegExp.$9',
    'RegExp.input = "left"; return RegExp.input',
    'RegExp.prototype.exec = () => null; "secret".replace(/s(.)/g, "x"); return /(se)cret/.test("secret")',
    'return "one two".split(/( )/)',
  ];
  for (const first of matches) {
    const { answers, stderr } = await answersOf([Buffer.from('D'), run(first), Buffer.from('A'), run(probe)], 2);
    assert.equal(answers.length, 2, stderr);
    assert.deepEqual(answers[1].result.value, [...fresh]);
  }
  const { answers } = await answersOf([Buffer.from('A'), run(probe)], 1);
  assert.deepEqual(answers[0].result.value, [...fresh]);
});

test('frames cut anywhere are put together again', async () => {
  const whole = Buffer.concat([Buffer.from('A'), run('return "é€😀"')]);
  for (const at of [1, 2, 3, 5, 40, whole.length - 1]) {
    const { answers } = await answersOf([whole.subarray(0, at), whole.subarray(at)], 1);
    assert.equal(answers[0].result.value, 'é€😀');
  }
});

test('a message that breaks the rules of the wire ends the child', async () => {
  for (const wrong of [Buffer.from([0, 0, 0, 0]), frame('{'), frame([1]), frame({ jsonrpc: '2.0', id: 1, method: 'other', params: {} })]) {
    const { answers, ended } = await answersOf([Buffer.from('A'), wrong], 1);
    assert.equal(answers.length, 0);
    assert.equal(ended?.code, 70);
  }
});

test('main-realm mode is another bundle and has process in reach', async () => {
  const { result } = await runBody('await new Promise((r) => setTimeout(r, 5)); return [typeof process.pid, typeof require("fs").readSync, __RPC_FD]', {
    danger: true,
    magic: 'CMBUNDLM',
  });
  assert.deepEqual(result.value, ['number', 'function', 3]);
  const { readFileSync } = await import('node:fs');
  const { DIST } = await import('./harness.mjs');
  assert.ok(!readFileSync(`${DIST}/bundle.js`, 'latin1').includes('__RPC_FD'));
});
