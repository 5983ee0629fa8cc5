/**
 * Snapshots of earlier versions, made by their rules: 3 has unused entries among the hashes, 4 has other parts of them,
 * 5 no grants, 6 no seal that is checked, 7 nothing of markets that are being ended, 8 no stages, 10 no times of fills.
 * They are read where an operator vouches for them (`journal adopt`), for a trimmed journal cannot do without. A start
 * uses none that has no seal.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type SnapshotIo, SnapshotWriter } from '../../../../engine/base/snapshotIo.ts';
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
const ENTRY_WORDS = 6;
const PART_SHIFT = 24;
const ORDERS = 300;

type Traded = { readonly rig: EngineRig; readonly hashes: readonly Uint32Array[] };

/** Orders of three accounts; each fourth one has been cancelled. */
function traded(grant = 0): Traded {
  const rig = new EngineRig();
  rig.market(0);
  for (const account of [1, 2, 3]) rig.fund(account, 1_000_000_000);
  const hashes = Array.from({ length: ORDERS }, (_, order) => {
    const account = 1 + (order % 3);
    rig.place({ account, side: SIDE.BUY, ticks: 1 + (order % 60), lots: 100_000, grant });
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

/** The hash index as versions 3 and 4 wrote it: an entry is in the part of its first bits. */
function writeOldHashes(writer: SnapshotIo, persist: (io: SnapshotIo) => void): void {
  const columns: Uint32Array[] = [];
  const u32 = (column: Uint32Array): Uint32Array => {
    columns.push(column);
    return column;
  };
  persist({ number: (value: number) => value, u32 } as SnapshotIo);
  const [used, ...parts] = columns;
  const entries = parts.flatMap((part, index) =>
    Array.from({ length: used![index]! }, (_, at) => part.slice(at * ENTRY_WORDS, (at + 1) * ENTRY_WORDS)),
  );
  const oldParts = parts.map((_, index) => entries.filter(([first]) => first! >>> PART_SHIFT === index));
  writer.number(entries.length);
  writer.u32(Uint32Array.from(oldParts, ({ length }) => length));
  for (const part of oldParts) {
    const words = part.flatMap((entry) => [...entry]);
    // Room for entries that nobody used: version 3 wrote the whole of its columns.
    const unused = writer.version === 3 ? new Array(ENTRY_WORDS * (part.length + 2)).fill(0) : [];
    writer.u32(Uint32Array.from([...words, ...unused]));
  }
}

function saveAs(version: number, state: ShardState): { path: string; sequence: number } {
  const path = join(temporaryDirectory(), `snapshot-${SHARD}-${HEAD.sequence}.bin`);
  const writer = new SnapshotWriter(path, version, TEST_KEY.snapshots!);
  for (const value of [MAGIC, version, SHARD, HEAD.sequence, HEAD.chainLow, HEAD.chainHigh, NOW_MS]) {
    writer.number(value);
  }
  const persist = state.hashes.persist.bind(state.hashes);
  if (version <= 4) state.hashes.persist = (io) => writeOldHashes(io, persist);
  state.persist(writer);
  const digest = new Uint32Array(2);
  state.writeDigest(digest, 0);
  writer.u32(digest);
  if (version >= 7) writer.seal();
  writer.sync();
  writer.close();
  return { path, sequence: HEAD.sequence };
}

describe('a snapshot of an earlier version', () => {
  for (const version of [3, 4, 5, 6, 7, 8, 9, 10]) {
    it(`${version} is read whole, with what it lacks as it was then`, () => {
      const grant = version >= 6 ? 5 : 0;
      const { rig, hashes } = traded(grant);
      const { state: saved } = rig.engine;
      const file = saveAs(version, saved);
      const { state } = engineWith(new MemoryJournal());
      assert.deepEqual(loadSnapshot(file, SHARD, state, TEST_KEY.unchecked()), { head: HEAD, nowMs: NOW_MS });
      assert.equal(state.hashes.size, ORDERS + 1);
      for (const [order, hash] of hashes.entries()) {
        const slot = state.hashes.slotOf(state.hashes.find(hash, 0));
        assert.equal(slot >= 0, order % 4 !== 0, `order ${order} is open as it was`);
        if (slot >= 0) assert.equal(state.orders.grant[slot << WORD_SHIFT], grant);
      }
      assert.equal(state.orders.openCount, saved.orders.openCount);
      assert.ok(saved.markets.peek(0)!.lastFillMicros > 0, 'a market has fills');
      assert.equal(state.markets.peek(0)!.lastFillMicros, 0);
    });
  }

  it('without a seal is used by no start', () => {
    for (const version of [3, 6]) {
      const file = saveAs(version, traded().rig.engine.state);
      const { state } = engineWith(new MemoryJournal());
      assert.throws(() => loadSnapshot(file, SHARD, state, TEST_KEY), { name: 'SnapshotError' }, `${version}`);
    }
  });

  it('that is older still, or newer than this program, is refused by its number', () => {
    for (const version of [2, FILE_LAYOUTS.snapshot + 1]) {
      const file = saveAs(version, traded().rig.engine.state);
      const { state } = engineWith(new MemoryJournal());
      const refusal = { name: 'SnapshotError', message: `snapshot ${file.path}: version ${version}` };
      assert.throws(() => loadSnapshot(file, SHARD, state, TEST_KEY.unchecked()), refusal);
    }
  });
});
