import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { type PositionDifference, PositionProjection } from '../../../../engine/projector/positions.ts';
import { AccountStats } from '../../../../engine/projector/statsAccounts.ts';
import { MarketStats } from '../../../../engine/projector/statsMarkets.ts';
import { FEE_ACCOUNT, MARKET_STATUS, MOVEMENT, OUTCOME } from '../../../../shared/base/codes.ts';
import { COST_BASIS } from '../../../../shared/tables/positions.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';

const ANN = 7;
const MARKET = 3;
const record = { shard: 1, shardSequence: 42, timeMs: 5_000_000 };
const SET = 10_000_000;
const [KNOWN, UNKNOWN, RECOVERED] = [COST_BASIS.KNOWN, COST_BASIS.UNKNOWN, COST_BASIS.RECOVERED].map(BigInt);

/** A read model with a set of ten that Ann has split. */
function split(others: readonly number[] = []) {
  const db = new Database(':memory:');
  db.exec(READ_DB_SCHEMA);
  for (const market of [MARKET, ...others]) {
    db.exec(`INSERT INTO market_stats VALUES (${market}, 1, ${MARKET_STATUS.ACTIVE}, 0, 0, 0, 0, 0, 0, 0, 0)`);
  }
  const markets = new MarketStats(db);
  db.defaultSafeIntegers();
  const accounts = new AccountStats(db);
  const differences: PositionDifference[] = [];
  const positions = new PositionProjection(db, accounts, markets, (difference) => differences.push(difference));
  positions.convert(ANN, MARKET, MOVEMENT.SPLIT, SET, record);
  const rows = (): unknown[][] => {
    positions.flush();
    accounts.flush();
    const columns = 'outcome, quantity_atomic, cost_micro, realized_micro, is_paid, cost_basis';
    return db.prepare<[], unknown[]>(`SELECT ${columns} FROM positions ORDER BY outcome`).raw().all();
  };
  const holders = (): unknown => {
    markets.flush();
    return db.prepare('SELECT holders FROM market_stats').pluck().get();
  };
  const costs = () => db.prepare('SELECT cost_micro FROM account_stats').pluck().all();
  return { db, positions, differences, rows, holders, costs };
}

test('POSITIONROWS-1: the engine is right about quantities: a difference is reported once, and corrected', () => {
  const { positions, differences, rows, costs } = split();
  positions.holds(ANN, MARKET, 4_000_000, SET, null, record);
  assert.deepEqual(differences, [
    {
      account: ANN,
      market: MARKET,
      outcome: OUTCOME.YES,
      shard: 1,
      shardSequence: 42,
      foundAtomic: '10000000',
      engineAtomic: '4000000',
    },
  ]);
  positions.holds(ANN, MARKET, 4_000_000, SET, null, record);
  assert.equal(differences.length, 1);
  assert.deepEqual(rows(), [
    [0n, 4_000_000n, 2_000_000n, 0n, 0n, UNKNOWN],
    [1n, 10_000_000n, 5_000_000n, 0n, 0n, KNOWN],
  ]);
  assert.deepEqual(costs(), [7_000_000n], 'the sums of the account follow');
  positions.convert(ANN, MARKET, MOVEMENT.MERGE, 4_000_000, record);
  positions.holds(ANN, MARKET, 0, 6_000_000, null, record);
  assert.equal(differences.length, 1);
  assert.deepEqual(rows()[0], [0n, 0n, 0n, 0n, 0n, RECOVERED]);
});

test('POSITIONROWS-1: in a decided market too; the fee account has no positions', () => {
  const { positions, differences } = split();
  positions.holds(ANN, MARKET, SET, SET, 1_000_000, record);
  positions.holds(FEE_ACCOUNT, MARKET, 5, 5, null, record);
  assert.deepEqual(differences, []);
  positions.holds(ANN, MARKET, SET, 1, 1_000_000, record);
  assert.deepEqual(
    differences.map(({ outcome, engineAtomic }) => [outcome, engineAtomic]),
    [[OUTCOME.NO, '1']],
  );
});

