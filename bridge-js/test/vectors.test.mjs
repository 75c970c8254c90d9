// The conversations of protocol/vectors whose bytes come from the supervisor, played to a real child: it answers a sound request, and ends at a wrong one.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './harness.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../protocol/vectors');
const load = (kind) =>
  existsSync(join(folder, kind))
    ? readdirSync(join(folder, kind)).filter((name) => name.endsWith('.json')).map((name) => [name, JSON.parse(readFileSync(join(folder, kind, name), 'utf8'))])
    : [];

const framed = (text) => {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
};

const bytesOf = (step) => {
  const times = step.times ?? 1;
  let one;
  if (step.hex !== undefined) one = Buffer.from(step.hex, 'hex');
  else if (step.text !== undefined) one = framed(step.text);
  else if (step.parts !== undefined) one = framed(step.parts.map(([text, count]) => text.repeat(count)).join(''));
  else one = framed(JSON.stringify(step.json));
  return Buffer.concat(Array(times).fill(one));
};

/** Sends what the supervisor of a conversation sends; gives the answers seen and how the child ended. */
const play = async (steps) => {
  const state = launch();
  const answers = [];
  const done = new Promise((resolve) => {
    state.onFrame = (message) => {
      if (message.id !== 1 || message.method !== undefined) return;
      answers.push(message);
      resolve();
    };
    state.onEnd = resolve;
    setTimeout(resolve, 1500).unref();
  });
  state.write(Buffer.from('A'));
  for (const step of steps) if (step.from === 'supervisor' && !step.eof) state.write(bytesOf(step));
  await done;
  state.kill();
  const how = await state.exit;
  return { answers, code: how.code, stderr: state.stderr };
};

/** Wrong only in ways a trusted sender cannot be: JSON text from a serializer is sound UTF-8, and its codes come from one list. */
const TRUSTED = new Set(['supervisor-bad-utf8.json', 'supervisor-code-unknown.json']);

for (const [name, { steps, violation }] of load('invalid')) {
  if (!name.startsWith('supervisor-')) continue;
  const first = steps.find((step) => step.from === 'supervisor');
  // The gate drops bytes behind an answer, so only what comes before the body has run can be told apart here.
  const early = steps.indexOf(first) === violation.step;
  if (TRUSTED.has(name) || !early) continue;
  test(`ends at ${name}`, async () => {
    const { answers, code } = await play(steps);
    assert.deepEqual(answers, []);
    if (name !== 'supervisor-truncated.json') assert.equal(code, 70);
  });
}

for (const [name, { steps }] of load('valid')) {
  const run = steps.find((step) => step.from === 'supervisor' && step.json?.method === 'run');
  if (run === undefined) continue;
  test(`takes the request of ${name}`, async () => {
    const { answers, stderr } = await play([run]);
    const [answer] = answers;
    // Bodies that call wait for replies that are not sent here; every other one is answered, by value or by verdict.
    if (!run.json.params.body.includes('openclaw')) assert.ok(answer?.result ?? answer?.error, stderr);
    assert.equal(stderr, '');
  });
}
