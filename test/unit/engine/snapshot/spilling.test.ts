/** Hashes on the disk: runs that are written, merged, read and removed, and what is found in them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { AcceptedHashes, UNREADABLE } from '../../../../engine/book/acceptedHashes.ts';
import { FOR_EVER, hourOfMs } from '../../../../engine/book/retention.ts';
import { checkRuns, HashRuns } from '../../../../engine/snapshot/hashRuns.ts';
import { PAGE_BYTES } from '../../../../engine/snapshot/runPages.ts';
import { mergeRuns, prune, reseal, spillIfDue } from '../../../../engine/snapshot/spilling.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { flipByte } from '../../../support/journaledShard.ts';
import { TEST_KEY, TEST_KEYS } from '../../../support/journalKey.ts';
import { Random } from '../../../support/random.ts';
import { watchFiles } from '../../../support/watchFiles.ts';

const SHARD = 3;
const SLICES = 16;
const NOW = hourOfMs(Date.UTC(2026, 10, 30, 9, 30));
const noPause = (): void => undefined;

/** A shard that accepts orders, and the snapshot thread behind it, in one. */
class Place {
  readonly directory = temporaryDirectory();
  readonly hashes = new AcceptedHashes();
  readonly accepted: Uint32Array[] = [];
  readonly random: Random;
  #sequence = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.hashes.retention.reach(NOW);
  }

  get place() {
    return { directory: this.directory, shard: SHARD, mac: TEST_KEY.snapshots };
  }

  /** Account 1 + number % 7, market number % 5. */
  accept(count: number, first?: number): void {
    for (let i = 0; i < count; i++) {
      const hash = this.hash(first);
      const number = this.accepted.push(hash) - 1;
      this.hashes.insert(hash, 0, 1 + (number % 7), number % 5, FOR_EVER);
    }
    this.#sequence += count;
  }

  hash(first?: number): Uint32Array {
    const words = Uint32Array.from({ length: 8 }, () => this.random.below(2 ** 32));
    if (first !== undefined) words[0] = first;
    return words;
  }

  spill(most = 1): void {
    spillIfDue(this.place, this.hashes, this.#sequence, most, noPause);
  }

  merge(): void {
    const { hashes } = this;
    hashes.adopt(this.opened(mergeRuns(this.place, hashes.spilled.named, hashes.retention, noPause)), false);
  }

  opened(named = this.hashes.spilled.named): HashRuns {
    const runs = new HashRuns(this.place, named);
    assert.ok(runs.load(Number.MAX_SAFE_INTEGER));
    return runs;
  }

  /** Every order has its account, in memory or on the disk, and no other hash is there. */
  check(unknown = 2000): void {
    const { hashes } = this;
    hashes.spilled = this.opened();
    for (const [number, hash] of this.accepted.entries()) assert.equal(hashes.accountOf(hash, 0), 1 + (number % 7));
    for (let i = 0; i < unknown; i++) assert.equal(hashes.has(this.hash(), 0), false);
    hashes.spilled.close();
  }

  get files(): string[] {
    return readdirSync(this.directory).sort();
  }
}

