/** Positions and statistics of journals that a real engine wrote, compared with slow computations. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { NEWEST_RULES } from '../../../../engine/core/rules.ts';
import { Projector } from '../../../../engine/projector/projector.ts';
import { FEE_ACCOUNT, FUND_MOVEMENT, MOVEMENT } from '../../../../shared/base/codes.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { ownTicks } from '../../../../shared/base/orderMath.ts';
import { bucketOf, DAY_MS, HOUR_MS } from '../../../../shared/tables/buckets.ts';
import { CANDLE_SPANS_MS } from '../../../../shared/tables/candles.ts';
import { MAXIMA_SPANS_MS } from '../../../../shared/tables/statsExchange.ts';
import { decodeEvents } from '../../../../shared/wire/events.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { JournaledShard, SET } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';
import { fillsOf, unwind } from '../../../support/unwinding.ts';

const seed = seedOr(23);
const ACCOUNTS = [1, 2, 3];
const MARKETS = [0, 1, 2];
const TABLES = [
  'positions',
  'position_hours',
  'account_stats',
  'account_hours',
  'trader_hours',
  'market_stats',
  'candles',
  'exchange_hours',
  'trade_maxima',
  'fund_movements',
];

type Row = Record<string, bigint>;
type Trade = {
  /** The time of the fill; no sweep here extends beyond its record's millisecond. */
  timeMs: number;
  market: number;
  yesTicks: number;
  tokens: bigint;
  yesNotional: bigint;
  notional: bigint;
  parties: Map<number, bigint>;
};

/** Trading in five stretches, hours apart, over a midnight; then the markets are decided and paid. */
function traded(): JournaledShard {
  const shard = new JournaledShard(seed, 1, 1, NEWEST_RULES);
  for (let stretch = 0; stretch < 5; stretch++) {
    shard.trade(400);
    shard.rig.nowMs += 4 * HOUR_MS;
    const undone = fillsOf(shard.rig).findLast((fill) => unwind(shard.rig, fill) === OK);
    assert.ok(undone !== undefined);
  }
  shard.convertSets(150);
  shard.decideMarkets();
  return shard;
}

/** Follows the journal in steps of at most `most` records, by another projector now and then. */
function project(shard: JournaledShard, most: number): Database.Database {
  const readDbPath = join(temporaryDirectory(), 'read.db');
  const random = seededRandom(seed);
  const progress = Progress.create(1);
  const open = () => new Projector({ journalPaths: [shard.file.journalPath], keys: [TEST_KEY], readDbPath, progress });
  let projector = open();
  for (let committed = 0; committed < shard.last; ) {
    committed = Math.min(shard.last, committed + 1 + Math.floor(random() * most));
    new Progress(progress).setCommitted(0, committed);
    while (projector.step(true));
    if (random() >= 0.3) continue;
    projector.close();
    projector = open();
  }
  projector.close();
  return new Database(readDbPath, { readonly: true }).defaultSafeIntegers();
}

function all(db: Database.Database, sql: string): Row[] {
  return db.prepare<[], Row>(sql).all();
}

function tradesOf(db: Database.Database): Trade[] {
  const rows = all(db, 'SELECT trades.*, ticks_per_unit FROM trades JOIN markets USING (market) ORDER BY id');
  return rows.map((row) => {
    const ticks = (outcome: bigint): number =>
      ownTicks(Number(outcome), Number(row['yes_ticks']), Number(row['ticks_per_unit']));
    const notional = row['lots']! * BigInt(ticks(row['taker_outcome']!));
    const parties = new Map([[Number(row['maker_account']), row['lots']! * BigInt(ticks(row['maker_outcome']!))]]);
    parties.set(Number(row['taker_account']), notional);
    assert.ok(row['after_us']! < 1000n);
    return {
      ...{ timeMs: Number(row['matched_ms']), market: Number(row['market']) },
      ...{ yesTicks: Number(row['yes_ticks']), tokens: row['lots']! * row['ticks_per_unit']! },
      ...{ yesNotional: row['lots']! * row['yes_ticks']!, notional, parties },
    };
  });
}

