/**
 * Damages settlement.db of an exchange on a chain in every way, and checks a start and the administrator's commands
 * like damages.test.ts for the other files (data/docs/damages.md).
 */
import { test } from 'node:test';
import { NO_ANVIL } from '../chain/anvil.ts';
import { assertEveryDamage, compareRows } from '../support/damages/cells.ts';
import { makeChainWorld } from '../support/damages/chainWorld.ts';
import { rowsOfTable } from '../support/damages/table.ts';

const isRoot = process.geteuid?.() === 0;
const skip = NO_ANVIL || (isRoot ? false : 'needs root, to be another user');

test('a start and every command do what the table says of each damage to settlement.db', { skip }, async (t) => {
  const table = rowsOfTable('Chain');
  assertEveryDamage(table);
  // They share the keys and the chain of one exchange.
  await compareRows(t, await makeChainWorld(t), table, 1);
});
