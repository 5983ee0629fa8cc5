import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { OUTCOME, type Outcome } from '../../../../../shared/base/codes.ts';
import { crc32OfText } from '../../../../../shared/base/crc32.ts';
import { RecordedMarket } from '../../../../../shared/client/backtest/recordedMarket.ts';
import type { DeltaEvent, FrameLevel, MarketFrame } from '../../../../../shared/client/stream/frames.ts';

const ID = '01900000-0000-7000-8000-000000000000';
const TOKEN = 1_000_000;

let market: RecordedMarket;
let filled: [hash: string, tokens: number][];
let sequence: number;

function level(price: string, tokens: number): FrameLevel {
  return { price, num_orders: tokens === 0 ? 0 : 1, token_quantity_atomic: String(tokens * TOKEN) };
}

function head() {
  return { market_id: ID, sequence: ++sequence, timestamp: 0 };
}

function book(bids: FrameLevel[], asks: FrameLevel[]): MarketFrame {
  const sides = [...bids, ...asks].map(({ price, token_quantity_atomic }) => `${price}:${token_quantity_atomic}`);
  const data = { outcome_0: { bids, asks }, outcome_1: { bids: [], asks: [] }, checksum: crc32OfText(sides.join('|')) };
  return { channel: 'book', ...head(), data };
}

/** @param left the content of the level afterwards, in Yes terms */
function delta(event: DeltaEvent, side: 'BUY' | 'SELL', price: string, tokens: number, left: number): MarketFrame {
  const token_quantity_atomic = String(tokens * TOKEN);
  const order = { order_id: ID, outcome_index: 0, side, price, token_quantity_atomic } as const;
  const after = { outcome_index: 0, side, ...level(price, left) } as const;
  const data = { event, ...order, remaining_token_quantity_atomic: '0', level: after };
  return { channel: 'book_delta', ...head(), data };
}

function trade(outcome_index: Outcome, taker_side: 'BUY' | 'SELL', price: string, tokens: number): MarketFrame {
  const token_quantity_atomic = String(tokens * TOKEN);
  const filled_at = '2026-01-01T00:00:00.000000Z';
  const rest = { trade_id: ID, filled_at, notional_usdc_micro: '0', match_type: 'standard' } as const;
  return { channel: 'trade', ...head(), data: { outcome_index, taker_side, price, token_quantity_atomic, ...rest } };
}

function place(hash: string, outcome: Outcome, ticks: number, tokens = 10): boolean {
  return market.place({ hash, marketId: ID, outcome, ticks, quantityAtomic: tokens * TOKEN }, null);
}

describe('a recorded market', () => {
  beforeEach(() => {
    sequence = 0;
    filled = [];
    market = new RecordedMarket(ID, 100, ({ hash }, quantityAtomic) => filled.push([hash, quantityAtomic / TOKEN]));
    market.apply(book([level('0.5', 20), level('0.48', 5)], [level('0.54', 8)]));
  });

  describe('a bid is filled only by quantity that the recording shows (BACKTEST-1)', () => {
    test('a trade at its price first uses up what stood before it', () => {
      place('a', OUTCOME.YES, 50);
      market.apply(trade(0, 'SELL', '0.5', 15));
      market.apply(delta('fill', 'BUY', '0.5', 15, 5));
      assert.deepEqual(filled, []);
      market.apply(trade(0, 'SELL', '0.5', 9));
      assert.deepEqual(filled, [['a', 4]]);
      market.apply(trade(0, 'SELL', '0.5', 9));
      assert.deepEqual(filled, [
        ['a', 4],
        ['a', 6],
      ]);
      assert.deepEqual(market.bids(), []);
    });

    test('a buyer of No meets bids for Yes, and a buyer of Yes bids for No', () => {
      place('yes', OUTCOME.YES, 51);
      place('no', OUTCOME.NO, 47);
      market.apply(trade(1, 'BUY', '0.49', 3));
      market.apply(trade(0, 'BUY', '0.53', 2));
      assert.deepEqual(filled, [
        ['yes', 3],
        ['no', 2],
      ]);
    });

    test('a trade at a worse price for the taker would have met it first', () => {
      place('a', OUTCOME.YES, 51);
      market.apply(trade(0, 'SELL', '0.5', 4));
      assert.deepEqual(filled, [['a', 4]]);
    });

    test('a trade at a better price for the taker does not reach it', () => {
      place('a', OUTCOME.YES, 49);
      market.apply(trade(0, 'SELL', '0.5', 20));
      assert.deepEqual(filled, []);
    });

    test('an order that rests at its price or better would have met it', () => {
      place('a', OUTCOME.YES, 52);
      market.apply(delta('open', 'SELL', '0.52', 3, 3));
      assert.deepEqual(filled, [['a', 3]]);
      market.apply(delta('open', 'SELL', '0.53', 3, 3));
      assert.equal(filled.length, 1);
    });

    test('after a cancel at its price at most the rest of the level stands before it', () => {
      place('a', OUTCOME.YES, 50);
      market.apply(delta('cancel', 'BUY', '0.5', 18, 2));
      market.apply(trade(0, 'SELL', '0.5', 5));
      assert.deepEqual(filled, [['a', 3]]);
    });

    test('after a loss of frames a bid that the book has passed is filled', () => {
      place('a', OUTCOME.YES, 50);
      place('b', OUTCOME.NO, 40);
      market.apply(book([level('0.4', 1)], [level('0.45', 6)]));
      assert.deepEqual(filled, [['a', 6]]);
    });
  });

  test('recorded quantity fills bids once, the best first (BACKTEST-2)', () => {
    place('low', OUTCOME.YES, 51, 10);
    place('high', OUTCOME.YES, 52, 10);
    market.apply(trade(0, 'SELL', '0.5', 14));
    assert.deepEqual(filled, [
      ['high', 10],
      ['low', 4],
    ]);
  });

  test('a bid that would meet the book or an own order is not placed, but may replace the own order', () => {
    assert.equal(place('a', OUTCOME.YES, 54), false);
    assert.equal(place('a', OUTCOME.NO, 50), false);
    assert.equal(place('a', OUTCOME.YES, 52), true);
    assert.equal(place('b', OUTCOME.NO, 48), false);
    const [a] = market.bids();
    const b = { hash: 'b', marketId: ID, outcome: OUTCOME.NO, ticks: 48, quantityAtomic: TOKEN };
    assert.equal(market.place(b, a), true);
    assert.deepEqual(
      market.bids().map(({ hash }) => hash),
      ['b'],
    );
    assert.equal(market.cancel('a'), false);
  });

  test('a bid that is cancelled while another is filled gets nothing', () => {
    const cancelling = new RecordedMarket(ID, 100, ({ hash }, quantityAtomic) => {
      filled.push([hash, quantityAtomic / TOKEN]);
      for (const bid of cancelling.bids()) cancelling.cancel(bid.hash);
    });
    const bid = { marketId: ID, outcome: OUTCOME.YES, quantityAtomic: TOKEN };
    cancelling.place({ ...bid, hash: 'a', ticks: 52 }, null);
    cancelling.place({ ...bid, hash: 'b', ticks: 51 }, null);
    cancelling.apply(trade(0, 'SELL', '0.5', 14));
    assert.deepEqual(filled, [['a', 1]]);
  });
});
