import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { POINT_VERSION } from '../../../engine/backup/point.ts';
import { FILE_VERSION } from '../../../engine/journal/file.ts';
import { OLDEST_READ as OLDEST_ROW } from '../../../engine/journal/row.ts';
import { FIRST as FIRST_SETTLEMENT } from '../../../engine/settlement/settlementDb.ts';
import { OLDEST_READ as OLDEST_SNAPSHOT } from '../../../engine/snapshot/snapshot.ts';
import { OLDEST_VERSION as OLDEST_SEGMENT } from '../../../gateway/stream/privateSegment.ts';
import { FILE_VERSIONS } from '../../../shared/base/fileVersions.ts';
import { FILE_LAYOUTS, FORMATS } from '../../../shared/base/formats.ts';
import { WHOLE_LAYOUT } from '../../../shared/tables/orderArchive.ts';
import { READ_DB_STEPS } from '../../../shared/tables/readDbSteps.ts';
import { ENTRY_PROTOCOL, ENTRY_VERSION } from '../../../shared/wire/entry.ts';
import { FIRST_VERSION } from '../../../shared/wire/version.ts';

const PAGE = readFileSync(new URL('../../../data/docs/upgrade.md', import.meta.url), 'utf8');
const { files: _files, ...LOGGED } = FORMATS;

/** The oldest number that is read and the one that is written, as the code declares them. */
const DECLARED: Readonly<Record<string, readonly [oldest: number, written: number]>> = {
  ...Object.fromEntries(Object.entries(LOGGED).map(([name, { oldest, newest }]) => [name, [oldest, newest]])),
  // A start migrates a file of any version.
  control: [1, FORMATS.control.newest],
  engine: [FIRST_VERSION, FORMATS.engine.newest],
  journal: [OLDEST_ROW, FORMATS.journal.newest],
  settlement: [FIRST_SETTLEMENT, FORMATS.settlement.newest],
  snapshot: [OLDEST_SNAPSHOT, FILE_LAYOUTS.snapshot],
  readDb: [Math.min(...Object.keys(READ_DB_STEPS).map(Number)), FILE_LAYOUTS.readDb],
  archive: [WHOLE_LAYOUT, FILE_LAYOUTS.archive],
  privateFrames: [OLDEST_SEGMENT, FILE_LAYOUTS.privateFrames],
  copy: [FILE_LAYOUTS.copy, FILE_LAYOUTS.copy],
  point: [POINT_VERSION, POINT_VERSION],
  file: [FILE_VERSION, FILE_VERSION],
  'svc.bin': [ENTRY_VERSION, ENTRY_VERSION],
};

const rows = [...PAGE.matchAll(/^\| `([\w.]+)`: ([^|]+) \| ([^|]+) \| (\d+) \| (\d+) \| ([^|]+) \|$/gm)];

test('upgrade.md has every layout of formats.ts with the numbers that the code reads and writes', () => {
  const said = rows.map(([, name, , , oldest, written]) => [name, [Number(oldest), Number(written)]]);
  assert.deepEqual(Object.fromEntries(said), DECLARED);
  for (const name of [...Object.keys(LOGGED), ...Object.keys(FILE_LAYOUTS)]) assert.ok(name in DECLARED, name);
  assert.equal(ENTRY_PROTOCOL, `svc.bin.${ENTRY_VERSION}`);
});

test('upgrade.md says of every file with a version of its own that a start and the tools refuse a newer one', () => {
  for (const name of Object.keys(FILE_VERSIONS)) {
    const [, , , , , , refusedBy] = rows.find(([, layout]) => layout === name)!;
    assert.match(refusedBy!, /^the start, the tools/, name);
  }
});
