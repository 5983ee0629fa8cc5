/**
 * Recovery of a shard: from snapshot and tail, from an older snapshot, from the whole journal, or a refusal that names
 * the record.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import type { Engine } from '../../../../engine/core/engine.ts';
import { checkInvariants } from '../../../../engine/core/invariants.ts';
import { type JournalOptions, markPath } from '../../../../engine/journal/file.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { SnapshotMaker } from '../../../../engine/snapshot/maker.ts';
import { listSnapshots } from '../../../../engine/snapshot/snapshot.ts';
import { MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { engineWith } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { damageSnapshot } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seededRandom } from '../../../support/random.ts';

const SHARD = 0;

/** A data directory with the journal of a busy shard; snapshots are made where the test says. */
class Place {
  readonly directory: string;
  readonly journalPath: string;
  readonly progress = new Progress(Progress.create(1));
  readonly rig = new EngineRig();
  readonly maker: SnapshotMaker;
  #journal: Journal;
  #written = 0;
  #random: () => number;

  constructor(progress = Progress.create(1), seed = 7, hashesInMemory = 2 ** 30) {
    this.#random = seededRandom(seed);
    this.directory = temporaryDirectory();
    this.journalPath = join(this.directory, 'journal-0.db');
    this.progress = new Progress(progress);
    this.#journal = this.open();
    this.maker = new SnapshotMaker(
      {
        keys: [TEST_KEY],
        journalPaths: [this.journalPath],
        directory: this.directory,
        progress,
        everyRecords: 1,
        keepRecords: 0,
        hashesInMemory,
      },
      () => undefined,
    );
    this.rig.market(0);
    this.rig.market(1, { ticksPerUnit: 1000 });
    for (const account of [1, 2, 3]) {
      this.rig.fund(account, 1_000_000_000);
      this.rig.convert(account, 0, 50_000_000, MOVEMENT.SPLIT);
    }
  }

  get options(): JournalOptions {
    return { journalPath: this.journalPath, journalSync: 'full', shard: SHARD, shards: 1, key: TEST_KEY };
  }

  open(): Journal {
    return Journal.open(this.options);
  }

  /** A copy of the journal's files as a killed process would leave them. */
  image(): string {
    const directory = mkdtempSync(join(this.directory, 'image-'));
    for (const name of ['journal-0.db', 'journal-0.db-wal', 'journal-0.mark']) {
      copyFileSync(join(this.directory, name), join(directory, name));
    }
    return directory;
  }

