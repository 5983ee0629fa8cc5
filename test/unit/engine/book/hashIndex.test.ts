import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SnapshotIo } from '../../../../engine/base/snapshotIo.ts';
import { HashIndex, NO_ENTRY } from '../../../../engine/book/hashIndex.ts';
import { KeyedHash } from '../../../../shared/base/keyedHash.ts';
import { MemorySnapshot } from '../../../support/memorySnapshot.ts';
import { Random } from '../../../support/random.ts';

const hashOf = (...words: number[]): Uint32Array => Uint32Array.from({ length: 8 }, (_, index) => words[index] ?? 0);

/** Account and slot of a hash that is in the index. */
function lookUp(index: HashIndex, words: Uint32Array, word = 0): [account: number, slot: number] {
  const entry = index.find(words, word);
  assert.notEqual(entry, NO_ENTRY);
  return [index.accountOf(entry), index.slotOf(entry)];
}

it('a hash is found with its account and slot once it is in, and not before', () => {
  const index = new HashIndex();
  const hash = hashOf(1, 2, 3, 4);
  assert.equal(index.find(hash, 0), NO_ENTRY);
  assert.equal(index.has(hash, 0), false);
  const entry = index.insert(hash, 0, 7, 0);
  assert.equal(index.find(hash, 0), entry);
  assert.equal(index.has(hash, 0), true);
  assert.deepEqual([...lookUp(index, hash), index.size], [7, 0, 1]);
});

it('a closed hash stays for ever, without a slot', () => {
  const index = new HashIndex();
  const entry = index.insert(hashOf(1), 0, 7, 5);
  index.close(entry, 5);
  assert.deepEqual(lookUp(index, hashOf(1)), [7, -1]);
  assert.throws(() => index.close(entry, 5), /ORDERS-2/);
  assert.throws(() => index.insert(hashOf(1), 0, 7, 6), /inserted once/);
});

it('may be inserted closed', () => {
  const index = new HashIndex();
  index.insert(hashOf(9), 0, 3, -1);
  assert.deepEqual(lookUp(index, hashOf(9)), [3, -1]);
});

it('the hash of all zeroes is one like any other, an account of 0 is a bug', () => {
  const index = new HashIndex();
  index.insert(hashOf(), 0, 1, 2);
  assert.ok(index.has(hashOf(), 0));
  assert.throws(() => index.insert(hashOf(5), 0, 0, 1), /HASHES-1/);
});

it('hashes that start alike are told apart by any of their first 128 bits', () => {
  const index = new HashIndex();
  const hashes = [hashOf(), hashOf(256), hashOf(0, 1), hashOf(0, 0, 1), hashOf(0, 0, 0, 1)];
  hashes.forEach((hash, slot) => {
    index.insert(hash, 0, slot + 1, slot);
  });
  hashes.forEach((hash, slot) => {
    assert.deepEqual(lookUp(index, hash), [slot + 1, slot]);
  });
});

it('says no in finite time, however full a part is', () => {
  const index = new HashIndex();
  for (let i = 1; i <= 300; i++) {
    index.insert(hashOf(0, i), 0, 1, 0);
    assert.equal(index.find(hashOf(0, 0, i), 0), NO_ENTRY);
  }
});

it('finds what has the same part, group and mark as others, also past the end of the table', () => {
  const place = new KeyedHash(new Int32Array(2));
  const index = new HashIndex(place);
  const random = new Random(5);
  const alike: Uint32Array[] = [];
  while (alike.length < 13) {
    const hash = hashOf(...Array.from({ length: 4 }, () => random.next()));
    // The last of 8 groups, so that the search goes on at the first; one mark of 128.
    const tag = place.of(hash, 0);
    if (tag >>> 24 === 9 && (tag & 7) === 7 && ((tag >>> 16) & 127) < 16) alike.push(hash);
  }
  for (const [slot, hash] of alike.entries()) {
    assert.equal(index.find(hash, 0), NO_ENTRY);
    index.insert(hash, 0, 1 + slot, slot);
    for (const [known, other] of alike.entries())
      if (known <= slot) assert.deepEqual(lookUp(index, other), [1 + known, known]);
      else assert.equal(index.has(other, 0), false);
  }
  assert.equal(index.validate(), 13);
});

it('inserts what was looked for before something else came in between', () => {
  const index = new HashIndex();
  const [first, second] = [hashOf(1, 2, 3, 4), hashOf(5, 6, 7, 8)];
  assert.equal(index.has(first, 0), false);
  index.insert(second, 0, 2, 0);
  index.insert(first, 0, 1, 1);
  assert.throws(() => index.insert(first, 0, 1, 2), /inserted once/);
  assert.equal(index.has(hashOf(9), 0), false);
  assert.throws(() => index.insert(second, 0, 2, 3), /inserted once/, 'another hash was missing');
  assert.deepEqual([lookUp(index, first), lookUp(index, second), index.validate()], [[1, 1], [2, 0], 2]);
});

