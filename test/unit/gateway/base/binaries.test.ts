import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  binaryProblem,
  binaryProblemIn,
  type NodeBuild,
  type PinnedBinaries,
  socketsProblem,
} from '../../../../gateway/base/binaries.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const PINNED: PinnedBinaries = JSON.parse(readFileSync(join(ROOT, 'data/binaries.json'), 'utf8'));
const UWS = 'uWebSockets.js/dist/bin/uws_linux_x64_127.node';
const SHA_OF_A = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

/** A node_modules with these files. */
function modulesWith(files: Record<string, string>): string {
  const directory = temporaryDirectory();
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), content);
  }
  return directory;
}

describe('the binaries of packages', () => {
  const pinned = { 'linux-x64': { [UWS]: SHA_OF_A, 'better-sqlite3/prebuilds/x.node': SHA_OF_A } };

  test('that are installed are the pinned ones, for every platform whose files are here', () => {
    assert.equal(binaryProblem(), null);
    for (const platform of Object.keys(PINNED)) {
      assert.equal(binaryProblemIn([join(ROOT, 'node_modules')], PINNED, platform), null, platform);
      assert.ok(
        Object.keys(PINNED[platform]).filter((file) => existsSync(join(ROOT, 'node_modules', file))).length >= 2,
      );
    }
  });

  test('are pinned for every platform that has a runtime, in the version of that runtime', () => {
    const runner = readFileSync(join(ROOT, 'shared/run.mjs'), 'utf8');
    const platforms = [...runner.matchAll(/'([a-z0-9]+-[a-z0-9]+)': 'node-/g)].map(([, platform]) => platform);
    assert.deepEqual(Object.keys(PINNED).sort(), platforms.sort());
    for (const platform of platforms) {
      const name = `uWebSockets.js/dist/bin/uws_${platform.replace('-', '_')}_${process.versions.modules}.node`;
      assert.match(PINNED[platform][name], /^[0-9a-f]{64}$/, name);
      const next = `uWebSockets.js/uws_${platform.replace('-', '_')}_137.node`;
      assert.match(PINNED[platform][next], /^[0-9a-f]{64}$/, next);
    }
  });

  test('come, like the runtime, from packages that the lock file has with their hash', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const runner = readFileSync(join(ROOT, 'shared/run.mjs'), 'utf8');
    const runtimes = [...runner.matchAll(/: '(node-[a-z0-9-]+)'/g)].map(([, name]) => name);
    assert.equal(runtimes.length, 5);
    for (const name of [...runtimes, 'uWebSockets.js', 'better-sqlite3']) {
      assert.match(packages[`node_modules/${name}`].integrity, /^sha512-/, name);
    }
  });

  test('are refused by name when one differs, and pass while an optional one is missing', () => {
    assert.equal(binaryProblemIn([modulesWith({ [UWS]: 'a' })], pinned, 'linux-x64'), null);
    const problem = binaryProblemIn([modulesWith({ [UWS]: 'b' })], pinned, 'linux-x64')!;
    assert.ok(problem.includes(UWS) && problem.includes(SHA_OF_A) && problem.includes('npm ci'), problem);
    assert.ok(!problem.includes('\n'), 'one line');
  });

  test('that were compiled here are refused until they are pinned', () => {
    const compiled = 'better-sqlite3/build/Release/better_sqlite3.node';
    const directory = modulesWith({ [UWS]: 'a', [compiled]: 'a' });
    assert.match(binaryProblemIn([directory], pinned, 'linux-x64')!, /better_sqlite3\.node .* it is not pinned/);
    const also = { 'linux-x64': { ...pinned['linux-x64'], [compiled]: SHA_OF_A } };
    assert.equal(binaryProblemIn([directory], also, 'linux-x64'), null);
  });

  test('of uWebSockets.js for this Node are refused until they are pinned, from either package', () => {
    const name = `uws_linux_x64_${process.versions.modules}.node`;
    for (const file of [`uWebSockets.js/${name}`, `uWebSockets.js/dist/bin/${name}`]) {
      const directory = modulesWith({ [file]: 'a' });
      assert.match(binaryProblemIn([directory], { 'linux-x64': {} }, 'linux-x64')!, /\.node .* it is not pinned/);
      assert.equal(binaryProblemIn([directory], { 'linux-x64': { [file]: SHA_OF_A } }, 'linux-x64'), null);
    }
  });

  test('of uWebSockets.js: a start says which one is missing for a Node, and that one needs a newer glibc', () => {
    const node = (modules: string, glibc: string): NodeBuild => ({
      ...{ platform: 'linux', arch: 'x64', modules, version: 'v24.21.0', glibc: () => glibc },
    });
    const today = [modulesWith({ [UWS]: 'a' })];
    const next = [modulesWith({ 'uWebSockets.js/uws_linux_x64_137.node': 'a' })];
    assert.equal(socketsProblem(today, node('127', '2.36')), null);
    assert.match(
      socketsProblem(today, node('137', '2.41'))!,
      /has no uws_linux_x64_137\.node for Node v24\.21\.0; .*runtime/,
    );
    assert.match(socketsProblem(next, node('137', '2.36'))!, /needs glibc 2\.38, and this system has 2\.36/);
    for (const glibc of ['2.38', '2.41', '3.0', ''])
      assert.equal(socketsProblem(next, node('137', glibc)), null, glibc);
  });

  test('of a platform without pins are refused', () => {
    assert.match(binaryProblemIn([modulesWith({})], pinned, 'sunos-sparc')!, /no binaries for sunos-sparc/);
  });
});

test('a start with a changed binary ends with one line and exit code 78, before anything of it runs', () => {
  const copy = temporaryDirectory();
  for (const folder of ['engine', 'gateway', 'shared', 'data/schema', 'data/binaries.json', 'package.json'])
    cpSync(join(ROOT, folder), join(copy, folder), { recursive: true });
  const modules = join(ROOT, 'node_modules');
  mkdirSync(join(copy, 'node_modules'));
  for (const name of ['pino', 'better-sqlite3']) symlinkSync(join(modules, name), join(copy, 'node_modules', name));
  cpSync(join(modules, 'uWebSockets.js'), join(copy, 'node_modules/uWebSockets.js'), {
    recursive: true,
    filter: (path) => !path.endsWith('.node') || path.includes(`${process.platform}_${process.arch}_127`),
  });
  const file = `uws_${process.platform}_${process.arch}_127.node`;
  appendFileSync(join(copy, 'node_modules/uWebSockets.js/dist/bin', file), 'x');
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(copy, 'gateway/main.ts')],
    { env: { PORT: '0', DATA_DIR: join(copy, 'live') }, encoding: 'utf8' },
  );
  assert.equal(status, 78, stderr);
  assert.match(stderr, new RegExp(`^error: .*${file} has the SHA-256 .*\n$`));
  assert.equal(stdout, '');
  assert.ok(!existsSync(join(copy, 'live')), 'nothing was made');
});
