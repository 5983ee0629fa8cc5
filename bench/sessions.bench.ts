/**
 * What does a request of a session cost, compared with one that a key has signed? Both read the same profile, which is
 * in memory, over the same few connections and by turns. The processor time of the thread that answers counts, so the
 * client, which signs for the key and not for the session, has no part in the ratio. The first use of an access token
 * is a row of its own: its signature is verified, on another thread.
 */

import { Connection, toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { assert } from '../shared/base/assert.ts';
import { ExchangeClient } from '../shared/client/client.ts';
import { type Scope, startServer, type TestServer } from '../test/support/server.ts';
import { makeTrader } from '../test/support/traders.ts';
import { bearer, makeWallet, signIn } from '../test/support/wallet.ts';

import { processSeconds, threadSeconds } from './processStat.ts';
import { atMost, median, type Report, type Row } from './report.ts';

const PATH = '/v1/user/profile';
const ROUNDS = 7;
const READS = 20_000;
const FIRST_USES = 400;
const CONNECTIONS = 8;
const MOST_TIMES = 1.3;

type Part = { readonly gatewayUs: number; readonly processUs: number };

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  try {
    const server = await startServer(scope, { SHARDS: '1' });
    const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(server.baseUrl)));
    scope.after(() => connections.forEach((connection) => void connection.close()));
    const { credentials } = await makeTrader(server);
    const client = new ExchangeClient({ baseUrl: server.baseUrl, credentials });
    const session = (await signIn(server, makeWallet())).body;
    const byKey = (): Buffer => toBytes(client.prepareSigned('GET', PATH));
    const bySession = toBytes({ method: 'GET', path: PATH, headers: bearer(session), body: '' });

    const parts: Record<'key' | 'session' | 'first', Part[]> = { key: [], session: [], first: [] };
    const measure = (requests: Buffer[]): Promise<Part> => measured(server, connections, requests);
    await measure(Array.from({ length: READS }, (_, i) => (i % 2 === 0 ? byKey() : bySession)));
    for (let round = 0; round < ROUNDS; round++) {
      parts.key.push(await measure(Array.from({ length: READS }, byKey)));
      parts.session.push(await measure(Array.from({ length: READS }, () => bySession)));
      parts.first.push(await measure(await firstUses(server, session)));
    }
    return describe(parts);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

/** Sends requests with access tokens that no request has used before. The session gets its newest refresh token. */
async function firstUses(server: TestServer, session: { refresh_token: string }): Promise<Buffer[]> {
  const requests: Buffer[] = [];
  for (let i = 0; i < FIRST_USES; i++) {
    const { refresh_token } = session;
    const { body } = await server.request('POST', '/v1/auth/refresh', { refresh_token });
    session.refresh_token = body.refresh_token;
    requests.push(toBytes({ method: 'GET', path: PATH, headers: bearer(body), body: '' }));
  }
  return requests;
}

/** Sends all of them, one at a time on each connection. */
async function measured({ pid }: TestServer, connections: Connection[], requests: Buffer[]): Promise<Part> {
  const gateway = (): number => threadSeconds(pid!).get(pid!)!;
  const [gatewayBefore, processBefore] = [gateway(), processSeconds(pid!)];
  let next = 0;
  const serve = (connection: Connection): Promise<void> => {
    return new Promise((resolve, reject) => {
      const send = (status: number): void => {
        if (status !== 200) reject(new Error(`answered with ${status}`));
        else if (next === requests.length) resolve();
        else connection.send(requests[next++], send);
      };
      send(200);
    });
  };
  await Promise.all(connections.map(serve));
  assert(next === requests.length, 'sessions: every request is answered');
  const perRequest = (seconds: number): number => (seconds * 1e6) / requests.length;
  return {
    gatewayUs: perRequest(gateway() - gatewayBefore),
    processUs: perRequest(processSeconds(pid!) - processBefore),
  };
}

function describe(parts: Record<'key' | 'session' | 'first', Part[]>): Report {
  const names = { key: 'signed with a key', session: 'session', first: 'session, first use of a token' };
  const rows: Row[] = (['key', 'session', 'first'] as const).map((name) => ({
    read: names[name],
    'gateway thread us': median(parts[name].map(({ gatewayUs }) => gatewayUs)),
    'all threads us': median(parts[name].map(({ processUs }) => processUs)),
  }));
  const ratios = parts.session.map(({ gatewayUs }, round) => gatewayUs / parts.key[round].gatewayUs);
  return {
    bench: 'sessions',
    settings: `${ROUNDS} rounds of ${READS} reads over ${CONNECTIONS} connections; medians`,
    rows,
    goals: [atMost('read of a session / read signed with a key', median(ratios), MOST_TIMES)],
  };
}
