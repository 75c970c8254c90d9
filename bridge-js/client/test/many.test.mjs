// A thousand runs over one connection, and connections that are cut at any moment.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { createConnection, createServer } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, ConnectionLostError } from '../index.js';
import { childrenOf, serve, tool, until } from './served.mjs';

const RUNS = 1_000;
const AT_ONCE = 32;

let server;
before(async () => (server = await serve('--concurrency', String(AT_ONCE))));
after(async () => assert.equal((await server.stop()).code, 0));

const catalogOf = (called) => ({
  search: (query) => [tool(query)],
  describe: (id) => tool(id),
  call: async (id, { n }) => {
    called.add(n);
    // Out of order, so that an answer to another run would be seen.
    if (n % 3 === 0) await new Promise((resolve) => setTimeout(resolve, n % 7));
    return n + 1;
  },
});

const body = (n) => `const [t] = await openclaw.tools.search('add'); return (await openclaw.tools.call(t.id, {n: ${n}})) * 2`;

/** Does `work` for 0 … count - 1, so many at once. */
const each = async (count, atOnce, work) => {
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < count) await work(next++);
  }));
};

test(`${RUNS} runs over one connection, ${AT_ONCE} at a time, catalog here: all right`, async () => {
  const cm = await connect(server.path);
  const called = new Set();
  const catalog = catalogOf(called);
  await each(RUNS, AT_ONCE, async (n) => {
    const report = await cm.run(body(n), { catalog, limits: { wallMs: 60_000 } }).report;
    assert.deepEqual([report.ok, report.value], [true, (n + 1) * 2], JSON.stringify(report.error));
    assert.deepEqual(report.calls.map((call) => call.state), ['ok', 'ok']);
  });
  assert.equal(called.size, RUNS);
  await cm.close();
});

/** Between client and server: cuts the stream after so many bytes of the server's. */
const cutter = async (bytes) => {
  const folder = mkdtempSync(join(tmpdir(), 'codemode-cut-'));
  const path = join(folder, 's.sock');
  const middle = createServer((near) => {
    const far = createConnection(server.path);
    let left = bytes;
    const cut = () => (near.destroy(), far.destroy());
    near.pipe(far);
    far.on('data', (chunk) => {
      near.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) cut();
    });
    for (const end of [near, far]) end.on('error', cut).on('close', cut);
  });
  await new Promise((resolve) => middle.listen(path, resolve));
  return { path, close: () => (middle.close(), rmSync(folder, { recursive: true, force: true })) };
};

test('a connection that is cut at random: every run is accounted for, and nothing is left', async () => {
  const seen = { whole: 0, cut: 0, states: new Set() };
  for (let round = 0; round < 25; round += 1) {
    // Anywhere from the hello to the end of all runs.
    const cut = await cutter(150 + Math.floor(Math.random() ** 2 * 40_000));
    const cm = await connect(cut.path).catch((error) => assert.equal(error.code, 'connection_lost'));
    if (cm) {
      const begun = new Set();
      const done = new Set();
      const catalog = {
        ...catalogOf(new Set()),
        call: async (id, { n }) => {
          begun.add(n);
          if (n % 2) await new Promise((resolve) => setTimeout(resolve, n));
          done.add(n);
          return n;
        },
      };
      const runs = Array.from({ length: 20 }, (_, n) => cm.run(`return openclaw.tools.call('plugin:test:add', {n: ${n}})`, { catalog }).report);
      const settled = await Promise.allSettled(runs);
      settled.forEach(({ status, value, reason }, n) => {
        if (status === 'fulfilled') {
          assert.deepEqual([value.ok, value.value], [true, n]);
          seen.whole += 1;
          return;
        }
        assert.ok(reason instanceof ConnectionLostError, String(reason));
        seen.cut += 1;
        assert.ok(reason.calls.length <= 1);
        const state = reason.calls[0]?.state ?? 'cancelled';
        seen.states.add(state);
        // What is called unknown has begun here, what is called cancelled has not, and what has ended here is said to have.
        const truth = { cancelled: () => !begun.has(n), unknown: () => begun.has(n), ok: () => done.has(n) };
        assert.ok(truth[state]?.(), `${state} ${n}`);
      });
    }
    cut.close();
  }
  assert.ok(seen.cut > 20 && seen.whole > 20, JSON.stringify(seen));
  // Nothing is left that another connection could notice: all slots are free, and no body of these goes on.
  const cm = await connect(server.path);
  await each(64, AT_ONCE, async () => assert.equal((await cm.run('return 1').report).value, 1));
  await cm.close();
  const waiting = 2 + 8 * (globalThis.navigator?.hardwareConcurrency ?? 2);
  await until('no more children than a template keeps waiting', () => childrenOf(server.pid).length <= waiting);
});
