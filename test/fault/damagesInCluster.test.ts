/**
 * Damages held.mark of the member of a cluster in every way, and checks a start and the administrator's commands like
 * damages.test.ts for the other files (data/docs/damages.md).
 */
import { test } from 'node:test';
import { assertEveryDamage, compareRows } from '../support/damages/cells.ts';
import { makeClusterWorld } from '../support/damages/clusterWorld.ts';
import { rowsOfTable } from '../support/damages/table.ts';
import { NO_POSTGRES } from '../support/postgres.ts';

const isRoot = process.geteuid?.() === 0;
const skip = NO_POSTGRES || (isRoot ? false : 'needs root, to be another user');

test('a start and every command do what the table says of each damage to held.mark', { skip }, async (t) => {
  const table = rowsOfTable('Member');
  assertEveryDamage(table);
  // They are the same member of the same log.
  await compareRows(t, await makeClusterWorld(t), table, 1);
});
