/** The comparison of ledger and chain (engine/settlement/reconciliation.ts, RULES.md 17.24) at its edges. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hex } from 'viem';
import { Markets } from '../../../../engine/settlement/chainMarkets.ts';
import { addMoneyTables } from '../../../../engine/settlement/moneyTables.ts';
import { Reconciliation } from '../../../../engine/settlement/reconciliation.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { COLLATERAL, EXCHANGE, FACTORY } from '../../../support/fakeExchange.ts';

/** Every question about a block is answered so. */
function rig(answer: Hex): Reconciliation {
  const db = openSettlementDb(':memory:');
  addMoneyTables(db);
  const markets = new Markets(db, { marketFactory: FACTORY, collateral: COLLATERAL });
  const node = { view: async () => answer };
  return new Reconciliation({ db, node: node as never, markets, usdc: COLLATERAL, exchanges: () => [EXCHANGE] });
}

test('before the contracts were made a chain holds nothing: no difference, and no fault of the node', async () => {
  const young = rig('0x');
  await young.step(0);
  assert.deepEqual([young.block, young.differences()], [0, []]);
  await assert.rejects(rig('0x12').step(0), { name: 'NodeUnreachable' });
});