  /** Some placing, crossing, cancelling, expiring and a fee that moves to and fro. */
  trade(commands: number): void {
    const pick = (n: number) => Math.floor(this.#random() * n);
    for (let i = 0; i < commands; i++) {
      const market = pick(2);
      const feeBps = this.rig.engine.state.markets.peek(market)!.feeBps;
      if (pick(40) === 0) this.rig.patch(market, { feeBps: feeBps === 50 ? 60 : 50 });
      else if (pick(10) === 0) this.rig.cancelMany(1 + pick(3), market);
      else {
        this.rig.place({
          account: 1 + pick(3),
          market,
          feeBps,
          side: market === 0 && pick(3) === 0 ? SIDE.SELL : SIDE.BUY,
          outcome: pick(2) === 0 ? OUTCOME.YES : OUTCOME.NO,
          ticks: (market === 0 ? 1 : 10) * (45 + pick(12)),
          lots: 10_000 * (1 + pick(4)),
          timeInForce: pick(5) === 0 ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC,
          expirationSec: pick(4) === 0 ? Math.floor(this.rig.nowMs / 1000) + 1 + pick(30) : 0,
        });
      }
      this.rig.nowMs += 500;
    }
    this.#write();
  }

  #write(): void {
    const { rows } = this.rig.journal;
    while (this.#written < rows.length) this.#journal.append(rows[this.#written++]);
    this.#journal.commit();
    this.progress.setCommitted(SHARD, this.#journal.lastSequence);
    this.progress.setProjected(SHARD, this.#journal.lastSequence);
    this.progress.setKept(SHARD, this.#journal.lastSequence);
  }

  snapshot(): string {
    this.maker.makeDue(true);
    return listSnapshots(this.directory, SHARD)[0].path;
  }

  /** Without the hurry of a stop: runs of hashes are merged. */
  laterSnapshot(): string {
    this.maker.makeDue(false);
    return listSnapshots(this.directory, SHARD)[0].path;
  }

  /** Hashes of every order that was accepted. */
  accepted(): Uint32Array[] {
    const found: Uint32Array[] = [];
    this.rig.engine.state.hashes.visit((words, word) => found.push(words.slice(word, word + 4)));
    return found;
  }

  trim(): void {
    while (this.#journal.trim(this.progress.trimmable(SHARD)));
  }

  /** The state that a new process finds. The old one closed nothing. */
  recover(): { engine: Engine; fromSequence: number; damaged: readonly string[] } {
    const journal = this.open();
    try {
      return recover(journal, this.directory, SHARD, () => engineWith(journal));
    } finally {
      journal.close();
    }
  }

  /** It is the same shard: the same published state, and the same effect of the next commands. */
  assertSame(engine: Engine): void {
    checkInvariants(engine.state);
    assert.deepEqual(described(engine), described(this.rig.engine));
  }
}

function described(engine: Engine): Uint8Array {
  const chunks: Uint8Array[] = [];
  engine.describe(() => {
    chunks.push(engine.out.bytes.slice(0, engine.out.lengthBytes));
    engine.out.clear();
  });
  // Without READY: the live engine has also seen the time of refused commands.
  const all = Buffer.concat(chunks);
  return all.subarray(0, all.length - EVENT.READY.BYTES);
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] ^= 1 << (at % 8);
  writeFileSync(path, bytes);
}

describe('recovery', () => {
  it('without a snapshot replays the whole journal', () => {
    const place = new Place();
    place.trade(200);
    const { engine, fromSequence } = place.recover();
    assert.equal(fromSequence, 0);
    place.assertSame(engine);
  });

  it('with snapshots reads the newest and the tail behind it', () => {
    const place = new Place();
    place.trade(150);
    place.snapshot();
    place.trade(100);
    place.snapshot();
    const newest = listSnapshots(place.directory, SHARD)[0].sequence;
    place.trade(80);
    const { engine, fromSequence, damaged } = place.recover();
    assert.equal(fromSequence, newest);
    assert.deepEqual(damaged, []);
    place.assertSame(engine);
  });

  it('finds every accepted order on the disk, also from an older snapshot whose runs were merged since', () => {
    const place = new Place(undefined, 7, 5);
    for (let snapshot = 0; snapshot < 4; snapshot++) {
      place.trade(60);
      place.laterSnapshot();
    }
    place.trade(30);
    const [newest, older] = listSnapshots(place.directory, SHARD);
    const accepted = place.accepted();
    for (const expected of [newest, older]) {
      const { engine, fromSequence, damaged } = place.recover();
      assert.deepEqual([fromSequence, damaged.length], [expected!.sequence, expected === newest ? 0 : 1]);
      const { hashes } = engine.state;
      assert.ok(hashes.spilled.named.runs.length > 0 && hashes.size < accepted.length);
      for (const hash of accepted) assert.ok(hashes.has(hash, 0));
      assert.equal(hashes.has(new Uint32Array([1, 2, 3, 4]), 0), false);
      place.assertSame(engine);
      hashes.spilled.close();
      flip(newest!.path, 5000);
    }
  });

  it('passes over a snapshot of which a run is not there, and makes the runs anew', () => {
    const place = new Place(undefined, 7, 5);
    place.trade(60);
    place.snapshot();
    for (const name of readdirSync(place.directory).filter((each) => each.endsWith('.run'))) {
      rmSync(join(place.directory, name));
      break;
    }
    const { engine, fromSequence, damaged } = place.recover();
    assert.equal(fromSequence, 0);
    assert.match(damaged[0]!, /hashes .*hashes-0-[0-9a-f]{16}\.run: cannot be opened/);
    place.assertSame(engine);
    place.trade(10);
    place.snapshot();
    const again = place.recover();
    assert.ok(again.fromSequence > 0);
    for (const hash of place.accepted()) assert.ok(again.engine.state.hashes.has(hash, 0));
    again.engine.state.hashes.spilled.close();
  });

  it('reads a dormant order that would cross a resting one of older priority', () => {
    const place = new Place();
    const { rig } = place;
    rig.place({ account: 1, feeBps: 50, side: SIDE.SELL, ticks: 50, lots: 10_000 });
    rig.patch(0, { feeBps: 60 });
    rig.place({ account: 2, feeBps: 60, side: SIDE.BUY, ticks: 60, lots: 10_000 });
    rig.patch(0, { feeBps: 50 });
    const { book } = rig.engine.state.markets.peek(0)!;
    assert.deepEqual([book.asks.bestTick, book.bids.bestTick, book.dormantHead >= 0], [50, -1, true]);
    place.trade(0);
    place.snapshot();
    const { engine, fromSequence } = place.recover();
    assert.ok(fromSequence > 0);
    place.assertSame(engine);
  });

  it('goes on paying a decided market from a snapshot', () => {
    const place = new Place();
    place.trade(100);
    place.rig.resolve(0, 333_333);
    place.rig.claim(1);
    place.trade(20);
    place.snapshot();
    place.rig.claim(2);
    place.rig.settle(0);
    place.trade(20);
    const { engine, fromSequence } = place.recover();
    assert.ok(fromSequence > 0);
    place.assertSame(engine);
  });

  it('from a snapshot of many accounts still refuses what the last of them cannot pay', () => {
    const place = new Place();
    const account = 90;
    place.rig.fund(account, 1_000_000);
    place.trade(20);
    place.snapshot();
    const { engine, fromSequence } = place.recover();
    assert.ok(fromSequence > 0);
    engine.goLive();
    const { ledger } = engine.state;
    assert.equal(ledger.availableMicro(account), 1_000_000);
    assert.ok(!ledger.tryReserve(account, 1_000_001), 'more than it has');
    assert.ok(ledger.tryReserve(account, 1_000_000));
    assert.ok(!ledger.tryReserve(account, 1), 'nothing is left');
  });

  it('passes over a snapshot of another history, of as many records as there are or of fewer, and makes others', () => {
    const place = new Place();
    place.trade(60);
    place.snapshot();
    const own = listSnapshots(place.directory, SHARD)[0].sequence;
    for (const more of [0, 40]) {
      place.trade(20);
      const other = new Place(undefined, 8);
      while (other.rig.journal.rows.length < place.rig.journal.rows.length) other.trade(1);
      while (place.rig.journal.rows.length < other.rig.journal.rows.length) place.trade(1);
      const foreign = other.snapshot();
      copyFileSync(foreign, join(place.directory, basename(foreign)));
      place.trade(more);
      const { engine, fromSequence, damaged } = place.recover();
      assert.match(damaged[0]!, /snapshot .*: the journal does not go on after it$/);
      assert.equal(fromSequence, own);
      place.assertSame(engine);
    }
    place.trade(10);
    const made = place.snapshot();
    assert.ok(listSnapshots(place.directory, SHARD).every(({ path }) => existsSync(path)));
    const again = place.recover();
    assert.deepEqual(again.damaged, []);
    assert.match(made, new RegExp(`-${again.fromSequence}\\.bin$`));
    place.assertSame(again.engine);
  });

  it('passes over a snapshot of records that the journal does not have, as a restored backup leaves it', () => {
    const place = new Place();
    place.trade(60);
    place.snapshot();
    const older = listSnapshots(place.directory, SHARD)[0].sequence;
    const backup = place.image();
    place.trade(60);
    place.snapshot();
    const journal = Journal.open({ ...place.options, journalPath: join(backup, 'journal-0.db'), key: TEST_KEY });
    const { engine, fromSequence, damaged } = recover(journal, place.directory, SHARD, () => engineWith(journal));
    assert.equal(fromSequence, older);
    assert.equal(damaged.length, 1);
    assert.match(damaged[0], /of records the journal does not have/);
    assert.equal(engine.sequence, journal.lastSequence);
    journal.close();
  });

  it('falls back to the older snapshot when the newest is damaged, and to the journal when both are', () => {
    const place = new Place();
    place.trade(100);
    const older = place.snapshot();
    place.trade(100);
    const newer = place.snapshot();
    place.trade(20);
    damageSnapshot(newer);
    const first = place.recover();
    assert.equal(first.damaged.length, 1);
    assert.match(first.damaged[0], /checksum mismatch/);
    place.assertSame(first.engine);
    damageSnapshot(older);
    const second = place.recover();
    assert.equal(second.damaged.length, 2);
    assert.equal(second.fromSequence, 0);
    place.assertSame(second.engine);
  });

  it('notices a flipped bit anywhere in a snapshot', () => {
    const place = new Place();
    place.trade(60);
    const path = place.snapshot();
    const good = readFileSync(path);
    for (let at = 0; at < good.length; at += Math.ceil(good.length / 150)) {
      flip(path, at);
      const { engine, damaged } = place.recover();
      assert.equal(damaged.length, 1, `byte ${at}`);
      place.assertSame(engine);
      writeFileSync(path, good);
    }
  });

  it('trims journal rows only behind two good snapshots, and still recovers', () => {
    const place = new Place();
    place.trade(100);
    place.snapshot();
    assert.equal(place.progress.trimmable(SHARD), 0);
    const older = listSnapshots(place.directory, SHARD)[0].sequence;
    place.trade(100);
    const newer = place.snapshot();
    assert.equal(place.progress.trimmable(SHARD), older);
    place.trade(30);
    place.trim();
    const journal = place.open();
    assert.equal(journal.firstSequence, older + 1);
    journal.close();
    place.assertSame(place.recover().engine);
    flip(newer, 4000);
    place.assertSame(place.recover().engine);
  });

  it('refuses to start when the journal was trimmed and no snapshot can be used', () => {
    const place = new Place();
    place.trade(100);
    const older = place.snapshot();
    place.trade(100);
    const newer = place.snapshot();
    place.trim();
    for (const path of [older, newer]) rmSync(path);
    assert.throws(() => place.recover(), /no snapshot can be used .* the journal starts at \d+/);
  });

  it('refuses a journal that ends before its mark, naming the first record that is missing', () => {
    const place = new Place();
    place.trade(50);
    const last = place.rig.engine.sequence;
    const earlier = place.image();
    place.trade(20);
    assert.ok(place.rig.engine.sequence > last, 'more was journaled');
    copyFileSync(markPath(place.journalPath), join(earlier, 'journal-0.mark'));
    assert.throws(
      () => Journal.open({ ...place.options, journalPath: join(earlier, 'journal-0.db'), key: TEST_KEY }),
      new RegExp(`sequence ${last + 1}: missing, the mark says`),
    );
  });

  it('refuses rows without a mark, and takes either copy of the mark', () => {
    const place = new Place();
    place.trade(20);
    place.trade(20);
    const mark = markPath(place.journalPath);
    const good = readFileSync(mark);
    for (const copy of [0, 512]) {
      flip(mark, copy + 9);
      place.assertSame(place.recover().engine);
      writeFileSync(mark, good);
    }
    rmSync(mark);
    assert.throws(() => place.recover(), /high-water mark is missing or damaged/);
    assert.ok(existsSync(mark));
  });
});
