import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SnapshotIo } from '../../../../engine/base/snapshotIo.ts';
import { HashIndex, NO_ACCOUNT } from '../../../../engine/book/hashIndex.ts';
import { FOR_EVER, hourOfMs } from '../../../../engine/book/retention.ts';
import { KeyedHash } from '../../../../shared/base/keyedHash.ts';
import { MemorySnapshot } from '../../../support/memorySnapshot.ts';
import { Random } from '../../../support/random.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 9, 30);
const NOW = hourOfMs(NOW_MS);
const ENTRY_WORDS = 6;
const HASHES = 30_000;
const LAST_GROUP = (1 << 15) - 1;

const hashOf = (...words: number[]): Uint32Array => Uint32Array.from({ length: 8 }, (_, index) => words[index] ?? 0);

function randomHash(random: Random): Uint32Array {
  return hashOf(...Array.from({ length: 8 }, () => random.next()));
}

function insert(index: HashIndex, hash: Uint32Array, account: number): void {
  index.insert(hash, 0, account, FOR_EVER, FOR_EVER);
}

/** A keyed hash of this part, of a group in 32,768 of it, and of this mark. */
function tagOf(part: number, group: number, mark: number): number {
  return (part << 22) | (group << 7) | (mark & 127);
}

/** A copy by a snapshot. */
function copied(index: HashIndex): HashIndex {
  const [snapshot, copy] = [new MemorySnapshot(), new HashIndex()];
  index.persist(snapshot.writer);
  copy.persist(snapshot.reader);
  assert.ok(snapshot.isReadWhole);
  return copy;
}

/** Lets a sweep look at everything. */
function swept(index: HashIndex): HashIndex {
  index.sweep(1e9);
  index.validate();
  return index;
}

