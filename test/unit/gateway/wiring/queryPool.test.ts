import type { HttpResponse } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { historyRoutes } from '../../../../gateway/account/historyRoutes.ts';
import { Call } from '../../../../gateway/http/call.ts';
import { HttpTransport } from '../../../../gateway/http/httpTransport.ts';
import { compileQuery } from '../../../../gateway/http/validate.ts';
import { QueryPool } from '../../../../gateway/wiring/queryPool.ts';
import {
  CLOSE_REASON,
  MARKET_STATUS,
  MATCH_TYPE,
  ORDER_STATUS,
  OUTCOME,
  SIDE,
  TIME_IN_FORCE,
} from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { ID_KIND, timeOrderedId, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { apiKey } from '../../../support/apiKeys.ts';
import { callHost } from '../../../support/callHost.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { within } from '../../../support/eventually.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { JournalScript } from '../../../support/records.ts';

const ANN = 1;
const BOB = 2;
const CAT = 3;
const NOBODY = 9;
const RAIN = 'abcdef11-1111-4111-8111-111111111111';
const SNOW = '22222222-2222-4222-8222-222222222222';
const T0 = Date.UTC(2026, 0, 1);
const at = (minute: number): number => T0 + minute * 60_000;
const iso = (minute: number): string => new Date(at(minute)).toISOString();

const folder = temporaryDirectory();
const journalPath = join(folder, 'journal.db');
const readDbPath = join(folder, 'read.db');
const progressBuffer = Progress.create(1);
const progress = new Progress(progressBuffer);
const acknowledged = new Map<number, number>();
const lastAcknowledged = (account: number): number => acknowledged.get(account) ?? 0;
const inGroup = <R extends object>(record: R, group: number): R => ({ ...record, order_group: `group ${group}` });
const lastMarketChange = (): number => acknowledged.get(0) ?? 0;
const shared = { readDbPath, settlementDbPath: null, lastAcknowledged, lastMarketChange, inGroup };
const queries = new QueryPool({ ...shared, progress: progressBuffer });
const catalog = { byIndex: () => ({ details: { outcomes: ['Rain', 'Sun'] } }) as never };
const routes = historyRoutes({ queries, catalog });
const STRANGER = { lane: '192.0.2.1', isGone: false };
const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
const hashes: Uint8Array[] = [];
let script: JournalScript;
let projector: Projector;

/**
 * Order n is made in minute n; `hashes[n]` is its hash. Market 0 is RAIN, market 1 is SNOW, both with 100 ticks.
 *   1  Ann buys 20,000 lots Yes at 60       mint with 2, transfer with 4, still open
 *   2  Bob buys 12,000 lots No at 45        filled by 1 at 40, five cheaper than its limit
 *   3  Bob buys 50,000 lots Yes at 30       cancelled in minute 6
 *   4  Bob sells 3000 lots Yes at 55        filled by 1 at 60
 *   5  Bob buys 10,000 lots of SNOW at 31   expires in minute 7
 *   8  Cat sells 10,000 lots of SNOW at 70
 *   9  Cat buys 10,500 lots of SNOW, FAK    takes all of 8 from herself, the rest is killed
 */
before(() => {
  script = new JournalScript(journalPath);
  recordMinutes0To4();
  recordMinutes5To9();
  projector = new Projector({ journalPaths: [journalPath], keys: [TEST_KEY], readDbPath, progress: progressBuffer });
  follow();
});

function recordMinutes0To4(): void {
  script.record(T0, (events) => {
    events.market(0, RAIN);
    events.market(1, SNOW);
  });
  script.record(at(1), (events) => {
    hashes[1] = events.place({ slot: 0, account: ANN, market: 0, limitTicks: 60, lots: 20_000 });
  });
  script.record(at(2), (events) => {
    hashes[2] = events.order({ slot: 1, account: BOB, market: 0, limitTicks: 45, lots: 12_000, outcome: OUTCOME.NO });
    events.fill({
      maker: 0,
      taker: 1,
      yesTicks: 60,
      lots: 12_000,
      matchType: MATCH_TYPE.MINT,
    });
    events.filled(1);
  });
  script.record(at(3), (events) => {
    hashes[3] = events.place({ slot: 1, account: BOB, market: 0, limitTicks: 30, lots: 50_000 });
  });
  script.record(at(4), (events) => {
    hashes[4] = events.order({ slot: 2, account: BOB, market: 0, limitTicks: 55, lots: 3000, side: SIDE.SELL });
    events.fill({
      maker: 0,
      taker: 2,
      yesTicks: 60,
      lots: 3000,
    });
    events.filled(2);
  });
}

function recordMinutes5To9(): void {
  script.record(at(5), (events) => {
    hashes[5] = events.place({ slot: 2, account: BOB, market: 1, limitTicks: 31, lots: 10_000 });
  });
  script.record(at(6), (events) => events.closed(1, CLOSE_REASON.USER));
  script.record(at(7), (events) => events.closed(2, CLOSE_REASON.EXPIRED));
  script.record(at(8), (events) => {
    hashes[8] = events.place({ slot: 3, account: CAT, market: 1, limitTicks: 70, lots: 10_000, side: SIDE.SELL });
  });
  script.record(at(9), (events) => {
    hashes[9] = events.order({
      slot: 4,
      account: CAT,
      market: 1,
      limitTicks: 70,
      lots: 10_500,
      timeInForce: TIME_IN_FORCE.FAK,
      makerAmount: 740_000,
      takerAmount: 1_050_050,
    });
    events.fill({
      maker: 3,
      taker: 4,
      yesTicks: 70,
      lots: 10_000,
    });
    events.filled(3);
    events.closed(4, CLOSE_REASON.FAK_REMAINDER);
  });
}

after(async () => {
  await queries.close();
  projector.close();
  script.journal.close();
});

function follow(): void {
  progress.setCommitted(0, script.journal.lastSequence);
  while (projector.step(true));
}

type Json = Record<string, unknown>;

/** One GET through a route's query schema and handler; the response is a stand-in for the socket's. */
async function get(account: number, target: string): Promise<{ status: number; body: Json }> {
  const [path = '', rawQuery = ''] = target.split('?');
  const route = routes.find((candidate) => candidate.path === path)!;
  const checked = compileQuery(route.query!)(rawQuery);
  if (!checked.ok) return { status: 400, body: { error: checked.invalid.message } };
  let status = 200;
  let body = '';
  const response = {
    cork: (write: () => void) => write(),
    writeStatus: (line: string) => {
      status = Number.parseInt(line, 10);
    },
    writeHeader: () => {},
    end: (text: string) => {
      body = text;
    },
  } as unknown as HttpResponse;
  const call = new Call(new HttpTransport(response), 'GET', path, rawQuery, T0, callHost());
  call.principal = apiKey(account);
  call.query = checked.query;
  await route.handler(call);
  return { status, body: JSON.parse(body) };
}

/** The numbers of the orders in a list, in its order. */
async function orders(account: number, query = ''): Promise<number[]> {
  const { status, body } = await get(account, `/v1/user/orders/v2?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return (body['orders'] as Json[]).map((row) => {
    const hash = String(row['order_hash']);
    return hashes.findIndex((known) => known !== undefined && hexOf(known) === hash);
  });
}

async function trades(account: number, query = ''): Promise<Json[]> {
  const { status, body } = await get(account, `/v1/user/trades/v2?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body['trades'] as Json[];
}

const orderId = (minute: number, sequence: number): string => timeOrderedId(at(minute), 0, ID_KIND.ORDER, sequence);
const tradeId = (minute: number, sequence: number): string => timeOrderedId(at(minute), 0, ID_KIND.TRADE, sequence);

describe('the orders of an account', () => {
  it('are its own, the last changed first', async () => {
    assert.deepEqual(await orders(BOB), [5, 3, 4, 2]);
    assert.deepEqual(await orders(ANN), [1]);
    assert.deepEqual(await orders(NOBODY), []);
  });

  it('can be sorted by their creation', async () => {
    assert.deepEqual(await orders(BOB, 'sort=created_at'), [5, 4, 3, 2]);
    assert.deepEqual(await orders(BOB, 'sort=updated_at'), [5, 3, 4, 2]);
  });

  it('have the documented row, its three notionals and its envelope', async () => {
    const { body } = await get(BOB, '/v1/user/orders/v2?status=filled&side=BUY&limit=7&offset=0');
    assert.deepEqual(body, {
      orders: [
        {
          id: orderId(2, 2),
          order_hash: `0x${Buffer.from(hashes[2]).toString('hex')}`,
          market_id: RAIN,
          side: 'BUY',
          price: '0.45000000',
          status: 'filled',
          remaining: '0',
          filled_amount: '540000',
          time_in_force: 'GTC',
          post_only: false,
          created_at: iso(2),
          filled_token_quantity_atomic: '1200000',
          average_fill_price: '0.40000000',
          sequence: 2,
          initial_limit_notional_usdc_micro: '540000',
          filled_limit_notional_usdc_micro: '540000',
          remaining_limit_notional_usdc_micro: '0',
          outcome_index: OUTCOME.NO,
          updated_at: iso(2),
        },
      ],
      total: 1,
      limit: 7,
      offset: 0,
      next_cursor: null,
    });
  });

  it('can be filtered by status, where open includes partially filled', async () => {
    assert.deepEqual(await orders(ANN, 'status=open'), [1]);
    assert.deepEqual(await orders(ANN, 'status=partially_filled'), [1]);
    assert.deepEqual(await orders(BOB, 'status=open'), []);
    assert.deepEqual(await orders(BOB, 'status=filled'), [4, 2]);
    assert.deepEqual(await orders(BOB, 'status=cancelled'), [3]);
    assert.deepEqual(await orders(BOB, 'status=expired'), [5]);
    assert.deepEqual(await orders(BOB, 'status=filled,cancelled'), [3, 4, 2]);
    assert.deepEqual(await orders(BOB, 'status=open%2Cexpired'), [5]);
  });

  it('can be filtered by side and outcome', async () => {
    assert.deepEqual(await orders(BOB, 'side=SELL'), [4]);
    assert.deepEqual(await orders(BOB, 'side=BUY'), [5, 3, 2]);
    assert.deepEqual(await orders(BOB, 'outcome=1'), [2]);
    assert.deepEqual(await orders(BOB, 'outcome=0&side=BUY'), [5, 3]);
  });

  it('since a moment are those of it and after it, by the timestamp they are sorted by', async () => {
    assert.deepEqual(await orders(BOB, `since=${iso(5)}`), [5, 3]);
    assert.deepEqual(await orders(BOB, `since=${iso(4)}`), [5, 3, 4]);
    // Order 3 was cancelled in minute 6, order 5 expired in minute 7.
    assert.deepEqual(await orders(BOB, `since=${iso(6)}`), [5, 3]);
    assert.deepEqual(await orders(BOB, `since=${iso(7)}`), [5]);
    assert.deepEqual(await orders(BOB, `since=${iso(8)}`), []);
    assert.deepEqual(await orders(BOB, `since=${iso(5)}&sort=created_at`), [5]);
    assert.deepEqual(await orders(BOB, `since=${iso(4)}&sort=created_at`), [5, 4]);
    assert.deepEqual(await orders(BOB, 'since=1900-01-01T00:00:00Z&sort=created_at'), [5, 4, 3, 2]);
    assert.deepEqual(await orders(BOB, 'since=2026-01-01T02:05:00%2B02:00'), [5, 3]);
    assert.deepEqual(await orders(BOB, 'since=2026-01-01T00:05:00'), [5, 3]);
    assert.deepEqual(await orders(BOB, 'since=2026-01-01'), await orders(BOB, 'since=2026-01-01T00:00:00Z'));
    assert.deepEqual(await orders(BOB, 'since=2026-01-02'), []);
  });

  it('come in pages that cover everything once, each with the total', async () => {
    const seen: number[] = [];
    for (let offset = 0; offset < 4; offset++) {
      const { body } = await get(BOB, `/v1/user/orders/v2?limit=1&offset=${offset}`);
      assert.deepEqual([body['total'], body['limit'], body['offset']], [4, 1, offset]);
      seen.push(...(await orders(BOB, `limit=1&offset=${offset}`)));
    }
    assert.deepEqual(seen, [5, 3, 4, 2]);
    const { body } = await get(BOB, '/v1/user/orders/v2?status=filled&offset=9');
    assert.deepEqual(body, { orders: [], total: 2, limit: 50, offset: 9, next_cursor: null });
  });

  it('are counted up to ten thousand; beyond that an offset is refused and a cursor leads on', async () => {
    const db = new Database(readDbPath);
    const columns = Object.keys(db.prepare('SELECT * FROM orders LIMIT 1').get() as Json);
    const copied = columns.map((name) => ({ id: 'randomblob(16)', account: '77', slot: 'NULL' })[name] ?? name);
    const add = db.prepare(`
      WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
      INSERT INTO orders (${columns.join()}) SELECT ${copied.join()}
      FROM number, (SELECT * FROM orders WHERE status = ${ORDER_STATUS.CANCELLED} LIMIT 1)`);
    const asked = async (query: string): Promise<unknown[]> => {
      const { body } = await get(77, `/v1/user/orders/v2?${query}`);
      return [body['total'], body['count_is_estimate'], (body['orders'] as Json[]).length];
    };
    add.run(10_000);
    assert.deepEqual(await asked('limit=1'), [10_000, undefined, 1]);
    assert.deepEqual(await asked('limit=1&offset=9007199254740991'), [10_000, undefined, 0]);
    add.run(5);
    assert.deepEqual(await asked('limit=1'), [10_000, true, 1]);
    assert.deepEqual(await asked('limit=1&offset=10000'), [10_001, true, 1]);
    for (const offset of ['10001', '9007199254740991']) {
      const refused = await get(77, `/v1/user/orders/v2?offset=${offset}`);
      const details = { field: 'offset', rule: 'maximum', expected: 'at most 10000', value: Number(offset) };
      const body = { error: 'invalid offset', code: 'VALIDATION_ERROR', details };
      assert.deepEqual(refused, { status: 400, body });
    }
    for (const filters of ['', '&sort=created_at', '&sort=created_at&status=open,cancelled', '&status=cancelled']) {
      assert.deepEqual(await lengthByCursor(`limit=200${filters}`), 10_005, filters);
    }
    db.prepare('DELETE FROM orders WHERE account = 77').run();
    db.close();
  });

  /** The number of different orders on all pages; each page starts after the one before. */
  async function lengthByCursor(query: string): Promise<number> {
    const ids = new Set<unknown>();
    let cursor = '';
    for (let pages = 0; pages < 60; pages++) {
      const { body } = await get(77, `/v1/user/orders/v2?${query}${cursor}`);
      for (const { id } of body['orders'] as Json[]) ids.add(id);
      if (body['next_cursor'] === null) break;
      cursor = `&cursor=${body['next_cursor']}`;
    }
    return ids.size;
  }

  it('show nothing left of the killed part of a FAK', async () => {
    const { body } = await get(CAT, '/v1/user/orders/v2?status=cancelled');
    const [row] = body['orders'] as Json[];
    assert.equal(row!['remaining'], '0');
    // floor(740,000 * 1,000,000 / 1,050,050)
    assert.equal(row!['filled_amount'], '704728');
    assert.equal(row!['price'], '0.70472834');
    assert.equal(row!['initial_limit_notional_usdc_micro'], '740000');
    assert.equal(row!['remaining_limit_notional_usdc_micro'], '0');
  });
});

describe('a single order', () => {
  it('is found by its hash in every state', async () => {
    const states: string[] = [];
    for (const number of [2, 3, 4, 5]) {
      const result = await queries.orderByHash(BOB, hashes[number]);
      assert.ok(result.ok);
      states.push(result.value!.status);
    }
    assert.deepEqual(states, ['filled', 'cancelled', 'filled', 'expired']);
  });

  it('does not exist for another account', async () => {
    assert.deepEqual(await queries.orderByHash(ANN, hashes[2]), { ok: true, value: null });
    assert.deepEqual(await queries.orderByHash(ANN, new Uint8Array(32)), { ok: true, value: null });
  });
});

describe('the trades of an account', () => {
  it('show a mint to each party with its own USDC against the same tokens', async () => {
    const shared = {
      id: tradeId(2, 1),
      market_id: RAIN,
      taker_order_id: orderId(2, 2),
      maker_order_id: orderId(1, 1),
      price: '0.40000000',
      amount: '480000',
      taker_side: 'BUY',
      outcome_index: OUTCOME.NO,
      token_quantity_atomic: '1200000',
      settlement_status: 'settled',
      matched_at: iso(2).replace('Z', '000Z'),
    };
    assert.deepEqual((await trades(BOB)).at(-1), {
      ...shared,
      role: 'taker',
      party_order_id: orderId(2, 2),
      party_side: 'BUY',
      party_outcome_index: OUTCOME.NO,
      notional_usdc_micro: '480000',
      ...{ order_hash: hexOf(hashes[2]!), fee_amount: '0', fee_asset: 'TOKEN' },
    });
    assert.deepEqual((await trades(ANN)).at(-1), {
      ...shared,
      role: 'maker',
      party_order_id: orderId(1, 1),
      party_side: 'BUY',
      party_outcome_index: OUTCOME.YES,
      notional_usdc_micro: '720000',
      ...{ order_hash: hexOf(hashes[1]!), fee_amount: '0', fee_asset: 'TOKEN' },
    });
  });

  it('show a transfer to both parties with the same pair of amounts', async () => {
    const [asTaker] = await trades(BOB);
    const [asMaker] = await trades(ANN);
    for (const row of [asTaker!, asMaker!]) {
      assert.equal(row['id'], tradeId(4, 2));
      assert.equal(row['notional_usdc_micro'], '180000');
      assert.equal(row['token_quantity_atomic'], '300000');
      assert.equal(row['amount'], '300000');
      assert.equal(row['price'], '0.60000000');
      assert.equal(row['party_outcome_index'], OUTCOME.YES);
    }
    assert.deepEqual([asTaker!['role'], asTaker!['party_side']], ['taker', 'SELL']);
    assert.deepEqual([asMaker!['role'], asMaker!['party_side']], ['maker', 'BUY']);
  });

  it('have one row for a trade with oneself, seen as the taker', async () => {
    const { body } = await get(CAT, '/v1/user/trades/v2');
    const rows = body['trades'] as Json[];
    assert.deepEqual([rows.length, body['total']], [1, 1]);
    assert.deepEqual([rows[0]['role'], rows[0]['party_side']], ['taker', 'BUY']);
    assert.equal(rows[0]['party_order_id'], rows[0]['taker_order_id']);
    assert.equal(rows[0]['notional_usdc_micro'], '700000');
  });

  it('can be filtered by market, the side of the taker, and time', async () => {
    const ids = async (query: string): Promise<unknown[]> => (await trades(ANN, query)).map((row) => row['id']);
    const [mint, transfer] = [tradeId(2, 1), tradeId(4, 2)];
    assert.deepEqual(await ids(''), [transfer, mint]);
    assert.deepEqual(await ids(`market_id=${RAIN}`), [transfer, mint]);
    assert.deepEqual(await ids(`market_id=${RAIN.toUpperCase()}&side=BUY`), [mint]);
    assert.deepEqual(await ids(`market_id=${SNOW}`), []);
    assert.deepEqual(await ids('market_id=33333333-3333-4333-8333-333333333333'), []);
    assert.deepEqual(await ids('side=SELL'), [transfer]);
    assert.deepEqual(await ids(`since=${iso(3)}`), [transfer]);
    assert.deepEqual(await ids(`since=${iso(2)}`), [transfer, mint]);
    assert.deepEqual(await ids(`since=${iso(5)}`), []);
  });

  it('come in pages with the total', async () => {
    const { body } = await get(ANN, '/v1/user/trades/v2?limit=1&offset=1');
    assert.deepEqual([body['total'], body['limit'], body['offset']], [2, 1, 1]);
    assert.deepEqual(
      (body['trades'] as Json[]).map((row) => row['id']),
      [tradeId(2, 1)],
    );
    assert.deepEqual(await trades(ANN, 'offset=2'), []);
  });
});

describe('the settlement of a trade', () => {
  it('is on the chain where there is one: pending until settlement has reached it', async () => {
    const chained = new QueryPool({
      ...shared,
      settlementDbPath: join(folder, 'settlement.db'),
      progress: progressBuffer,
    });
    const filters = { market: null, takerSides: 0xff, sinceMicros: 0, limit: 2, offset: 0, after: null };
    const page = await chained.ofAccount(BOB, 'userTrades', { account: BOB, filters });
    assert.ok(page.ok);
    assert.deepEqual(new Set(page.value.rows.map((row) => row.settlement_status)), new Set(['pending']));
    const id = timeOrderedIdBytes(at(2), 0, ID_KIND.TRADE, 1);
    const own = await chained.ofAccount(BOB, 'tradeSettlement', { account: BOB, id });
    assert.equal(own.ok && own.value?.settlement_status, 'pending');
    const others = await chained.ofAccount(CAT, 'tradeSettlement', { account: CAT, id });
    assert.deepEqual(others, { ok: true, value: null });
    await chained.close();
  });
});

describe('the archive of orders', () => {
  it('RULES.md 10.34: a file that a query misses is named', async () => {
    const sha256 = 'a'.repeat(64);
    const [first, last] = [new Uint8Array(16), new Uint8Array(16).fill(0xff)];
    const db = new Database(readDbPath);
    db.prepare('INSERT INTO archived_files VALUES (1, ?, 1, ?, ?, NULL, ?)').run(sha256, first, last, first);
    db.prepare('INSERT INTO archived_accounts VALUES (?, 1, 1, 0, ?, ?, ?)').run(NOBODY, first, last, T0);
    const unread = Promise.withResolvers<string>();
    const pool = new QueryPool({ ...shared, progress: progressBuffer, onUnreadArchive: unread.resolve });
    try {
      const orders = await pool.newestOrders(NOBODY, 2);
      assert.deepEqual(orders, { ok: true, value: [] });
      const path = await within('the name of the file', unread.promise);
      assert.equal(path, join(folder, 'archive', `orders-000001-${sha256}.db`));
    } finally {
      await pool.close();
      db.exec('DELETE FROM archived_files; DELETE FROM archived_accounts');
      db.close();
    }
  });
});

describe('the volume of a market', () => {
  it('adds up its trades at the prices of their takers, over fills and batches', async () => {
    const mint = 12_000 * 40;
    const transfer = 3000 * 60;
    const self = 10_000 * 70;
    const { byMarket, totalMicro } = (await queries.marketVolumes())!;
    assert.deepEqual([...byMarket], [BigInt(mint + transfer), BigInt(self)]);
    assert.equal(totalMicro, BigInt(mint + transfer + self));
  });

  it('is not asked for before the projector has begun', async () => {
    const early = new QueryPool({ ...shared, progress: Progress.create(1) });
    assert.equal(await early.marketVolumes(), null);
    await early.close();
  });
});

describe('a bad parameter', () => {
  const bad: Record<string, readonly string[]> = {
    '/v1/user/orders/v2': [
      'status=',
      'status=pending',
      'status=open,',
      'status=open,,filled',
      'side=buy',
      'side=',
      'outcome=2',
      'outcome=-1',
      'outcome=yes',
      'since=yesterday',
      'since=2026-02-30',
      'since=2026-01-01T00:04',
      'sort=price',
      'limit=0',
      'limit=201',
      'limit=1e1',
      'limit=',
      'offset=-1',
      'offset=1.5',
    ],
    '/v1/user/trades/v2': ['market_id=1', 'side=BOTH', 'since=0', 'limit=101', 'limit=0', 'offset=x'],
    '/v1/user/trades': ['market_id=', 'market_id=1', 'limit=0', 'limit=-1', 'limit=1e9', 'limit=ten', 'offset=-1'],
    '/v1/user/activity': ['type=trade', 'type=fill,placed', 'type=', 'market_id=1', 'limit=0', 'limit=x', 'offset=-1'],
  };
  for (const [path, queriesOfPath] of Object.entries(bad)) {
    for (const query of queriesOfPath) {
      it(`is refused by name: ${path}?${query}`, async () => {
        const expected = { error: `invalid ${query.split('=')[0]}` };
        assert.deepEqual(await get(BOB, `${path}?${query}`), { status: 400, body: expected });
      });
    }
  }

  it('is none of the largest allowed values', async () => {
    assert.equal((await orders(BOB, 'limit=200')).length, 4);
    assert.equal((await trades(BOB, 'limit=100')).length, 2);
  });
});

describe('a query and the journal', () => {
  it('waits until the projector has passed the last record acknowledged to the account', async () => {
    const sequence = script.record(at(20), (events) => {
      hashes[20] = events.place({ slot: 9, account: NOBODY + 1, market: 0, limitTicks: 1, lots: 10_000 });
    });
    acknowledged.set(NOBODY + 1, sequence);
    const waiting = orders(NOBODY + 1);
    follow();
    assert.deepEqual(await waiting, [20]);
  });

  it('is refused as busy when the projector does not get there in time', async () => {
    const impatient = new QueryPool({
      ...shared,
      progress: progressBuffer,
      lastAcknowledged: () => script.journal.lastSequence + 1,
      waitMs: 0,
    });
    const result = await impatient.orderByHash(BOB, hashes[2]);
    await impatient.close();
    assert.ok(!result.ok);
    assert.equal(result.row.code, 'ENGINE_BUSY');
  });

  const DAY = { markets: [0], leftSinceMs: null, nowMs: T0 };

  it('about the catalogue waits for its revision, and for the last change of the status of a market', async () => {
    const sequence = script.record(at(21), (events) => events.market(0, RAIN, 100, { status: MARKET_STATUS.LOCKED }));
    acknowledged.set(0, sequence);
    let isThere = false;
    const waiting = queries.ofCatalog(STRANGER, 0, 'marketDaysOf', DAY).then((result) => {
      assert.ok(result.ok && isThere, 'not before the projector has passed the change');
    });
    await queries.ofPublic(STRANGER, 'marketDaysOf', DAY);
    isThere = true;
    follow();
    await waiting;
    const impatient = new QueryPool({ ...shared, progress: progressBuffer, waitMs: 0 });
    const early = await impatient.ofCatalog(STRANGER, 1_000_000, 'marketDaysOf', DAY);
    await impatient.close();
    assert.deepEqual(early, { ok: false, row: ERRORS.ENGINE_BUSY });
  });

  it('public statistics are busy, not empty, while the read model does not follow every shard', async () => {
    const early = new QueryPool({ ...shared, progress: Progress.create(2) });
    const result = await early.ofPublic(STRANGER, 'pulse', { nowMs: T0 });
    await early.close();
    assert.deepEqual(result, { ok: false, row: ERRORS.ENGINE_BUSY });
  });

  it('RULES.md 10.21: they are, too, while read.db is made anew, and volumes stay as they were', async (t) => {
    t.after(() => progress.setBeingMade(false));
    progress.setBeingMade(true);
    assert.deepEqual(await queries.ofPublic(STRANGER, 'pulse', { nowMs: T0 }), { ok: false, row: ERRORS.ENGINE_BUSY });
    assert.equal(await queries.marketVolumes(), null);
    progress.setBeingMade(false);
    assert.ok((await queries.ofPublic(STRANGER, 'pulse', { nowMs: T0 })).ok);
    assert.ok((await queries.marketVolumes()) !== null);
  });
});
