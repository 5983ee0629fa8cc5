/**
 * What do snapshots cost a shard whose makers requote? Each of them cancels its oldest order and places another, so a
 * fixed number rests. The maker of snapshots runs in this thread, as often as its settings say; its processor time and
 * the bytes of the files are counted once the book is full.
 *
 * 100,000 orders rest, and with `--full` a million in another shard as well.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal } from '../engine/journal/journal.ts';
import { SnapshotMaker } from '../engine/snapshot/maker.ts';
import { listSnapshots } from '../engine/snapshot/snapshot.ts';
import { assert } from '../shared/base/assert.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import {
  ANY_COMMAND,
  COMMAND,
  COMMAND_BYTES,
  COMMAND_VERSION,
  type CommandType,
  NO_MARKET,
  PLACE_BIT_AUTHORIZED,
  packKind,
} from '../shared/wire/commands.ts';
import { Progress } from '../shared/wire/progress.ts';
import { RecordBuffer, writeSafe } from '../shared/wire/record.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { newEngine } from './matchingEngine.ts';
import { atMost, type Report, type Row } from './report.ts';

const SHARD = 0;
const MARKETS = 100;
const BATCH = 256;
const TICKS_PER_UNIT = 100;
const UNIT_ATOMIC = 1_000_000;
const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const LIFE_SEC = 3600;
const FEE_BPS = 50;
/** The defaults of SNAPSHOT_EVERY, JOURNAL_KEEP and ORDER_MEMORY_MB. */
const EVERY_RECORDS = 100_000;
const KEEP_RECORDS = 10_000_000;
const HASHES_IN_MEMORY = 4_000_000;
const BUY = packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, PLACE_BIT_AUTHORIZED);
/** `ORDER_NONCE_KEPT`. */
const NONCE_KEPT = 1 << 8;

const OF_ROW = 'bytes of the smallest, for an open order';
const OF_ORDER = 'bytes of them, for a new order';
const MAKERS = 10_000;
const MOST_BYTES_OF_ROW = 96;
const MOST_BYTES_OF_ORDER = 40;

type Requotes = {
  readonly makers: number;
  readonly resting: number;
  /** Orders after the book is full. */
  readonly orders: number;
  /** Orders expire an hour after they were placed, in journaled time. */
  readonly expire: boolean;
};

export async function run({ isFull = false }: { readonly isFull?: boolean } = {}): Promise<Report> {
  const rows = [measure({ makers: MAKERS, resting: 100_000, orders: 700_000, expire: true })];
  if (isFull) rows.push(measure({ makers: MAKERS, resting: 1_000_000, orders: 3_000_000, expire: true }));
  return {
    bench: 'snapshotCosts',
    settings: `defaults, ${MAKERS.toLocaleString('en')} makers; a new order is two records: it ends another one`,
    rows,
    goals: rows.flatMap(({ resting, [OF_ROW]: ofRow, [OF_ORDER]: ofOrder }) => [
      atMost(`bytes of a snapshot for an open order, ${resting} resting`, Number(ofRow), MOST_BYTES_OF_ROW),
      atMost(`bytes of snapshots for a new order, ${resting} resting`, Number(ofOrder), MOST_BYTES_OF_ORDER),
    ]),
  };
}

function measure(spec: Requotes): Row {
  const shard = new RequotedShard(spec);
  try {
    return shard.run();
  } finally {
    shard.close();
  }
}

class RequotedShard {
  readonly #directory = mkdtempSync(join(tmpdir(), 'bench-snapshot-costs-'));
  readonly #journal: Journal;
  readonly #engine: ReturnType<typeof newEngine>;
  readonly #progress = Progress.create(1);
  readonly #maker: SnapshotMaker;
  readonly #command = new RecordBuffer(1024);
  readonly #spec: Requotes;
  #waiting = 0;
  #nowMs = NOW_MS;
  /** Files that were counted, and their bytes. */
  readonly #seen = new Set<string>();
  snapshotBytes = 0;
  /** The smallest snapshot is one whose hashes have all moved to runs. */
  smallest = Number.POSITIVE_INFINITY;
  runBytes = 0;
  snapshots = 0;
  makerUs = 0;

  constructor(spec: Requotes) {
    this.#spec = spec;
    const journalPath = join(this.#directory, `journal-${SHARD}.db`);
    this.#journal = Journal.open({ journalPath, journalSync: 'normal', shard: SHARD, shards: 1, key: TEST_KEY });
    this.#engine = newEngine(this.#journal);
    this.#maker = new SnapshotMaker(
      {
        journalPaths: [journalPath],
        keys: [TEST_KEY],
        directory: this.#directory,
        progress: this.#progress,
        everyRecords: EVERY_RECORDS,
        keepRecords: KEEP_RECORDS,
        hashesInMemory: HASHES_IN_MEMORY,
      },
      () => undefined,
    );
  }