it('agrees with a Map over 70,000 hashes, through every growth, also when they crowd one part', () => {
  for (const isCrowded of [false, true]) {
    const random = new Random(isCrowded ? 2 : 1);
    // With a key of zeros the places can be computed, as by an attacker who knows the secret.
    const place = new KeyedHash(new Int32Array(2));
    const index = new HashIndex(place);
    const twin = new Map<string, [account: number, slot: number]>();
    const words = new Uint32Array(8 * 70_000);
    for (let i = 0; i < 70_000; i++) {
      const at = i * 8;
      do for (let word = 0; word < 8; word++) words[at + word] = random.next();
      while (isCrowded && place.of(words, at) >>> 28 !== 5);
      const slot = random.below(1000);
      const entry = index.insert(words, at, i + 1, slot);
      const isClosed = random.chance(30);
      if (isClosed) index.close(entry, slot);
      twin.set(words.subarray(at, at + 4).join(), [i + 1, isClosed ? -1 : slot]);
    }
    assert.equal(index.size, twin.size);
    assert.equal(index.validate(), [...twin.values()].filter(([, slot]) => slot !== -1).length);
    for (let at = 0; at < words.length; at += 8) {
      assert.deepEqual(lookUp(index, words, at), twin.get(words.subarray(at, at + 4).join()));
    }
  }
});

it('notices entries that lie together: only somebody who knows the secret can make them', () => {
  const place = new KeyedHash(new Int32Array(2));
  const known = new HashIndex(place);
  const secret = new HashIndex();
  const random = new Random(3);
  const hash = hashOf();
  for (let i = 0; i < 1100; ) {
    for (let word = 0; word < 4; word++) hash[word] = random.next();
    // The first part, and of its 512 groups of four cells the first 125.
    const tag = place.of(hash, 0);
    if (tag >>> 24 !== 0 || (tag & 511) >= 125) continue;
    known.insert(hash, 0, 1, 0);
    secret.insert(hash, 0, 1, 0);
    i++;
  }
  assert.throws(() => known.validate(), /HASHES-5/);
  assert.equal(secret.validate(), 1100);
});

it('has room for everybody until half of it is taken, and from then on for an eighth of it to each account', () => {
  const index = new HashIndex();
  const fill = (account: number, count: number): void => {
    for (let i = 0; i < count; i++) index.insert(hashOf(account, index.size), 0, account, 0);
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
  const [written, read] = [new HashIndex(), new HashIndex()];
  const random = new Random(4);
  const hashes = Array.from({ length: 70_000 }, () => hashOf(...Array.from({ length: 8 }, () => random.next())));
  for (const [slot, hash] of hashes.entries()) written.insert(hash, 0, 1 + (slot % 7), slot % 3 === 0 ? -1 : slot);
  const snapshot = new MemorySnapshot();
  written.persist(snapshot.writer);
  read.persist(snapshot.reader);
  for (const hash of hashes) assert.deepEqual(String(lookUp(read, hash)), String(lookUp(written, hash)));
  assert.equal(read.validate(), written.validate());
  assert.deepEqual([read.size, read.countOf(3)], [hashes.length, written.countOf(3)]);
});

it('is read from a snapshot whose parts have unused entries among the others, as those of the first release', () => {
  const PARTS = 256;
  const ENTRY_WORDS = 6;
  const used = new Uint32Array(PARTS);
  const parts = Array.from({ length: PARTS }, () => new Uint32Array(32 * ENTRY_WORDS));
  // Two entries of part 5 and one of part 200, each with a gap before it: word 0, account, row + 1.
  for (const [entry, word0, account, row] of [
    [3, 5, 11, 0],
    [9, 5 + 256, 12, 8],
    [31, 200, 13, 2],
  ] as const) {
    const part = parts[word0 % PARTS];
    part[entry * ENTRY_WORDS] = word0;
    part.set([account, row], entry * ENTRY_WORDS + 4);
    used[word0 % PARTS]++;
  }
  const columns = [used, ...parts];
  const io = { number: () => 3, u32: () => columns.shift()! } as unknown as SnapshotIo;

  const index = new HashIndex();
  index.persist(io);
  assert.deepEqual(columns, []);
  for (const [word0, account, slot] of [
    [5, 11, -1],
    [5 + 256, 12, 7],
    [200, 13, 1],
  ] as const) {
    assert.deepEqual(lookUp(index, hashOf(word0)), [account, slot]);
  }
  for (let i = 1; i <= 100; i++) index.insert(hashOf(5, i), 0, i, i);
  let visited = 0;
  index.visit(() => visited++);
  assert.deepEqual([visited, index.size], [103, 103]);
  assert.deepEqual(lookUp(index, hashOf(5 + 256)), [12, 7]);
});
