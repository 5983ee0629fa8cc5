/** A market's channel without sockets: which replays it can still serve (RULES.md 8.7, 8.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarketChannel, type MarketSubscriber } from '../../../../../gateway/stream/market/channel.ts';
import { RECORD_KIND } from '../../../../../gateway/stream/market/record.ts';
import { Book } from '../../../../../gateway/views/books.ts';
import { OpenOrders } from '../../../../../gateway/views/orders.ts';
import { PairIndex } from '../../../../../gateway/views/pairIndex.ts';
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../../shared/base/codes.ts';
import { packKind } from '../../../../../shared/wire/commands.ts';

const KEPT_FRAMES = 65_536;
const MARKET = { index: 0, id: '0190a6f0-7b1c-7abc-8def-0123456789ab', shard: 0, ticksPerUnit: 100 };

/** A channel at sequence 0 over a book with one order, of which every delta is. */
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
  return { channel, deltas };
}

const SUBSCRIBER: MarketSubscriber = { isLive: true, wantsChecksum: true, push: () => {} };

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
