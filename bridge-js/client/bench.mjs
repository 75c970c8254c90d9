// How long `return 1` takes over the socket: `node client/bench.mjs [RUNS]`. The program is target/release/codemode, or CODEMODE_BIN; `codemode serve` is started and ended.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from './index.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const program = process.env.CODEMODE_BIN ?? join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'release/codemode');
if (!existsSync(program)) {
  console.error(`${program} is not there: cargo build --release -p codemode`);
  process.exit(2);
}
const runs = Number(process.argv[2] ?? 2_000);
const folder = mkdtempSync(join(tmpdir(), 'codemode-bench-'));
const path = join(folder, 's.sock');
const server = spawn(program, ['serve', '--socket', path], { stdio: 'ignore' });
const reach = async (left) => connect(path).catch((error) => (left ? new Promise((go) => setTimeout(go, 20)).then(() => reach(left - 1)) : Promise.reject(error)));
const cm = await reach(250);

const one = async () => {
  const began = performance.now();
  const report = await cm.run('return 1').report;
  if (!report.ok) throw new Error(JSON.stringify(report.error));
  return performance.now() - began;
};
const line = (what, times) => {
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(2);
  console.log(`${what}: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms`);
};

for (let warm = 0; warm < 50; warm += 1) await one();
const alone = [];
for (let n = 0; n < runs; n += 1) alone.push(await one());
line(`return 1, one after the other, ${runs} runs`, alone);

const together = [];
let next = 0;
const began = performance.now();
await Promise.all(Array.from({ length: 8 }, async () => {
  while (next++ < runs) together.push(await one());
}));
line(`return 1, 8 at a time, ${runs} runs`, together);
console.log(`${Math.round((runs * 1_000) / (performance.now() - began))} runs a second`);

await cm.close();
server.kill('SIGTERM');
await new Promise((resolve) => server.once('close', resolve));
rmSync(folder, { recursive: true, force: true });
