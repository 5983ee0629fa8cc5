/** Candles beside a walk over the tape, which knows nothing of how they are kept (RULES.md 13.13). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { CandleQueries, type CandlesTask } from '../../../../gateway/markets/candleQueries.ts';
import type { Candle } from '../../../../shared/api/candles.ts';
import { MARKET_STATUS, OUTCOME, type Outcome } from '../../../../shared/base/codes.ts';
import type { CandleInterval } from '../../../../shared/tables/candles.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { randomTape, TAPE_MARKETS, Tape, type TapeFill, tapeUuid } from '../../../support/tape.ts';

const SECONDS = { '1m': 60, '5m': 300, '15m': 900, '1h': 3600, '4h': 14_400, '1d': 86_400 } as const;
const INTERVALS = Object.keys(SECONDS) as CandleInterval[];
/** Both of these nights have a day of 23 or of 25 hours behind them in most of Europe. */
const SPRING = Date.UTC(2026, 2, 28, 22, 30);
const AUTUMN = Date.UTC(2026, 9, 24, 20, 30);
const TRADES = timesOf({ suite: 1500, soak: 500_000 });
const seed = seedOr(52);

/** Pages are read from the newest to the oldest interval. */
function readAll(queries: CandleQueries, task: CandlesTask, committed: number): Candle[] {
  const pages: (readonly Candle[])[] = [];
  for (let beforeMs = task.beforeMs; ; ) {
    const page = queries.page({ ...task, beforeMs }, committed);
    pages.push(page.candles);
    if (page.nextMs === null) return pages.reverse().flat();
    beforeMs = page.nextMs;
  }
}

function decimal(ticks: number, ticksPerUnit: number): string {
  return String(ticks / ticksPerUnit);
}

/** Every interval from the market's opening to the present one, by a walk over all fills. */
function expectedOf(
  { startMs, fills }: { readonly startMs: number; readonly fills: readonly TapeFill[] },
  ticks: number,
  outcome: Outcome,
  seconds: number,
  nowMs: number,
): Candle[] {
  const own = ({ yesTicks }: TapeFill): number => (outcome === OUTCOME.YES ? yesTicks : ticks - yesTicks);
  const traded = Map.groupBy(fills, ({ micros }) => Math.floor(micros / 1_000_000 / seconds) * seconds);
  const candles: Candle[] = [];
  const lastFillMs = Math.floor((fills.at(-1)?.micros ?? 0) / 1000);
  const last = Math.floor(Math.max(nowMs, lastFillMs) / 1000 / seconds) * seconds;
  for (let start = Math.floor(startMs / 1000 / seconds) * seconds; start <= last; start += seconds) {
    const group = traded.get(start) ?? [];
    const prices = group.map(own);
    const price = (value: number | undefined): string | null => (value === undefined ? null : decimal(value, ticks));
    const highest = prices.reduce((a, b) => Math.max(a, b), 0);
    const lowest = prices.reduce((a, b) => Math.min(a, b), ticks);
    const sum = (of: (fill: TapeFill) => number): string =>
      String(group.reduce((total, fill) => total + BigInt(fill.lots) * BigInt(of(fill)), 0n));
    candles.push({
      ...{ start, open: price(prices[0]), close: price(prices.at(-1)) },
      ...{ high: price(prices.length ? highest : undefined), low: price(prices.length ? lowest : undefined) },
      token_quantity_atomic: sum(() => ticks),
      notional_usdc_micro: sum(own),
      volume_usdc_micro: sum(({ takerOutcome: of, yesTicks }) => (of === OUTCOME.YES ? yesTicks : ticks - yesTicks)),
      trades: group.length,
      is_open: start + seconds > nowMs / 1000,
    });
  }
  return candles;
}

/** Synchronous, so nothing else of the process runs in this zone. */
function inZone(zone: string, act: () => void): void {
  const before = process.env['TZ'];
  process.env['TZ'] = zone;
  try {
    act();
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
}

for (const [name, startMs] of Object.entries({ SPRING, AUTUMN })) {
  test(`RULES.md 13.13: candles equal those computed from the tape, for both outcomes (${name}, seed ${seed})`, () => {
    inZone('Europe/Berlin', () => {
      const hours = [startMs, startMs + 86_400_000].map((ms) => new Date(ms).getHours());
      assert.notEqual(hours[0], hours[1], 'a day in this zone does not have 24 hours');
      const random = new Random(seed);
      const tape = new Tape(random, startMs);
      randomTape(tape, random, TRADES);
      assertCandles(tape, startMs);
      const late = tape.fills.flat().filter(({ micros }) => micros % 3_600_000_000 < 1000);
      assert.ok(late.length > 50, 'sweeps have gone on in the next hour');
    });
  });
}

function assertCandles(tape: Tape, startMs: number): void {
  const db = new Database(tape.readDbPath, { readonly: true });
  const queries = new CandleQueries(db);
  const nowMs = tape.timeMs;
  for (const [market, ticks] of TAPE_MARKETS.entries()) {
    for (const interval of INTERVALS) {
      for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
        const task = { market, shard: 0, outcome, interval, fromMs: null, beforeMs: null, limit: 1000 };
        const found = readAll(queries, { ...task, nowMs }, tape.committed);
        const own = { startMs, fills: tape.fills[market]! };
        const expected = expectedOf(own, ticks, outcome, SECONDS[interval], nowMs);
        assert.equal(found.length, expected.length, interval);
        for (const [i, candle] of expected.entries()) assert.deepEqual(found[i], candle);
      }
    }
  }
  db.close();
}

