/**
 * Front threads of the members of a cluster answer public reads themselves, and their reported age is right (RULES.md
 * 6.13, 18.4).
 */
import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { type TestContext, test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES as skip } from '../support/postgres.ts';
import type { Json } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const ORDERS = 25;
/** A member reports whole milliseconds, and clocks of one machine are one clock. */
const ROUNDED_MS = 1;

type Member = Awaited<ReturnType<typeof startCluster>>['members'][number];
type Read = { readonly role: string; readonly staleMs: number; readonly askedMs: number; readonly orders: number };

/** Reads over connections of its own, which the fronts of the member have by turns. */
class Reader {
  readonly #agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  readonly #url: string;

  constructor(t: TestContext, { baseUrl }: Member, path: string) {
    this.#url = baseUrl + path;
    t.after(() => {
      for (const agent of this.#agents) agent.destroy();
    });
  }

  readAll(): Promise<Read[]> {
    return Promise.all(this.#agents.map((agent) => this.#read(agent)));
  }

  #read(agent: Agent): Promise<Read> {
    const askedMs = Date.now();
    return new Promise((resolve, reject) => {
      const sent = get(this.#url, { agent }, async (answer) => {
        const { bids } = (await answer
          .setEncoding('utf8')
          .toArray()
          .then((parts) => JSON.parse(parts.join('')))) as Json;
        const { 'x-svc-role': role, 'x-svc-stale-ms': stale } = answer.headers;
        // A standby that has not caught up yet says nothing of its age.
        const unknownMs = role === 'standby' ? Number.POSITIVE_INFINITY : 0;
        const staleMs = stale === undefined ? unknownMs : Number(stale);
        resolve({ role: String(role), staleMs, askedMs, orders: bids[0]?.num_orders ?? 0 });
      });
      sent.on('error', reject);
    });
  }
}

/** Reads that the fronts of a member have answered without its gateway thread. */
async function answeredByFronts({ adminUrl, adminToken }: Member): Promise<number> {
  const answer = await fetch(`${adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
  const counts = [...(await answer.text()).matchAll(/^exchange_front_answers_total\{thread="\d+"\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

test('fronts of a leader show what it has acknowledged, those of a standby what they say', { skip }, async (t) => {
  const cluster = await startCluster(t, ['a', 'b'], { GATEWAYS: '3' });
  const { leader } = cluster;
  const standby = cluster.standbys[0]!;
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster);
  const path = `/v1/orders/book/${market.id}`;
  const members = { leader: new Reader(t, leader, path), standby: new Reader(t, standby, path) };
  await eventually('the market at the standby', async () => (await fetch(standby.baseUrl + path)).status === 200);
  for (const member of [leader, standby]) {
    await eventually('fronts that know the market', async () => {
      const before = await answeredByFronts(member);
      await (member === leader ? members.leader : members.standby).readAll();
      return (await answeredByFronts(member)) === before + 4;
    });
  }

  /** By number of orders: when the last of them was acknowledged. */
  const acknowledgedMs: number[] = [0];
  for (let placed = 1; placed <= ORDERS; placed++) {
    await trader.place(market, { price: '0.40', size: '1' });
    acknowledgedMs[placed] = Date.now();
    const reads = (await Promise.all([members.leader.readAll(), members.standby.readAll()])).flat();
    for (const { role, staleMs, askedMs, orders } of reads) {
      const knownMs = askedMs - staleMs - ROUNDED_MS;
      const least = acknowledgedMs.findLastIndex((ms) => ms <= knownMs);
      assert.ok(orders >= Math.max(0, least), `${role}, ${staleMs} ms stale: ${orders} orders, at least ${least}`);
    }
  }
  for (const member of [leader, standby]) assert.ok((await answeredByFronts(member)) > 8, member.name);
  const [atLeader, atStandby] = [await members.leader.readAll(), await members.standby.readAll()];
  assert.deepEqual([...new Set(atLeader.map(({ role }) => role))], ['leader']);
  assert.deepEqual([...new Set(atStandby.map(({ role }) => role))], ['standby']);
});
