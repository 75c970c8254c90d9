// A server that wants to harm the program of its client: whatever it says, the connection ends by name and the program goes on.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, ConnectionLostError } from '../index.js';
import { frame, FrameReader } from '../frames.js';

const say = (message) => frame(JSON.stringify({ jsonrpc: '2.0', ...message }));
const HELLO = { id: 1, result: { protocol: 1, name: 'fake', capabilities: ['runs'], frameBytes: 1 << 24, runs: 8 } };
const call = (id, run) => ({ id, method: 'catalog.call', params: { run, seq: id, id: 'plugin:x:act', args: {} } });

/** A server that does this with each connection; `act` gets the path. */
const against = async (attack, act) => {
  const place = mkdtempSync(join(tmpdir(), 'codemode-hostile-'));
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    attack(socket);
  });
  await new Promise((resolve) => server.listen(join(place, 's.sock'), resolve));
  try {
    return await act(join(place, 's.sock'));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(place, { recursive: true, force: true });
  }
};

/** The messages that a client says, one after the other. */
const heard = (socket, hear) => {
  const reader = new FrameReader();
  socket.on('data', (chunk) => {
    for (const text of reader.push(chunk)) hear(JSON.parse(text));
  });
};

test('a server that asks before it has answered hello is refused', async () => {
  await against((socket) => socket.write(say(call(1, 'r'))), (path) => assert.rejects(connect(path), /before it answered hello/));
});

test('a server that asks with the same breath as its hello gets an answer', async () => {
  let tell;
  const answered = new Promise((resolve) => (tell = resolve));
  const attack = (socket) => {
    heard(socket, (message) => message.error && tell(message));
    socket.write(Buffer.concat([say(HELLO), say(call(1, 'r'))]));
  };
  await against(attack, async (path) => {
    const cm = await connect(path);
    assert.deepEqual((await answered).error.data.code, 'cancelled');
    await cm.close();
  });
});

test('a refused or wrong hello closes the connection', async () => {
  const error = { code: -32000, message: 'no\u001b[31m\nnote: all is well\u202e', data: { code: 'draining' } };
  for (const [answer, why] of [
    [{ id: 1, error }, /^no \[31m note: all is well $/],
    [{ id: 1, result: null }, /something else/],
    [{ id: 1, result: { protocol: 1, frameBytes: -1 } }, /something else/],
  ]) {
    let closed;
    const gone = new Promise((resolve) => (closed = resolve));
    const attack = (socket) => {
      socket.on('close', closed);
      socket.resume();
      socket.write(say(answer));
    };
    await against(attack, async (path) => {
      await assert.rejects(connect(path), (refused) => why.test(refused.message));
      await gone;
    });
  }
});

test('whatever a tool throws is an answer', async () => {
  const thrown = [
    JSON.parse('{"message": {"toString": 1}}'),
    Object.create(null, { message: { value: Object.create(null) } }),
    new Proxy({}, { get: () => { throw new Error('again'); } }),
    { get code() { throw this; } },
    Symbol('x'),
    null,
  ];
  const answers = [];
  let all;
  const done = new Promise((resolve) => (all = resolve));
  const attack = (socket) => {
    socket.write(say(HELLO));
    heard(socket, (message) => {
      if (message.method === 'run.start') thrown.forEach((_, index) => socket.write(say(call(index + 1, 'r'))));
      // Where the id of a tool is no text either.
      if (message.method === 'run.start') {
        const tool = { id: { toString: null } };
        socket.write(say({ id: thrown.length + 1, method: 'approval.request', params: { run: 'r', seq: 1, tool, args: {} } }));
      }
      if (message.error) answers.push(message.error.data.code);
      if (answers.length === thrown.length + 1) all();
    });
  };
  await against(attack, async (path) => {
    const cm = await connect(path);
    let next = 0;
    const run = cm.run('return 1', { id: 'r', catalog: { call: () => { throw thrown[next++]; } } });
    await done;
    assert.deepEqual(new Set(answers), new Set(['tool_error']));
    await cm.close();
    await assert.rejects(run.report, ConnectionLostError);
  });
});

/** Why the connection ends on which a server writes these messages without end, `batch` after `batch`, and reads nothing. */
const flooded = (message) => {
  const attack = (socket) => {
    socket.pause();
    socket.write(say(HELLO));
    let next = 0;
    const more = () => {
      while (!socket.destroyed) {
        const batch = Buffer.concat(Array.from({ length: 500 }, () => say(message((next += 1)))));
        if (!socket.write(batch)) return void socket.once('drain', more);
      }
    };
    // The run is there by then.
    setTimeout(more, 100);
  };
  return against(attack, async (path) => {
    const cm = await connect(path);
    const run = cm.run('return 1', { id: 'r' });
    const why = await run.report.catch((error) => error);
    assert.ok(why.calls.length <= 11_025, String(why.calls.length));
    return why.cause?.message;
  });
};

test('a server that asks and does not read is let go', async () => {
  assert.match(await flooded((id) => ({ id, method: 'catalog.describe', params: { run: 'none', id: 'x' } })), /does not read the answers/);
});

test('a server that tells of calls without end is let go', async () => {
  const told = (seq) => ({ method: 'run.call', params: { run: 'r', seq, method: 'call', state: 'queued', id: 'x'.repeat(2_000) } });
  assert.match(await flooded(told), /more calls than a run can have/);
});

test('a text of more than 128 levels ends the connection by name, and one of 128 does not', async () => {
  // Around it: message, params, report.
  const nested = (levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const finished = (value) => frame(`{"jsonrpc":"2.0","method":"run.finished","params":{"run":"r","report":{"ok":true,"value":${value}}}}`);
  const told = (text) => {
    const attack = (socket) => {
      heard(socket, (message) => message.method === 'run.start' && socket.write(Buffer.concat([say({ id: message.id, result: {} }), text])));
      socket.write(say(HELLO));
    };
    return against(attack, async (path) => {
      const cm = await connect(path);
      const report = await cm.run('return 1', { id: 'r' }).report.catch((error) => error.cause);
      await cm.close();
      return report;
    });
  };
  assert.equal((await told(finished(nested(125)))).ok, true);
  assert.equal((await told(finished(`"${'['.repeat(1_000)}\\"${'{'.repeat(1_000)}"`))).ok, true, 'what stands in a string is no level');
  for (const levels of [126, 1_000, 1_000_000]) assert.match((await told(finished(nested(levels)))).message, /more than 128 levels/);
  // No JSON, and no end: it is not waited for.
  assert.match((await told(frame(`{"a":"${'['.repeat(1_000)}`))).message, /no JSON/);
});

test('the words of a goodbye are one short line', async () => {
  const goodbye = { method: 'goodbye', params: { code: 'draining', message: `\u001b[2J\nnote: all is well${'y'.repeat(1_000_000)}` } };
  const attack = (socket) => {
    socket.resume();
    socket.end(Buffer.concat([say(HELLO), say(goodbye)]));
  };
  await against(attack, async (path) => {
    const cm = await connect(path);
    const { message } = await cm.closed;
    assert.match(message, /^[^\p{Cc}]{10,1100}$/u);
  });
});