describe(`statistics of random trading (seed ${seed})`, () => {
  const shard = traded();
  const db = project(shard, 4000);
  const trades = tradesOf(db);
  const { ledger } = shard.rig.engine.state;

  it('has trades of several hours and days', () => {
    assert.ok(trades.length > 300, `${trades.length} trades`);
    assert.ok(new Set(trades.map(({ timeMs }) => bucketOf(timeMs, DAY_MS))).size === 2);
  });

  it('RULES.md 13.9: every position has the tokens that the engine says', () => {
    const found = new Map<string, bigint>();
    for (const row of all(db, 'SELECT * FROM positions')) {
      found.set(`${row['account']}/${row['market']}/${row['outcome']}`, row['quantity_atomic']!);
    }
    for (const account of ACCOUNTS) {
      for (const market of [...MARKETS, ...SET]) {
        for (const outcome of [0, 1]) {
          const held =
            ledger.availableTokens(account, market, outcome) + ledger.reservedTokens(account, market, outcome);
          assert.equal(found.get(`${account}/${market}/${outcome}`) ?? 0n, BigInt(held));
        }
      }
    }
    assert.ok(
      [...found.values()].some((quantity) => quantity > 0n),
      'an open market is left',
    );
  });

  it('RULES.md 13.9: what positions earned less what they cost is the USDC that an account gained', () => {
    for (const account of ACCOUNTS) {
      const [{ gained }] = all(
        db,
        `SELECT sum(realized_micro) - sum(cost_micro) AS gained FROM positions WHERE account = ${account}`,
      ) as [{ gained: bigint }];
      const owned = BigInt(ledger.availableMicro(account) + ledger.reservedOf(account));
      assert.equal(owned, deposits(shard, account) + gained);
    }
  });

  it('RULES.md 14.40: movements and trades add up to what an account owns, in USDC and each token', () => {
    for (const account of ACCOUNTS) {
      const owned = new Map<string, bigint>();
      const add = (asset: string, amount: bigint): void => void owned.set(asset, (owned.get(asset) ?? 0n) + amount);
      for (const row of all(db, `SELECT * FROM fund_movements WHERE account = ${account}`)) {
        add('USDC', row['usdc_micro']!);
        add(`${row['market']}/0`, row['yes_atomic']!);
        add(`${row['market']}/1`, row['no_atomic']!);
      }
      for (const row of all(db, 'SELECT trades.*, ticks_per_unit FROM trades JOIN markets USING (market)')) {
        for (const party of ['maker', 'taker']) {
          if (row[`${party}_account`] !== BigInt(account)) continue;
          const outcome = row[`${party}_outcome`]!;
          const unit = row['ticks_per_unit']!;
          const ticks = outcome === 0n ? row['yes_ticks']! : unit - row['yes_ticks']!;
          const isBuy = row[`${party}_side`] === 0n;
          const fee = row[`${party}_fee`]!;
          add('USDC', isBuy ? -row['lots']! * ticks : row['lots']! * ticks - fee);
          add(`${row['market']}/${outcome}`, isBuy ? row['lots']! * unit - fee : -row['lots']! * unit);
        }
      }
      assert.equal(owned.get('USDC'), BigInt(ledger.availableMicro(account) + ledger.reservedOf(account)));
      for (const market of [...MARKETS, ...SET]) {
        for (const outcome of [0, 1]) {
          const held =
            ledger.availableTokens(account, market, outcome) + ledger.reservedTokens(account, market, outcome);
          assert.equal(owned.get(`${market}/${outcome}`) ?? 0n, BigInt(held));
        }
      }
    }
    const kinds = all(db, 'SELECT DISTINCT kind FROM fund_movements ORDER BY kind').map(({ kind }) => Number(kind));
    const happening = Object.values(FUND_MOVEMENT).filter((kind) => kind !== FUND_MOVEMENT.CARRIED);
    assert.deepEqual(
      kinds,
      happening.toSorted((a, b) => a - b),
      'every kind of movement has happened',
    );
  });

  it('an account’s sums are those of its positions and trades', () => {
    for (const account of ACCOUNTS) {
      const own = trades.filter(({ parties }) => parties.has(account));
      const [sums] = all(db, `SELECT * FROM account_stats WHERE account = ${account}`);
      const [earned] = all(
        db,
        `SELECT sum(realized_micro) AS realized, sum(cost_micro) AS cost FROM positions WHERE account = ${account}`,
      );
      assert.equal(sums!['trades'], BigInt(own.length));
      assert.equal(sums!['volume_micro'], sum(own.map(({ parties }) => parties.get(account)!)));
      assert.equal(sums!['funded_micro'], deposits(shard, account));
      assert.equal(sums!['realized_micro'], earned!['realized']);
      assert.equal(sums!['cost_micro'], earned!['cost']);
      assert.equal(sums!['reserved_micro'], BigInt(ledger.reservedOf(account)));
      assert.equal(sums!['trade_hour_ms'], BigInt(bucketOf(own.at(-1)!.timeMs, HOUR_MS)));
    }
  });

  it('account_hours has the sums before the first change of each', () => {
    for (const row of all(db, 'SELECT * FROM account_hours')) {
      const before = trades.filter(
        ({ timeMs, parties }) => timeMs < Number(row['hour_ms']) && parties.has(Number(row['account'])),
      );
      assert.equal(row['trades'], BigInt(before.length));
      assert.equal(row['volume_micro'], sum(before.map(({ parties }) => parties.get(Number(row['account']))!)));
      assert.equal(Number(row['hour_ms']) % HOUR_MS, 0);
    }
  });

  it('ACCOUNTSTATS-4: trader_hours counts each account in the hour of its last trade', () => {
    const last = new Map(trades.flatMap(({ timeMs, parties }) => [...parties.keys()].map((party) => [party, timeMs])));
    const expected = Map.groupBy(last.values(), (timeMs) => bucketOf(timeMs, HOUR_MS));
    assert.deepEqual(
      all(db, 'SELECT * FROM trader_hours ORDER BY hour_ms'),
      [...expected].sort().map(([hour, accounts]) => ({ hour_ms: BigInt(hour), accounts: BigInt(accounts.length) })),
    );
  });

  it('RULES.md 13.13: every interval in which a market traded has one candle, of exactly its trades', () => {
    const expected: Row[] = [];
    for (const market of MARKETS) {
      for (const spanMs of Object.values(CANDLE_SPANS_MS)) {
        const own = trades.filter((trade) => trade.market === market);
        for (const [start, group] of grouped(own, spanMs)) expected.push(candleOf(market, spanMs, start, group));
      }
    }
    assert.deepEqual(all(db, 'SELECT * FROM candles ORDER BY market, span_ms, start_ms'), expected);
    const undone = all(db, `SELECT count(*) AS rows FROM fund_movements WHERE kind = ${FUND_MOVEMENT.UNWINDING}`);
    assert.ok(undone[0]!['rows']! > 0n, 'trades that were unwound stay in the candles');
  });

  it('MARKETSTATS-3: a market counts the accounts that hold tokens of it, of either outcome', () => {
    const shard = new JournaledShard(seed);
    shard.trade(400);
    for (const each of [project(shard, 7), db]) {
      for (const { market, holders } of all(each, 'SELECT market, holders FROM market_stats')) {
        const sql = `SELECT DISTINCT account FROM positions WHERE market = ${market} AND quantity_atomic > 0`;
        assert.equal(holders, BigInt(all(each, sql).length), `market ${market}`);
        if (each !== db) assert.ok(holders > 1n);
      }
    }
  });

  it('a market has the price of its last trade and its full sets', () => {
    for (const market of MARKETS) {
      const own = trades.filter((trade) => trade.market === market);
      const [state] = all(db, `SELECT * FROM market_stats WHERE market = ${market}`);
      assert.equal(state!['last_yes_ticks'], BigInt(own.at(-1)!.yesTicks));
      assert.equal(
        state!['open_interest_atomic'],
        BigInt(shard.rig.engine.state.markets.peek(market)!.collateralMicro),
      );
    }
  });

  it('exchange_hours has volume, trades and what decided markets paid', () => {
    const hours = grouped(trades, HOUR_MS);
    const rows = all(db, 'SELECT * FROM exchange_hours');
    for (const [start, group] of hours) {
      const row = rows.find(({ hour_ms }) => hour_ms === BigInt(start));
      assert.equal(row!['volume_micro'], sum(group.map(({ notional }) => notional)));
      assert.equal(row!['trades'], BigInt(group.length));
    }
    const paid = sum(rows.map((row) => row['settled_micro']!));
    assert.equal(paid, movedMicro(shard, MOVEMENT.CLAIM));
    assert.equal(rows[0]!['active_markets'], 0n, 'the first hour started without markets');
    assert.equal(rows.at(-1)!['active_markets'], 3n, 'the hour in which two were decided started with three');
  });

  it('trade_maxima has the largest trade of every span', () => {
    for (const spanMs of MAXIMA_SPANS_MS) {
      const expected = [...grouped(trades, spanMs)].map(([start, group]) => ({
        span_ms: BigInt(spanMs),
        start_ms: BigInt(start),
        notional_micro: group.map(({ notional }) => notional).reduce((a, b) => (a > b ? a : b)),
      }));
      assert.deepEqual(all(db, `SELECT * FROM trade_maxima WHERE span_ms = ${spanMs}`), expected);
    }
  });

  it('is the same in many small steps by several projectors', () => {
    const inSteps = project(shard, 40);
    for (const table of TABLES) {
      const sql = `SELECT * FROM ${table} ORDER BY 1, 2, ${table === 'trader_hours' ? 2 : 3}`;
      assert.deepEqual(all(inSteps, sql), all(db, sql), table);
    }
  });
});

