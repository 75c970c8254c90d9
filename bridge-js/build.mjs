// node build.mjs OUT_DIR writes
//   bundle.js         both realms and the parser as one script
//   bundle-danger.js  main-realm mode, for tests of the outer walls only
//   bundle-trial.js   realm walls one by one, for attack trials only
//   boot.js           the text for `node -e`
//   cache.cjs         makes V8's code cache: node <flags of the child> cache.cjs BUNDLE CACHE
//   bundle.cache      that cache for the Node this runs on
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, transform } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));

/**
 * acorn builds tables of Unicode property names for six editions of the language when it is loaded: a third of the bridge's start under `--jitless`, for
 * something only a regular expression with `\\p` needs. The two places that make and use them are turned into make-on-first-use. The build fails when a
 * new acorn has other text there.
 */
const lazyTables = {
  name: 'lazy-unicode-tables',
  setup(plugin) {
    plugin.onLoad({ filter: /acorn\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      const replaceOnce = (pattern, by) => {
        if (contents.split(pattern).length !== 2) throw new Error(`build: acorn has changed near ${pattern}`);
        contents = contents.replace(pattern, () => by);
      };
      replaceOnce(/^for \(var i = 0, list = \[9, 10, 11, 12, 13, 14\].*?\n\}\n/ms, '');
      replaceOnce(
        'this.unicodeProperties = data[parser.options.ecmaVersion >= 14 ? 14 : parser.options.ecmaVersion];',
        'if (!data[14]) buildUnicodeData(14); this.unicodeProperties = data[14];',
      );
      return { contents, loader: 'js' };
    });
  },
};

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
    plugins: [lazyTables],
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
  await writeFile(join(outDir, 'bundle-trial.js'), await bundle('danger/trial.js'));
  await writeFile(join(outDir, 'cache.cjs'), await readFile(join(here, 'src/cache.cjs')));
  await writeFile(join(outDir, 'boot.js'), await bootText());
};

/** Flags of a child on this Node, without the permission model: the cache builder reads and writes files, and V8 does not know that flag. */
const childFlags = async () => {
  const flags = JSON.parse(await readFile(join(here, 'flags.json'), 'utf8'));
  const major = Number(process.versions.node.split('.')[0]);
  const line = Math.min(26, major - (major % 2));
  return [...flags.common, ...(flags[line] ?? [])].filter((flag) => !flag.endsWith('permission'));
};

const writeCache = async (outDir) => {
  const cache = join(outDir, 'bundle.cache');
  try {
    const args = [...(await childFlags()), join(outDir, 'cache.cjs'), join(outDir, 'bundle.js'), cache];
    await promisify(execFile)(process.execPath, args, { env: {}, timeout: 60_000 });
  } catch (error) {
    // Only time is lost without it: the child compiles the source instead.
    console.error(`build: no code cache: ${error.message}`);
    await writeFile(cache, '');
  }
};

const [outDir] = process.argv.slice(2);
if (!outDir) {
  console.error('usage: node build.mjs OUT_DIR');
  process.exit(2);
}
await buildAll(outDir);
await writeCache(outDir);
