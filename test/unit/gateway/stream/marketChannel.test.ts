/** A market's channel without sockets: which replays it can still serve (RULES.md 8.7, 8.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Book } from '../../../../gateway/shardlink/bookViews.ts';
import { OpenOrders } from '../../../../gateway/shardlink/orderViews.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { MarketChannel, type MarketSubscriber } from '../../../../gateway/stream/marketChannel.ts';
import { RECORD_KIND } from '../../../../gateway/stream/marketRecord.ts';
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { packKind } from '../../../../shared/wire/commands.ts';

const KEPT_FRAMES = 65_536;
const MARKET = { index: 0, id: '0190a6f0-7b1c-7abc-8def-0123456789ab', shard: 0, ticksPerUnit: 100 };

/** A channel at sequence number 0 over a book with one order, to which every delta belongs. */
function channelOf() {
  const book = new Book(MARKET.ticksPerUnit);
  const orders = new OpenOrders(0, new PairIndex());
  const slot = 0;
  orders.kind[slot] = packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, 0);
  orders.limitTicks[slot] = 50;
  orders.remainingLots[slot] = 10;
  book.insert(orders, slot);
  const channel = new MarketChannel(MARKET, 0, () => book);
  const deltas = (count: number): void => {
    for (let i = 0; i < count; i++) channel.delta(RECORD_KIND.OPEN, channel.log.last + 1, 1, orders, slot, 10, 10);
    channel.flush();
  };
  return { channel, deltas, orders, slot };
}

const SUBSCRIBER: MarketSubscriber = { isLive: true, seen: -1, wantsChecksum: true, push: () => {} };

test('a client that wanted checksums can have its replay with them for as long as the frames are kept', () => {
  const { channel, deltas } = channelOf();
  channel.add(SUBSCRIBER);
  deltas(5);
  channel.remove(SUBSCRIBER);
  const left = channel.log.last;
  deltas(KEPT_FRAMES);
  assert.ok(channel.canReplay(left));
  assert.ok(channel.isChecked(left), 'the last moment');
  deltas(1);
  assert.ok(!channel.isChecked(left), 'no client could ask for it any more, so no checksums are made');
});

test('a replay holds no frame that is to come, and it is known which were kept without a checksum', () => {
  const { channel, deltas } = channelOf();
  deltas(3);
  channel.add(SUBSCRIBER);
  deltas(2);
  assert.deepEqual(
    [0, 2, 3, 5, 6].map((sequence) => [channel.canReplay(sequence), channel.isChecked(sequence)]),
    [
      [true, false],
      [true, false],
      [true, true],
      [true, true],
      [false, true],
    ],
  );
});

test('best prices are published when a best level has changed, once for each outcome, and not otherwise', () => {
  const book = new Book(MARKET.ticksPerUnit);
  const orders = new OpenOrders(0, new PairIndex());
  const insert = (slot: number, side: typeof SIDE.BUY | typeof SIDE.SELL, ticks: number): void => {
    orders.kind[slot] = packKind(side, OUTCOME.YES, TIME_IN_FORCE.GTC, 0);
    orders.limitTicks[slot] = ticks;
    orders.remainingLots[slot] = 10;
    book.insert(orders, slot);
  };
  const channel = new MarketChannel(MARKET, 0, () => book);
  const frames: string[] = [];
  channel.add({ isLive: true, seen: -1, wantsChecksum: false, push: (frame) => frames.push(String(frame)) });
  channel.add({ isLive: false, seen: -1, wantsChecksum: false, push: () => assert.fail('it waits for its replay') });
  /** The channels of the frames that an order causes. */
  const open = (slot: number, side: typeof SIDE.BUY | typeof SIDE.SELL, ticks: number): string[] => {
    insert(slot, side, ticks);
    channel.delta(RECORD_KIND.OPEN, channel.log.last + 1, 1, orders, slot, 10, 10);
    channel.flush();
    return frames.splice(0).map((frame) => JSON.parse(frame).channel);
  };
  const best = ['book_delta', 'bbo', 'bbo'];
  assert.deepEqual(open(0, SIDE.BUY, 50), best);
  assert.deepEqual(open(1, SIDE.BUY, 49), ['book_delta']);
  assert.deepEqual(open(2, SIDE.SELL, 60), best);
  assert.deepEqual(open(3, SIDE.SELL, 61), ['book_delta']);
  assert.deepEqual(open(4, SIDE.BUY, 50), best, 'more at the best price');
  assert.deepEqual(open(5, SIDE.SELL, 60), best);
  assert.deepEqual(open(6, SIDE.SELL, 59), best);
  assert.deepEqual(open(7, SIDE.BUY, 48), ['book_delta']);
});

test('a jump sends the book instead of missing frames, and earlier frames are not kept (CHANNEL-3)', () => {
  const { channel, deltas, orders, slot } = channelOf();
  const frames: { channel: string; sequence: number }[] = [];
  channel.add({
    isLive: true,
    seen: -1,
    wantsChecksum: false,
    push: (frame) => frames.push(JSON.parse(String(frame))),
  });
  deltas(2);
  frames.length = 0;
  channel.recovered(9, 5);
  channel.flush();
  assert.deepEqual(
    frames.map(({ channel: name, sequence }) => [name, sequence]),
    [['book', 9]],
  );
  assert.deepEqual([channel.log.last, channel.canReplay(2), channel.canReplay(9)], [9, false, true]);
  deltas(1);
  assert.equal(frames.at(-1)?.sequence, 10);
  channel.trade(12, 5, 0, 1, packKind(SIDE.BUY, OUTCOME.YES, 0, 0), 0, 50, 1);
  channel.flush();
  assert.deepEqual([frames.at(-1)?.channel, frames.at(-1)?.sequence, channel.log.last], ['book', 13, 13]);
  const { length } = frames;
  channel.delta(RECORD_KIND.FILL, 13, 5, orders, slot, 1, 9);
  channel.flush();
  assert.equal(frames.length, length, 'the book contains the delta of the trade');
});