  run(): Row {
    const { makers, resting, orders } = this.#spec;
    this.#setUp(makers);
    for (let order = 0; order < resting; order++) this.#place(order);
    this.#endBatch();
    this.smallest = Number.POSITIVE_INFINITY;
    const from = { snapshots: this.snapshotBytes, runs: this.runBytes, us: this.makerUs, made: this.snapshots };
    const startedAt = listSnapshots(this.#directory, SHARD)[0]?.sequence ?? 0;
    for (let order = resting; order < resting + orders; order++) {
      this.#cancel(order - resting);
      this.#place(order);
    }
    this.#endBatch();
    const [newest] = listSnapshots(this.#directory, SHARD);
    assert(newest !== undefined && newest.sequence > startedAt, 'snapshot costs: one was made meanwhile');
    const records = newest.sequence - startedAt;
    return {
      makers,
      resting,
      expire: this.#spec.expire ? 'in an hour' : 'never',
      snapshots: this.snapshots - from.made,
      [OF_ROW]: this.smallest / resting,
      // A new order is two records: its own, and the cancel of another.
      [OF_ORDER]: (2 * (this.snapshotBytes - from.snapshots)) / records,
      'of runs': (2 * (this.runBytes - from.runs)) / records,
      'processor us for a record': (this.makerUs - from.us) / records,
      'records between': records / (this.snapshots - from.made),
    };
  }

  close(): void {
    this.#journal.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #setUp(makers: number): void {
    for (let market = 0; market < MARKETS; market++) {
      this.#submit(COMMAND.MARKET_OPEN.TYPE, 0, market, 0, (words) => {
        const { MARKET_OPEN } = COMMAND;
        words[MARKET_OPEN.uuid] = market + 1;
        words[MARKET_OPEN.ticksPerUnit] = TICKS_PER_UNIT;
        words[MARKET_OPEN.feeBps] = FEE_BPS;
        words[MARKET_OPEN.status] = MARKET_STATUS.ACTIVE;
        writeSafe(words, MARKET_OPEN.minOrderAtomic, UNIT_ATOMIC);
        writeSafe(words, MARKET_OPEN.startMs, NOW_MS);
        writeSafe(words, MARKET_OPEN.endMs, NOW_MS + 1000 * DAY_MS);
      });
    }
    for (let account = 1; account <= makers; account++) {
      this.#submit(COMMAND.FUNDS.TYPE, account, NO_MARKET, MOVEMENT.DEPOSIT, (words) => {
        writeSafe(words, COMMAND.FUNDS.amountMicro, Math.floor(4e15 / makers));
        words[COMMAND.FUNDS.reference] = account;
      });
    }
  }

  #place(order: number): void {
    const account = 1 + (order % this.#spec.makers);
    this.#nowMs += 1;
    this.#submit(COMMAND.PLACE.TYPE, account, order % MARKETS, NONCE_KEPT, (words) => {
      const { PLACE } = COMMAND;
      writeHash(words, PLACE.hash, order);
      words[PLACE.kind] = BUY;
      for (let i = 0; i < 5; i++) words[PLACE.makerAddress + i] = Math.imul(account, 0x9e3779b1 + 2 * i);
      const units = 1 + (order % 1000);
      writeSafe(words, PLACE.makerAmount, ((units * UNIT_ATOMIC) / TICKS_PER_UNIT) * (1 + (order % 49)));
      writeSafe(words, PLACE.takerAmount, units * UNIT_ATOMIC);
      writeSafe(words, PLACE.nonce, this.#nowMs);
      if (this.#spec.expire) writeSafe(words, PLACE.expirationSec, Math.floor(this.#nowMs / 1000) + LIFE_SEC);
      words[PLACE.feeBps] = FEE_BPS;
      words[PLACE.grant] = account;
    });
  }

  #cancel(order: number): void {
    const account = 1 + (order % this.#spec.makers);
    this.#submit(COMMAND.CANCEL.TYPE, account, order % MARKETS, CLOSE_REASON.USER, (words) =>
      writeHash(words, COMMAND.CANCEL.hash, order),
    );
  }

  #submit(type: CommandType, account: number, market: number, flags: number, body: (words: Uint32Array) => void): void {
    const command = this.#command;
    command.clear();
    command.append(COMMAND_BYTES[type], type | (COMMAND_VERSION << 16));
    const { words } = command;
    words.fill(0, 2, COMMAND_BYTES[type] >>> 2);
    words[ANY_COMMAND.account] = account;
    writeSafe(words, ANY_COMMAND.timeMs, this.#nowMs);
    words[ANY_COMMAND.market] = market;
    words[ANY_COMMAND.flags] = flags;
    body(words);
    const before = this.#engine.sequence;
    this.#engine.submit(words, command.bytes, 0);
    assert(this.#engine.sequence > before, 'snapshot costs: no command is refused');
    if (++this.#waiting === BATCH) this.#endBatch();
  }

  #endBatch(): void {
    this.#waiting = 0;
    this.#journal.commit();
    this.#engine.state.ledger.releaseCredits();
    this.#engine.state.digest.catchUp();
    this.#engine.out.clear();
    new Progress(this.#progress).setCommitted(SHARD, this.#journal.head.sequence);
    const before = process.cpuUsage();
    this.#maker.makeDue(false);
    const { user, system } = process.cpuUsage(before);
    const made = this.#count();
    if (made) this.makerUs += user + system;
  }

  /** Counts the files that are new. @returns true if there is a new snapshot */
  #count(): boolean {
    const [newest] = listSnapshots(this.#directory, SHARD);
    if (newest === undefined || this.#seen.has(newest.path)) return false;
    this.snapshots++;
    for (const name of readdirSync(this.#directory)) {
      if (this.#seen.has(name)) continue;
      const bytes = statSync(join(this.#directory, name)).size;
      if (name.endsWith('.run')) this.runBytes += bytes;
      else if (newest.path.endsWith(name)) {
        this.snapshotBytes += bytes;
        this.smallest = Math.min(this.smallest, bytes);
      } else continue;
      this.#seen.add(name);
    }
    this.#seen.add(newest.path);
    return true;
  }
}

/** A bijection of the order's number, so that hashes differ. */
function writeHash(words: Uint32Array, word: number, order: number): void {
  for (let i = 0; i < 8; i++)
    words[word + i] = Math.imul((order + 1) ^ ((order + 1) >>> 15), 0x9e3779b1 + 8 * i + 2 * i);
}
