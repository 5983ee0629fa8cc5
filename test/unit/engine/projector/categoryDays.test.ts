/** The trading of categories by day, beside sums over all days of all markets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { ExchangeQueries } from '../../../../gateway/markets/exchangeQueries.ts';
import { DAY_MS } from '../../../../shared/tables/buckets.ts';
import { CatalogRig } from '../../../support/catalogRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const CATEGORIES = ['Weather', 'Sports', 'Politics', 'Science'];

const DAYS = `(SELECT *, start_ms AS day_ms FROM candles WHERE span_ms = ${DAY_MS}) AS days`;
const VOLUMES = `
  SELECT day_ms, category, sum(days.volume_micro) AS volume_micro
  FROM ${DAYS} JOIN catalog_markets USING (market) GROUP BY day_ms, category ORDER BY 1, 2`;
const LAST_TRADES = `
  SELECT last_trade_ms - last_trade_ms % ${DAY_MS} AS day_ms, category, count(*) AS markets
  FROM market_stats JOIN catalog_markets USING (market) WHERE last_trade_ms > 0 GROUP BY 1, 2 ORDER BY 1, 2`;

const seed = seedOr(61);

test(`CATEGORYDAYS-1, RULES.md 13.6: a market counts for the category that it has now (seed ${seed})`, () => {
  const random = new Random(seed);
  const rig = new CatalogRig();
  const markets: MarketEntry[] = [];
  for (let step = 0; step < 400; step++) {
    const category = CATEGORIES[random.below(CATEGORIES.length)]!;
    const market = markets[random.below(Math.max(1, markets.length))];
    const choice = random.below(20);
    if (market === undefined || (choice === 0 && markets.length < 8)) markets.push(rig.open({ category }));
    else if (choice < 3) rig.change(market, { category });
    else if (choice < 5) rig.pass(random.below(2 * DAY_MS));
    else if (choice < 6) rig.restart();
    else if (choice < 8) rig.project();
    else rig.trade(market, 1000 * random.between(1, 9));
  }
  rig.project();
  assert.deepEqual(
    rig.read('SELECT day_ms, category, volume_micro FROM category_days WHERE volume_micro > 0 ORDER BY 1, 2'),
    rig.read(VOLUMES),
  );
  assert.deepEqual(
    rig.read('SELECT day_ms, category, markets FROM category_days WHERE markets > 0 ORDER BY 1, 2'),
    rig.read(LAST_TRADES),
  );
  assert.deepEqual(rig.read('SELECT * FROM category_days WHERE volume_micro <= 0'), [], 'CATEGORYDAYS-2');
  assertSpotlight(rig);
  rig.close();
});

/** Today and the six days before it, beside the seven before those. */
function assertSpotlight(rig: CatalogRig): void {
  const from = rig.nowMs - (rig.nowMs % DAY_MS) - 6 * DAY_MS;
  const sums = `sum(iif(day_ms >= ${from}, days.volume_micro, 0)) AS volumeMicro,
    sum(iif(day_ms < ${from}, days.volume_micro, 0)) AS volumeBeforeMicro,
    count(DISTINCT iif(day_ms >= ${from}, market, NULL)) AS markets`;
  const expected = rig.read<{ volumeMicro: number; volumeBeforeMicro: number; markets: number }>(`
    SELECT category, ${sums} FROM ${DAYS} JOIN catalog_markets USING (market)
    WHERE day_ms >= ${from - 7 * DAY_MS} GROUP BY category HAVING volumeMicro > 0 ORDER BY 2 DESC, 1`);
  const db = new Database(rig.readDbPath, { readonly: true });
  const found = new ExchangeQueries(db).spotlight({ nowMs: rig.nowMs });
  db.close();
  assert.ok(expected.length > 0, 'categories have traded in the week');
  const numbers = found.map(({ volumeMicro, volumeBeforeMicro, ...rest }) => ({
    ...rest,
    volumeMicro: Number(volumeMicro),
    volumeBeforeMicro: Number(volumeBeforeMicro),
  }));
  assert.deepEqual(numbers, expected);
}
