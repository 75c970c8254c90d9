// npm run test:all: the tests on every Node of CODEMODE_NODES (paths separated by blanks or colons), one after the other.
import { spawnSync } from 'node:child_process';

const nodes = (process.env.CODEMODE_NODES ?? '').split(/[\s:]+/).filter(Boolean);
if (nodes.length === 0) {
  console.error('set CODEMODE_NODES to the programs to test on');
  process.exit(2);
}
let failed = 0;
for (const node of nodes) {
  console.log(`\n== ${node}`);
  const { status } = spawnSync('npm', ['test'], { stdio: 'inherit', env: { ...process.env, CODEMODE_NODE: node } });
  if (status !== 0) failed++;
}
process.exit(failed === 0 ? 0 : 1);
