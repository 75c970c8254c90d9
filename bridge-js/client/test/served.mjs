// `codemode serve` in a process of its own.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '../index.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');

/** The program of this build. */
export const PROGRAM = process.env.CODEMODE_BIN ?? join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug/codemode');

if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is not there: build it first (cargo build -p codemode), or name another by CODEMODE_BIN`);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until something holds, at most 20 s. */
export const until = async (what, holds) => {
  for (const began = Date.now(); !(await holds()); await sleep(20)) if (Date.now() - began > 20_000) throw new Error(`not within 20 s: ${what}`);
};

export const childrenOf = (pid) => {
  const parent = (stat) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
    try {
      return parent(readFileSync(`/proc/${name}/stat`, 'latin1')) === pid;
    } catch {
      return false; // gone meanwhile
    }
  });
};

/** Starts a server; `stop` ends it and says how. */
export const serve = async (...words) => {
  const folder = mkdtempSync(join(tmpdir(), 'codemode-client-'));
  const path = join(folder, 's.sock');
  const child = spawn(PROGRAM, ['serve', '--socket', path, ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal, stderr })));
  let first = null;
  await until('the server answers', async () => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${stderr}`);
    first = await connect(path).catch(() => null);
    return first !== null;
  });
  await first.close();
  return {
    path,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGTERM');
      const how = await ended;
      rmSync(folder, { recursive: true, force: true });
      return how;
    },
  };
};

export const tool = (name, more = {}) => ({
  source: 'plugin', sourceName: 'test', name, description: `${name}s things`, parameters: { type: 'object' }, ...more,
});
