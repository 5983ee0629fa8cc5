/** Texts of open orders, kept until the order changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrderTexts } from '../../../../gateway/shardlink/orderTexts.ts';
import { OpenOrders } from '../../../../gateway/shardlink/orderViews.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { MOVEMENT, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

test('a text is found until its order is filled, or its slot has another order', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const [orders] = rig.views.orders;
  const texts = new OrderTexts();
  const place = async (): Promise<number> => (await rig.run(rig.place(rig.record(SIDE.BUY, 40)))).slot;
  const [slot, other] = [await place(), await place()];
  const found = (at = slot): string | undefined => texts.find(orders, at, orders.changes[at]);
  const keep = (text: string, at = slot): void => texts.keep(orders, at, orders.changes[at], text);
  assert.deepEqual([found(), found(other)], [undefined, undefined]);
  keep('new');
  keep('other', other);
  assert.deepEqual([found(), found(other)], ['new', 'other']);
  keep('new again');
  assert.equal(found(), 'new again');

  const before = orders.changes[slot];
  await rig.run(rig.client.funds(2, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(2)));
  await rig.run(rig.place(rig.record(SIDE.BUY, 60, OUTCOME.NO), 2));
  assert.deepEqual([found(), found(other)], [undefined, 'other']);
  assert.equal(texts.find(orders, slot, before), 'new again', 'an answer that began before shows the order of then');
  texts.keep(orders, slot, before, 'late');
  assert.equal(found(), undefined, 'an answer that began before keeps nothing');
  const reused = [await place(), await place()];
  assert.ok(reused.includes(slot));
  assert.equal(found(), undefined);
});

test('a shard that has recovered has texts of its own', () => {
  const texts = new OrderTexts();
  const [before, after] = [new OpenOrders(0, new PairIndex()), new OpenOrders(0, new PairIndex())];
  const another = new OpenOrders(1, new PairIndex());
  for (const orders of [before, after, another]) orders.changes[7] = 1;
  texts.keep(before, 7, 1, 'before');
  texts.keep(another, 7, 1, 'another');
  assert.equal(texts.find(after, 7, 1), undefined);
  texts.keep(after, 7, 1, 'after');
  const found = [before, after, another].map((orders) => texts.find(orders, 7, 1));
  assert.deepEqual(found, [undefined, 'after', 'another']);
});

test('no more characters are kept than there is room for, and a text that is too long is not kept', () => {
  const texts = new OrderTexts(10);
  const orders = new OpenOrders(0, new PairIndex());
  for (const slot of [0, 1, 2]) orders.changes[slot] = 1;
  const kept = (): (string | undefined)[] => [0, 1, 2].map((slot) => texts.find(orders, slot, 1));
  texts.keep(orders, 0, 1, '12345');
  texts.keep(orders, 1, 1, '12345');
  texts.keep(orders, 1, 1, '54321');
  assert.deepEqual(kept(), ['12345', '54321', undefined]);
  texts.keep(orders, 2, 1, '12345678901');
  assert.deepEqual(kept(), ['12345', '54321', undefined]);
  texts.keep(orders, 2, 1, '1');
  assert.deepEqual(kept(), [undefined, undefined, '1']);
});
