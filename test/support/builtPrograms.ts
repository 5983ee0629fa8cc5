/**
 * Each program and thread of the exchange as one file, for the servers of one run of the tests. A start loads a
 * thousand files from sources and packages, which is more than a third of its processor time, and a run has over a
 * hundred starts. The files are built from the sources at the beginning of the run, and behave like them: names of
 * functions stay, and `import.meta.url` is the source's. A test file that runs alone, planted faults, the soak, guides
 * and installs start their servers from the sources.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { temporaryDirectory } from './directory.ts';

/** The setting that the processes of a run find them by: the module to preload, which belongs to this project. */
export const SETTING = 'TEST_BUILT_PROGRAMS';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const PROGRAMS = [
  'engine/admin/main.ts',
  'engine/history/main.ts',
  'engine/journal/checkpointMain.ts',
  'engine/projector/main.ts',
  'engine/replication/givingMain.ts',
  'engine/replication/main.ts',
  'engine/settlement/main.ts',
  'engine/shard/main.ts',
  'engine/snapshot/main.ts',
  'engine/verify/main.ts',
  'engine/verify/spotMain.ts',
  'gateway/front/main.ts',
  'gateway/main.ts',
  'gateway/programs/ramp/main.ts',
  'gateway/shardlink/answerWriter.ts',
  'gateway/web/docsBuild.ts',
  'gateway/web/pageBuild.ts',
  'gateway/wiring/timedQuery.ts',
];
/** Packages that look for their own files beside the running file. */
const PACKAGES_BESIDE = ['better-sqlite3', 'esbuild', 'pino', 'piscina', 'uWebSockets.js'];
/** Packages in the older form of modules ask for those of Node. No name of a source has a `$`. */
const REQUIRING = `import { createRequire as $make } from 'node:module'; const require = $make('${ROOT}gateway/');`;
const PRELOADED = "'./keptSources.mjs'";

/** From now on servers that this process and its children start run the built programs. */
export async function buildPrograms(): Promise<void> {
  // Every test process loads this file, but none of them builds.
  const { build } = await import('esbuild');
  const directory = temporaryDirectory();
  // Some tests run a server as a user who has nothing else of this one's.
  chmodSync(directory, 0o755);
  const preloaded = new URL('./builtSources.mjs', import.meta.url);
  preloaded.searchParams.set('in', directory);
  await build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    outbase: ROOT,
    outdir: directory,
    entryNames: '[dir]/[name].ts',
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    keepNames: true,
    logLevel: 'error',
    external: PACKAGES_BESIDE,
    banner: { js: REQUIRING },
    plugins: [asTheSources(preloaded.href)],
  });
  await startOnce(preloaded.href);
  process.env[SETTING] = preloaded.href;
}

/** A server that stops in order leaves V8's compiled code for later ones. Servers of tests are killed. */
async function startOnce(preloaded: string): Promise<void> {
  const program = [`${ROOT}gateway/main.ts`];
  const quiet = { DEMO: 'off', JOURNAL_RESERVE_MB: '0', PORT: '0', REHEARSE: 'off', SHARDS: '1' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--import', preloaded, ...program], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], DATA_DIR: temporaryDirectory(), ...quiet },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"msg":"listening"')) child.kill();
  });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0, 'a server of the built programs starts and stops');
}

/** The module that a server of `project` preloads instead of keptSources.mjs, if this run has built its programs. */
export function builtProgramsOf(project: string): string | null {
  const built = process.env[SETTING];
  return built?.startsWith(pathToFileURL(join(project, 'test/')).href) === true ? built : null;
}

/** Arguments of Node for a program of `project`: it runs the programs that this run has built, or the sources. */
export function argumentsOfNode(project = ROOT): string[] {
  const kept = builtProgramsOf(project) ?? pathToFileURL(join(project, 'shared/base/keptSources.mjs')).href;
  return ['--disable-warning=ExperimentalWarning', '--import', kept];
}

/** Code of a source finds files beside that source, and preloads the built programs in its threads. */
function asTheSources(preloaded: string): Plugin {
  return {
    name: 'as the sources',
    setup({ onLoad }) {
      onLoad({ filter: /\/(?:engine|gateway|shared)\/.*\.ts$/ }, ({ path }) => {
        if (path.includes('/node_modules/')) return undefined;
        const text = readFileSync(path, 'utf8');
        if (!path.endsWith('/shared/base/stripTypes.ts')) return { contents: withUrl(text, path), loader: 'ts' };
        assert.ok(text.includes(PRELOADED), `${path} preloads ${PRELOADED}`);
        return { contents: withUrl(text.replace(PRELOADED, JSON.stringify(preloaded)), path), loader: 'ts' };
      });
    },
  };
}

function withUrl(text: string, path: string): string {
  return text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
}