describe('the index of accepted hashes', () => {
  it('has a hash with its account once it is in, and not before', () => {
    const index = new HashIndex();
    const hash = hashOf(1, 2, 3, 4);
    assert.deepEqual([index.accountOf(hash, 0), index.has(hash, 0)], [NO_ACCOUNT, false]);
    insert(index, hash, 7);
    assert.deepEqual([index.accountOf(hash, 0), index.has(hash, 0), index.size], [7, true, 1]);
    assert.throws(() => insert(index, hash, 7), /inserted once/);
  });

  it('takes the hash of all zeroes like any other, and an account of 0 for a bug', () => {
    const index = new HashIndex();
    insert(index, hashOf(), 1);
    assert.ok(index.has(hashOf(), 0));
    assert.throws(() => insert(index, hashOf(5), 0), /HASHES-1/);
  });

  it('tells hashes that start alike apart by any of their first 128 bits', () => {
    const index = new HashIndex();
    const hashes = [hashOf(), hashOf(256), hashOf(0, 1), hashOf(0, 0, 1), hashOf(0, 0, 0, 1)];
    for (const [at, hash] of hashes.entries()) insert(index, hash, at + 1);
    for (const [at, hash] of hashes.entries()) assert.equal(index.accountOf(hash, 0), at + 1);
  });

  it('finds what has the same part, group and mark as others, also past the end of the part', () => {
    const place = { of: () => tagOf(3, LAST_GROUP, 5) } as unknown as KeyedHash;
    const index = new HashIndex(place);
    const alike = Array.from({ length: 11 }, (_, at) => hashOf(at, at * 7));
    for (const [at, hash] of alike.entries()) {
      assert.equal(index.has(hash, 0), false);
      insert(index, hash, 1 + at);
      for (const [known, other] of alike.entries())
        assert.equal(index.accountOf(other, 0), known <= at ? 1 + known : NO_ACCOUNT);
    }
    assert.equal(index.validate(), 11);
  });

  it('inserts what was looked for before something else came in between', () => {
    const index = new HashIndex();
    const [first, second] = [hashOf(1, 2, 3, 4), hashOf(5, 6, 7, 8)];
    assert.equal(index.has(first, 0), false);
    insert(index, second, 2);
    insert(index, first, 1);
    assert.throws(() => insert(index, first, 1), /inserted once/);
    assert.equal(index.has(hashOf(9), 0), false);
    assert.throws(() => insert(index, second, 2), /inserted once/, 'another hash was missing');
    assert.deepEqual([index.accountOf(first, 0), index.accountOf(second, 0), index.validate()], [1, 2, 2]);
  });

  it('agrees with a Map over 30,000 hashes, through every growth, also when they crowd few parts', () => {
    for (const isCrowded of [false, true]) {
      const random = new Random(isCrowded ? 2 : 1);
      // With a key of zeros the places can be computed, as by an attacker who knows the secret.
      const place = new KeyedHash(new Int32Array(2));
      const index = new HashIndex(place);
      const twin = new Map<string, number>();
      const words = new Uint32Array(8 * HASHES);
      for (let i = 0; i < HASHES; i++) {
        const at = i * 8;
        do for (let word = 0; word < 8; word++) words[at + word] = random.next();
        while (isCrowded && place.of(words, at) >>> 28 !== 5);
        index.insert(words, at, i + 1, FOR_EVER, FOR_EVER);
        twin.set(words.subarray(at, at + 4).join(), i + 1);
      }
      assert.deepEqual([index.size, index.validate()], [twin.size, twin.size]);
      for (let at = 0; at < words.length; at += 8)
        assert.equal(index.accountOf(words, at), twin.get(words.subarray(at, at + 4).join()));
    }
  });

  it('notices entries that lie together: only who knows the secret can make them', () => {
    // All in the first group of one part, and of different marks.
    const place = { of: (words: Uint32Array, word: number) => tagOf(3, 0, words[word]) } as unknown as KeyedHash;
    const [known, secret] = [new HashIndex(place), new HashIndex()];
    for (let i = 0; i < 1100; i++) {
      insert(known, hashOf(i), 1);
      insert(secret, hashOf(i), 1);
    }
    assert.throws(() => known.validate(), /HASHES-5/);
    assert.equal(secret.validate(), 1100);
  });

  it('has room for all until half of it is taken, and from then on for an eighth of it to each account', () => {
    const index = new HashIndex();
    const fill = (account: number, count: number): void => {
      for (let i = 0; i < count; i++) insert(index, hashOf(account, index.size), account);
    };
    fill(1, 15);
    assert.ok(index.hasRoom(1, 32), 'not half is taken');
    fill(1, 1);
    assert.deepEqual([index.hasRoom(1, 32), index.hasRoom(2, 32)], [false, true]);
    fill(2, 4);
    assert.equal(index.hasRoom(2, 32), false);
    for (const account of [3, 70, 500]) fill(account, 4);
    assert.equal(index.size, 32);
    assert.equal(index.hasRoom(4, 32), false, 'all is taken');
    assert.deepEqual(
      [1, 2, 70, 71, 1_000_000].map((account) => index.countOf(account)),
      [16, 4, 4, 0, 0],
    );
    index.validate();
  });

  it('is the same after a snapshot, whose reader has another secret', () => {
    const written = new HashIndex();
    const random = new Random(4);
    const hashes = Array.from({ length: 20_000 }, () => randomHash(random));
    for (const [at, hash] of hashes.entries()) insert(written, hash, 1 + (at % 7));
    const read = copied(written);
    for (const hash of hashes) assert.equal(read.accountOf(hash, 0), written.accountOf(hash, 0));
    assert.deepEqual([read.validate(), read.countOf(3)], [hashes.length, written.countOf(3)]);
  });

  it('is read from a snapshot whose parts have unused entries among the others, as those of the first release', () => {
    const COLUMNS = 256;
    const used = new Uint32Array(COLUMNS);
    const columns = Array.from({ length: COLUMNS }, () => new Uint32Array(32 * ENTRY_WORDS));
    // Two entries of column 5 and one of column 200, each with a gap before it: word 0, account, row + 1.
    for (const [entry, word0, account, row] of [
      [3, 5, 11, 0],
      [9, 5 + 256, 12, 8],
      [31, 200, 13, 2],
    ] as const) {
      const column = columns[word0 % COLUMNS]!;
      column[entry * ENTRY_WORDS] = word0;
      column.set([account, row], entry * ENTRY_WORDS + 4);
      used[word0 % COLUMNS]!++;
    }
    const parts = [used, ...columns];
    const io = { version: 13, number: () => 3, u32: () => parts.shift()! } as unknown as SnapshotIo;

    const index = new HashIndex();
    index.persist(io);
    assert.deepEqual(parts, []);
    for (const [word0, account] of [
      [5, 11],
      [5 + 256, 12],
      [200, 13],
    ] as const)
      assert.equal(index.accountOf(hashOf(word0), 0), account);
    index.retention.decide(0);
    index.retention.reach(NOW);
    assert.equal(swept(index).size, 3, 'what an old snapshot had is kept: it says neither market nor expiration');
    assert.equal(copied(index).size, 3);
  });
});
