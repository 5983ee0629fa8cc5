/** The private frames about a fill for both of its parties, and about an order's end for its owner (RULES.md 8.9). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PrivateFeed } from '../../../../gateway/stream/privateFeed.ts';
import { privateFrame } from '../../../../gateway/stream/privateFrames.ts';
import { MOVEMENT, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';
import { PRIVATE_FRAME, type RecordView } from '../../../../shared/wire/privateRecord.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { ClientRig, START_MS } from '../../../support/clientRig.ts';

const FIRST_MICRO = new Date(START_MS).toISOString().replace('Z', '000Z');
const MAKER = 1;
const TAKER = 2;

test('an order has a frame when it is placed, at its fills and when it ends, in its own terms', async (t) => {
  const appended: { account: number; record: RecordView }[] = [];
  const append = (_shard: number, _shardSequence: number, account: number): RecordView => {
    // It lies behind another record, as in the log.
    const record = { words: new Uint32Array(3 * PRIVATE_FRAME.WORDS), word: PRIVATE_FRAME.WORDS };
    writeSafe(record.words, record.word + PRIVATE_FRAME.userSequence, appended.push({ account, record }));
    return record;
  };
  let feed: PrivateFeed | null = null;
  const rig = new ClientRig(t, {
    shards: 1,
    follower: {
      applied: (...event) => feed?.applied(...event),
      recovered: () => undefined,
      flush: () => undefined,
    },
  });
  await rig.start();
  await rig.run(rig.client.funds(TAKER, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(2)));
  feed = new PrivateFeed(rig.views, { append } as never);
  const [orders] = rig.views.orders;
  const shown = () =>
    appended.splice(0).map(({ account, record }) => {
      const { channel, timestamp, data } = JSON.parse(
        privateFrame(rig.views.markets, { nameOf: () => undefined }, record),
      );
      assert.equal(timestamp, START_MS);
      return { account, channel, ...data };
    });
  const market_id = rig.views.markets.id(0);
  const idOf = (slot: number) => {
    const { buffer, byteOffset } = orders.hash;
    const hash = new Uint8Array(buffer, byteOffset + 32 * slot, 32);
    return { order_id: orders.orderId(slot), order_hash: toHex(hash), market_id };
  };
  const status = { channel: 'order_status', filled_amount: '0' };

  const slots: number[] = [];
  for (const ticks of [40, 30]) slots.push((await rig.run(rig.place(rig.record(SIDE.BUY, ticks), MAKER))).slot);
  const [first, second] = slots.map(idOf);
  const placed = { ...status, account: MAKER, status: 'open', reason: 'placed' };
  assert.deepEqual(shown(), [
    { ...placed, ...first, remaining: '40000000' },
    { ...placed, ...second, remaining: '30000000' },
  ]);

  const hash = rig.hashOf(slots[1]!);
  const cancelled = rig.ask((handler) => rig.client.cancel(0, MAKER, hash, handler, null));
  assert.equal((await rig.run(cancelled)).code, OK);
  assert.deepEqual(shown(), [
    { ...status, ...second, account: MAKER, status: 'cancelled', remaining: '30000000', reason: 'user' },
  ]);

  // The limit of 0.65 is better than the maker's price: the price is the maker's.
  const taken = await rig.run(rig.place(rig.record(SIDE.BUY, 65, OUTCOME.NO), TAKER));
  const third = idOf(taken.slot);
  const trade = { trade_id: timeOrderedId(START_MS, 0, ID_KIND.TRADE, 1), filled_at: FIRST_MICRO };
  const fee = { fee_amount: '500000', fee_asset: 'TOKEN', token_quantity_atomic: '100000000' };
  const fill = { channel: 'fill', ...trade, ...fee, party_side: 'BUY', remaining: '0', status: 'filled' };
  const [yes, no] = [
    { party_outcome_index: OUTCOME.YES, price: '0.4', notional_usdc_micro: '40000000' },
    { party_outcome_index: OUTCOME.NO, price: '0.6', notional_usdc_micro: '60000000' },
  ];
  const filled = { ...status, status: 'filled', remaining: '0', reason: 'filled' };
  assert.deepEqual(shown(), [
    { ...status, ...third, account: TAKER, status: 'open', remaining: '65000000', reason: 'placed' },
    { ...fill, ...yes, ...first, account: MAKER, role: 'maker' },
    { ...fill, ...no, ...third, account: TAKER, role: 'taker' },
    { ...filled, ...first, account: MAKER, filled_amount: '40000000' },
    { ...filled, ...third, account: TAKER, filled_amount: '65000000' },
  ]);
});
