/**
 * The layouts of all binary records against the offsets with which the bytes on disks were written. Commands and events
 * have a part for each version that changed them (`commands of 6`); the first one is of the version that it says.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as snapshotIo from '../../../../engine/base/snapshotIo.ts';
import * as mark from '../../../../engine/journal/mark.ts';
import * as journalRow from '../../../../engine/journal/row.ts';
import * as marketRecord from '../../../../gateway/stream/marketRecord.ts';
import * as segment from '../../../../gateway/stream/privateSegment.ts';
import { youngOf } from '../../../../shared/wire/ages.ts';
import * as checkLayout from '../../../../shared/wire/checkLayout.ts';
import * as commands from '../../../../shared/wire/commands.ts';
import * as events from '../../../../shared/wire/events.ts';
import type { AnyLayout } from '../../../../shared/wire/layout.ts';
import * as privateRecord from '../../../../shared/wire/privateRecord.ts';
import * as progress from '../../../../shared/wire/progress.ts';
import * as ringLayout from '../../../../shared/wire/ringLayout.ts';
import { RECORD_VERSION, RECORD_VERSIONS } from '../../../../shared/wire/version.ts';
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
    const module = modules[name.split(' of ')[0]!];
    const version = expected['COMMAND_VERSION'] ?? expected['EVENT_VERSION'];
    for (const [path, value] of Object.entries(expected))
      assert.deepEqual(
        version === undefined ? at(module, path) : inVersion(module, path, Number(version)),
        value,
        path,
      );
  });
}

test('commands and events of the newest version are among them', () => {
  for (const name of ['COMMAND_VERSION', 'EVENT_VERSION'])
    assert.ok(
      Object.values<Record<string, unknown>>(golden).some((part) => part[name] === RECORD_VERSION),
      name,
    );
});

/** The value that a path had in a version: without the fields and types that are younger (shared/wire/ages.ts). */
function inVersion(from: unknown, path: string, version: number): unknown {
  const value = at(from, path);
  if (path.endsWith('_VERSION')) return RECORD_VERSIONS.find((each) => each === version);
  if (path.endsWith('_BYTES') && Array.isArray(value)) {
    const members = Object.values(at(from, path.replace('_BYTES', '')) as Record<string, AnyLayout>);
    const lengths = members.filter(({ DECLARATION }) => DECLARATION.since <= version);
    return value.slice(0, lengths.length + 1).map((_, type) => {
      const layout = lengths.find(({ TYPE }) => TYPE === type);
      return layout === undefined ? 0 : lengthIn(layout, version);
    });
  }
  const layout = at(from, path.split('.').slice(0, -1).join('.')) as AnyLayout | undefined;
  if (layout?.DECLARATION === undefined || layout.DECLARATION.unit !== 4 || path.endsWith('.TYPE')) return value;
  if (path.endsWith('.BYTES')) return lengthIn(layout, version);
  return Number(value) - youngOf(layout, version).filter(({ at: word }) => word < Number(value)).length;
}

function lengthIn(layout: AnyLayout, version: number): number {
  return layout.BYTES - 4 * youngOf(layout, version).length;
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
