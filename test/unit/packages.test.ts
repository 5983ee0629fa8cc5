/** The packages of the client: their contents, their sizes, and that they can be published. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { GROUPS } from '../../shared/client/cli/groups.ts';
import { referencePage } from '../../shared/client/cli/written/reference.ts';
import { buildPackage, repositoryOf } from '../packages/build.ts';
import { firstPage } from '../packages/firstPage.ts';
import { compiledRoot, programDirectory } from '../support/compiledClient.ts';
import { temporaryDirectory } from '../support/directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MOST_BYTES = { 'pmx-client': 1_000_000, 'pmx-cli': 500_000 };
const MOST_BUNDLED_BYTES = 60_000;
const NOBLE = /^@noble\//;

const place = temporaryDirectory();
buildPackage('pmx-cli', place);
const folders = { 'pmx-client': compiledRoot(), 'pmx-cli': join(place, 'pmx-cli') } as const;
const names = Object.keys(folders) as (keyof typeof folders)[];

function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function manifestIn(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

for (const name of names) {
  test(`${name} is small, has what a registry shows, and no code of others but what it names`, () => {
    const files = filesOf(folders[name]);
    const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
    assert.ok(bytes < MOST_BYTES[name], `${bytes} bytes`);
    for (const shown of ['README.md', 'CHANGELOG.md', 'LICENSE']) {
      assert.ok(files.includes(join(folders[name], shown)), shown);
    }
    const { dependencies, scripts } = manifestIn(folders[name]);
    const others = Object.keys(dependencies).filter((dependency) => !NOBLE.test(dependency));
    assert.deepEqual(others, name === 'pmx-cli' ? ['commander'] : []);
    assert.equal(scripts, undefined, 'nothing runs where it is installed');
  });

  test(`${name} has the version of the exchange, and npm would publish it`, () => {
    assert.equal(manifestIn(folders[name]).version, manifestIn(ROOT).version);
    const args = ['publish', '--dry-run', '--offline', '--json'];
    const { stdout } = spawnSync('npm', args, { cwd: folders[name], encoding: 'utf8' });
    const report = JSON.parse(stdout);
    // npm 10 says it without the name.
    const { files } = report[name] ?? report;
    assert.equal(files.length, filesOf(folders[name]).length, 'all of the folder');
  });
}

test('a browser gets less than 60 kB of the whole client, and less for one that only reads', () => {
  const sizeOf = (program: string): number => {
    const { outputFiles } = buildSync({
      stdin: { contents: program, resolveDir: programDirectory() },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'browser',
    });
    return gzipSync(outputFiles[0]!.contents).length;
  };
  const whole = sizeOf(`import * as client from 'pmx-client'; globalThis.client = client;`);
  assert.ok(whole < MOST_BUNDLED_BYTES, `${whole} bytes`);
  const book = sizeOf(`import { BookReplica } from 'pmx-client'; globalThis.BookReplica = BookReplica;`);
  assert.ok(book < whole / 10, `${book} bytes: what is not imported is left out`);
});

test('a program of CommonJS requires it, without a warning', () => {
  const path = join(programDirectory(), 'required.cjs');
  writeFileSync(path, `console.log(typeof require('pmx-client').ExchangeClient)`);
  const { stdout, stderr } = spawnSync(process.execPath, [path], { encoding: 'utf8' });
  assert.deepEqual([stdout, stderr], ['function\n', '']);
});

test('pmx runs from its package', () => {
  const program = join(folders['pmx-cli'], 'pmx.js');
  writeFileSync(join(place, 'package.json'), '{}');
  execFileSync('ln', ['-s', join(ROOT, 'node_modules'), join(place, 'node_modules')]);
  assert.equal(
    execFileSync(process.execPath, [program, 'reference'], { encoding: 'utf8', env: {} }),
    referencePage(GROUPS),
  );
});

test('the page of a package is the start of its document, whose links become words', () => {
  const document = '# A\n\n```ts norun="why"\nx\n```\n[b](c.md) [d](https://e)\n\n## F\n\ng\n';
  assert.match(firstPage(document, 'F'), /^# A\n\n```ts\nx\n```\nb \[d\]\(https:\/\/e\)\n\nAn exchange /);
  assert.throws(() => firstPage(document, 'G'), /has no "G"/);
});

test('a package names the repository that it was made in', () => {
  const remote = (address: string): string => `origin\t${address} (fetch)\norigin\t${address} (push)\n`;
  const expected = 'git+https://host.example/group/project.git';
  for (const address of [
    'https://host.example/group/project.git',
    'https://user:secret@host.example/group/project',
    'git@host.example:group/project.git',
    'ssh://git@host.example/group/project.git',
  ]) {
    assert.equal(repositoryOf(remote(address)), expected, address);
  }
  for (const address of ['/srv/project', '../project']) assert.equal(repositoryOf(remote(address)), null, address);
  assert.equal(repositoryOf(''), null);
});
