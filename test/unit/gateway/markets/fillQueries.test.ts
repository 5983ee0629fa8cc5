/** The tape over random trades of two shards, compared with a filter and a sort (RULES.md 13.2). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { FILLS_EVER } from '../../../../gateway/base/page.ts';
import { FillQueries, type FillsTask } from '../../../../gateway/markets/fillQueries.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seededRandom } from '../../../support/random.ts';
import { JournalScript } from '../../../support/records.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(31);
const SHARDS = 2;
const T0 = Date.UTC(2026, 0, 1, 22);
const UUIDS = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

type Trade = { timeMs: number; shard: number; number: number; notional: number };

/** Journals of two shards that grow trade by trade, and the read model that follows them. */
class Tape {
  readonly trades: Trade[] = [];
  readonly queries: FillQueries;
  readonly #random = seededRandom(seed);
  readonly #progress = Progress.create(SHARDS);
  readonly #scripts: JournalScript[];
  readonly #projector: Projector;
  readonly #counts = [0, 0];
  #nowMs = T0;

  constructor() {
    const directory = temporaryDirectory();
    const journalPaths = [0, 1].map((shard) => join(directory, `journal-${shard}.db`));
    this.#scripts = journalPaths.map((path, shard) => new JournalScript(path, shard, SHARDS));
    for (const [shard, script] of this.#scripts.entries()) {
      script.record(T0, (events) => events.market(shard, UUIDS[shard]!));
    }
    const readDbPath = join(directory, 'read.db');
    const keys = [TEST_KEY, TEST_KEY];
    this.#projector = new Projector({ journalPaths, keys, readDbPath, progress: this.#progress });
    this.queries = new FillQueries(new Database(readDbPath, { readonly: true }));
    this.follow();
  }

  /** Mostly some milliseconds after the last one, now and then hours. */
  trade(): void {
    this.#nowMs += this.#below(100) < 3 ? this.#below(5 * 3_600_000) : this.#below(400);
    const shard = this.#below(SHARDS);
    const lots = 10_000 * (1 + this.#below(5)) * 10 ** this.#below(3);
    const yesTicks = 1 + this.#below(99);
    const outcome = this.#below(2);
    const script = this.#scripts[shard]!;
    script.record(this.#nowMs, (events) => {
      const order = { market: shard, limitTicks: 50, lots, outcome };
      events.order({ ...order, slot: 0, account: 1, side: SIDE.BUY });
      events.order({ ...order, slot: 1, account: 2, side: SIDE.SELL });
      events.fill({ maker: 0, taker: 1, yesTicks, lots });
      events.filled(0);
      events.filled(1);
    });
    const notional = lots * (outcome === OUTCOME.YES ? yesTicks : 100 - yesTicks);
    this.trades.push({ timeMs: this.#nowMs, shard, number: ++this.#counts[shard], notional });
  }

  follow(): void {
    const progress = new Progress(this.#progress);
    for (const [shard, script] of this.#scripts.entries()) progress.setCommitted(shard, script.journal.lastSequence);
    while (this.#projector.step(true));
  }

  /** Newest first. */
  expected(minMicro: number, sinceMs: number): number[] {
    const found = this.trades.filter(({ notional, timeMs }) => notional >= minMicro && timeMs > sinceMs);
    found.sort((a, b) => b.timeMs - a.timeMs || b.shard - a.shard || b.number - a.number);
    return found.map(({ notional }) => notional);
  }

  /** Page by page; `between` runs after each page. */
  walk(task: Omit<FillsTask, 'before'>, between: () => void = () => {}): number[] {
    const found: number[] = [];
    for (let before: Uint8Array | null = null; ; ) {
      const page = this.queries.recent({ ...task, before });
      found.push(...page.map(({ notional_micro }) => notional_micro));
      if (page.length < task.limit) return found;
      before = page.at(-1)!.id;
      between();
    }
  }

  below(n: number): number {
    return this.#below(n);
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }
}

const tape = new Tape();
for (let i = 0; i < 1500; i++) tape.trade();
tape.follow();

test(`RULES.md 13.2: every page of every filter equals a plain filter and sort (seed ${seed})`, () => {
  const last = tape.trades.at(-1)!.timeMs;
  const largest = Math.max(...tape.trades.map(({ notional }) => notional));
  for (const minMicro of [0, 1, 500_000, 40_000_000, 300_000_000, largest, largest + 1]) {
    for (const sinceMs of [-1, T0, Math.floor((T0 + last) / 2), last - 10_000, last]) {
      const expected = tape.expected(minMicro, sinceMs);
      for (const limit of [1, 7, 200].slice(minMicro < 300_000_000 ? 1 : 0)) {
        assert.deepEqual(
          tape.walk({ minMicro, sinceMicros: (sinceMs + 1) * 1000, limit }),
          expected,
          `${minMicro} ${sinceMs} ${limit}`,
        );
      }
    }
  }
});

test(`RULES.md 13.2: pages neither skip nor repeat a fill while others arrive (seed ${seed})`, () => {
  for (const minMicro of [0, 20_000_000]) {
    const expected = tape.expected(minMicro, -1);
    const found = tape.walk({ minMicro, sinceMicros: FILLS_EVER, limit: 50 }, () => {
      for (let i = tape.below(5); i > 0; i--) tape.trade();
      tape.follow();
    });
    assert.deepEqual(found, expected);
  }
});
