/** Trades that the contract refuses for good (engine/settlement/refusedTrades.ts, RULES.md 17.40 to 17.42). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecisionRows } from '../../../../engine/settlement/decisionRows.ts';
import { addMoneyTables } from '../../../../engine/settlement/moneyTables.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { Outcomes } from '../../../../engine/settlement/outcomes.ts';
import { RefusedTrades } from '../../../../engine/settlement/refusedTrades.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { tokenAsset, UnderWay } from '../../../../engine/settlement/underWay.ts';
import { KIND, WorkRows } from '../../../../engine/settlement/work.ts';
import { FEE_ACCOUNT, MATCH_TYPE, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';

const T0 = 1_800_000_000_000;
const [MAKER, TAKER, SHARD, MARKET] = [4, 5, 2, 9];
const LOTS = 1000;
const FEE_BPS = 50;
const place = (tradeSequence: number) => ({ shard: SHARD, tradeSequence });

/** Trades of one buyer of Yes at 60 of 100 with one seller each; the seller's order is still open. */
class Rig {
  readonly db = openSettlementDb(':memory:');
  readonly rows = new WorkRows(this.db, () => T0 + 5000);
  readonly outcomes = new Outcomes({
    rows: this.rows,
    node: {} as never,
    news: new News(this.db, () => T0),
  } as never);
  readonly handlers = new RefusedTrades(this.db, this.rows).handlers;
  readonly buyer: number;

  constructor(trades: number) {
    this.rows.setMarket(MARKET, '0x00', 100);
    this.buyer = this.order(SIDE.BUY, 0);
    for (let sequence = 1; sequence <= trades; sequence++) {
      const fill = { account: MAKER, taker_account: TAKER, market: MARKET, amount: LOTS, matched_ms: T0 };
      const orders = { maker_order: this.order(SIDE.SELL, sequence), taker_order: this.buyer };
      const terms = { yes_ticks: 60, match_type: MATCH_TYPE.STANDARD };
      this.rows.add({ kind: KIND.TRADE, shard: SHARD, sequence, part: 0, ...fill, ...orders, ...terms });
    }
  }

  order(side: number, slot: number): number {
    this.rows.addOrder({
      ...{ shard: SHARD, slot, outcome: OUTCOME.YES, exchange: null, hash: `0x${slot}`, salt: '0x', side },
      ...{ maker: '0x', signer: '0x', token_id: '0x', maker_amount: 1, taker_amount: 1, expiration_sec: 0, nonce: 0 },
      ...{ fee_bps: FEE_BPS, min_taker_net: 0, signature: '0x' },
    });
    return this.rows.openOrder(SHARD, slot)!;
  }

  work(sequence: number) {
    const id = this.db.prepare<[number], number>('SELECT id FROM work WHERE sequence = ?').pluck().get(sequence)!;
    return this.rows.get(id)!;
  }

  /** Its transaction is in a block, and the contract has refused it. */
  fail(sequence: number): number {
    const { id } = this.work(sequence);
    const job = this.rows.addJob('0x00', [this.work(sequence)], null);
    this.rows.submit(id, job);
    this.rows.setStatus(id, 'failed', 'OrderExpired');
    return job;
  }

  close(): void {
    for (let slot = 0; slot < 9; slot++) {
      const order = this.rows.openOrder(SHARD, slot);
      if (order !== null) this.rows.closeOrder(order);
    }
  }
}

test('failed trades are listed page by page with their reason, until they are unwound', () => {
  const rig = new Rig(3);
  const { failedTrades } = rig.handlers;
  assert.deepEqual(failedTrades({ after: 0, limit: 9 }), { trades: [], next: null });
  for (const sequence of [1, 3]) rig.fail(sequence);
  const first = failedTrades({ after: 0, limit: 1 });
  assert.deepEqual(first.trades, [
    {
      ...{ ...place(1), matchedMs: T0, market: MARKET, maker: MAKER, taker: TAKER, lots: LOTS, yesTicks: 60 },
      ...{ reason: 'OrderExpired', failedMs: T0 + 5000 },
    },
  ]);
  assert.equal(failedTrades({ after: first.next!, limit: 9 }).trades[0]!.tradeSequence, 3);
  assert.equal(rig.rows.countFailed(), 2);
  rig.rows.setUnwound(SHARD, 1, T0);
  assert.equal(rig.rows.countFailed(), 1);
  assert.equal(failedTrades({ after: 0, limit: 9 }).trades.length, 1);
});

