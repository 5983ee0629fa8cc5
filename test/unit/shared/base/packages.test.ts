/** The places of packages, in a clone and in an installed package, whose own sources are loaded without their types. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packageFile, packageFolders } from '../../../../shared/base/packages.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const BASE = fileURLToPath(new URL('../../../../shared/base', import.meta.url));

describe('packages', () => {
  test('are below a clone', () => {
    assert.deepEqual(packageFolders('/srv/exchange'), ['/srv/exchange/node_modules']);
  });

  test('are beside the project where it is one of them, but for those of its own', () => {
    const top = temporaryDirectory();
    const root = join(top, 'node_modules/open-prediction-exchange');
    for (const name of ['preact', '@noble/curves', 'open-prediction-exchange/node_modules/preact']) {
      mkdirSync(join(top, 'node_modules', name), { recursive: true });
    }
    const folders = packageFolders(root);
    assert.equal(packageFile('preact/dist/preact.mjs', folders), join(root, 'node_modules/preact/dist/preact.mjs'));
    assert.equal(packageFile('@noble/curves/utils.js', folders), join(top, 'node_modules/@noble/curves/utils.js'));
  });
});

describe('the sources of a package', () => {
  const root = join(temporaryDirectory(), 'node_modules/open-prediction-exchange');
  for (const name of readdirSync(BASE)) {
    if (/^(?:kept|strip)/.test(name)) cpSync(join(BASE, name), join(root, 'shared/base', name));
  }
  mkdirSync(join(root, 'gateway'));
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(root, 'gateway/main.ts'), "const word: string = 'loaded'; console.log(word);\n");
  const node = (...args: string[]) => spawnSync(process.execPath, args, { encoding: 'utf8' });
  const load = () => node('--import', join(root, 'shared/base/keptSources.mjs'), join(root, 'gateway/main.ts')).stdout;

  test('are loaded from what was packed with them', () => {
    const { status } = node(
      join(root, 'shared/base/stripFolder.mjs'),
      '--packed',
      join(root, 'gateway'),
      join(root, 'shared'),
    );
    assert.equal(status, 0);
    const packed = readdirSync(join(root, 'stripped'));
    assert.ok(packed.length > 1);
    assert.equal(load(), 'loaded\n');
    assert.deepEqual(readdirSync(join(root, 'stripped')), packed);
  });

  test('are stripped by the first start where they were not packed so', () => {
    rmSync(join(root, 'stripped'), { recursive: true });
    assert.equal(load(), 'loaded\n');
  });
});
