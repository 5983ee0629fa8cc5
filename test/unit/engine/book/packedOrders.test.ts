/** Open orders in snapshots: every field and slot comes back, and closed orders weigh nothing. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Packing } from '../../../../engine/base/packing.ts';
import { NONE, type Orders, SLOT_STATE, WORD_SHIFT } from '../../../../engine/book/orders.ts';
import type { ShardState } from '../../../../engine/core/state.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { loadSnapshot, saveSnapshot } from '../../../../engine/snapshot/snapshot.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { engineWith, MemoryJournal } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { Random } from '../../../support/random.ts';

/** Fields of an order, by name; the row of its tag is replaced by what the tag says. */
function orderOf(orders: Orders, slot: number): Record<string, unknown> {
  const row = slot << WORD_SHIFT;
  const tag = orders.tag[row];
  const at = orders.signed.hashOffset(slot);
  const { clientId, clientIdBytes, group, priority } = orders.tags;
  const words = Array.from(orders.words.subarray(row, row + 32));
  // tag, and the index in the heap, whose shape is not kept
  words[15] = 0;
  words[14] = Number(words[14] === NONE);
  return {
    words,
    signed: Array.from(orders.signed.words.subarray(at, at + 15)),
    tag:
      tag < 0 ? null : [clientIdBytes[tag], group[tag], priority[tag], clientId.slice(tag * 16, tag * 16 + 16).join()],
  };
}

function openOrders(orders: Orders): Record<string, unknown>[] {
  const open: Record<string, unknown>[] = [];
  for (let slot = 0; slot < orders.capacity; slot++)
    if (orders.state[slot << WORD_SHIFT] !== SLOT_STATE.FREE) open.push({ slot, ...orderOf(orders, slot) });
  return open;
}

function reread(state: ShardState): ShardState {
  const head = new JournalHead(7, 1, 2);
  const file = saveSnapshot(temporaryDirectory(), 0, { state, nowMs: 1, head }, TEST_KEY);
  const fresh = engineWith(new MemoryJournal()).state;
  loadSnapshot(file, 0, fresh, TEST_KEY);
  return fresh;
}

function bytesOf(state: ShardState): number {
  const head = new JournalHead(7, 1, 2);
  return statSync(saveSnapshot(temporaryDirectory(), 0, { state, nowMs: 1, head }, TEST_KEY).path).size;
}

describe('packed numbers', () => {
  it('are read as they were written, small and large (seed 3)', () => {
    const random = new Random(3);
    const numbers = Array.from({ length: 3000 }, (_, i) =>
      Math.floor(2 ** (53 * ((i % 97) / 97)) * (random.below(1e6) / 1e6)),
    );
    numbers.push(0, 127, 128, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER);
    const writer = new Packing(new Uint8Array(1 << 18), false);
    const words = new Uint32Array([1, 0xffffffff, 0x80000000]);
    for (const [index, number] of numbers.entries()) {
      writer.value(number);
      writer.near(index, 1000);
      writer.words(words, 1, 2);
    }
    const reader = new Packing(writer.written(), true);
    for (const [index, number] of numbers.entries()) {
      assert.equal(reader.value(0), number);
      assert.equal(reader.near(0, 1000), index);
      const found = new Uint32Array([9, 9, 9]);
      reader.words(found, 1, 2);
      assert.deepEqual([...found], [9, 0xffffffff, 0x80000000]);
    }
    reader.requireEnd();
  });

  it('that end too early or too late are refused like a damaged snapshot', () => {
    const reader = new Packing(new Uint8Array([200]), true);
    assert.throws(() => reader.value(0), { name: 'SnapshotError' });
    assert.throws(() => new Packing(new Uint8Array([1, 1]), true).requireEnd(), { name: 'SnapshotError' });
    assert.throws(() => new Packing(new Uint8Array(3), true).words(new Uint32Array(1), 0, 1), {
      name: 'SnapshotError',
    });
  });
});

describe('open orders in a snapshot', () => {
  for (const seed of [11, 12, 13]) {
    it(`come back with every field, in their slots and queues, and new ones take the same slots (seed ${seed})`, () => {
      const shard = new JournaledShard(seed);
      shard.extend = (account, order) => (order % 3 === 0 ? { clientId: `order-${account}-${order}` } : {});
      shard.trade(400);
      for (let order = 0; order < 40; order++)
        shard.rig.place({
          account: 1 + (order % 3),
          side: SIDE.BUY,
          ticks: 1,
          lots: 1_000_000,
          ...shard.extend(1, order),
        });
      const { state } = shard.rig.engine;
      const fresh = reread(state);
      assert.ok(state.orders.openCount > 5 && state.orders.tags.count > 0, `${state.orders.openCount} open`);
      assert.deepEqual(openOrders(fresh.orders), openOrders(state.orders));
      fresh.orders.validate();
      fresh.orders.tags.validate();
      const free = Array.from({ length: 200 }, () => state.orders.allocate(1));
      assert.deepEqual(
        Array.from({ length: 200 }, () => fresh.orders.allocate(1)),
        free,
      );
      shard.close();
    });
  }

  it('take at most 96 bytes each, beside 24 for their hashes', () => {
    const [few, many] = [200, 1200].map((orders) => {
      const rig = new EngineRig();
      rig.market(0);
      for (let account = 1; account <= 100; account++) rig.fund(account, 1e12);
      for (let order = 0; order < orders; order++)
        rig.place({ account: 1 + (order % 100), side: SIDE.BUY, ticks: 1 + (order % 60), lots: 100_000 + order });
      return bytesOf(rig.engine.state);
    });
    const bytes = (many! - few!) / 1000;
    assert.ok(bytes <= 96 + 24, `${bytes} bytes`);
  });

  it('leave at most a few bytes for a free slot once they are closed', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 1e12);
    for (let order = 0; order < 1000; order++) rig.place({ account: 1, side: SIDE.BUY, ticks: 1, lots: 100_000 });
    const full = bytesOf(rig.engine.state);
    rig.cancelMany(1, 0);
    assert.equal(rig.engine.state.orders.openCount, 0);
    const left = bytesOf(rig.engine.state) - bytesOf(new EngineRig().engine.state);
    assert.ok(left < 1000 * (24 + 3) + 2000, `${left} of ${full} bytes are left, hashes among them`);
  });
});
