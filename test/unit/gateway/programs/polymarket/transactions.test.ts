/** The transactions of trades on a chain, and how often they are asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Transactions } from '../../../../../gateway/programs/polymarket/transactions.ts';
import type { TradeSettlement, UserTrade } from '../../../../../shared/client/types.ts';

const HASH = `0x${'ab'.repeat(32)}`;

function scene(hash: string | null) {
  const asked: string[] = [];
  const transactions = new Transactions();
  const of = (id: string, settlement_status: UserTrade['settlement_status']): Promise<string | null> => {
    const tradeSettlement = async (trade_id: string): Promise<TradeSettlement> => {
      asked.push(trade_id);
      const rest = { history: [], batch_id: hash, block_number: null, reason: null, unwound_at: null };
      return { trade_id, settlement_status, transaction_hash: hash, ...rest };
    };
    return transactions.of({ tradeSettlement }, { id, settlement_status } as UserTrade);
  };
  return { asked, of };
}

test('POLYCHAIN-1: a settled trade is asked for once, one that is not in a block not at all', async () => {
  const { asked, of } = scene(HASH);
  assert.deepEqual([await of('1', 'pending'), await of('1', 'submitted')], ['', '']);
  assert.deepEqual([await of('1', 'mined'), await of('1', 'mined')], [HASH, HASH]);
  assert.deepEqual([await of('1', 'settled'), await of('1', 'settled')], [HASH, HASH]);
  assert.deepEqual(asked, ['1', '1', '1']);
});

test('POLYCHAIN-1: without a chain one trade is asked for, of however many', async () => {
  const { asked, of } = scene(null);
  for (const id of ['1', '2', '3']) assert.equal(await of(id, 'settled'), null);
  assert.deepEqual(asked, ['1']);
});
