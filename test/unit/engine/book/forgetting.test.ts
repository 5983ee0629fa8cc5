/** The index of accepted hashes forgets what could not be accepted again, and gives the memory back. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HashIndex } from '../../../../engine/book/hashIndex.ts';
import { FOR_EVER, hourAfterSec, hourOfMs } from '../../../../engine/book/retention.ts';
import { MAX_ACCOUNTS } from '../../../../shared/base/codes.ts';
import { FILE_LAYOUTS } from '../../../../shared/base/formats.ts';
import { MemorySnapshot } from '../../../support/memorySnapshot.ts';
import { Random } from '../../../support/random.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 9, 30);
const NOW = hourOfMs(NOW_MS);
const NOW_SEC = NOW_MS / 1000;
const ENTRY_BYTES = 24;

/** An index whose entry `i` has the hash of `hash(i)`. */
function filled(count: number, of: (i: number) => readonly [market: number, expirationSec: number]): HashIndex {
  const index = new HashIndex();
  index.retention.reach(NOW);
  for (let i = 0; i < count; i++) {
    const [market, expirationSec] = of(i);
    index.insert(hash(i), 0, 1 + (i % 3), market, hourAfterSec(expirationSec));
  }
  return index;
}

function hash(i: number): Uint32Array {
  return new Uint32Array([i, Math.imul(i, 0x9e3779b1), 3, 4, 5, 6, 7, 8]);
}

function swept(index: HashIndex): HashIndex {
  index.sweep(1e9);
  index.validate();
  return index;
}

/** The bytes of the entries in a snapshot. */
function snapshotBytes(index: HashIndex): number {
  let bytes = 0;
  const pass = (words: Uint32Array): Uint32Array => {
    bytes += words.byteLength;
    return words;
  };
  const io = { version: FILE_LAYOUTS.snapshot, number: (value: number) => value, u32: pass };
  index.persist(io as unknown as Parameters<HashIndex['persist']>[0]);
  return bytes - 256 * 4;
}

function remembered(index: HashIndex, count: number): number[] {
  return Array.from({ length: count }, (_, i) => i).filter((i) => index.has(hash(i), 0));
}

