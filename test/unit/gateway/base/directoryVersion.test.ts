/** A data directory that a newer version has opened is refused before anything else is (RULES.md 10.33). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { withDirectoryToRead, withExclusiveDirectory } from '../../../../engine/admin/directory.ts';
import { lockControlDatabase, withNewestTables } from '../../../../gateway/base/database.ts';
import { isOfNewerVersion, isOfThisVersion, noteVersion } from '../../../../shared/base/directoryVersion.ts';
import { FILE_LAYOUTS, FORMATS } from '../../../../shared/base/formats.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const HALF = 2 ** 16;
const FILES = Object.values(FILE_LAYOUTS).reduce<number>((sum, number) => sum + number, 0);
const RECORDS = FORMATS.files.newest - FILES;

/** The control.db of a directory that this version has opened. */
function opened(): { directory: string; path: string } {
  const directory = temporaryDirectory();
  const path = join(directory, 'control.db');
  const control = lockControlDatabase(path);
  withNewestTables(control, () => assert.ok(!isOfThisVersion(control), 'nothing is said before the start is through'));
  assert.ok(isOfThisVersion(control) && !isOfNewerVersion(control));
  control.close();
  return { directory, path };
}

function change(path: string, statement: string): void {
  const control = new Database(path);
  control.exec(statement);
  control.close();
}

const NEWER = {
  'another table of control.db': `PRAGMA user_version = ${FORMATS.control.newest + 1}`,
  'a file of another layout': `PRAGMA application_id = ${(FILES + 1) * HALF + RECORDS}`,
  'records of another layout': `PRAGMA application_id = ${FILES * HALF + RECORDS + 1}`,
  'newer records beside older files': `PRAGMA application_id = ${(FILES - 1) * HALF + RECORDS + 1}`,
};

for (const [what, statement] of Object.entries(NEWER)) {
  test(`RULES.md 10.33: a directory with ${what} is refused in a line, by a start and by a tool`, async () => {
    const { directory, path } = opened();
    change(path, statement);
    const before = readFileSync(path);
    const said = `${path} was written by a newer version`;
    assert.throws(() => lockControlDatabase(path), new RegExp(`^StartError: ${said}$`));
    for (const open of [withDirectoryToRead, withExclusiveDirectory]) {
      await assert.rejects(
        open(directory, () => assert.fail('it was opened')),
        new RegExp(`^AdminError: ${said}: use that one$`),
      );
    }
    assert.ok(readFileSync(path).equals(before), 'nothing in it has changed');
  });
}

test('RULES.md 10.29: a start that is refused has not opened the directory, and says nothing in it', () => {
  const { path } = opened();
  change(path, `PRAGMA application_id = ${(FILES - 1) * HALF + RECORDS - 1}`);
  const control = lockControlDatabase(path);
  assert.throws(() =>
    withNewestTables(control, () => {
      throw new Error('refused');
    }),
  );
  assert.equal(control.pragma('application_id', { simple: true }), (FILES - 1) * HALF + RECORDS - 1);
  withNewestTables(control, () => {});
  assert.equal(control.pragma('application_id', { simple: true }), FILES * HALF + RECORDS);
  control.close();
});

test('DIRECTORYVERSION-1: no half is lowered, and a member leaves that of records to the log', () => {
  const { path } = opened();
  const control = new Database(path);
  control.exec('CREATE TABLE record_end (sequence INTEGER)');
  for (const [before, after] of [
    [
      [FILES - 1, RECORDS - 1],
      [FILES, RECORDS - 1],
    ],
    [
      [0, 0],
      [FILES, 0],
    ],
    [
      [FILES + 1, RECORDS],
      [FILES + 1, RECORDS],
    ],
  ] as const) {
    control.pragma(`application_id = ${before[0] * HALF + before[1]}`);
    noteVersion(control);
    assert.equal(control.pragma('application_id', { simple: true }), after[0] * HALF + after[1]);
    assert.ok(isOfThisVersion(control));
  }
  control.close();
});
