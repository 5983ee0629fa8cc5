/**
 * Prepares the requests of two attacks of the hostile bench, so that making them costs the attacker no processor time
 * during the attack: cancellations on the rail by accounts without money, half of them with wrong signatures, and
 * searches for words that every description contains.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { assert } from '../shared/base/assert.ts';
import { cancelDigest } from '../shared/crypto/eip3009.ts';
import { eventually } from '../test/support/eventually.ts';
import type { TestServer } from '../test/support/server.ts';
import { bearer, makeWallet, signIn } from '../test/support/wallet.ts';

export type PreparedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
};

/** As many accounts as may sign in from one address in a minute. */
const ACCOUNTS = 7;
const SENT = 40;
const WRONG = `0x${'11'.repeat(64)}1b`;
const MARKETS = 2000;
const LINES = 20;
const SEARCHES = 100;
/** As long as the text of a market may be; one word of three letters finds each of its words. */
const DESCRIPTION = Array.from({ length: 2500 }, (_, index) => `res${index}`).join(' ');

/** Connections stay open: a client that opens a new one for each request is cut off for that alone. */
const AGENTS = new Map<string, Agent>();

/** Sends a request from an address of this machine. @returns status and length of the answer */
export async function sendFrom(
  localAddress: string,
  baseUrl: string,
  { method, path, headers, body }: PreparedRequest,
): Promise<{ readonly status: number; readonly bytes: number }> {
  let agent = AGENTS.get(localAddress);
  if (agent === undefined) {
    agent = new Agent({ keepAlive: true });
    AGENTS.set(localAddress, agent);
  }
  const sent = request(baseUrl + path, { method, headers, localAddress, agent });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // A connection that is closed behind its answer is no fault.
  sent.on('error', () => undefined);
  let bytes = 0;
  for await (const piece of response) bytes += (piece as Buffer).length;
  return { status: response.statusCode!, bytes };
}

export async function railCancellations(server: TestServer): Promise<PreparedRequest[]> {
  const requests: PreparedRequest[] = [];
  for (let account = 0; account < ACCOUNTS; account++) {
    const wallet = makeWallet();
    const { status, body: session } = await signIn(server, wallet);
    assert(status === 200, 'hostile: the attacker signs in');
    const headers = { ...bearer(session), 'Content-Type': 'application/json' };
    const { domain } = (await server.request('GET', '/v1/fiat/rail', undefined, bearer(session))).body;
    const authorizer = wallet.address.toLowerCase();
    for (let index = 0; index < SENT; index++) {
      const nonce = `0x${(index + 1).toString(16).padStart(64, '0')}`;
      const hash = cancelDigest(domain, authorizer, nonce) as `0x${string}`;
      const signature = index % 2 === 0 ? await wallet.sign({ hash }) : WRONG;
      const body = JSON.stringify({ authorizer, nonce, signature, valid_before: Math.floor(Date.now() / 1000) + 600 });
      requests.push({ method: 'POST', path: '/v1/fiat/rail/cancellations', headers, body });
    }
  }
  return requests;
}

/** Fills the catalogue, and searches it with the worst words: each request is another question. */
export async function searches(server: TestServer): Promise<PreparedRequest[]> {
  // Another question each time, because answers are cached.
  const total = async (): Promise<number> =>
    (await server.request('GET', `/v1/markets?limit=1&offset=${Math.floor(performance.now()) % 1000}`)).body.total;
  const before = await total();
  for (let from = 0; from < MARKETS; from += LINES) await importMarkets(server, from);
  await eventually('all markets are listed', async () => (await total()) >= before + MARKETS);
  const words = encodeURIComponent('res'.concat(' res'.repeat(49)));
  return Array.from({ length: SEARCHES }, (_, offset) => ({
    method: 'GET',
    path: `/v1/markets?search=${words}&offset=${offset}`,
    headers: {},
    body: '',
  }));
}

async function importMarkets(server: TestServer, from: number): Promise<void> {
  const trading_ends_at = new Date(Date.now() + 86_400_000).toISOString();
  const lines = Array.from({ length: LINES }, (_, index) => ({
    market: {
      external_event_id: `S-${from + index}`,
      title: `Will number ${from + index} win?`,
      description: DESCRIPTION,
      category: 'Sports',
      trading_ends_at,
    },
  }));
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const { body } = await server.adminRequest('POST', '/admin/catalogue/import', text);
  assert((body as { failed?: number }).failed === 0, 'hostile: the markets are imported');
}
