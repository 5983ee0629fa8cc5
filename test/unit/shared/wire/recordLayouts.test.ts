/** The layouts of all binary records against the offsets with which the bytes on disks were written. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as snapshotIo from '../../../../engine/base/snapshotIo.ts';
import * as mark from '../../../../engine/journal/mark.ts';
import * as journalRow from '../../../../engine/journal/row.ts';
import * as marketRecord from '../../../../gateway/stream/marketRecord.ts';
import * as segment from '../../../../gateway/stream/privateSegment.ts';
import * as checkLayout from '../../../../shared/wire/checkLayout.ts';
import * as commands from '../../../../shared/wire/commands.ts';
import * as events from '../../../../shared/wire/events.ts';
import * as privateRecord from '../../../../shared/wire/privateRecord.ts';
import * as progress from '../../../../shared/wire/progress.ts';
import * as ringLayout from '../../../../shared/wire/ringLayout.ts';
import { RECORDS_PAGE, recordsPage } from '../../../records/page.ts';

const modules: Record<string, Record<string, unknown>> = {
  commands,
  events,
  privateRecord,
  ringLayout,
  checkLayout,
  marketRecord,
  segment,
  journalRow,
  mark,
  snapshotIo,
  progress,
};
const golden = JSON.parse(readFileSync(new URL('../../../vectors/recordLayouts.json', import.meta.url), 'utf8'));

for (const [name, expected] of Object.entries<Record<string, unknown>>(golden)) {
  test(`no offset, length, version or type number of ${name} has changed`, () => {
    for (const [path, value] of Object.entries(expected)) assert.deepEqual(at(modules[name], path), value, path);
  });
}

/** The value at a path such as EVENT.FILL.lots. */
function at(from: unknown, path: string): unknown {
  return path.split('.').reduce((value, key) => (value as Record<string, unknown>)?.[key], from);
}

test('the page of drawings is as the declarations have it (npm run records)', () => {
  assert.equal(readFileSync(RECORDS_PAGE, 'utf8'), recordsPage());
});

test('every record that a source declares is on the page', () => {
  const declared = ['engine', 'gateway', 'shared'].flatMap((room) =>
    readdirSync(new URL(`../../../../${room}`, import.meta.url), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && path !== 'wire/layout.ts')
      .flatMap((path) => {
        const source = readFileSync(new URL(`../../../../${room}/${path}`, import.meta.url), 'utf8');
        return [...source.matchAll(/\b(?:byteR|r)ecord\(\s*'([A-Z_]+)'/g)].map(([, name]) => name);
      }),
  );
  assert.ok(declared.length > 15, `${declared.length} records are declared outside of families`);
  const page = recordsPage();
  assert.deepEqual(
    declared.filter((name) => !page.includes(`### ${name}\n`)),
    [],
  );
});
