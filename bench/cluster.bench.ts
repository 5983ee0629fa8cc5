/**
 * What does an exchange pay for a replicated log, and how long is it down when its leader dies? Orders of one account
 * in one market are sent alternately to an exchange with only its journal and to a leader with a log in a PostgreSQL of
 * this machine with two standbys, which all sync. Beside them, rows are appended to that log as often as orders come:
 * this is the round trip for which an answer has to wait. Then leaders are killed, and the time to the first order that
 * the standby accepts is measured.
 *
 * The full rate has so many orders in flight that more would not make an order much cheaper. An append costs about the
 * same processor time however many orders share it, and with fewer orders in flight fewer share one: rows of their own
 * show that cost, without a goal.
 *
 * In production a log has machines of its own. So the three servers of PostgreSQL have the last processor to
 * themselves, and exchange and client use the same other processors with the log as without: only the log's cost on the
 * exchange's machine counts. The disk is shared. Everything together on all processors comes first, and shows the cost
 * of a log on the same machine.
 *
 * At a moderate pace the processors are mostly idle even if every order comes alone. A share of the full rate would not
 * do: that rate is reached only because many orders share commits, appends and wake-ups, and orders that come apart
 * take several times as much processor time.
 */
import { assert } from '../shared/base/assert.ts';
import { MAX_OPEN_ORDERS } from '../shared/base/codes.ts';
import { startCluster } from '../test/support/cluster.ts';
import { NO_POSTGRES, type PostgresCluster, startPostgres } from '../test/support/postgres.ts';
import { type Scope, startServer } from '../test/support/server.ts';
import { makeMarket, makeTrader } from '../test/support/traders.ts';
import { NO_AFFINITY, startApart } from './affinity.ts';
import type { ClusterLoadOptions, ClusterRound, JournalName, JournalRound } from './clusterLoad.ts';
import { MEASURED_SERVER, makeTarget, runClient } from './loadTarget.ts';
import type { Noise } from './noise.ts';
import { atLeast, atMost, type Goal, median, ofQuietest, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import type { Wait } from './turns.ts';

const ROUNDS = 4;
/** More connections would hardly make an order cheaper on either side (bench/history/2026-11-27.md). */
const FULL_CONNECTIONS = 256;
const FEW_CONNECTIONS = 64;
const TAKEOVERS = 10;
const TAKEOVERS_FULL = 50;
/** Orders before each kill, so that a leader dies in the middle of its work. */
const ORDERS_BEFORE = 40;
const PROBE_EVERY_MS = 5;

const LEAST_RATE = 0.8;
const MOST_TAKEOVER_MS = 3000;

const SHARDS = '1';

/** `together`: the log shares the processors of the exchange. */
type Place = 'together' | 'apart';
type Takeovers = { readonly waitsMs: readonly number[]; readonly stolen: Row[string] };

export async function run({ isFull }: { readonly isFull: boolean }): Promise<Report> {
  const report = {
    bench: 'cluster',
    settings:
      `PostgreSQL, ANY 1 of 2 standbys, all three synced; ${ROUNDS} rounds by turns, one account, one market, one ` +
      'shard, client on the same machine; together: on the same processors as PostgreSQL, apart: on others; a ' +
      'takeover counts from kill -9 of the leader to the first order accepted',
    goals: [],
  };
  if (NO_POSTGRES !== false) return { ...report, rows: [{ what: NO_POSTGRES }] };
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const place of ['together', 'apart'] as const) {
    if (place === 'apart' && NO_AFFINITY !== false) {
      rows.push({ what: `apart: ${NO_AFFINITY}` });
      continue;
    }
    const rounds = await withScope((scope) => compare(scope, place));
    rows.push(...rounds.flatMap((round, index) => rowsOf(`${place} ${1 + index}`, round)));
    goals.push(...goalsOf(place, rounds));
  }
  const takeovers = await withScope((scope) => killLeaders(scope, isFull ? TAKEOVERS_FULL : TAKEOVERS));
  rows.push(takeoverRow(takeovers));
  goals.push(atMost('longest takeover, ms', Math.max(...takeovers.waitsMs), MOST_TAKEOVER_MS));
  return { ...report, rows, goals };
}

async function compare(scope: Scope, place: Place): Promise<ClusterRound[]> {
  const postgres = await startLog(scope, place);
  const server = await startServer(scope, { ...MEASURED_SERVER, SHARDS });
  const url = await postgres.database();
  const cluster = await startCluster(scope, ['a'], { ...MEASURED_SERVER, SHARDS, JOURNAL_URL: url });
  const [rounds] = await runClient<ClusterLoadOptions, ClusterRound[]>('./clusterLoad.ts', {
    targets: { sqlite: await makeTarget(server), postgres: await makeTarget(cluster) },
    logUrl: await postgres.database(),
    rounds: ROUNDS,
    connections: { full: FULL_CONNECTIONS, few: FEW_CONNECTIONS },
    pids: [process.pid, server.pid!, cluster.leader.pid!, ...postgres.pids()],
  });
  for (const exchange of [server, cluster]) {
    assert((await exchange.admin.ledger()).balanced, 'cluster: the money closes after the load');
  }
  return rounds;
}

