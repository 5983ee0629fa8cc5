/**
 * A provider of a cluster gets an answer, and hears of a session, only once the log holds what it says: an event that
 * was taken is there at the next leader, once, and one that was not is sent again (RULES.md 16.30, 18.9).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/webhooks.test.ts
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { addressOf } from '../../shared/client/privateKey.ts';
import { HOOK_SIGNATURE, signHook } from '../../shared/crypto/hookSignature.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { startProvider } from '../support/providerServer.ts';
import { timesOf } from '../support/seeds.ts';
import type { Json } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes a quarter of a minute';
const SECRET = 'the-secret-of-events';
const HOUR_MS = 3_600_000;

/** An event of the sandbox provider about a session. */
type Event = { readonly event_id: string; readonly reference: string };

function newEvent(reference: string): Event {
  return { event_id: randomBytes(16).toString('hex'), reference };
}

/** @returns the status of the answer, or null where there was none. */
async function deliver(baseUrl: string, event: Event): Promise<number | null> {
  const body = JSON.stringify(event);
  const named = { 'content-type': 'application/json', 'x-event-id': event.event_id };
  const signature = signHook(SECRET, named, Buffer.from(body), Date.now());
  const headers = { ...named, [HOOK_SIGNATURE]: signature };
  const url = `${baseUrl}/v1/fiat/webhooks/sandbox`;
  return fetch(url, { method: 'POST', headers, body }).then(
    ({ status }) => status,
    () => null,
  );
}

test('a provider is answered, and told, only what the log holds', { skip: NO_POSTGRES || IS_LONG }, async (t) => {
  /** References of sessions that the provider was told of. */
  const launched: string[] = [];
  const provider = await startProvider(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'GET') return response.end(JSON.stringify({ deals: [], next_before: null }));
      launched.push(JSON.parse(Buffer.concat(chunks).toString()).reference);
      return response.end(
        JSON.stringify({ launch_url: 'https://provider.example', expires_at_ms: Date.now() + HOUR_MS }),
      );
    });
  });
  const postgres = await sharedPostgres();
  const line = await LogLine.start(
    t,
    Object.values(postgres.nodes).map(({ port }) => port),
  );
  const fiat = {
    FIAT_PROVIDERS: 'sandbox',
    FIAT_SANDBOX_URL: provider.url,
    FIAT_SANDBOX_API_KEY: 'the-key-of-the-exchange',
    FIAT_SANDBOX_WEBHOOK_SECRETS: SECRET,
    FIAT_SANDBOX_ADDRESS: addressOf(`0x${'e7'.repeat(32)}`),
  };
  const cluster = await startCluster(t, ['a', 'b'], { ...fiat, JOURNAL_URL: await postgres.database() }, { a: line });
  const [killed, next] = cluster.members as [Json, Json];
  const trader = await makeTrader(cluster);
  const session = await trader.client.fiat.createOnramp({ amount: '25' });
  assert.equal(launched.length, 1);
  const [taken, lost] = [newEvent(launched[0]!), newEvent(launched[0]!)];
  assert.equal(await deliver(cluster.baseUrl, taken), 200);

  // Nothing that the leader sends arrives any more.
  line.lose('toLog');
  const delivering = deliver(cluster.baseUrl, lost);
  const creating = trader.client.fiat.createOnramp({ amount: '30' }).then(
    () => 'created',
    () => 'not answered',
  );
  await eventually('a leader that knows it', async () => (await killed.readiness())?.status === 503);
  assert.equal(launched.length, 1, 'the provider does not hear of a session that may be lost');
  await killed.kill();
  assert.deepEqual([await delivering, await creating], [null, 'not answered']);

  await cluster.awaitLeader([next]);
  const events = async (): Promise<string[]> => {
    const { status, body } = await cluster.adminRequest('GET', `/admin/fiat/sessions/${session.id}`);
    assert.equal(status, 200);
    return body.events.map(({ event_id }: Json) => event_id);
  };
  assert.deepEqual(await events(), [taken.event_id], 'what was answered is there, and nothing else');
  for (const event of [taken, lost, lost]) assert.equal(await deliver(cluster.baseUrl, event), 200);
  assert.deepEqual((await events()).sort(), [taken.event_id, lost.event_id].sort());
  await trader.reconnected().client.fiat.createOnramp({ amount: '30' });
  assert.equal(launched.length, 2);
  const sessions = await cluster.adminRequest('GET', '/admin/fiat/sessions');
  const known: string[] = sessions.body.sessions.map(({ partner_reference }: Json) => partner_reference);
  assert.deepEqual(known.sort(), [...launched].sort(), 'the provider knows the sessions that are there');
});
