/** Volumes near the largest value that a row can hold (RULES.md 13.10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { differences } from '../../../../engine/projector/contents.ts';
import { MOVEMENT, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { MOST_COUNTED_ATOMIC } from '../../../../shared/tables/statsExchange.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';

const ACCOUNT = 9;
const MARKET = 7;
const TICKS_PER_UNIT = 100;
const TOKENS = 10 ** 15;
const VOLUMES = {
  markets: `market = ${MARKET}`,
  candles: `market = ${MARKET} AND span_ms = 60000`,
  account_stats: `account = ${ACCOUNT}`,
  exchange_hours: 'TRUE',
};

test('EXCHANGESTATS-3: a trade beyond the largest volume is a trade, and adds to no volume', (t) => {
  const rig = new ProjectionRig();
  t.after(() => rig.close());
  const [engine] = rig.rigs as [(typeof rig.rigs)[number]];
  engine.market(MARKET, { feeBps: 0 });
  engine.fund(ACCOUNT, 4 * TOKENS);
  engine.convert(ACCOUNT, MARKET, TOKENS, MOVEMENT.SPLIT);
  const trade = (): void => {
    for (const side of [SIDE.SELL, SIDE.BUY]) {
      const lots = TOKENS / TICKS_PER_UNIT;
      engine.place({ account: ACCOUNT, market: MARKET, side, outcome: OUTCOME.YES, ticks: 98, lots, feeBps: 0 });
    }
    rig.write();
    rig.project();
  };
  const volume = (table: keyof typeof VOLUMES): bigint =>
    rig.read((db) => {
      const sum = db.prepare<[], bigint>(`SELECT sum(volume_micro) FROM ${table} WHERE ${VOLUMES[table]}`).pluck();
      return sum.safeIntegers().get()!;
    });
  const tables = Object.keys(VOLUMES) as (keyof typeof VOLUMES)[];
  trade();
  assert.deepEqual(differences(rig.undisturbed(), rig.contents()), []);
  assert.deepEqual(
    tables.map(volume),
    tables.map(() => BigInt(TOKENS * 0.98)),
  );

  // As if all such trades except one had been made before.
  const left = BigInt(TOKENS) + 5n;
  const db = new Database(rig.readDbPath);
  db.prepare('UPDATE exchange_shards SET counted_atomic = ?').run(MOST_COUNTED_ATOMIC - left);
  for (const table of tables) {
    db.prepare(`UPDATE ${table} SET volume_micro = ? WHERE ${VOLUMES[table]}`).run(MOST_COUNTED_ATOMIC - left);
  }
  db.close();
  for (let trades = 0; trades < 3; trades++) trade();
  const largest = MOST_COUNTED_ATOMIC - left + BigInt(TOKENS * 0.98);
  assert.deepEqual(
    tables.map(volume),
    tables.map(() => largest),
    'one was counted, two were not',
  );
  const counts = rig.read((db) =>
    db.prepare(`SELECT (SELECT count(*) FROM trades) AS rows, trades FROM account_stats WHERE account = 9`).get(),
  );
  assert.deepEqual(counts, { rows: 4, trades: 4 });
});
