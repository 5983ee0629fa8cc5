/**
 * Engines of several shards that trade at random, their journals and snapshots, and projectors that bring them into
 * read.db: a history with everything that an engine does, for tests of read.db.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Journal } from '../../engine/journal/journal.ts';
import type { Keyed } from '../../engine/journal/shardKey.ts';
import { type Contents, contentsOf } from '../../engine/projector/contents.ts';
import { readOpeningState } from '../../engine/projector/openingState.ts';
import { Projector } from '../../engine/projector/projector.ts';
import { SnapshotMaker } from '../../engine/snapshot/maker.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { COMMAND, claimCommand } from '../../shared/wire/commands.ts';
import { Progress } from '../../shared/wire/progress.ts';
import type { ProjectorOptions } from '../../shared/wire/threads.ts';
import { writeMarketOpen } from './commandBodies.ts';
import { temporaryDirectory } from './directory.ts';
import { EngineRig } from './engineRig.ts';
import { TEST_KEY } from './journalKey.ts';
import { seededRandom } from './random.ts';

const ACCOUNTS = [1, 2, 3, 4];
const MARKETS_OF_SHARD = 3;
const YEAR_MS = 365 * 86_400_000;

/** Orders are archived soon, in small files and steps. */
export const SMALL_PACE = { keptMs: 200_000, spanMs: 400_000, fileOrders: 12, blockOrders: 5, stepOrders: 3 };

export class ProjectionRig {
  readonly directory = temporaryDirectory();
  readonly readDbPath = join(this.directory, 'read.db');
  readonly progressMemory: SharedArrayBuffer;
  readonly progress: Progress;
  readonly rigs: readonly EngineRig[];
  readonly journals: Journal[];
  readonly maker: SnapshotMaker;
  readonly #random: () => number;
  readonly #written: number[];
  readonly #batch: number;

  /** @param batch the records of a row at most. */
  constructor({ shards = 1, seed = 7, keepRecords = 0, batch = 1000 } = {}) {
    this.#batch = batch;
    this.progressMemory = Progress.create(shards);
    this.progress = new Progress(this.progressMemory);
    this.#random = seededRandom(seed);
    const balances = new Balances(createBalances(shards));
    this.rigs = Array.from({ length: shards }, () => new EngineRig(shards === 1 ? {} : { balances }));
    this.#written = this.rigs.map(() => 0);
    this.journals = this.journalPaths.map((journalPath, shard) =>
      Journal.open({ journalPath, journalSync: 'normal', shard, shards, key: TEST_KEY }),
    );
    const { journalPaths, directory } = this;
    this.maker = new SnapshotMaker({
      keys: journalPaths.map(() => TEST_KEY),
      journalPaths,
      directory,
      progress: this.progressMemory,
      everyRecords: 1,
      keepRecords,
      hashesInMemory: 2 ** 30,
    });
    for (const [shard, rig] of this.rigs.entries()) {
      for (let market = 0; market < MARKETS_OF_SHARD; market++) openMarket(rig, shard * MARKETS_OF_SHARD + market);
      for (const account of ACCOUNTS) rig.fund(account, 1_000_000_000);
      for (const account of ACCOUNTS) rig.convert(account, shard * MARKETS_OF_SHARD, 40_000_000, MOVEMENT.SPLIT);
    }
    this.write();
  }

  get journalPaths(): readonly string[] {
    return this.rigs.map((_, shard) => join(this.directory, `journal-${shard}.db`));
  }

  get options(): Keyed<ProjectorOptions> {
    const { journalPaths, readDbPath } = this;
    return { journalPaths, keys: journalPaths.map(() => TEST_KEY), readDbPath, progress: this.progressMemory };
  }

