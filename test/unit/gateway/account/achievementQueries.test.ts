/** The facts on which achievements depend, beside a plain count over all positions (RULES.md 14.71 and 14.72). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { AchievementQueries } from '../../../../gateway/account/achievementQueries.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { CATALOG_EVENTS } from '../../../../shared/tables/catalogEvents.ts';
import { CATALOG_MARKETS } from '../../../../shared/tables/catalogMarkets.ts';
import { COST_BASIS, POSITIONS } from '../../../../shared/tables/positions.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';
import { MARKET_STATS } from '../../../../shared/tables/statsMarkets.ts';
import { insert, type Table } from '../../../../shared/tables/table.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(47);
const random = seededRandom(seed);
const below = (n: number): number => Math.floor(random() * n);
const T0 = Date.UTC(2026, 0, 1);
const SINCE = T0 + 50;
const MARKETS = 40;
/** The last one is beyond the accounts of one part. */
const ACCOUNTS = [1, 2, 3, 4, 3000];

type Market = { isNfl: boolean; resolvedMs: number; yesPpm: number };
type Position = {
  account: number;
  market: number;
  outcome: number;
  quantity_atomic: number;
  cost_micro: number;
  realized_micro: number;
  is_paid: number;
  has_traded: number;
  cost_basis: number;
  changed_ms: number;
};

const db = new Database(':memory:');
db.exec(READ_DB_SCHEMA);
const markets: Market[] = [];
const positions: Position[] = [];

function writer(table: Table): (row: object) => void {
  const zeros = Object.fromEntries(table.inserted.map((column) => [column, 0]));
  const statement = db.prepare(insert(table));
  return (row) => void statement.run({ ...zeros, ...row });
}

function fillTables(): void {
  const [event, market, stats, position] = [CATALOG_EVENTS, CATALOG_MARKETS, MARKET_STATS, POSITIONS].map(writer);
  const texts = { title: '', category: '', teams: '[]' };
  for (const [index, sport_league] of ['NFL', 'NBA', null, 'NFL'].entries()) {
    event!({ event: index, ...texts, status: '', sport_league });
  }
  for (let index = 0; index < MARKETS; index++) {
    const [eventIndex, isDecided, yesPpm] = [below(5), below(3) > 0, [0, 333_333, 1_000_000][below(3)]!];
    const resolvedMs = isDecided ? T0 + below(100) : 0;
    markets.push({ isNfl: eventIndex === 0 || eventIndex === 3, resolvedMs, yesPpm });
    const nulls = { facet: null, status: null, start_ms: null, end_ms: null, volume_micro: null };
    const uuid = Buffer.alloc(16, index);
    market!({ market: index, uuid, ...texts, ...nulls, event: eventIndex === 4 ? null : eventIndex });
    const decision = { resolved_ms: resolvedMs, decided_sequence: 9, payout_yes_ppm: yesPpm };
    stats!({ market: index, status: MARKET_STATUS.ACTIVE, ...(isDecided ? decision : {}) });
    for (const account of ACCOUNTS) {
      for (let outcome = 0; outcome < 2; outcome++) {
        const isPaid = isDecided && below(3) === 0;
        const isHeld = !isPaid && below(2) === 0;
        const row: Position = {
          account,
          market: index,
          outcome,
          quantity_atomic: isHeld ? 1 + below(9_000_000) : 0,
          cost_micro: isHeld ? below(9_000_000) : 0,
          realized_micro: below(3) === 0 ? 0 : below(2_000_000) - 1_000_000,
          is_paid: isPaid ? 1 : 0,
          has_traded: below(5) === 0 ? 0 : 1,
          cost_basis: below(9) === 0 ? COST_BASIS.UNKNOWN : COST_BASIS.KNOWN,
          changed_ms: isPaid ? resolvedMs + below(60) : T0 + below(100),
        };
        positions.push(row);
        position!(row);
      }
    }
  }
}

function isSameMarket(one: Position, other: Position): boolean {
  return one.account === other.account && one.market === other.market;
}

/** A closed position: when, and with what result; null for any other. */
function closing(row: Position): { atMs: number; micro: number; isNfl: boolean } | null {
  const { isNfl, resolvedMs, yesPpm } = markets[row.market]!;
  if (row.has_traded === 0 || row.cost_basis !== COST_BASIS.KNOWN) return null;
  if (row.quantity_atomic !== 0 && resolvedMs === 0) return null;
  const yes = positions.find((other) => isSameMarket(other, row) && other.outcome === 0)!.quantity_atomic;
  const forYes = Number((BigInt(yes) * BigInt(yesPpm)) / 1_000_000n);
  const worth = BigInt(yes) * BigInt(yesPpm) + BigInt(row.quantity_atomic) * BigInt(1_000_000 - yesPpm);
  const paid = row.outcome === 0 ? forYes : Number(worth / 1_000_000n) - forYes;
  const micro = row.realized_micro + (row.quantity_atomic === 0 ? 0 : paid - row.cost_micro);
  const wasHeld = resolvedMs !== 0 && (row.quantity_atomic !== 0 || row.is_paid === 1);
  return { atMs: wasHeld ? resolvedMs : row.changed_ms, micro, isNfl };
}

fillTables();
const queries = new AchievementQueries(db);

function expectedOf(account: number) {
  const own = positions.filter((row) => row.account === account);
  const closed = own.map(closing).filter((each) => each !== null);
  const nfl = closed.filter(({ isNfl, atMs }) => isNfl && atMs >= SINCE);
  return {
    marketsTraded: new Set(own.filter((row) => row.has_traded === 1).map(({ market }) => market)).size,
    closed: closed.length,
    won: closed.filter(({ micro }) => micro > 0).length,
    nflClosed: nfl.length,
    nflMicro: nfl.reduce((sum, { micro }) => sum + micro, 0),
  };
}

test(`RULES.md 14.71: markets traded, positions closed and won, and those of the NFL since then (seed ${seed})`, () => {
  for (const account of ACCOUNTS) {
    const facts = queries.facts({ account, nflSinceMs: SINCE });
    assert.deepEqual(facts, expectedOf(account));
    assert.ok(facts.nflClosed > 3 && facts.won > 3 && facts.won < facts.closed);
  }
  const nothing = { marketsTraded: 0, closed: 0, won: 0, nflClosed: 0, nflMicro: 0 };
  assert.deepEqual(queries.facts({ account: 5, nflSinceMs: SINCE }), nothing);
});

test(`RULES.md 14.72: the parts of the ranking have every NFL trader once, with the same result (seed ${seed})`, () => {
  const found: number[][] = [];
  let parts = 0;
  for (let after: number | null = 0; after !== null; parts++) {
    const part = queries.nflPart({ sinceMs: SINCE, after });
    found.push(...part.accounts.map((account, index) => [account, part.results[index]!]));
    after = part.next;
  }
  assert.ok(parts > 1);
  assert.deepEqual(
    found,
    ACCOUNTS.map((account) => [account, expectedOf(account).nflMicro]),
  );
});
