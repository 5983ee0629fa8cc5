/** The files that a member had before it joins anew (JOININGFILES-2). */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setStateAside } from '../../../../engine/replication/joiningFiles.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('JOININGFILES-2: what is set aside twice in one millisecond is in two folders', () => {
  const directory = temporaryDirectory();
  const asides = ['first', 'second', 'third'].map((text) => {
    writeFileSync(join(directory, 'control.db'), text);
    writeFileSync(join(directory, 'journal-0.db'), `rows of the ${text}`);
    return setStateAside(directory, 'now')!;
  });
  assert.deepEqual(
    asides,
    ['left-now', 'left-now-2', 'left-now-3'].map((name) => join(directory, name)),
  );
  const texts = asides.map((aside) => readFileSync(join(aside, 'journal-0.db'), 'utf8'));
  assert.deepEqual(texts, ['rows of the first', 'rows of the second', 'rows of the third']);
  assert.equal(setStateAside(directory, 'now'), null, 'there is nothing more');
  assert.equal(existsSync(join(directory, 'left-now-4')), false);
  assert.equal(readdirSync(directory).length, 3);
});
