// node build.mjs OUT_DIR: bundle.js (both realms and the parser as one script), bundle-danger.js (tests only), boot.js (the text for `node -e`)
// and cache.cjs, which makes V8's code cache: `node <V8 flags of the child> OUT_DIR/cache.cjs OUT_DIR/bundle.js OUT_DIR/bundle.cache`.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));

/** One half as a function body: an expression that evaluates to the module's default export. */
const half = async (entry) => {
  const result = await build({
    entryPoints: [join(here, 'src', entry)],
    bundle: true,
    format: 'iife',
    globalName: 'half',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import'],
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    minifyIdentifiers: true,
    charset: 'ascii',
    legalComments: 'none',
    write: false,
  });
  return result.outputFiles[0].text.trim();
};

/** `(which) => half`: run once in each realm, it gives that realm's half. The other half's functions are never even compiled there. */
const bundle = async (mainEntry) => {
  const main = await half(mainEntry);
  const guest = await half('guest/entry.js');
  return `(function(which){"use strict";if(which==="guest")return function(__host){${guest};return half.default};${main};return half.default})\n`;
};

const bootText = async () => {
  const source = await readFile(join(here, 'src/boot.js'), 'utf8');
  const { code } = await transform(source, { minify: true, target: 'node20', charset: 'ascii' });
  return code.trim().replaceAll('\n', ' ');
};

export const buildAll = async (outDir) => {
  await mkdir(outDir, { recursive: true });
  await writeFile(join(outDir, 'bundle.js'), await bundle('main/entry.js'));
  await writeFile(join(outDir, 'bundle-danger.js'), await bundle('danger/entry.js'));
  await writeFile(join(outDir, 'cache.cjs'), await readFile(join(here, 'src/cache.cjs')));
  await writeFile(join(outDir, 'boot.js'), await bootText());
};

const [outDir] = process.argv.slice(2);
if (!outDir) {
  console.error('usage: node build.mjs OUT_DIR');
  process.exit(2);
}
await buildAll(outDir);
