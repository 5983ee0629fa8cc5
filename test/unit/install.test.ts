/**
 * The files that npm ci installs and run.mjs starts. test/fresh/install.ts does both on a machine with nothing else.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUN = join(ROOT, 'shared/run.mjs');

type Locked = {
  version: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string;
  cpu?: string;
  bin?: Record<string, string>;
};
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const locked: Record<string, Locked> = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
const installed = Object.entries(locked).filter(([path]) => path !== '');

describe('the lock file', () => {
  test('holds the hash of every package but the local chain of other platforms', () => {
    assert.ok(installed.length > 0);
    const hashless = installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
    // Their hashes were not at hand where the file was made, and without the entries npm ci refuses it everywhere.
    for (const [path, { dev, optional }] of hashless) {
      assert.match(path, /^node_modules\/@foundry-rs\/anvil-(darwin|linux|win32)-(amd|arm)64$/);
      assert.ok(dev === true && optional === true, `${path} is no part of a running exchange`);
    }
  });

  test('holds a Node 22 for every platform that run.mjs knows', () => {
    const known = [...readFileSync(RUN, 'utf8').matchAll(/'(\w+)-(\w+)': '(node-[\w-]+)'/g)];
    assert.equal(known.length, 5);
    for (const [, os, cpu, name] of known) {
      const runtime = locked[`node_modules/${name}`];
      assert.ok(runtime !== undefined, `${name} is locked`);
      assert.match(runtime.version, /^22\./);
      assert.deepEqual([runtime.os, runtime.cpu], [os, cpu]);
      assert.ok(runtime.bin?.['node'] !== undefined);
      assert.equal(manifest.optionalDependencies[name], runtime.version);
    }
  });

  test('is installed without running any script of a package', () => {
    assert.match(readFileSync(join(ROOT, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
    for (const phase of ['preinstall', 'install', 'postinstall', 'prepare']) assert.ok(!(phase in manifest.scripts));
  });
});

describe('run.mjs', () => {
  const run = (...args: string[]) => spawnSync(process.execPath, [RUN, ...args], { encoding: 'utf8' });

  test('runs the locked Node with its arguments, input and output', () => {
    const { stdout } = run('-p', 'JSON.stringify([process.version, process.execPath, process.argv[1]])', 'one two');
    const [version, path, argument] = JSON.parse(stdout);
    assert.match(version, /^v22\./);
    assert.ok(path.startsWith(join(ROOT, 'node_modules')) || path === process.execPath, path);
    assert.equal(argument, 'one two');
  });

  test('ends with the exit code of its program', () => {
    assert.equal(run('-e', 'process.exit(78)').status, 78);
  });

  test('ends by the signal that ended its program', () => {
    assert.equal(run('-e', 'process.kill(process.pid, "SIGKILL")').signal, 'SIGKILL');
  });

  test('passes SIGTERM on and waits for the end', async () => {
    const program = 'process.once("SIGTERM", () => process.exit(5)); setInterval(() => {}, 1000); console.log("up")';
    const child = spawn(process.execPath, [RUN, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [5, null]);
  });

  test('says what to do when nothing is installed', () => {
    const empty = temporaryDirectory();
    cpSync(RUN, join(empty, 'run.mjs'));
    const { status, stderr } = spawnSync(process.execPath, [join(empty, 'run.mjs'), '-v'], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /^error: the package node-[\w-]+ is not installed; run npm ci\n$/);
  });
});