describe('runs of hashes', () => {
  it('have every hash that was spilled, with its account, whatever is merged, and no other', (t) => {
    const seed = 1 + Math.floor(Math.random() * 1e6);
    t.diagnostic(`seed ${seed}`);
    const place = new Place(seed);
    for (let round = 0; round < 12; round++) {
      place.accept(1 + place.random.below(2000));
      place.spill();
      assert.equal(place.hashes.size, 0);
      if (place.random.chance(70)) place.merge();
      place.check();
    }
    const { runs } = place.hashes.spilled.named;
    const counted = runs.reduce((sum, { count }) => sum + count, 0);
    assert.equal(counted, place.accepted.length);
    place.merge();
    const left = place.hashes.spilled.named.runs;
    for (let slice = 0; slice < SLICES; slice++) {
      const counts = left.filter((run) => run.slice === slice).map(({ count }) => count);
      for (const [at, count] of counts.slice(1).entries())
        assert.ok(count * 4 <= counts[at]!, 'few runs, larger first');
    }
    checkRuns(place.place, left);
  });

  it('tell hashes apart that agree in all that a filter keeps, by all 128 bits', () => {
    const place = new Place(5);
    const near = place.hash();
    for (let i = 0; i < 3000; i++) {
      const hash = near.slice();
      hash[1] = near[1]! ^ (i & 1);
      hash[2] = i;
      place.accepted.push(hash);
      place.hashes.insert(hash, 0, 1 + ((place.accepted.length - 1) % 7), 0, FOR_EVER);
    }
    place.spill();
    place.check();
    const runs = place.opened();
    for (let i = 3000; i < 3100; i++) {
      const hash = near.slice();
      hash[2] = i;
      assert.deepEqual([runs.mayHave(hash, 0), runs.accountOf(hash, 0)], [true, 0]);
    }
    runs.close();
  });

  it('name few hashes that they do not have: at most one new order in 250 reads a page', (t) => {
    const place = new Place(6);
    place.accept(60_000);
    place.spill();
    const runs = place.opened();
    let named = 0;
    for (let i = 0; i < 100_000; i++) if (runs.mayHave(place.hash(), 0)) named++;
    t.diagnostic(`${named} of 100,000`);
    assert.ok(named < 100_000 / 250);
    runs.close();
  });

  it('forget in a merge what may be forgotten, and only that', () => {
    const place = new Place(8);
    for (let round = 0; round < 2; round++) {
      place.accept(2000);
      place.spill();
    }
    place.hashes.retention.decide(2);
    place.merge();
    place.hashes.spilled = place.opened();
    for (const [number, hash] of place.accepted.entries())
      assert.equal(place.hashes.has(hash, 0), number % 5 !== 2, `order ${number}`);
    place.hashes.spilled.close();
  });

  it('stay in memory up to the budget; once there are runs, few are written again and again', () => {
    const place = new Place(9);
    place.accept(500);
    place.spill(501);
    assert.deepEqual([place.hashes.size, place.files], [500, []]);
    place.accept(1);
    place.spill(501);
    assert.deepEqual([place.hashes.size, place.files.length], [0, SLICES]);
    place.accept(400);
    place.spill(501);
    assert.equal(place.hashes.size, 400);
  });

  it('are durable under their names before they are named, and files that nothing names are removed', (t) => {
    const place = new Place(10);
    place.accept(5, 0x30000000);
    const calls = watchFiles(t as TestContext);
    place.spill();
    const { id } = place.hashes.spilled.named.runs[0]!;
    const path = join(place.directory, `hashes-${SHARD}-${id}.run`);
    assert.deepEqual(calls, [`sync ${path}.part`, `rename ${path}.part ${path}`, `sync ${place.directory}`]);
    const others = [`hashes-${SHARD}-0123456789abcdef.run`, `hashes-${SHARD}-${id}.run.part`];
    const ofOthers = ['hashes-1-0123456789abcdef.run', `hashes-${SHARD}-x.run`];
    for (const name of [...others, ...ofOthers]) writeFileSync(join(place.directory, name), '');
    prune(place.place, [{ through: 0, runs: [] }, place.hashes.spilled.named]);
    assert.deepEqual(place.files, [...ofOthers, `hashes-${SHARD}-${id}.run`].sort());
  });

  it('answer for all but a damaged page, whose hashes are neither known nor new, and name it once', () => {
    const place = new Place(12);
    place.accept(1000, 0x50000000);
    place.spill();
    const [path] = place.files.map((name) => join(place.directory, name)) as [string];
    const ofPage = new Uint32Array(readFileSync(path).buffer.slice(2 * PAGE_BYTES, 3 * PAGE_BYTES - 16));
    flipByte(path, 2 * PAGE_BYTES + 50);
    const runs = place.opened();
    const isOnPage = (hash: Uint32Array): boolean => ofPage.some((word, at) => at % 6 === 1 && word === hash[1]);
    const onPage = place.accepted.filter(isOnPage);
    assert.ok(onPage.length > 160);
    for (let again = 0; again < 2; again++) {
      for (const [number, hash] of place.accepted.entries())
        assert.equal(runs.accountOf(hash, 0), isOnPage(hash) ? UNREADABLE : 1 + (number % 7));
    }
    for (let i = 0; i < 1000; i++) assert.equal(runs.accountOf(place.hash(), 0), 0, 'others are new');
    const named = runs.takeDamage();
    assert.equal(named.length, 1);
    assert.match(named[0]!, /hashes-3-[0-9a-f]{16}\.run: page 2 is damaged/);
    assert.deepEqual(runs.takeDamage(), []);
    runs.close();
  });

  it('are refused where a byte is wrong, cut off or sealed by another exchange', () => {
    const place = new Place(11);
    place.accept(400, 0x50000000);
    place.spill();
    const { named } = place.hashes.spilled;
    const [path] = place.files.map((name) => join(place.directory, name)) as [string];
    const whole = readFileSync(path);
    const refused = { name: 'SnapshotError', message: /hashes-3-[0-9a-f]{16}\.run: / };
    for (let at = 0; at < whole.length; at += 509) {
      const bytes = Buffer.from(whole);
      bytes[at] = bytes[at]! ^ 1;
      writeFileSync(path, bytes);
      assert.throws(() => checkRuns(place.place, named.runs), refused, `byte ${at}`);
    }
    for (const length of [0, 4096, whole.length - 1]) {
      writeFileSync(path, whole.subarray(0, length));
      assert.throws(() => checkRuns(place.place, named.runs), refused, `${length} bytes`);
    }
    writeFileSync(path, whole);
    checkRuns(place.place, named.runs);
    const other = { ...place.place, mac: TEST_KEYS[1]!.snapshots };
    assert.throws(() => checkRuns(other, named.runs), refused);
    checkRuns(other, [reseal(place.place, named.runs[0]!, other)]);
  });
});
