import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  barsOf,
  lineOf,
  planOf,
  priceBefore,
  rangeOf,
  withTrades,
  zoomed,
} from '../../../../../gateway/web/browser/chartRanges.ts';
import type { TradeFrame } from '../../../../../shared/client/stream/frames.ts';
import type { Candle } from '../../../../../shared/client/types.ts';

const NOON = 1_790_856_000;
const DAY = 86_400;
const ms = (seconds: number): number => seconds * 1000;
const hour = planOf('1H', ms(NOON - 90 * DAY), ms(NOON));

function candle(start: number, prices: [string, string, string, string] | null, volume = '0'): Candle {
  const [open, high, low, close] = prices ?? [null, null, null, null];
  const amounts = { token_quantity_atomic: volume, notional_usdc_micro: volume, volume_usdc_micro: volume };
  return { start, open, high, low, close, ...amounts, trades: prices === null ? 0 : 1, is_open: false };
}

function trade(seconds: number, price: string, outcome: 0 | 1): TradeFrame {
  return { timestamp: ms(seconds), data: { price, outcome_index: outcome } } as TradeFrame;
}

test('a range begins at a whole interval, and all of a market has at most 400 of them until it is a year old', () => {
  assert.deepEqual(hour, { interval: '1m', seconds: 60, from: NOON - 3600, to: NOON, before: '1m' });
  const lengths = [DAY / 24, DAY, 7 * DAY, 30 * DAY, 300 * DAY].map((age) => {
    const { seconds, from, to } = planOf('All', ms(NOON - age), ms(NOON));
    assert.ok(from <= NOON - age && from > NOON - age - seconds);
    return (to - from) / seconds;
  });
  assert.ok(
    lengths.every((length) => length <= 401 && length > 20),
    lengths.join(),
  );
  assert.equal(rangeOf(ms(NOON - DAY), ms(NOON)), 'All');
  assert.equal(rangeOf(ms(NOON - 8 * DAY), ms(NOON)), '1W');
});

test('a price holds until the next trade, from the last one before the range on', () => {
  const history = [
    { timestamp: NOON - 7200, price: '0.2' },
    { timestamp: NOON - 3600, price: '0.9' },
  ];
  assert.equal(priceBefore(history, hour, 0), 2000);
  assert.equal(priceBefore(history, hour, 1), 8000);
  assert.equal(priceBefore([], hour, 0), null);
  const bars = barsOf([candle(NOON - 120, null), candle(NOON - 60, ['0.4', '0.5', '0.3', '0.45'])]);
  assert.deepEqual(lineOf(bars, 2000, hour), {
    times: [NOON - 3600, NOON - 120, NOON - 60, NOON],
    ticks: [2000, 2000, 4500, 4500],
  });
  assert.deepEqual(lineOf(bars, null, hour), { times: [NOON - 60, NOON], ticks: [4500, 4500] });
  assert.deepEqual(lineOf([], null, hour), { times: [], ticks: [] });
});

test('a trade that a candle has already changes it no more, and later ones go on in the terms of the outcome', () => {
  const loaded = barsOf([candle(NOON - 60, ['0.4', '0.5', '0.3', '0.45'], '7000000')]);
  const trades = [trade(NOON + 5, '0.4', 1), trade(NOON - 20, '0.45', 0), trade(NOON - 30, '0.5', 0)];
  const bars = withTrades(loaded, trades, hour, 0);
  assert.deepEqual(bars[0], loaded[0]);
  assert.deepEqual(bars[1], { start: NOON, open: 6000, high: 6000, low: 6000, close: 6000, volumeMicro: 0 });
  assert.deepEqual(withTrades(bars, trades, hour, 0), bars, 'trades count once');
  assert.equal(withTrades(loaded, [trade(NOON - 500, '0.1', 0)], hour, 0)[0]!.low, 3000, 'older than the candles');
});

test('the axis shows the values with room on both sides, and never what is no price', () => {
  assert.deepEqual(zoomed([4000, null, 5000], 400, [0, 10_000]), [3900, 5100]);
  assert.deepEqual(zoomed([5000], 400, [0, 10_000]), [4800, 5200]);
  assert.deepEqual(zoomed([100, 10_000], 400, [0, 10_000]), [0, 10_000]);
  assert.deepEqual(zoomed([9990], 400, [0, 10_000]), [9600, 10_000]);
  assert.deepEqual(zoomed([null], 400, [0, 10_000]), [0, 10_000]);
});