/** Deposits less withdrawals and what movements cost. */
function deposits(shard: JournaledShard, account: number): bigint {
  const of = (movement: number): bigint => movedMicro(shard, movement, account);
  return of(MOVEMENT.DEPOSIT) - of(MOVEMENT.WITHDRAWAL) - of(MOVEMENT.FEE);
}

function movedMicro(shard: JournaledShard, movement: number, account?: number): bigint {
  const moved = shard.rig.journal.rows
    .flatMap(({ events }) => decodeEvents(events.words, events.word, events.end))
    .filter((event) => event.name === 'FUNDS')
    .filter((event) => event.movement === movement && event.account !== FEE_ACCOUNT)
    .filter((event) => account === undefined || event.account === account);
  return sum(moved.map(({ amount }) => BigInt(amount)));
}

function candleOf(market: number, spanMs: number, start: number, group: readonly Trade[]): Row {
  const prices = group.map(({ yesTicks }) => yesTicks);
  const row = {
    ...{ market, span_ms: spanMs, start_ms: start, trades: group.length },
    ...{ tokens_atomic: sum(group.map(({ tokens }) => tokens)) },
    ...{ notional_micro: sum(group.map(({ yesNotional }) => yesNotional)) },
    ...{ volume_micro: sum(group.map(({ notional }) => notional)) },
    ...{ open_ticks: prices[0]!, high_ticks: Math.max(...prices), low_ticks: Math.min(...prices) },
    close_ticks: prices.at(-1)!,
  };
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, BigInt(value)]));
}

/** Sums by the start of the bucket, in order. */
function grouped(trades: readonly Trade[], spanMs: number): Map<number, Trade[]> {
  const groups = new Map<number, Trade[]>();
  for (const trade of trades) {
    const start = bucketOf(trade.timeMs, spanMs);
    const group = groups.get(start) ?? [];
    group.push(trade);
    groups.set(start, group);
  }
  return groups;
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((a, b) => a + b, 0n);
}