  /** Placing, crossing, cancelling, expiring, splitting; in all shards, whose time goes on together. */
  trade(commands: number): void {
    const pick = (n: number): number => Math.floor(this.#random() * n);
    for (let i = 0; i < commands; i++) {
      const shard = pick(this.rigs.length);
      const rig = this.rigs[shard];
      const market = shard * MARKETS_OF_SHARD + pick(2);
      const account = ACCOUNTS[pick(ACCOUNTS.length)];
      if (pick(12) === 0) rig.cancelMany(account, market);
      else if (pick(20) === 0) rig.convert(account, market, 1_000_000 * (1 + pick(5)), MOVEMENT.SPLIT);
      else {
        rig.place({
          account,
          market,
          side: pick(3) === 0 ? SIDE.SELL : SIDE.BUY,
          outcome: pick(2) === 0 ? OUTCOME.YES : OUTCOME.NO,
          ticks: 44 + pick(13),
          lots: 10_000 * (1 + pick(4)),
          timeInForce: pick(5) === 0 ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC,
          expirationSec: pick(6) === 0 ? Math.floor(rig.nowMs / 1000) + 1 + pick(60) : 0,
        });
      }
      for (const each of this.rigs) each.nowMs += 20_000;
    }
    this.write();
  }

  /** Decides the first market of each shard and pays everybody. */
  decide(payoutYesPpm: number): void {
    for (const [shard, rig] of this.rigs.entries()) {
      const market = shard * MARKETS_OF_SHARD;
      rig.patch(market, { status: MARKET_STATUS.LOCKED });
      rig.resolve(market, payoutYesPpm);
      rig.settle(market);
    }
    this.write();
  }

  /** Writes everything that the engines have done so far to the journals, and commits it. */
  write(): void {
    for (const [shard, rig] of this.rigs.entries()) {
      const journal = this.journals[shard];
      const { rows } = rig.journal;
      while (this.#written[shard] < rows.length) {
        journal.append(rows[this.#written[shard]++]);
        if (this.#written[shard] % this.#batch === 0) journal.commit();
      }
      journal.commit();
      this.progress.setCommitted(shard, journal.lastSequence);
    }
  }

  /** A projector of its own, to the end of the journals. */
  project(options: Partial<Keyed<ProjectorOptions>> = {}): void {
    const projector = this.projector(options);
    try {
      while (projector.step(true));
    } finally {
      projector.close();
    }
  }

  projector(options: Partial<Keyed<ProjectorOptions>> = {}): Projector {
    return new Projector({ ...this.options, ...options }, null, undefined, readOpeningState);
  }

  snapshot(): void {
    this.maker.makeDue(true);
  }

  /** Trims as far as the shards themselves would. */
  trim(): void {
    for (const [shard, journal] of this.journals.entries()) while (journal.trim(this.progress.trimmable(shard)));
  }

  /** A file that follows the journals from their first record on, in one go. */
  undisturbed(): Contents {
    const readDbPath = join(temporaryDirectory(), 'read.db');
    const progressMemory = Progress.create(this.rigs.length);
    const progress = new Progress(progressMemory);
    for (const [shard, journal] of this.journals.entries()) progress.setCommitted(shard, journal.lastSequence);
    this.project({ readDbPath, progress: progressMemory });
    return this.contents(readDbPath);
  }

  contents(path = this.readDbPath): Contents {
    return this.read((db) => contentsOf(db), path);
  }

  read<T>(query: (db: Database.Database) => T, path = this.readDbPath): T {
    const db = new Database(path, { readonly: true });
    try {
      return query(db);
    } finally {
      db.close();
    }
  }

  close(): void {
    for (const journal of this.journals) journal.close();
  }
}

function openMarket(rig: EngineRig, market: number): void {
  rig.run((ring) => {
    const word = claimCommand(ring, COMMAND.MARKET_OPEN.TYPE, 7, 0, rig.nowMs, market, 0);
    writeMarketOpen(ring.words, word, market, {
      ticksPerUnit: 100,
      feeBps: 50,
      minOrderAtomic: 1_000_000,
      startMs: rig.nowMs,
      endMs: rig.nowMs + YEAR_MS,
      status: MARKET_STATUS.ACTIVE,
    });
    ring.words.fill(market + 1, word + COMMAND.MARKET_OPEN.uuid, word + COMMAND.MARKET_OPEN.uuid + 4);
  });
}