function startLog(scope: Scope, place: Place): Promise<PostgresCluster> {
  const start = (): Promise<PostgresCluster> => startPostgres(scope, { isSynced: true });
  return place === 'together' ? start() : startApart(scope, start);
}

/** Two members take the lead from each other in turn. */
async function killLeaders(scope: Scope, count: number): Promise<Takeovers> {
  const postgres = await startPostgres(scope, { isSynced: true });
  const url = await postgres.database();
  const cluster = await startCluster(scope, ['a', 'b'], { ...MEASURED_SERVER, SHARDS: '2', JOURNAL_URL: url });
  const market = await makeMarket(cluster);
  let trader = await makeTrader(cluster, { depositMicro: 1_000_000_000_000 });
  // Fifty takeovers leave more orders in the one market than a trader may have.
  const most = { max_open_orders: MAX_OPEN_ORDERS, max_open_orders_per_market: MAX_OPEN_ORDERS };
  await cluster.adminRequest('PUT', `/admin/users/${trader.userId}/open-order-bounds`, most);
  const steal = new StealMeter();
  const waitsMs: number[] = [];
  const order = { price: '0.2', size: '10' };
  for (let takeover = 0; takeover < count; takeover++) {
    const orders = Array.from({ length: ORDERS_BEFORE }, () => trader.body(market, order));
    await Promise.all(orders.map((body) => trader.client.placeOrder(body)));
    const { leader } = cluster;
    const [next] = cluster.standbys;
    const startMs = performance.now();
    const killed = leader.kill();
    for (let isAccepted = false; !isAccepted; ) {
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
      const { headers, body } = trader.client.prepareSigned('POST', '/v1/orders', trader.body(market, order));
      isAccepted = (await next.request('POST', '/v1/orders', body, { ...headers })).status === 200;
    }
    waitsMs.push(performance.now() - startMs);
    await killed;
    await cluster.awaitLeader([next]);
    trader = trader.reconnected();
    await cluster.rejoin(leader);
  }
  assert((await cluster.admin.ledger()).balanced, 'cluster: the money closes after the takeovers');
  return { waitsMs, stolen: steal.percent() };
}

function goalsOf(place: Place, rounds: readonly ClusterRound[]): Goal[] {
  const quiet = (part: keyof JournalRound, figure: (round: ClusterRound) => number): number =>
    ofQuietest(
      rounds,
      ({ journals: { sqlite, postgres } }) => noiseOf(sqlite[part].noise) + noiseOf(postgres[part].noise),
      figure,
    );
  const share = quiet('full', ({ journals: { sqlite, postgres } }) => postgres.full.perSecond / sqlite.full.perSecond);
  const more = (part: 'paced' | 'single'): number =>
    quiet(
      part,
      ({ journals: { sqlite, postgres }, roundTrips }) =>
        (postgres[part].p50Us - sqlite[part].p50Us) / roundTrips[part].p50Us,
    );
  return [
    atLeast(`${place}: orders/s with the log / without`, share, LEAST_RATE),
    atMost(`${place}: p50 of one order after the other, what the log adds / a round trip to it`, more('single'), 1),
    atMost(`${place}: p50 at a moderate pace, what the log adds / a round trip to it`, more('paced'), 1),
  ];
}

function rowsOf(number: string, { journals, pacePerSecond, busyPerSecond, roundTrips }: ClusterRound): Row[] {
  const row = (what: string, { p50Us, p99Us, processorUs, noise }: Wait, perSecond: number): Row => ({
    what: `${number}, ${what}`,
    'per second': perSecond,
    'p50 us': p50Us,
    'p99 us': p99Us,
    'processor us': processorUs,
    'others %': noise.others,
    [STOLEN]: noise.stolen,
  });
  const of = (name: JournalName): Row[] => {
    const { full, few, paced, busy, single } = journals[name];
    const journal = `JOURNAL=${name}`;
    return [
      row(`${journal}, ${FULL_CONNECTIONS} at once`, full, full.perSecond),
      row(`${journal}, ${FEW_CONNECTIONS} at once`, few, few.perSecond),
      row(`${journal}, paced`, paced, pacePerSecond),
      row(`${journal}, paced at a share of the full rate`, busy, busyPerSecond),
      row(`${journal}, one by one`, single, single.perSecond),
    ];
  };
  return [
    ...of('sqlite'),
    ...of('postgres'),
    row('appends to the log, paced', roundTrips.paced, roundTrips.paced.perSecond),
    row('appends to the log, as often as orders one by one', roundTrips.single, roundTrips.single.perSecond),
  ];
}

function takeoverRow({ waitsMs, stolen }: Takeovers): Row {
  const longestUs = Math.max(...waitsMs) * 1000;
  return {
    what: `${waitsMs.length} takeovers`,
    'p50 us': median(waitsMs) * 1000,
    'max us': longestUs,
    [STOLEN]: stolen,
  };
}

function noiseOf({ stolen, others }: Noise): number {
  return stolen + others;
}

async function withScope<T>(run: (scope: Scope) => Promise<T>): Promise<T> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    return await run({ after: (cleanUp) => void cleanUps.unshift(cleanUp) });
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}
