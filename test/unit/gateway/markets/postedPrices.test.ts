/** Scores and indications in control.db (RULES.md 9.30 and 9.31): the last posted ones hold, over restarts too. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { Catalog } from '../../../../gateway/markets/catalog.ts';
import { Indications } from '../../../../gateway/markets/indications.ts';
import { LiveScores } from '../../../../gateway/markets/liveScores.ts';
import { completeEventDetails, completeMarketDetails } from '../../../../gateway/markets/marketDetails.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const NOW_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;

/** A catalogue with one event and two markets, in a file that can be opened again. */
function makeControl(): string {
  const path = join(temporaryDirectory(), 'control.db');
  const database = openControlDatabase(path);
  const catalog = new Catalog(database, 1);
  catalog.createEvent('game', completeEventDetails({ title: 'Game' }, NOW_MS), NOW_MS);
  const opening = { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: NOW_MS, endMs: NOW_MS + 1 };
  const details = completeMarketDetails({ title: 'Rain?', description: '', category: 'Weather' });
  const market = { eventId: null, ticksPerUnit: 100, minOrderAtomic: 1_000_000, tokenIds: null, opening, details };
  for (let n = 0; n < 2; n++) catalog.createMarket(market, NOW_MS);
  database.close();
  return path;
}

test('an indication ends exactly at its end time, even after a restart', () => {
  const path = makeControl();
  const indication = { bidTicks: 40, askTicks: 60, expiresMs: NOW_MS + MINUTE_MS };
  for (const isPosted of [true, false]) {
    const database = openControlDatabase(path);
    const indications = new Indications(database);
    if (isPosted) indications.set(0, indication);
    assert.deepEqual(indications.of(0, NOW_MS + MINUTE_MS - 1), indication);
    assert.equal(indications.of(0, NOW_MS + MINUTE_MS), null);
    assert.equal(indications.of(1, NOW_MS), null);
    database.close();
  }
});

test('an indication takes the place of the one before, with its own end', () => {
  const path = makeControl();
  const database = openControlDatabase(path);
  const indications = new Indications(database);
  indications.set(1, { bidTicks: 10, askTicks: 90, expiresMs: NOW_MS + 10 * MINUTE_MS });
  const second = { bidTicks: 20, askTicks: 80, expiresMs: NOW_MS + MINUTE_MS };
  indications.set(1, second);
  assert.deepEqual(new Indications(database).of(1, NOW_MS), second);
  assert.equal(indications.of(1, NOW_MS + 2 * MINUTE_MS), null);
  database.close();
});

test('a score is the last one posted, with its time, even after a restart', () => {
  const path = makeControl();
  const first = { status: 'live', clock: '04:12', period: 'Q1', home_score: 1, away_score: 0 };
  const last = { status: 'final', clock: null, period: null, home_score: 2, away_score: 3 };
  const shown = { ...last, updated_at: new Date(NOW_MS + 1).toISOString() };
  for (const isPosted of [true, false]) {
    const database = openControlDatabase(path);
    const scores = new LiveScores(database);
    if (isPosted) {
      assert.equal(scores.of(0), null);
      scores.set(0, first, NOW_MS);
      scores.set(0, last, NOW_MS + 1);
    }
    assert.deepEqual(scores.of(0), shown);
    assert.equal(scores.of(1), null);
    database.close();
  }
});