test('positions whose tokens were paid are known, those that were merged before are none', () => {
  const { positions, differences, rows } = split();
  positions.holds(ANN, MARKET, SET, SET, 333_333, record);
  positions.holds(ANN, MARKET, 0, 0, 333_333, record);
  // 10 Yes pay 3.333330 and 10 No 6.666670; each cost 5.
  assert.deepEqual(rows(), [
    [0n, 0n, 0n, -1_666_670n, 1n, KNOWN],
    [1n, 0n, 0n, 1_666_670n, 1n, KNOWN],
  ]);
  const merged = split();
  merged.positions.convert(ANN, MARKET, MOVEMENT.MERGE, SET, record);
  merged.positions.holds(ANN, MARKET, 0, 0, 333_333, record);
  assert.deepEqual(merged.rows(), [
    [0n, 0n, 0n, 0n, 0n, KNOWN],
    [1n, 0n, 0n, 0n, 0n, KNOWN],
  ]);
  assert.deepEqual([...differences, ...merged.differences], []);
});

test('MARKETSTATS-3: an account is a holder from its first token of either outcome until its last is gone', () => {
  const { positions, holders } = split();
  assert.equal(holders(), 1n, 'of Yes and of No');
  positions.unwind(ANN, MARKET, -SET, 0, 0, record);
  assert.equal(holders(), 1n);
  positions.unwind(ANN, MARKET, 0, -SET - 1, 0, record);
  assert.equal(holders(), 0n, 'one that owes tokens holds none');
  positions.unwind(ANN, MARKET, 0, 2, 0, record);
  positions.open(ANN + 1, MARKET, OUTCOME.NO, SET, record);
  assert.equal(holders(), 2n);
  positions.holds(ANN + 1, MARKET, 0, 0, 1_000_000, record);
  assert.equal(holders(), 1n, 'one that was paid');
});

test('a position is the one of its account, market and outcome, whatever their numbers are', () => {
  // One number for all three, as there was one, stood for several positions here, or was no safe integer.
  const markets = [0, 1, 2 ** 31, 2 ** 32 - 2];
  const { db, positions } = split(markets);
  const keys = [1, 2, 2 ** 20, 2 ** 26 - 2, 2 ** 26 - 1].flatMap((account) =>
    markets.map((market) => [account, market] as const),
  );
  for (const [at, [account, market]] of keys.entries()) {
    for (const outcome of [OUTCOME.YES, OUTCOME.NO])
      positions.open(account, market, outcome, 2 * at + 1 + outcome, record);
  }
  positions.flush();
  const select = db
    .prepare<[number, number], bigint>(
      'SELECT quantity_atomic FROM positions WHERE account = ? AND market = ? ORDER BY outcome',
    )
    .pluck();
  for (const [at, [account, market]] of keys.entries()) {
    assert.deepEqual(select.all(account, market).map(Number), [2 * at + 1, 2 * at + 2], `${account}/${market}`);
  }
});

test('POSITIONROWS-3: positions that left the memory are read again, those of both outcomes', () => {
  const { db, positions } = split();
  const count = 100_001;
  for (let account = 10; account < 10 + count; account++) positions.open(account, MARKET, OUTCOME.NO, account, record);
  positions.flush();
  const later = { ...record, timeMs: record.timeMs + 1 };
  for (const account of [10, 10 + count - 1]) positions.convert(account, MARKET, MOVEMENT.SPLIT, 6, later);
  positions.flush();
  const select = db.prepare<[number], bigint>(
    'SELECT quantity_atomic FROM positions WHERE account = ? ORDER BY outcome',
  );
  for (const account of [10, 10 + count - 1]) assert.deepEqual(select.pluck().all(account), [6n, BigInt(account + 6)]);
  assert.deepEqual(select.pluck().all(11), [11n]);
});
