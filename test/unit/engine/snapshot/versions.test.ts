/**
 * Snapshots of earlier versions, made by their rules: 8 has no stages, 9 no floor of numbers, 10 no times of fills, 13
 * hashes without what they are kept for.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SnapshotWriter } from '../../../../engine/base/snapshotIo.ts';
import { WORD_SHIFT } from '../../../../engine/book/orders.ts';
import type { ShardState } from '../../../../engine/core/state.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { loadSnapshot } from '../../../../engine/snapshot/snapshot.ts';
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { FILE_LAYOUTS } from '../../../../shared/base/formats.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { engineWith, MemoryJournal } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const SHARD = 0;
const MAGIC = 0x5358504f;
const HEAD = new JournalHead(7, 1, 2);
const NOW_MS = 1_800_000_000_000;
const ORDERS = 300;
const GRANT = 5;

type Traded = { readonly rig: EngineRig; readonly hashes: readonly Uint32Array[] };

/** Orders of three accounts; each fourth one has been cancelled. */
function traded(): Traded {
  const rig = new EngineRig();
  rig.market(0);
  for (const account of [1, 2, 3]) rig.fund(account, 1_000_000_000);
  const hashes = Array.from({ length: ORDERS }, (_, order) => {
    const account = 1 + (order % 3);
    rig.place({ account, side: SIDE.BUY, ticks: 1 + (order % 60), lots: 100_000, grant: GRANT });
    const hash = rig.hashOf(order + 1);
    if (order % 4 === 0) rig.cancel(account, hash);
    return hash;
  });
  rig.place({
    account: 2,
    side: SIDE.BUY,
    outcome: OUTCOME.NO,
    ticks: 99,
    lots: 10_000,
    timeInForce: TIME_IN_FORCE.FAK,
  });
  return { rig, hashes };
}

function saveAs(version: number, state: ShardState): { path: string; sequence: number } {
  const path = join(temporaryDirectory(), `snapshot-${SHARD}-${HEAD.sequence}.bin`);
  const writer = new SnapshotWriter(path, version, TEST_KEY.snapshots!);
  for (const value of [MAGIC, version, SHARD, HEAD.sequence, HEAD.chainLow, HEAD.chainHigh, NOW_MS]) {
    writer.number(value);
  }
  state.persist(writer);
  const digest = new Uint32Array(2);
  state.writeDigest(digest, 0);
  writer.u32(digest);
  writer.seal();
  writer.sync();
  writer.close();
  return { path, sequence: HEAD.sequence };
}

describe('a snapshot of an earlier version', () => {
  for (const version of [8, 9, 10, 13]) {
    it(`${version} is read whole, with what it lacks as it was then`, () => {
      const { rig, hashes } = traded();
      const { state: saved } = rig.engine;
      const file = saveAs(version, saved);
      const { state } = engineWith(new MemoryJournal());
      assert.deepEqual(loadSnapshot(file, SHARD, state, TEST_KEY), { head: HEAD, nowMs: NOW_MS });
      assert.equal(state.hashes.size, ORDERS + 1);
      for (const [order, hash] of hashes.entries()) {
        const slot = state.openOrders.find(state.orders.signed.words, hash, 0);
        assert.ok(state.hashes.has(hash, 0));
        assert.equal(slot >= 0, order % 4 !== 0, `order ${order} is open as it was`);
        if (slot >= 0) assert.equal(state.orders.grant[slot << WORD_SHIFT], GRANT);
      }
      assert.equal(state.orders.openCount, saved.orders.openCount);
      assert.ok(saved.markets.peek(0)!.lastFillMicros > 0, 'a market has fills');
      const lastFill = saved.markets.peek(0)!.lastFillMicros;
      assert.equal(state.markets.peek(0)!.lastFillMicros, version > 10 ? lastFill : 0);
    });
  }

  it('that is older still, or newer than this program, is refused by its number', () => {
    for (const version of [7, FILE_LAYOUTS.snapshot + 1]) {
      const file = saveAs(version, traded().rig.engine.state);
      const { state } = engineWith(new MemoryJournal());
      const refusal = { name: 'SnapshotError', message: `snapshot ${file.path}: version ${version}` };
      assert.throws(() => loadSnapshot(file, SHARD, state, TEST_KEY), refusal);
    }
  });
});
