/** The history that accounts read, compared with the engine's events, after random trading. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import Database from 'better-sqlite3';
import { WORD_SHIFT } from '../../../../engine/book/orders.ts';
import { Projector } from '../../../../engine/projector/projector.ts';
import { ArchivedOrders } from '../../../../gateway/account/archivedOrdersQueries.ts';
import { timeOfId } from '../../../../gateway/base/page.ts';
import { NEVER_FILLED } from '../../../../shared/tables/orders.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import type { EngineRig } from '../../../support/engineRig.ts';
import { HistoryOracle, type OracleOrder, type Sorted, sorted, statusOf } from '../../../support/historyOracle.ts';
import { HistoryReader } from '../../../support/historyReader.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const USUAL_SEED = 14;
const seed = seedOr(USUAL_SEED);
const QUESTIONS = timesOf({ suite: 60, soak: 500 });
const random = new Random(seed);
const ACCOUNTS = [1, 2, 3, 4];
/** Ticks per unit of the markets of a journaled shard. */
const MARKET_UNITS = [100, 1000, 10];
const STATUSES = ['open', 'partially_filled', 'filled', 'cancelled', 'expired'];

/** Small files and steps: a list passes several files, and one of them is half left. */
const PACE = { keptMs: 60_000, spanMs: 20_000, fileOrders: 12, blockOrders: 4, stepOrders: 3 };

/** A file for which some orders of an account have left read.db, and others of it have not. */
const HALF_LEFT = `
  SELECT count(*) FROM archived_files WHERE left_account > 0 AND EXISTS (
    SELECT 1 FROM orders WHERE account = left_account AND ${NEVER_FILLED} AND id > left_id AND id <= last_id)`;

/** `archived`: the orders in files, the files, and those that orders are leaving for. */
const { oracle, reader, archived, archive } = history();

/** Random trading, with amends and single cancels; the projector sees and archives a random part at a time. */
type History = { oracle: HistoryOracle; reader: HistoryReader; archived: number[]; archive: ArchivedOrders };

function history(): History {
  const shard = new JournaledShard(seed);
  shard.extend = (_account, order) => (order % 4 === 0 ? { clientId: `order ${order}` } : {});
  const readDbPath = join(temporaryDirectory(), 'read.db');
  const progress = Progress.create(1);
  const options = { journalPaths: [shard.file.journalPath], keys: [TEST_KEY], readDbPath, progress };
  let projector = new Projector(options);
  for (let stretch = 0; stretch < 40; stretch++) {
    shard.trade(1 + random.below(60));
    changeSome(shard);
    new Progress(progress).setCommitted(0, shard.last);
    while (projector.step(true));
    for (let steps = stretch < 30 ? random.below(60) : 0; steps > 0 && projector.archive(PACE); ) steps--;
    if (random.below(5) > 0) continue;
    projector.close();
    projector = new Projector(options);
  }
  const db = new Database(readDbPath, { readonly: true });
  const halfLeft = db.prepare<[], number>(HALF_LEFT).pluck();
  projector.step(true);
  while (halfLeft.get() === 0 && projector.archive(PACE));
  projector.close();
  shard.close();
  after(() => db.close());
  const archived = ['sum(orders)', 'count(*)', 'sum(left_account IS NOT NULL)'].map((what) => {
    return db.prepare<[], number>(`SELECT ${what} FROM archived_files`).pluck().get()!;
  });
  const archive = ArchivedOrders.of(db);
  return { oracle: new HistoryOracle(shard.file.journalPath), reader: new HistoryReader(db), archived, archive };
}

