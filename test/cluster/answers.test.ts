/** kill -9 of the leader while requests with keys are in flight: the next leader gives the answers that were given. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const REQUESTS = 24;
const KILL_AFTER = 9;

type Asked = { readonly key: string; readonly body: unknown; answer: string | null };

test('a key is carried out once over a takeover, and the audit log is one chain', { skip: NO_POSTGRES }, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster, { depositMicro: 100_000_000_000 });
  const ask = async ({ key, body }: Asked): Promise<string> => {
    const { headers, body: text } = trader.client.prepareSigned('POST', '/v1/orders', body);
    const all = { ...headers, 'idempotency-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${cluster.baseUrl}/v1/orders`, { method: 'POST', headers: all, body: text });
    return `${response.status} ${await response.text()}`;
  };
  const asked = Array.from({ length: REQUESTS }, (): Asked => {
    return { key: randomUUID(), body: trader.body(market, { price: '0.2', size: '10' }), answer: null };
  });
  const killed = cluster.leader;
  let answered = 0;
  let killing: Promise<void> | undefined;
  for (const each of asked.slice(0, 4)) each.answer = await ask(each);
  await Promise.all(
    asked.slice(4).map(async (each) => {
      // Requests that the kill interrupted have no answer.
      each.answer = await ask(each).catch(() => null);
      if (each.answer !== null && ++answered === KILL_AFTER) killing = killed.kill();
    }),
  );
  await killing;
  await cluster.awaitLeader(cluster.standbys);
  for (const each of asked) {
    // Until the keys of the former leader are found, a key has to come again.
    const again = await eventually('an answer', async () => {
      const answer = await ask(each);
      return !answer.includes('ENGINE_BUSY') && answer;
    });
    assert.match(again, /^200 /);
    if (each.answer !== null) assert.equal(again, each.answer);
  }
  assert.equal((await trader.reconnected().client.openOrders(market.id)).length, REQUESTS);

  // The market was made where the former leader led: its record came with the others.
  const audit = await cluster.adminRequest('GET', '/admin/audit?limit=100');
  const records = audit.body.records as { readonly sequence: number; readonly path?: string }[];
  assert.ok(records.some(({ path }) => path === '/admin/markets'));
  const sequences = records.map(({ sequence }) => sequence);
  assert.deepEqual(
    sequences,
    sequences.map((_, at) => sequences[0]! - at),
  );
});
