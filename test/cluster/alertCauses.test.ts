/**
 * Alerts for what really happens to a real cluster: a member dies, servers of its log die, the network fails. Each
 * cause rings its page, and no page of a neighbour. Prometheus sees every member, so a dead one rings as down too.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { firingPages, NO_PROMTOOL, type Scrape, scrapeAll } from '../support/firingAlerts.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

/** Longer than any page of a cluster waits. */
const AFTER_SEC = 150;

function sampleOf({ samples }: Scrape, metric: string, instance: string): number | undefined {
  return samples.get(`${metric}{job="exchange",instance="${instance}"}`);
}

test('what rings when members, servers of the log and the network between them fail', {
  skip: NO_POSTGRES || NO_PROMTOOL,
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.database();
  const ports = Object.values(postgres.nodes).map(({ port }) => port);
  const line = await LogLine.start(t, ports);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url }, { b: line });
  const [a, b] = cluster.members as [(typeof cluster.members)[0], (typeof cluster.members)[0]];
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster);
  const look = () => scrapeAll(cluster.members);
  /** Checks that it pages once this holds for the scraped values, which goes on. */
  const pages = async (before: Scrape, what: string, holds: (now: Scrape) => boolean): Promise<string[]> => {
    const first = await eventually(what, async () => {
      const now = await look();
      return holds(now) && now;
    });
    return firingPages(before, [first, await look()], AFTER_SEC);
  };
  const whole = await eventually('the whole cluster', async () => {
    const now = await look();
    const seen = [
      sampleOf(now, 'exchange_cluster_standbys', 'a'),
      sampleOf(now, 'exchange_cluster_database_standbys', 'a'),
    ];
    return seen[0] === 1 && seen[1] === 2 && now;
  });
  assert.deepEqual(firingPages(whole, [whole, await look()], AFTER_SEC), [], 'nothing rings for a whole cluster');

  line.lose('toLog', 'toMember');
  const isStale = (now: Scrape) => (sampleOf(now, 'exchange_cluster_stale_seconds', 'b') ?? 0) > 5;
  const isUnready = (now: Scrape) => sampleOf(now, 'exchange_ready', 'b') === 0;
  const isAway = (now: Scrape) => sampleOf(now, 'exchange_cluster_standbys', 'a') === 0;
  assert.deepEqual(await pages(whole, 'b is cut off', (now) => isStale(now) && isAway(now) && isUnready(now)), [
    'ExchangeNotReady',
    'NoStandby',
    'StandbyStale',
  ]);
  line.heal();
  await cluster.recover();

  const [first, second] = postgres.standbys;
  await first!.stop('SIGKILL');
  const hasOneStandby = (now: Scrape) => sampleOf(now, 'exchange_cluster_database_standbys', 'a') === 1;
  assert.deepEqual(await pages(whole, 'one standby of the database', hasOneStandby), ['DatabaseStandbyAway']);

  await second!.stop('SIGKILL');
  // Nothing is held by a second server any more.
  void trader.client.placeOrder(trader.body(market, { price: '0.30', size: '1' })).catch(() => {});
  const isStalled = (now: Scrape) => (sampleOf(now, 'exchange_cluster_oldest_wait_seconds', 'a') ?? 0) > 1;
  const stalled = await pages(whole, 'the log takes no rows', isStalled);
  assert.ok(stalled.includes('LogStalled') && stalled.includes('DatabaseStandbyAway'), stalled.join());
  assert.ok(!stalled.includes('NoLeader') && !stalled.includes('ExchangeDown'), stalled.join());

  for (const member of cluster.members) member.mayEnd();
  await a.kill();
  const leadsNowhere = (now: Scrape) => sampleOf(now, 'exchange_cluster_leading', 'b') === 0;
  const none = await pages(whole, 'no member leads', leadsNowhere);
  assert.ok(none.includes('NoLeader') && none.includes('ExchangeDown'), none.join());
  assert.ok(!none.includes('LogStalled'), none.join());
  await b.kill();
});