/** Replaces or cancels some of the open orders, all in one millisecond. */
function changeSome(shard: JournaledShard): void {
  const { rig } = shard;
  const known = [...rig.accountOf];
  for (let i = 0; i < 12 && known.length > 0; i++) {
    const [order, account] = known[random.below(known.length)]!;
    const hash = openHash(rig, order);
    if (hash === null) continue;
    const market = rig.engine.state.orders.market[rig.slotOf(hash) << WORD_SHIFT]!;
    const ticks = MARKET_UNITS[market]! / 2;
    if (random.below(2) === 0) rig.cancel(account, hash);
    else
      rig.replace(hash, { account, market, ticks, lots: 1_000_000 / MARKET_UNITS[market]!, outcome: random.below(2) });
  }
  shard.commit();
}

function openHash(rig: EngineRig, order: number): Uint32Array | null {
  try {
    return rig.hashOf(order);
  } catch {
    return null;
  }
}

const page = <S extends Sorted>(rows: readonly S[], offset: number, limit: number) =>
  rows.slice(offset, offset + limit).map(({ row }) => row);

/** Asks for one page by its offset, and for the whole list by cursors. */
async function assertList(account: number, path: string, member: string, expected: readonly Sorted[]): Promise<void> {
  const rows = sorted(expected);
  const [limit, offset] = [1 + random.below(40), random.below(rows.length + 3)];
  const target = `${path}limit=${limit}`;
  const { body } = await reader.get(account, `${target}&offset=${offset}`);
  const context = `seed ${seed}, account ${account}, ${target}&offset=${offset}`;
  assert.deepEqual(body[member], page(rows, offset, limit), context);
  assert.deepEqual([body.total, body.limit, body.offset], [rows.length, limit, offset], context);
  assert.equal(body.next_cursor !== null, offset + limit < rows.length, context);
  const all = await reader.all(account, target, member);
  assert.deepEqual(all.rows, page(rows, 0, rows.length), context);
}

function pick<T>(values: readonly T[]): T {
  return values[random.below(values.length)]!;
}

/** A moment of the trading, half the time that of a row. */
function someMs(rows: readonly Sorted[]): number {
  return rows.length === 0 ? 0 : pick(rows).atMs - random.below(2);
}

type Question = { readonly path: string; readonly member: string; readonly expected: readonly Sorted[] };

function aboutOrders(account: number): Question {
  const sort = pick(['created_at', 'updated_at'] as const);
  const every = oracle.orderRows(account, sort);
  const statuses = STATUSES.filter(() => random.below(2) === 0);
  const side = pick([null, 'BUY', 'SELL']);
  const outcome = pick([null, 0, 1]);
  const sinceMs = random.below(3) === 0 ? someMs(every) : null;
  const hasStatus = (order: OracleOrder): boolean => {
    const status = statusOf(order);
    return statuses.length === 0 || statuses.includes(status) || (status.startsWith('p') && statuses.includes('open'));
  };
  const expected = every
    .filter(({ order }) => hasStatus(order) && (side === null || order.side === side))
    .filter(({ order, atMs }) => (outcome ?? order.outcome) === order.outcome && (sinceMs === null || atMs >= sinceMs));
  const filters = [
    `sort=${sort}`,
    ...(statuses.length === 0 ? [] : [`status=${statuses.join()}`]),
    ...(side === null ? [] : [`side=${side}`]),
    ...(outcome === null ? [] : [`outcome=${outcome}`]),
    ...(sinceMs === null ? [] : [`since=${new Date(sinceMs).toISOString()}`]),
  ];
  const path = `/v1/user/orders/v2?${filters.map((filter) => `${filter}&`).join('')}`;
  return { path, member: 'orders', expected };
}

test(`orders are those of the engine's events, under all filters and in both orders (seed ${seed})`, async () => {
  for (let i = 0; i < QUESTIONS; i++) {
    const account = pick(ACCOUNTS);
    const { path, member, expected } = aboutOrders(account);
    await assertList(account, path, member, expected);
  }
});