describe('accepted orders', () => {
  it('of a decided market are forgotten, of others not, and their memory is given back', (t) => {
    const count = 60_000;
    const index = filled(count, (i) => [i % 10 === 0 ? 0 : 1, 0]);
    const before = { entries: index.size, bytes: index.words * 4, snapshot: snapshotBytes(index) };
    assert.equal(before.snapshot, count * ENTRY_BYTES);
    assert.equal(swept(index).size, count, 'nothing is decided');
    index.retention.decide(1);
    assert.equal(snapshotBytes(index), before.snapshot / 10, 'a snapshot leaves them out at once');
    swept(index);
    const after = { entries: index.size, bytes: index.words * 4 };
    t.diagnostic(`${JSON.stringify(before)} → ${JSON.stringify(after)}`);
    assert.equal(after.entries, count / 10);
    assert.ok(after.bytes <= 0.5 * before.bytes, 'bytes in memory');
    assert.deepEqual(
      [1, 2, 3].map((account) => index.countOf(account)),
      [2000, 2000, 2000],
    );
    assert.ok(index.has(hash(0), 0) && !index.has(hash(1), 0));
    index.retention.decide(0);
    assert.deepEqual([swept(index).size, index.words, snapshotBytes(index)], [0, 0, 0]);
  });

  it('of the last account that there may be are its own, in any market, and forgotten like others', () => {
    const markets = [0, 63, 64, 2 ** 22 - 2, 2 ** 22 - 1];
    const accounts = [1, 2 ** 20, MAX_ACCOUNTS - 1];
    const index = new HashIndex();
    const all = markets.flatMap((market) => accounts.map((account) => [market, account] as const));
    for (const [i, [market, account]] of all.entries()) index.insert(hash(i), 0, account, market, FOR_EVER);
    for (const [i, [, account]] of all.entries()) assert.equal(index.accountOf(hash(i), 0), account, `entry ${i}`);
    assert.deepEqual(
      accounts.map((account) => index.countOf(account)),
      [5, 5, 5],
    );
    index.retention.decide(2 ** 22 - 2);
    swept(index);
    assert.deepEqual(
      remembered(index, all.length).map((i) => all[i]![0]),
      markets.filter((market) => market !== 2 ** 22 - 2).flatMap((market) => [market, market, market]),
    );
  });

  it('are forgotten once their expiration has passed, by the hour and never earlier', () => {
    // The end of an hour, the second after it, a day later, and one beyond the circle of hours.
    const endSec = (NOW + 1) * 3600;
    const expirations = [endSec, endSec + 1, endSec + 86_400, endSec + 60 * 365 * 86_400, 0];
    const index = filled(5, (i) => [i, expirations[i]!]);
    const left: number[][] = [];
    for (const hour of [NOW, NOW + 1, NOW + 2, NOW + 25, NOW + 26, NOW + 30_000]) {
      index.retention.reach(hour);
      left.push(remembered(swept(index), 5));
      assert.equal(snapshotBytes(index), index.size * ENTRY_BYTES);
    }
    const all = [0, 1, 2, 3, 4];
    assert.deepEqual(left, [all, [1, 2, 3, 4], [2, 3, 4], [3, 4], [3, 4], [3, 4]]);
    index.retention.decide(3);
    assert.deepEqual(remembered(swept(index), 5), [4], 'the decision of its market counts besides');
  });

  it('are never forgotten before their expiration, whatever the hour of the circle', () => {
    const random = new Random(11);
    for (let round = 0; round < 300; round++) {
      const start = NOW + random.below(200_000);
      const ahead = 1 + random.below(33_000);
      const index = new HashIndex();
      index.retention.reach(start);
      index.insert(hash(round), 0, 1, 5, hourAfterSec((start + ahead) * 3600));
      index.retention.reach(start + ahead - 1);
      assert.equal(swept(index).size, 1, `round ${round}: ${ahead} hours from ${start}`);
      index.retention.reach(start + ahead);
      assert.equal(swept(index).size, ahead > 32_767 ? 1 : 0, `round ${round}: ${ahead} hours from ${start}`);
    }
  });

  it('are found whatever a sweep has done between a search and an insertion', () => {
    const index = filled(3000, (i) => [i % 2, 0]);
    index.retention.decide(1);
    for (let i = 3000; i < 9000; i++) {
      assert.equal(index.has(hash(i), 0), false);
      if (i % 5 === 0) index.sweep(1000);
      index.insert(hash(i), 0, 1, 2, FOR_EVER);
    }
    index.validate();
    assert.equal(remembered(index, 9000).length, 7500, 'new orders sweep the old away');
  });

  it('of a market or an expiration too large for its bits are remembered', () => {
    const index = filled(2, (i) => [i === 0 ? 2 ** 22 : 2 ** 22 - 2, 0]);
    index.retention.decide(2 ** 22 - 2);
    index.retention.decide(2 ** 22);
    assert.deepEqual(remembered(swept(index), 2), [0]);
  });

  it('keep what they are kept for across a snapshot, and its reader forgets on', () => {
    const index = filled(4, (i) => [i % 2, i < 2 ? NOW_SEC + 7200 : 0]);
    const [snapshot, read] = [new MemorySnapshot(), new HashIndex()];
    index.persist(snapshot.writer);
    read.persist(snapshot.reader);
    assert.deepEqual(remembered(swept(read), 4), [0, 1, 2, 3]);
    read.retention.decide(1);
    assert.deepEqual(remembered(swept(read), 4), [0, 2]);
    read.retention.reach(NOW + 3);
    assert.deepEqual(remembered(swept(read), 4), [2]);
  });
});