test('a trade is unwound only if the chain cannot take its failure back, and only once both orders are closed', () => {
  const rig = new Rig(1);
  const { unwindTrade, mayUnwind } = rig.handlers;
  assert.deepEqual(unwindTrade(place(8)), { refusal: 'unknown' });
  assert.deepEqual(unwindTrade(place(1)), { refusal: 'not failed' });
  const job = rig.fail(1);
  assert.deepEqual(unwindTrade(place(1)), { refusal: 'not final' });
  rig.outcomes.final(job);
  assert.deepEqual(unwindTrade(place(1)), { refusal: 'orders open' });
  rig.close();
  assert.deepEqual(mayUnwind(place(1)), { refusal: null });
  const [notional, tokens, feeMicro, feeAtomic] = [60 * LOTS, 100 * LOTS, 300, 500];
  assert.deepEqual(unwindTrade(place(1)), {
    refusal: null,
    unwinding: {
      ...{ market: MARKET, maker: MAKER, taker: TAKER },
      changes: {
        maker: [feeMicro - notional, tokens, 0],
        taker: [notional, feeAtomic - tokens, 0],
        fee: [-feeMicro, -feeAtomic, 0],
      },
    },
  });
  rig.rows.add({
    ...{ kind: KIND.RESOLUTION, shard: SHARD, sequence: 9, part: 0, account: 0, market: MARKET, amount: 1_000_000 },
    ...{ maker_order: null, taker_order: null, yes_ticks: null, match_type: null, taker_account: null },
  });
  const decisions = new DecisionRows(rig.db);
  assert.equal(decisions.isReady(MARKET), false);
  rig.rows.setUnwound(SHARD, 1, T0);
  rig.rows.setUnwound(SHARD, 1, T0 + 1);
  assert.deepEqual(unwindTrade(place(1)), { refusal: 'unwound' });
  assert.equal(decisions.isReady(MARKET), true, 'its market may be resolved');
  assert.equal(rig.db.prepare('SELECT count(*) FROM orders').pluck().get(), 0, 'its orders are not needed any more');
});

test('a trade is tried again or unwound, never both', () => {
  const rig = new Rig(1);
  const { unwindTrade, releaseTrade, retryTrade } = rig.handlers;
  assert.deepEqual(retryTrade(place(1)), { refusal: 'not failed' });
  rig.outcomes.final(rig.fail(1));
  rig.close();
  assert.equal(unwindTrade(place(1)).refusal, null);
  assert.equal(unwindTrade(place(1)).refusal, null, 'a repeat, after a crash');
  assert.deepEqual(retryTrade(place(1)), { refusal: 'being unwound' });
  releaseTrade(place(1));
  const { failures } = rig.work(1);
  assert.deepEqual(retryTrade(place(1)), { refusal: null });
  const { status, job, failures: then } = rig.work(1);
  assert.deepEqual([status, job, then], ['pending', null, failures + 1], 'so it is in another batch');
  assert.deepEqual(unwindTrade(place(1)), { refusal: 'not failed' });
  rig.outcomes.final(rig.fail(1));
  rig.rows.setUnwound(SHARD, 1, T0);
  assert.deepEqual(retryTrade(place(1)), { refusal: 'unwound' });
});

test('the fee of an order is what it would be without the fills that were unwound', () => {
  const rig = new Rig(3);
  rig.db.prepare('UPDATE work SET amount = 1').run();
  rig.db.prepare('UPDATE orders SET received = CASE side WHEN 0 THEN 300 ELSE 60 END').run();
  for (const sequence of [1, 2, 3]) rig.outcomes.final(rig.fail(sequence));
  rig.close();
  const refunds: number[] = [];
  for (const sequence of [2, 1, 3]) {
    const answer = rig.handlers.unwindTrade(place(sequence));
    assert.ok(answer.refusal === null);
    const other = sequence === 3 ? null : rig.handlers.unwindTrade(place(3)).refusal;
    assert.equal(other, sequence === 3 ? null : 'being unwound', 'one fill of an order after the other');
    refunds.push(0 - answer.unwinding.changes.fee[1]);
    rig.rows.setUnwound(SHARD, sequence, T0);
  }
  assert.deepEqual(refunds, [0, 1, 0], '300 tokens pay one, 200 pay one, 100 pay none');
});

test('what lies between ledger and chain has the fees that the contract takes, whichever fill is missing', () => {
  const rig = new Rig(3);
  addMoneyTables(rig.db);
  rig.db.prepare('UPDATE work SET amount = 1').run();
  rig.db.prepare('UPDATE orders SET received = CASE side WHEN 0 THEN 300 ELSE 60 END').run();
  for (const sequence of [2, 3]) {
    const job = rig.rows.addJob('0x00', [rig.work(sequence)], null);
    rig.rows.setMined(job, { hash: '0x', blockNumber: 5 });
    rig.rows.submit(rig.work(sequence).id, job);
    rig.rows.setStatus(rig.work(sequence).id, 'mined');
  }
  const feeTokens = (block: number) =>
    new UnderWay(rig.db, null as never, block).of(FEE_ACCOUNT, tokenAsset(MARKET, OUTCOME.YES));
  assert.deepEqual([feeTokens(5), feeTokens(4)], [0n, -1n], '200 tokens pay one, as 300 do');
  rig.outcomes.final(rig.fail(1));
  assert.equal(feeTokens(5), 0n);
  rig.close();
  rig.rows.setUnwound(SHARD, 1, T0);
  assert.equal(feeTokens(5), 0n);
  assert.equal(feeTokens(4), -1n, 'of the 200 that are left');
});

test('an unwound trade that is read from the journals again is not sent', () => {
  const rig = new Rig(1);
  rig.rows.setUnwound(SHARD, 1, T0);
  rig.close();
  assert.deepEqual(rig.rows.pending(1, 9, 1), []);
  assert.deepEqual(rig.rows.oldestPendingMs(1), { trade: null, any: null });
  assert.equal(rig.rows.countFailed(), 0);
});
