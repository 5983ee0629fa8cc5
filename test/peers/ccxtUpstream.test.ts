/** The class of CCXT as one file, in the place that it has in CCXT's repository: compiled, it plays the suites. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NO_CCXT } from '../support/ccxtPeer.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { ROOT } from '../support/server.ts';
import { writeUpstream } from './ccxtUpstream.ts';

const SUITES = ['ccxtLive', 'ccxtPaths', 'ccxtStatic'].map((name) => `test/peers/${name}.test.ts`);

/** `ts/src` of that repository, with the base of the installed package. */
function makeSources(): string {
  const folder = temporaryDirectory();
  writeUpstream(folder);
  // The package's own noble is of the root's version; another one may stand beside it.
  symlinkSync(`${ROOT}node_modules`, join(folder, 'node_modules'));
  symlinkSync(`${ROOT}test/peers/node_modules/ccxt/js/src/base`, join(folder, 'base'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const typeRoots = [`${ROOT}node_modules/@types`];
  const emitted = { noEmit: false, allowImportingTsExtensions: false };
  const compilerOptions = { noImplicitOverride: false, typeRoots, types: ['node'], ...emitted };
  const settings = { extends: `${ROOT}tsconfig.json`, compilerOptions, include: ['prediction'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  return folder;
}

function run(command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): void {
  // A test that runs in a test would report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...env, ...more },
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

test('one file has the whole class: it compiles, and the live suite and the fixtures pass with it', {
  skip: NO_CCXT,
}, () => {
  const folder = makeSources();
  run('npx', ['tsc', '-p', folder]);
  run(process.execPath, ['shared/run.mjs', '--test', ...SUITES], {
    CCXT_CLASS: join(folder, 'prediction/pmx.js'),
  });
});
