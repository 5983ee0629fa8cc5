/** A market's subscription that catches up at the pace of its client (RULES.md 8.7, 8.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Book } from '../../../../gateway/shardlink/bookViews.ts';
import { OpenOrders } from '../../../../gateway/shardlink/orderViews.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { MarketChannel } from '../../../../gateway/stream/marketChannel.ts';
import { RECORD_KIND } from '../../../../gateway/stream/marketRecord.ts';
import { MarketSubscription } from '../../../../gateway/stream/subscriptions.ts';
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { packKind } from '../../../../shared/wire/commands.ts';

const MARKET = { index: 0, id: '0190a6f0-7b1c-7abc-8def-0123456789ab', shard: 0, ticksPerUnit: 100 };

function rig() {
  const book = new Book(MARKET.ticksPerUnit);
  const orders = new OpenOrders(0, new PairIndex());
  orders.kind[0] = packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, 0);
  orders.limitTicks[0] = 50;
  orders.remainingLots[0] = 10;
  book.insert(orders, 0);
  const channel = new MarketChannel(MARKET, 0, () => book);
  const frames: { channel: string; sequence: number; data: { checksum?: number } }[] = [];
  const sink = { push: (frame: Buffer) => void frames.push(JSON.parse(String(frame))) };
  const deltas = (count: number): void => {
    for (let i = 0; i < count; i++) channel.delta(RECORD_KIND.OPEN, channel.log.last + 1, 1, orders, 0, 10, 10);
    channel.flush();
  };
  /** The frames since the last call: "book 7", "delta 8 checked", "bbo 8". */
  const take = (): string[] =>
    frames.splice(0).map(({ channel: name, sequence, data }) => {
      const isChecked = name === 'book_delta' && data.checksum !== undefined;
      return `${name.replace('book_', '')} ${sequence}${isChecked ? ' checked' : ''}`;
    });
  return { channel, sink, deltas, take };
}

test('a subscription that starts with a book is live with it, and gets what follows', () => {
  const { channel, sink, deltas, take } = rig();
  deltas(3);
  const subscription = new MarketSubscription(channel, sink, false);
  assert.deepEqual([subscription.isLive, subscription.sequence], [true, 3]);
  subscription.startWithBook();
  assert.deepEqual([subscription.isLive, subscription.sequence], [false, null]);
  deltas(1);
  assert.deepEqual(take(), [], 'nothing is pushed before its book');
  assert.equal(subscription.catchUp(5), true);
  assert.deepEqual(take(), ['book 4']);
  deltas(1);
  assert.deepEqual(take(), ['delta 5']);
  assert.equal(subscription.sequence, 5);
  subscription.end();
  deltas(1);
  assert.deepEqual(take(), []);
});

test('a replay is sent 64 frames a turn, then the best prices, and then what follows, without a gap', () => {
  const { channel, sink, deltas, take } = rig();
  deltas(200);
  const subscription = new MarketSubscription(channel, sink, false);
  subscription.startAfter(70);
  const expected = Array.from({ length: 130 }, (_, index) => `delta ${71 + index}`);
  assert.equal(subscription.catchUp(5), false);
  assert.deepEqual(take(), expected.slice(0, 64));
  assert.equal(subscription.sequence, 134);
  assert.equal(subscription.catchUp(5), false);
  assert.equal(subscription.catchUp(5), true);
  assert.deepEqual(take(), [...expected.slice(64), 'bbo 200', 'bbo 200']);
  deltas(1);
  assert.deepEqual(take(), ['delta 201']);
});

test('a client that is up to date gets no frame; one that is behind the kept frames gets the book', () => {
  const { channel, sink, deltas, take } = rig();
  deltas(3);
  const subscription = new MarketSubscription(channel, sink, false);
  subscription.startAfter(3);
  assert.deepEqual([subscription.catchUp(5), take()], [true, []]);
  channel.recovered(9, 5);
  channel.flush();
  take();
  subscription.startAfter(2);
  assert.deepEqual([subscription.catchUp(5), take()], [true, ['book 9']]);
});

test('frames that were kept without a checksum are followed by a book, for a client that wants them', () => {
  const { channel, sink, deltas, take } = rig();
  deltas(2);
  const subscription = new MarketSubscription(channel, sink, true);
  subscription.startAfter(1);
  assert.equal(subscription.catchUp(5), true);
  assert.deepEqual(take(), ['delta 2', 'book 2', 'bbo 2', 'bbo 2']);
  deltas(2);
  assert.deepEqual(take(), ['delta 3 checked', 'delta 4 checked']);
  subscription.startAfter(2);
  assert.equal(subscription.catchUp(5), true);
  assert.deepEqual(take(), ['delta 3 checked', 'delta 4 checked', 'bbo 4', 'bbo 4'], 'all of these have one');
  subscription.setChecksum(true);
  subscription.setChecksum(false);
  assert.equal(subscription.wantsChecksum, false);
  deltas(1);
  assert.deepEqual(take(), ['delta 5']);
});
