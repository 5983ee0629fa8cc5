/**
 * Damages every file of a data directory in every way and compares the results of a start and of the administrator's
 * commands with data/docs/damages.md. Whatever the entry is, an end with an error names file and next step, a command
 * that checks changes nothing, and everything readable before is readable afterwards. `DAMAGES=control,read` runs the
 * files with one of these in their name; `DAMAGES_SEEN=FILE` writes the observations as JSON.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertEveryDamage, compareRows } from '../support/damages/cells.ts';
import { nameIn } from '../support/damages/damages.ts';
import { startRamp } from '../support/damages/rampWorld.ts';
import { hashesOf } from '../support/damages/seen.ts';
import { rowsOfTable } from '../support/damages/table.ts';
import { makeWorld } from '../support/damages/world.ts';

const CELLS_AT_A_TIME = 3;
const skip = process.geteuid?.() === 0 ? false : 'needs root, to be another user';

test('a start and every command do what the table says of each file and damage, and lose nothing', {
  skip,
}, async (t) => {
  const table = rowsOfTable();
  assertEveryDamage(table);
  const world = await makeWorld(t);
  const ofProvider = rowsOfTable('Provider');
  assertEveryDamage(ofProvider);
  const named = new Set([...table, ...ofProvider].map(({ file }) => nameIn(world.whole, file)));
  // A kill may leave a snapshot that is not finished.
  const unnamed = /^(?:(?:read|idempotency)\.db-wal|snapshot-0-\d+\.bin\.part)$/;
  const there = [...hashesOf(world.whole).keys()].filter((name) => !unnamed.test(name));
  assert.deepEqual(
    there.filter((name) => !named.has(name)),
    [],
    'the table has every file',
  );
  await compareRows(t, world, table, CELLS_AT_A_TIME);
  await compareRows(t, { ...world, start: startRamp }, ofProvider, CELLS_AT_A_TIME);
});