test(`trades are those of the engine's events, as each party and in both versions (seed ${seed})`, async () => {
  for (let i = 0; i < QUESTIONS; i++) {
    const account = pick(ACCOUNTS);
    const every = oracle.tradeRows(account);
    const market = pick([null, 0, 1, 2]);
    const side = pick([null, 'BUY', 'SELL']);
    const sinceMs = random.below(3) === 0 ? someMs(every) : null;
    const inMarket = every.filter(({ fill }) => (market ?? fill.event.market) === fill.event.market);
    const expected = inMarket
      .filter(({ fill }) => (side ?? fill.taker.side) === fill.taker.side)
      .filter(({ atMs }) => sinceMs === null || atMs >= sinceMs);
    const ofMarket = market === null ? '' : `market_id=${oracle.marketId(market)}&`;
    const filters = [
      ...(side === null ? [] : [`side=${side}&`]),
      ...(sinceMs === null ? [] : [`since=${new Date(sinceMs).toISOString()}&`]),
    ];
    await assertList(account, `/v1/user/trades/v2?${ofMarket}${filters.join('')}`, 'trades', expected);
    const first = sorted(oracle.tradeRows(account, true)).filter(({ fill }) =>
      inMarket.some((row) => row.key === fill.id),
    );
    const [limit, offset] = [1 + random.below(200), random.below(first.length + 3)];
    const { body } = await reader.get(account, `/v1/user/trades?${ofMarket}limit=${limit}&offset=${offset}`);
    const effective = Math.min(limit, 100);
    const envelope = { total: first.length, limit: effective, offset };
    assert.deepEqual(body, { trades: page(first, offset, effective), ...envelope }, `seed ${seed}, account ${account}`);
  }
});

function aboutActivity(account: number): Question {
  const type = pick([null, 'placed', 'fill', 'cancelled', 'expired']);
  const market = pick([null, 0, 1, 2]);
  const expected = oracle
    .activityRows(account)
    .filter(({ row }) => type === null || row['type'] === type)
    .filter(({ row }) => market === null || row['market_id'] === oracle.marketId(market));
  const ofMarket = market === null ? '' : `market_id=${oracle.marketId(market)}&`;
  const ofType = type === null ? '' : `type=${type}&`;
  return { path: `/v1/user/activity?${ofType}${ofMarket}`, member: 'activity', expected };
}

test(`activity is what the engine's events did to the orders of the account (seed ${seed})`, async () => {
  for (let i = 0; i < QUESTIONS; i++) {
    const account = pick(ACCOUNTS);
    const { path, member, expected } = aboutActivity(account);
    await assertList(account, path, member, expected);
    const rows = sorted(oracle.activityRows(account)).map(({ row }) => row['id']);
    assert.equal(new Set(rows).size, rows.length, 'no id twice');
  }
});

test(`pages that read few blocks of the archive are short, and skip and repeat nothing (seed ${seed})`, async () => {
  let [cut, estimates, refused] = [0, 0, 0];
  const usual = archive.blocksOfQuery;
  for (let i = 0; i < QUESTIONS; i++) {
    archive.blocksOfQuery = 1 + random.below(3);
    const account = pick(ACCOUNTS);
    const { path, member, expected } = pick([aboutOrders, aboutActivity])(account);
    const rows = page(sorted(expected), 0, expected.length);
    const [limit, offset] = [1 + random.below(40), random.below(rows.length + 3)];
    const context = `seed ${seed}, account ${account}, ${path}limit=${limit}, ${archive.blocksOfQuery} blocks`;
    const all = await reader.all(account, `${path}limit=${limit}`, member);
    assert.deepEqual(all.rows, rows, context);
    assert.deepEqual(all.first[member], rows.slice(0, all.first[member].length), context);
    if (all.first[member].length < Math.min(limit, rows.length)) cut++;
    if (all.first.count_is_estimate) estimates++;
    else assert.equal(all.first.total, rows.length, context);
    assert.ok(all.first.total <= rows.length, context);
    const { status, body } = await reader.get(account, `${path}limit=${limit}&offset=${offset}`);
    if (status === 400) {
      refused++;
      continue;
    }
    assert.deepEqual(body[member], rows.slice(offset, offset + body[member].length), context);
    const isShort = body[member].length < limit && offset + body[member].length < rows.length;
    assert.ok(!isShort || body.next_cursor !== null, context);
  }
  archive.blocksOfQuery = usual;
  assert.ok(
    cut > 3 && estimates > 3 && refused > 3,
    `seed ${seed}: ${cut} cut, ${estimates} estimates, ${refused} refused`,
  );
});

