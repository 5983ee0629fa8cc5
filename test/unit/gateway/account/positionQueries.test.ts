/** The slices of an account's positions, and the ids that lead from one to the next (RULES.md 14.20, 14.23). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { PortfolioQueries } from '../../../../gateway/account/portfolioQueries.ts';
import { marketOfPosition, positionId, positionMask } from '../../../../gateway/account/positionIds.ts';
import { FIRST_POSITION, type PositionKey, PositionQueries } from '../../../../gateway/account/positionQueries.ts';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import { MARKETS } from '../../../../shared/tables/markets.ts';
import { COST_BASIS, POSITIONS } from '../../../../shared/tables/positions.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';
import { insert } from '../../../../shared/tables/table.ts';

const [ANN, BOB] = [1, 2];
const MARKETS_HELD = 600;
const ENTRY_ATTO = 650_000_000_000_000_000n;
const masks = [0, 1].map((outcome) => positionMask('ann', outcome));
const uuidOf = (market: number): Uint8Array => timeOrderedIdBytes(1_700_000_000_000, 0, 1, market);

/** Recovered and sold, unknown, recovered, and known from then on. */
const basisOf = (market: number): number => [2, 2, 1, 1, 2, 2][market] ?? COST_BASIS.KNOWN;

/** Ann has both outcomes of every other market, Bob Yes of each. */
function filled(): { positions: PositionQueries; portfolio: PortfolioQueries } {
  const db = new Database(':memory:');
  db.exec(READ_DB_SCHEMA);
  const addMarket = db.prepare(insert(MARKETS));
  const addPosition = db.prepare(insert(POSITIONS));
  const row = { ...Object.fromEntries(POSITIONS.inserted.map((column) => [column, 0])), entry_atto: ENTRY_ATTO };
  db.transaction(() => {
    for (let market = 0; market < MARKETS_HELD; market++) {
      const uuid = uuidOf(market);
      addMarket.run({
        market,
        uuid,
        ticks_per_unit: 100,
        status: 0,
        start_ms: 0,
        end_ms: 0,
        opened_ms: 0,
        volume_micro: 0,
      });
      const position = {
        ...row,
        cost_basis: basisOf(market),
        market,
        quantity_atomic: market,
        realized_micro: -385_000,
      };
      addPosition.run({ ...position, account: BOB, outcome: 0 });
      if (market % 2 === 1) continue;
      for (const outcome of [0, 1]) addPosition.run({ ...position, account: ANN, outcome });
    }
  })();
  return { positions: new PositionQueries(db), portfolio: new PortfolioQueries(db) };
}

test('slices of any length are together every position of the account, in the order of markets', () => {
  const { positions: queries } = filled();
  for (const limit of [1, 7, 500, 600, 1000]) {
    const texts: string[] = [];
    for (let after: PositionKey | null = FIRST_POSITION; after !== null; ) {
      const task = { account: ANN, market: null, after, limit, masks, marked: new Set([4]) };
      const slice = queries.slice(task);
      assert.ok(slice.texts.length <= limit);
      texts.push(...slice.texts);
      after = slice.next;
    }
    assert.equal(texts.length, MARKETS_HELD);
    for (const [at, text] of texts.entries()) {
      const market = 2 * Math.floor(at / 2);
      assert.deepEqual(JSON.parse(text), {
        id: positionId(uuidOf(market), masks[at % 2]!),
        market_id: bytesToUuid(uuidOf(market)),
        outcome_index: at % 2,
        quantity: String(market),
        average_entry_price: market === 0 || market === 2 ? null : '0.65000000',
        realized_pnl: market < 6 ? null : '-0.385000',
        claimed: market === 4,
      });
    }
  }
});

test('slices of a portfolio add up to all positions of the account', () => {
  const { portfolio } = filled();
  let gained = 0n;
  const held: number[] = [];
  let slices = 0;
  for (let after: PositionKey | null = null; ; slices++) {
    const slice = portfolio.slice({ account: ANN, sinceMs: 0, after });
    gained += slice.gainedMicro;
    held.push(...slice.held.markets);
    after = slice.next;
    if (after === null) break;
  }
  assert.deepEqual([slices, gained], [1, -385_000n * BigInt(MARKETS_HELD)]);
  const expected = Array.from({ length: MARKETS_HELD / 2 }, (_, at) => 2 * at);
  assert.deepEqual(held, expected.slice(1), 'a market once, but for the first one, of which nothing is held');
});

test('a slice of one market has its positions only; an account has positions in the markets that it held', () => {
  const { positions: queries } = filled();
  const ofMarket = (market: number, after = FIRST_POSITION) =>
    queries.slice({ account: ANN, market, after, limit: 500, masks, marked: new Set() }).texts.length;
  assert.deepEqual([ofMarket(8), ofMarket(8, [8, 0]), ofMarket(8, [8, 1]), ofMarket(9)], [2, 1, 0, 0]);
  assert.deepEqual([queries.has(ANN, 8), queries.has(ANN, 9), queries.has(BOB, 9)], [true, false, true]);
});

test('the id of a position is its own, and leads its account alone back to the market', () => {
  const markets = Array.from({ length: 50 }, (_, market) => uuidOf(market));
  const users = ['ann', 'bob'].flatMap((user) => [0, 1].map((outcome) => positionMask(user, outcome)));
  const known = new Set(markets.map(bytesToUuid));
  const ids = new Set<string>();
  for (const uuid of markets) {
    for (const mask of users) {
      const id = positionId(uuid, mask);
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(marketOfPosition(id, mask), bytesToUuid(uuid));
      for (const other of users) assert.ok(other === mask || !known.has(marketOfPosition(id, other)));
      ids.add(id);
    }
  }
  assert.equal(ids.size, markets.length * users.length);
});