/** A market that traded in the second and in the fourth minute, and is decided in the seventh if so. */
function quietTape(isDecided = false): { readonly queries: CandleQueries; readonly committed: number } {
  const tape = new Tape(new Random(1), SPRING);
  tape.timeMs = SPRING + 60_000;
  tape.trade(0, 1);
  tape.timeMs = SPRING + 220_000;
  tape.trade(0, 1);
  if (isDecided) {
    tape.script.add(SPRING + 400_000, (events) =>
      events.market(0, tapeUuid(0), 100, { status: MARKET_STATUS.RESOLVED, resolvedMs: SPRING + 400_000 }),
    );
  }
  tape.project();
  return { queries: new CandleQueries(new Database(tape.readDbPath, { readonly: true })), committed: tape.committed };
}

const TASK = { market: 0, shard: 0, outcome: OUTCOME.YES, interval: '1m', limit: 1000 } as const;
const startsOf = (candles: readonly Candle[]): number[] => candles.map(({ start }) => start - SPRING / 1000);

test('RULES.md 13.13: from, to and limit count the starts of intervals; a page leads to the one before', () => {
  const { queries, committed } = quietTape();
  const nowMs = SPRING + 330_000;
  const page = (fromMs: number | null, beforeMs: number | null, limit = 1000) => {
    const { candles, nextMs } = queries.page({ ...TASK, fromMs, beforeMs, limit, nowMs }, committed);
    return [startsOf(candles), nextMs === null ? null : nextMs - SPRING];
  };
  assert.deepEqual(page(null, null), [[0, 60, 120, 180, 240, 300], null]);
  assert.deepEqual(page(SPRING + 60_000, SPRING + 180_000), [[60, 120], null], 'from is in, to is not');
  assert.deepEqual(page(SPRING + 60_001, SPRING + 180_001), [[120, 180], null]);
  assert.deepEqual(page(null, null, 2), [[240, 300], 240_000]);
  assert.deepEqual(page(null, SPRING + 240_000, 3), [[60, 120, 180], 60_000]);
  assert.deepEqual(page(null, SPRING + 60_000, 3), [[0], null]);
  assert.deepEqual(page(SPRING + 60_000, SPRING + 240_000, 3), [[60, 120, 180], null], 'nothing is left of the span');
  for (const [from, before] of [
    [null, SPRING],
    [SPRING + 400_000, null],
    [SPRING + 61_000, SPRING + 120_000],
  ] as const) {
    assert.deepEqual(page(from, before), [[], null]);
  }
  assert.deepEqual(queries.page({ ...TASK, market: 9, fromMs: null, beforeMs: null, nowMs }, committed).candles, []);
});

test('RULES.md 13.13: an interval is open until no trade can come in it any more', () => {
  const { queries, committed } = quietTape();
  const open = (nowMs: number, behind = 0): number[] => {
    const task = { ...TASK, fromMs: null, beforeMs: null, nowMs };
    return startsOf(queries.page(task, committed + behind).candles.filter(({ is_open }) => is_open));
  };
  assert.deepEqual(open(SPRING + 230_000), [180], 'the present one');
  assert.deepEqual(open(SPRING + 244_999), [180, 240], 'the one before, for five seconds');
  assert.deepEqual(open(SPRING + 245_000), [240]);
  assert.deepEqual(open(SPRING + 600_000, 1), [180, 240, 300, 360, 420, 480, 540, 600], 'all that is not followed yet');
});

test('RULES.md 13.13: the candles of a decided market end with its decision, and none is open', () => {
  const { queries, committed } = quietTape(true);
  const task = { ...TASK, fromMs: null, beforeMs: null, nowMs: SPRING + 9_000_000 };
  const { candles } = queries.page(task, committed + 1);
  assert.deepEqual(startsOf(candles), [0, 60, 120, 180, 240, 300, 360]);
  assert.ok(candles.every(({ is_open }) => !is_open));
});

test('RULES.md 13.13: where the history begins later than the market, so do its candles', () => {
  const tape = new Tape(new Random(1), SPRING);
  tape.timeMs = SPRING + 60_000;
  tape.trade(0, 1);
  tape.project();
  const db = new Database(tape.readDbPath);
  // As if read.db had begun with a snapshot of that minute (engine/projector/openingState.ts).
  db.exec(`INSERT INTO history_starts VALUES (0, 2, ${SPRING + 90_000}); UPDATE markets SET opened_ms = 0`);
  const task = { ...TASK, fromMs: null, beforeMs: null, nowMs: SPRING + 130_000 };
  assert.deepEqual(
    startsOf(new CandleQueries(db).page(task, tape.committed).candles),
    [120],
    'the first interval that is whole',
  );
  db.close();
});
