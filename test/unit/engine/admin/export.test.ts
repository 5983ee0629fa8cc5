/** The history as lines: what happened, in order, with the ids of the API, also from a journal that was trimmed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exportHistory } from '../../../../engine/admin/export.ts';
import { CLOSE_REASON_NAMES, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import type { Json } from '../../../support/server.ts';

function linesOf(shard: JournaledShard, market: string | null = null, from = 1): Json[] {
  return [...exportHistory([shard.file], { market, from })]
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const SECOND_MARKET = '02000000-0000-0000-0000-000000000000';

describe('admin journal export', () => {
  it('tells a trade with both parties, their orders and their fees', () => {
    const shard = new JournaledShard();
    const { rig } = shard;
    const maker = rig.place({ account: 1, side: SIDE.SELL, outcome: OUTCOME.NO, ticks: 30, lots: 10_000 });
    const taker = rig.place({ account: 2, side: SIDE.BUY, outcome: OUTCOME.NO, ticks: 35, lots: 20_000 });
    shard.commit();
    const time = new Date(rig.nowMs).toISOString();
    const place = { time, shard: 0, shard_sequence: shard.last, market_id: '01000000-0000-0000-0000-000000000000' };
    const [makerHash, takerHash] = [maker, taker].map(({ hash }) => toHex(new Uint8Array(hash.buffer)));
    const [makerId, takerId] = [1, 2].map((sequence) => timeOrderedId(rig.nowMs, 0, ID_KIND.ORDER, sequence));
    const takerOrder = {
      order_id: takerId,
      order_hash: takerHash,
      account: 2,
      side: 'BUY',
      outcome_index: 1,
    };
    const makerOrder = { order_id: makerId, order_hash: makerHash, account: 1, side: 'SELL', outcome_index: 1 };
    assert.deepEqual(linesOf(shard, null, shard.last), [
      {
        event: 'order',
        ...place,
        market_sequence: null,
        ...takerOrder,
        time_in_force: 'GTC',
        post_only: false,
        price: '0.35000000',
        maker_amount: '700000',
        taker_amount: '2000000',
        token_quantity_atomic: '2000000',
        fee_rate_bps: 50,
        expiration: 0,
      },
      {
        event: 'trade',
        ...place,
        market_sequence: 2,
        trade_id: timeOrderedId(rig.nowMs, 0, ID_KIND.TRADE, 1),
        time: time.replace('Z', '000Z'),
        match_type: 'standard',
        price: '0.30000000',
        amount: '300000',
        taker_side: 'BUY',
        outcome_index: 1,
        notional_usdc_micro: '300000',
        token_quantity_atomic: '1000000',
        taker_order_id: takerId,
        taker_order_hash: takerHash,
        taker_account: 2,
        taker_fee: '5000',
        maker_order_id: makerId,
        maker_order_hash: makerHash,
        maker_account: 1,
        maker_side: 'SELL',
        maker_outcome_index: 1,
        maker_fee: '1500',
      },
      {
        event: 'filled',
        ...place,
        market_sequence: null,
        ...makerOrder,
        reason: 'filled',
        remaining_token_quantity_atomic: '0',
      },
      { event: 'open', ...place, market_sequence: 4, ...takerOrder, remaining_token_quantity_atomic: '1000000' },
    ]);
  });

  it('gives every order one beginning and at most one end, and every end its reason', () => {
    const shard = new JournaledShard();
    shard.trade(400);
    const lines = linesOf(shard);
    const begun = lines.filter(({ event }) => event === 'order').map(({ order_id }) => order_id);
    const ended = lines.filter(({ event }) => ['filled', 'cancelled', 'expired'].includes(event));
    assert.equal(new Set(begun).size, begun.length);
    assert.equal(new Set(ended.map(({ order_id }) => order_id)).size, ended.length);
    assert.equal(begun.length - ended.length, shard.rig.engine.state.orders.openCount);
    for (const { reason } of ended) assert.ok(CLOSE_REASON_NAMES.includes(reason));
    assert.ok(lines.some(({ event }) => event === 'dormant') && lines.some(({ event }) => event === 'woken'));
  });

  it('tells of a market when it opens and when its rules or its status change, and not with every minted set', () => {
    const shard = new JournaledShard();
    shard.trade(100);
    shard.decideMarkets();
    const markets = linesOf(shard, SECOND_MARKET).filter(({ event }) => event === 'market');
    const told = markets.map(({ status, fee_bps, payout_yes_ppm }) => `${status} ${fee_bps} ${payout_yes_ppm}`);
    assert.equal(told[0], 'active 50 0');
    assert.match(told.at(-1)!, /^cancelled \d+ 500000$/);
    for (const [i, text] of told.entries()) assert.notEqual(text, told[i - 1]);
  });

  it('tells movements of money, of one market only those of that market', () => {
    const shard = new JournaledShard();
    shard.rig.fund(3, 25, MOVEMENT.WITHDRAWAL);
    shard.rig.convert(3, 1, 2_000_000, MOVEMENT.MERGE);
    shard.rig.resolve(1, 1_000_000, MARKET_STATUS.RESOLVED);
    shard.rig.claim(3, 1);
    shard.commit();
    const of = (lines: Json[]) =>
      lines
        .filter(({ amount_usdc_micro }) => amount_usdc_micro !== undefined)
        .map(({ event, account, amount_usdc_micro }) => `${event} ${account} ${amount_usdc_micro}`);
    assert.deepEqual(of(linesOf(shard)).slice(-3), ['withdrawal 3 25', 'merge 3 2000000', 'claim 3 88000000']);
    const [first, ...rest] = of(linesOf(shard, SECOND_MARKET));
    assert.deepEqual([first, rest.length], ['split 1 90000000', 4]);
  });

  it('tells of a trimmed journal what its records say, and whose orders they were from the snapshot on', () => {
    const shard = new JournaledShard();
    shard.trade(150);
    const all = linesOf(shard);
    const { sequence } = shard.snapshot();
    shard.trade(150);
    const later = linesOf(shard, null, sequence + 1);
    const first = sequence - 19;
    shard.trim(first - 1);
    const [before, behind] = [linesOf(shard).filter((line) => line.shard_sequence <= sequence), linesOf(shard)];
    assert.deepEqual(
      behind.filter((line) => line.event !== 'market' && line.shard_sequence > sequence),
      later.filter((line) => line.event !== 'market'),
    );
    const full = all.filter((line) => line.shard_sequence >= first && line.event !== 'market');
    for (const [i, line] of before.filter(({ event }) => event !== 'market').entries()) {
      for (const [field, value] of Object.entries(line)) if (value !== null) assert.equal(value, full[i][field], field);
    }
  });
});
