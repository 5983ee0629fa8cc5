/** Followers of candles: prompt, slow, and ones that come back, beside the pages of REST (RULES.md 8.25). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { CandleQueries, type NewestTask } from '../../../../gateway/markets/candleQueries.ts';
import type { Views } from '../../../../gateway/shardlink/views.ts';
import { CandleSubscription } from '../../../../gateway/stream/candleSubscription.ts';
import { CandleFeed, type SeriesName } from '../../../../gateway/stream/summaryCandles.ts';
import type { SummaryQueries } from '../../../../gateway/stream/summaryParts.ts';
import type { Candle } from '../../../../shared/api/candles.ts';
import { OUTCOME } from '../../../../shared/base/codes.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { TAPE_MARKETS, Tape, tapeUuid } from '../../../support/tape.ts';

const seed = seedOr(825);
const STEPS = timesOf({ suite: 120, soak: 5000 });
const START = Date.UTC(2026, 9, 24, 20, 30);
const SERIES: readonly SeriesName[] = [
  { market: 0, outcome: OUTCOME.YES, interval: '1m' },
  { market: 1, outcome: OUTCOME.NO, interval: '1m' },
  { market: 0, outcome: OUTCOME.YES, interval: '15m' },
];
const SPANS: Record<string, number> = { '1m': 60, '15m': 900 };
const labelOf = ({ market, outcome, interval }: SeriesName): string => `${tapeUuid(market)} ${outcome} ${interval}`;

class Follower {
  /** Candles by series and start. */
  readonly shown = new Map<string, Map<number, Candle>>(SERIES.map((name) => [labelOf(name), new Map()]));
  readonly #feed: CandleFeed;
  readonly #isPrompt: boolean;
  #subscription: CandleSubscription;

  constructor(feed: CandleFeed, isPrompt: boolean) {
    this.#feed = feed;
    this.#isPrompt = isPrompt;
    this.#subscription = this.#subscribed();
  }

  /** Connects again, and requests candles after the last closed one of each series. */
  comeBack(): void {
    this.#subscription.end();
    this.#subscription = this.#subscribed();
  }

  async catchUp(): Promise<void> {
    // Candles that are read come in a later turn.
    for (let turn = 0; turn < 40; turn++) {
      this.#subscription.catchUp();
      await nextTurn();
    }
  }

  #subscribed(): CandleSubscription {
    const subscription: CandleSubscription = new CandleSubscription(
      this.#feed,
      {
        push: (frame) => this.#received(JSON.parse(String(frame))),
        wake: () => this.#isPrompt && subscription.catchUp(),
      },
      { lane: 1, isGone: false },
    );
    for (const name of SERIES) {
      const closed = [...this.shown.get(labelOf(name))!.values()].filter(({ is_open }) => !is_open);
      subscription.follow(name, closed.length === 0 ? START / 1000 - 1 : closed.at(-1)!.start);
    }
    return subscription;
  }

  #received(frame: { market_id: string; outcome_index: number; interval: string; data: Candle }): void {
    const { market_id, outcome_index, interval, data } = frame;
    const shown = this.shown.get(`${market_id} ${outcome_index} ${interval}`)!;
    assert.notEqual(shown.get(data.start)?.is_open, false, `seed ${seed}: a closed candle comes once`);
    const last = [...shown.keys()].at(-1);
    if (last !== undefined) assert.ok(data.start <= last + SPANS[interval]!, `seed ${seed}: none is left out`);
    shown.set(data.start, data);
  }
}

test(`RULES.md 8.25: every closed candle once, and the open ones as they are at last (seed ${seed})`, async () => {
  const random = new Random(seed);
  const tape = new Tape(random, START);
  tape.project();
  const db = new Database(tape.readDbPath, { readonly: true });
  const pages = new CandleQueries(db);
  const newest = ({ tasks, nowMs }: { tasks: readonly NewestTask[]; nowMs: number }) =>
    tasks.map((task) => pages.newest(task, nowMs, tape.committed));
  const queries = {
    ofStream: async (_through: unknown, _name: string, task: never) => newest(task),
    ofPublic: async (_asker: unknown, _name: string, task: never) => ({ ok: true, value: newest(task) }),
  } as unknown as SummaryQueries;
  const views = { markets: { id: tapeUuid, shard: () => 0 } } as unknown as Views;
  const clock = { nowMs: () => tape.timeMs };
  const feed = new CandleFeed({ views, queries, clock, onFollowed: () => undefined });
  const [prompt, slow, returning] = [new Follower(feed, true), new Follower(feed, false), new Follower(feed, true)];
  const touched = new Set<number>();
  const round = () => feed.round(touched, tape.timeMs, () => 0);
  for (let step = 0; step < STEPS; step++) {
    // Mostly less than a minute; sometimes hours in which nobody trades, and more candles than are kept close.
    tape.timeMs += random.below(20) === 0 ? random.below(120) * 60_000 : random.below(40_000);
    touched.clear();
    for (let trades = random.below(3); trades > 0; trades--) {
      const market = random.below(TAPE_MARKETS.length);
      tape.trade(market, 1);
      touched.add(market);
    }
    tape.project();
    await round();
    await nextTurn();
    if (random.below(15) === 0) await slow.catchUp();
    if (random.below(10) === 0) returning.comeBack();
  }
  touched.clear();
  tape.timeMs += 1_000_000;
  await round();
  for (const follower of [prompt, slow, returning]) {
    await follower.catchUp();
    for (const name of SERIES) {
      const expected = pages.page(
        { ...name, shard: 0, fromMs: null, beforeMs: null, limit: 100_000, nowMs: tape.timeMs },
        tape.committed,
      );
      assert.ok(expected.candles.length > 3);
      assert.deepEqual([...follower.shown.get(labelOf(name))!.values()], expected.candles, `seed ${seed}`);
    }
  }
  db.close();
});
