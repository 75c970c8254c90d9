// The conversations of protocol/vectors/gateway, and servers that misbehave.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, ConnectionLostError } from '../index.js';
import { frame, FrameReader } from '../frames.js';
import { Exchange, readMessage } from '../messages.js';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../protocol/vectors/gateway');
const load = (kind) => readdirSync(join(folder, kind)).map((name) => [name, JSON.parse(readFileSync(join(folder, kind, name), 'utf8'))]);

const bytesOf = (step) => {
  if (step.hex !== undefined) return Buffer.from(step.hex, 'hex');
  if (step.text !== undefined) return frame(step.text);
  if (step.parts !== undefined) return frame(step.parts.map(([text, count]) => text.repeat(count)).join(''));
  return frame(JSON.stringify(step.json));
};

/** Reads what codemode sends in a conversation, as the client does. Gives the step that is refused. */
const replay = (steps, cut) => {
  const reader = new FrameReader();
  const exchange = new Exchange();
  for (const [index, step] of steps.entries()) {
    if (step.from === 'gateway') {
      if (step.json?.method !== undefined) exchange.ask(() => {});
      continue;
    }
    const bytes = bytesOf(step);
    try {
      for (let at = 0; at < bytes.length; at += cut) {
        for (const text of reader.push(bytes.subarray(at, at + cut))) {
          const message = readMessage(text);
          if (message.kind === 'answer') exchange.answered(message.id)(message);
          if (message.kind === 'request') exchange.hear(message.id);
        }
      }
    } catch (error) {
      assert.equal(error.code, 'protocol_violation');
      return index;
    }
  }
  return null;
};

for (const cut of [1, 7, 1 << 20]) {
  test(`conversations are read, cut into ${cut}`, () => {
    const valid = load('valid');
    assert.ok(valid.length >= 15);
    for (const [name, { steps }] of valid) assert.equal(replay(steps, cut), null, name);
    const invalid = load('invalid').filter(([name]) => name.startsWith('codemode-'));
    assert.ok(invalid.length >= 8);
    for (const [name, { steps, violation }] of invalid) assert.equal(replay(steps, cut), violation.step, name);
  });
}

/** A server that says these bytes after the hello, to a client with one run. */
const told = async (bytes) => {
  const place = mkdtempSync(join(tmpdir(), 'codemode-fake-'));
  const path = join(place, 's.sock');
  const hello = { jsonrpc: '2.0', id: 1, result: { protocol: 1, name: 'fake', capabilities: ['runs'], frameBytes: 1 << 24, runs: 8 } };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(frame(JSON.stringify(hello)));
    socket.once('data', () => setTimeout(() => socket.write(bytes), 50));
  });
  await new Promise((resolve) => server.listen(path, resolve));
  const cm = await connect(path);
  const run = cm.run('return 1', { id: 'r' });
  const error = await run.report.then((report) => report, (reason) => reason);
  await cm.close();
  server.close();
  rmSync(place, { recursive: true, force: true });
  return error;
};

test('a server that breaks the wire ends the connection, and the run hears why', async () => {
  const say = (message) => frame(JSON.stringify({ jsonrpc: '2.0', ...message }));
  for (const [bytes, why] of [
    [Buffer.from([0xff, 0xff, 0xff, 0xff]), /4294967295 bytes/],
    [frame('{'), /no JSON/],
    [say({ id: 9, result: 1 }), /not asked/],
    [say({ method: 'run.finished', params: { run: 'other', report: {} } }), /does not go on/],
    [say({ id: 5, method: 'catalog.search', params: { run: 'r', query: 'x' } }), /out of order/],
    [say({ method: '__proto__', params: {} }), /does not have/],
  ]) {
    const error = await told(bytes);
    assert.ok(error instanceof ConnectionLostError, String(error));
    assert.match(error.cause?.message ?? '', why);
  }
});

test('the control: a sound report from the same server arrives', async () => {
  const sound = [{ jsonrpc: '2.0', id: 2, result: {} }, { jsonrpc: '2.0', method: 'run.finished', params: { run: 'r', report: { ok: true } } }];
  assert.deepEqual(await told(Buffer.concat(sound.map((message) => frame(JSON.stringify(message))))), { ok: true });
});

test('no answer to hello is an error in time', async () => {
  const place = mkdtempSync(join(tmpdir(), 'codemode-mute-'));
  const path = join(place, 's.sock');
  const server = createServer((socket) => socket.on('error', () => {}));
  await new Promise((resolve) => server.listen(path, resolve));
  await assert.rejects(connect(path, { helloTimeoutMs: 100 }), /no answer to hello within 100 ms/);
  server.close();
  rmSync(place, { recursive: true, force: true });
});
