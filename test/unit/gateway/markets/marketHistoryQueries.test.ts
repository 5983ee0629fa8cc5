/** The history of a market by interval, beside a walk over its trades (RULES.md 13.4). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { MarketHistoryQueries } from '../../../../gateway/markets/marketHistoryQueries.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { bucketOf, DAY_MS, FIVE_MINUTES_MS, HOUR_MS, MINUTE_MS } from '../../../../shared/tables/buckets.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { JournalScript } from '../../../support/records.ts';

const T0 = Date.UTC(2026, 0, 1, 22, 30);
const MINUTES = 1005;
const SPANS = { '1m': MINUTE_MS, '5m': FIVE_MINUTES_MS, '1h': HOUR_MS, '1d': DAY_MS } as const;

/** Two trades a minute, but every tenth minute without one. */
const trades = Array.from({ length: 2 * MINUTES }, (_, i) => {
  const minute = Math.floor(i / 2) + Math.floor(i / 18);
  return { timeMs: T0 + minute * MINUTE_MS + (i % 2) * 20_000, ticks: 1 + ((i * 37) % 99) };
});

const directory = temporaryDirectory();
const journalPath = join(directory, 'journal-0.db');
const readDbPath = join(directory, 'read.db');
const script = new JournalScript(journalPath);
script.record(T0, (events) => {
  events.market(0, '11111111-1111-4111-8111-111111111111');
  events.market(1, '22222222-2222-4222-8222-222222222222');
});
for (const { timeMs, ticks } of trades) {
  script.record(timeMs, (events) => {
    const order = { market: 0, limitTicks: ticks, lots: 10_000 };
    events.order({ ...order, slot: 0, account: 1, side: SIDE.BUY });
    events.order({ ...order, slot: 1, account: 2, side: SIDE.SELL });
    events.fill({ maker: 0, taker: 1, yesTicks: ticks, lots: 10_000 });
    events.filled(0);
    events.filled(1);
  });
}
const progress = Progress.create(1);
const projector = new Projector({ journalPaths: [journalPath], keys: [TEST_KEY], readDbPath, progress });
new Progress(progress).setCommitted(0, script.journal.lastSequence);
while (projector.step(true));
projector.close();
script.journal.close();
const db = new Database(readDbPath, { readonly: true });
const queries = new MarketHistoryQueries(db);

for (const interval of ['1m', '5m', '1h', '1d'] as const) {
  test(`RULES.md 13.4: ${interval} has the last price of each interval with trades, the newest 1,000`, () => {
    const last = new Map<number, number>();
    for (const { timeMs, ticks } of trades) last.set(bucketOf(timeMs, SPANS[interval]) / 1000, ticks / 100);
    const expected = [...last].map(([timestamp, price]) => ({ timestamp, price: String(price) })).slice(-1000);
    assert.deepEqual(queries.history({ market: 0, interval }), expected);
    assert.deepEqual(queries.history({ market: 1, interval }), []);
  });
}

test('RULES.md 13.4: the newest 100 trades, newest first', () => {
  const shown = queries.trades(0).map(({ price, side, amount }) => ({ price, side, amount }));
  const newest = trades.slice(-100).reverse();
  assert.deepEqual(
    shown,
    newest.map(({ ticks }) => ({ price: String(ticks / 100), side: 'SELL', amount: '1000000' })),
  );
  assert.deepEqual(queries.trades(1), []);
  assert.deepEqual(queries.trades(9), []);
});