test('files in which a market is in no block are opened few at a time, page by page to the end', () => {
  const usual = archive.blocksOfQuery;
  archive.blocksOfQuery = 2;
  const parts = ACCOUNTS.map((account) => archive.partsOf(account)).find(({ length }) => length > 6)!;
  const unlisted = 99;
  let pages = 0;
  for (let beforeMs = Number.MAX_SAFE_INTEGER; ; pages++) {
    const { rows, unread } = archive.list<{ id: Uint8Array }>({
      ...{ parts, live: [], wanted: 5, market: unlisted, read: () => assert.fail('a block is read') },
      ...{ mayPrecede: () => true, precedes: () => true },
      order: (a, b) => b.last_ms - a.last_ms,
      spansStart: ({ last_ms }) => last_ms >= beforeMs,
      mayHave: ({ first_id }) => timeOfId(first_id) <= beforeMs,
    });
    assert.deepEqual(rows, []);
    if (unread === null) break;
    assert.ok(unread.last_ms < beforeMs, 'each page gets further');
    beforeMs = unread.last_ms;
  }
  assert.ok(pages > 1, `${pages} pages`);
  const counted = archive.count('of an unlisted market', parts, 10, () => 1, unlisted);
  assert.deepEqual(counted, { rows: 0, isCut: true });
  archive.blocksOfQuery = usual;
});

test('a page of no rows reads no file', () => {
  const parts = ACCOUNTS.flatMap((account) => archive.partsOf(account));
  const found = archive.list<{ id: Uint8Array }>({
    ...{ parts, live: [], wanted: 0, read: () => assert.fail('a file is read') },
    ...{ order: () => 0, spansStart: () => false, mayPrecede: () => true, precedes: () => true },
  });
  assert.deepEqual([parts.length > 0, found.rows, found.unread], [true, [], null]);
});

test(`the first version of the list of orders is the newest hundred (seed ${seed})`, async () => {
  for (const account of ACCOUNTS) {
    const newest = page(sorted(oracle.orderRows(account, 'created_at', true)), 0, 100);
    assert.deepEqual((await reader.get(account, '/v1/user/orders')).body, { orders: newest }, `account ${account}`);
  }
});

test('the trading of the usual seed has everything that the lists distinguish', { skip: seed !== USUAL_SEED }, () => {
  const { orders, fills } = oracle;
  const [inFiles, files, halfLeft] = archived;
  assert.ok(inFiles > 100 && files > 10 && files * 4 < inFiles && halfLeft === 1, `${archived}`);
  const kinds = new Set(fills.map(({ event }) => event.matchType));
  assert.deepEqual([...kinds].sort(), [0, 1, 2], 'standard, mint and merge');
  assert.ok(
    fills.some(({ maker, taker }) => maker.event.account === taker.event.account),
    'a trade with oneself',
  );
  assert.deepEqual([...new Set(orders.map(statusOf))].sort(), [...STATUSES].sort());
  const reasons = new Set(orders.map(({ reason }) => reason));
  for (const reason of ['user', 'expired', 'self_trade', 'fak_remainder']) assert.ok(reasons.has(reason), reason);
  const isOffGrid = ({ event }: OracleOrder) => event.makerAmount % 10 > 0 && event.takerAmount % 10 > 0;
  assert.ok(
    orders.some((order) => isOffGrid(order) && order.paid > 0n),
    'a fill of an order off the grid',
  );
});
