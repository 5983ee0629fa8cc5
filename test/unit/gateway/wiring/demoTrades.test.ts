import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { demoCatalogue } from '../../../../gateway/wiring/demoCatalogue.ts';
import { listingsOf } from '../../../../gateway/wiring/demoPast.ts';
import { demoTrades, type Question } from '../../../../gateway/wiring/demoTrades.ts';
import { PastClock } from '../../../../gateway/wiring/pastClock.ts';
import { DAY_MS } from '../../../../shared/tables/buckets.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const NOW_MS = 1_790_000_123_456;
const seed = seedOr(20_261_130);
const VALUES = [0.5, 0.3, 0.2];

const exclusive: Question = {
  listedMs: NOW_MS - 8 * DAY_MS,
  isExclusive: true,
  markets: VALUES.map((value, at) => ({ id: `result ${at}`, value, trades: 40 })),
};
const single: Question = {
  listedMs: NOW_MS - DAY_MS,
  isExclusive: false,
  markets: [{ id: 'single', value: 0.9, trades: 1 }],
};

describe(`the past trades of a demo (SEED=${seed})`, () => {
  const trades = demoTrades([exclusive, single], NOW_MS, seededRandom(seed));

  test('are in the order of their times, after the listing of their market and before the present', () => {
    assert.equal(trades.length, 3 * 40 + 1);
    assert.deepEqual(
      trades,
      trades.toSorted((a, b) => a.atMs - b.atMs),
    );
    assert.ok(trades.every(({ atMs }) => atMs >= exclusive.listedMs && atMs <= NOW_MS));
    assert.ok(trades.find(({ marketId }) => marketId === 'single')!.atMs >= single.listedMs);
    assert.ok(trades[0]!.atMs < NOW_MS - 5 * DAY_MS, 'a chart of a week begins with a trade');
  });

  test('end near the value of today, and move on the way there', () => {
    for (const [at, value] of VALUES.entries()) {
      const chances = trades.flatMap(({ marketId, chance }) => (marketId === `result ${at}` ? [chance] : []));
      assert.ok(Math.abs(chances.at(-1)! - value) < 0.15, `${chances.at(-1)} and ${value}`);
      assert.ok(Math.max(...chances) - Math.min(...chances) > 0.02);
      assert.ok(chances.every((chance) => chance > 0 && chance < 1));
    }
  });

  test('have, at the present, chances of the results of one question that add up to one', () => {
    const atOnce = { ...exclusive, listedMs: NOW_MS - 1 };
    const last = new Map(
      demoTrades([atOnce], NOW_MS, seededRandom(seed)).map(({ marketId, chance }) => [marketId, chance]),
    );
    const sum = [...last.values()].reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - 1) < 1e-6, String(sum));
  });
});

test('games far ahead are listed on the days since the beginning, and each event before its markets', () => {
  const { lines } = demoCatalogue(NOW_MS);
  const listings = listingsOf(lines, NOW_MS);
  assert.deepEqual(
    listings.map(({ atMs }) => (NOW_MS - atMs) / DAY_MS),
    [8, 7, 6, 5, 4, 3, 2],
  );
  assert.equal(listings.flatMap((listing) => listing.lines).length, lines.length);
  const known = new Set<string>();
  for (const { event, market } of listings.flatMap((listing) => listing.lines)) {
    if (event !== undefined) known.add(event.slug!);
    else assert.ok(known.has(market!.event_slug!));
  }
});

test('the clock of the past goes forward only, never beyond the present, and is that of the machine at last', () => {
  const startMs = Date.now() - DAY_MS;
  const clock = new PastClock(startMs);
  clock.moveTo(startMs + 1);
  assert.equal(clock.nowMs(), startMs + 1);
  assert.throws(() => clock.moveTo(startMs), /past clock/);
  clock.moveTo(Number.MAX_SAFE_INTEGER);
  assert.ok(clock.nowMs() <= Date.now());
  clock.arrive();
  assert.ok(clock.nowMs() > startMs + 1);
  assert.throws(() => clock.moveTo(Date.now()), /past clock/);
});
