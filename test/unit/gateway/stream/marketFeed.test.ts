/** The frames that a market's subscribers get for an event of its shard (RULES.md 8.4, 8.6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MarketFeed } from '../../../../gateway/stream/marketFeed.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

type Shown = { channel: string; sequence: number; data: Record<string, unknown> };

test('a fill is a trade and then the delta of its maker, at the level of the maker and under its id', async (t) => {
  const frames: Shown[] = [];
  // The feed follows views that the rig makes.
  let feed: MarketFeed | null = null;
  const rig = new ClientRig(t, {
    shards: 1,
    follower: {
      applied: (...event) => feed?.applied(...event),
      recovered: () => undefined,
      flush: () => feed?.flush(),
    },
  });
  await rig.start();
  feed = new MarketFeed(rig.views);
  const push = (frame: Buffer) => frames.push(JSON.parse(String(frame)));
  feed.channel(0).add({ isLive: true, seen: -1, wantsChecksum: false, push });
  const slots: number[] = [];
  for (const ticks of [38, 41, 39, 40]) slots.push((await rig.run(rig.place(rig.record(SIDE.BUY, ticks)))).slot);
  const makerId = rig.views.orders[0].orderId(slots[1]);
  await nextTurn();
  frames.length = 0;
  const reply = await rig.run(rig.place(rig.record(SIDE.BUY, 59, OUTCOME.NO)));
  assert.equal(reply.fills, 1);
  // Frames are sent once the replies of their batch are handled.
  await nextTurn();
  const [trade, delta] = frames;
  assert.deepEqual([trade.channel, delta.channel, delta.sequence], ['trade', 'book_delta', trade.sequence + 1]);
  assert.deepEqual([trade.data['price'], trade.data['outcome_index']], ['0.59', OUTCOME.NO]);
  const { event, order_id, outcome_index, side, price, token_quantity_atomic } = delta.data;
  assert.deepEqual(
    [event, order_id, outcome_index, side, price, token_quantity_atomic],
    ['fill', makerId, OUTCOME.YES, 'BUY', '0.41', '100000000'],
  );
});
