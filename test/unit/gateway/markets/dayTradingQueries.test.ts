/** The 24 hours of tickers, beside a walk over the tape (RULES.md 13.14). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { type DayTrade, DayTradingQueries } from '../../../../gateway/markets/dayTradingQueries.ts';
import { OUTCOME } from '../../../../shared/base/codes.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { randomTape, TAPE_MARKETS, Tape, type TapeFill } from '../../../support/tape.ts';

const MINUTE_MICROS = 60_000_000;
const MINUTES = 1440;
/** A midnight of a day with 23 hours in most of Europe is an hour later. */
const START = Date.UTC(2026, 2, 28, 22, 30);
const TRADES = timesOf({ suite: 4000, soak: 1_000_000 });
const seed = seedOr(24);

/** Null: nothing was traded in the present minute and the 1,439 before it. */
function dayOf(market: number, fills: readonly TapeFill[], nowMs: number): DayTrade | null {
  const minute = Math.floor((nowMs * 1000) / MINUTE_MICROS);
  const own = fills.filter(({ micros }) => Math.floor(micros / MINUTE_MICROS) > minute - MINUTES);
  if (own.length === 0) return null;
  const ticksPerUnit = TAPE_MARKETS[market]!;
  const sum = (of: (fill: TapeFill) => number): bigint =>
    own.reduce((total, fill) => total + BigInt(fill.lots) * BigInt(of(fill)), 0n);
  const prices = own.map(({ yesTicks }) => yesTicks);
  return {
    ...{ market, trades: own.length, tokensAtomic: sum(() => ticksPerUnit) },
    notionalMicro: sum(({ yesTicks }) => yesTicks),
    volumeMicro: sum((fill) => (fill.takerOutcome === OUTCOME.YES ? fill.yesTicks : ticksPerUnit - fill.yesTicks)),
    ...{ openTicks: prices[0]!, closeTicks: prices.at(-1)! },
    ...{ highTicks: Math.max(...prices), lowTicks: Math.min(...prices) },
  };
}

test(`RULES.md 13.14: 24 hours slide by the minute, for one market and for all (seed ${seed})`, () => {
  const random = new Random(seed);
  const tape = new Tape(random, START);
  tape.project();
  const db = new Database(tape.readDbPath, { readonly: true });
  const queries = new DayTradingQueries(db);
  let looks = 0;
  let lefts = 0;
  let empty = 0;
  let beforeMs = START;
  const look = (nowMs: number): void => {
    looks++;
    const expected = TAPE_MARKETS.map((_, market) => dayOf(market, tape.fills[market]!, nowMs));
    const lastTicks = tape.fills.map((fills) => fills.at(-1)?.yesTicks ?? 0);
    const { traded, lastYesTicks } = queries.all({ nowMs });
    const byMarket = traded.toSorted((a, b) => a.market - b.market);
    assert.deepEqual(
      byMarket,
      expected.filter((day) => day !== null),
    );
    empty += expected.filter((day) => day === null).length;
    for (const [market, day] of expected.entries()) {
      assert.equal(lastYesTicks[market], lastTicks[market]);
      assert.deepEqual(queries.one({ market, nowMs }), { traded: day, lastYesTicks: lastTicks[market] });
    }
    // For the stream: the named markets, and those of which a trade has left the window since the last check.
    const first = (ms: number): number => Math.floor((ms * 1000) / MINUTE_MICROS) - MINUTES + 1;
    const leaves = ({ micros }: TapeFill): boolean =>
      Math.floor(micros / MINUTE_MICROS) >= first(beforeMs) && Math.floor(micros / MINUTE_MICROS) < first(nowMs);
    const left = TAPE_MARKETS.flatMap((_, market) => (tape.fills[market]!.some(leaves) ? [market] : []));
    const named = queries.some({ markets: [1], leftSinceMs: beforeMs, nowMs });
    assert.deepEqual(new Set(named.map(({ market }) => market)), new Set([1, ...left]));
    const many = queries.some({ markets: Array.from({ length: 301 }, (_, at) => at), leftSinceMs: null, nowMs });
    for (const { market, ...day } of [...named, ...many]) assert.deepEqual(day, queries.one({ market, nowMs }));
    lefts += left.length;
    beforeMs = nowMs;
  };
  look(START);
  randomTape(tape, random, TRADES, () => {
    look(tape.timeMs);
    // The same minute again, and one in which nothing has happened.
    look(tape.timeMs + random.below(5) * 30_000);
  });
  for (const hours of [1, 12, 23, 24, 25]) look(tape.timeMs + hours * 3_600_000 - 1);
  assert.ok(lefts > 3, 'trades have left the window');
  assert.ok(looks > 20 && empty >= 3, `${looks} looks, ${empty} without a trade`);
  assert.deepEqual(queries.one({ market: 9, nowMs: START }), { traded: null, lastYesTicks: 0 });
  db.close();
});
