// The guest-mode attack bodies of tests/escape/bodies, against the guest realm alone: no jail is around this child.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runBody } from './harness.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../tests/escape/bodies');

/** Bodies that never end by themselves or use more memory or time than this harness bounds: the supervisor's limits end those. */
const ENDLESS = new Set([
  '111-microtask-loop', '112-finally-loop', '113-regex-backtracking', '117-shared-and-resizable-buffers', '119-invalid-length-bombs', '122-promise-flood',
]);
/** Verdicts other than a value. */
const VERDICT = {
  '031-unhandled-rejection-inspect': 'unhandled_rejection',
  '078-never-settles': 'never_settles',
  '080-call-flood': 'call_limit',
  '085-giant-result': 'output_limit',
  '086-log-spam': 'output_limit',
  '087-terminal-injection': 'body_error',
  '088-error-spoof': 'body_error',
  '089-throw-exotic': 'body_error',
};

for (const file of readdirSync(folder).filter((name) => name.endsWith('.js'))) {
  const body = readFileSync(join(folder, file), 'utf8');
  if (!body.includes('// mode: guest')) continue;
  const id = file.slice(0, -3);
  test(id, async () => {
    const limits = id === '086-log-spam' ? { consoleFloodBytes: 1 << 20 } : {};
    const run = await runBody(body, { limits, timeout: ENDLESS.has(id) ? 700 : 10_000 });
    assert.ok(!JSON.stringify(run.frames).includes('ESCAPED:'), `escaped: ${JSON.stringify([run.result, run.logs])}`);
    if (ENDLESS.has(id)) return;
    assert.equal(run.how, 'answered', run.stderr);
    // The refusal of `import` is the answer to those that need it; every other body must have run.
    const expected = VERDICT[id] ?? (/\bimport\(/.test(body.replace(/^\/\/.*$/gm, '')) ? 'syntax_error' : undefined);
    assert.equal(run.code, expected, run.error?.message);
  });
}
