/** The reads of a client of a witness, at any place of an exchange. */
import type { Json, TestServer } from './server.ts';
import type { Trader } from './traders.ts';
import type { AccountHistory } from './witnessHistory.ts';
import { reservedIn } from './witnessReserved.ts';

/** A place that hangs is asked no longer. */
const READ_WITHIN_MS = 5000;

type Reader = { readonly trader: Trader; readonly history: AccountHistory };

type Answer = { readonly status: number; readonly body: Json; readonly askedMs: number; readonly staleMs: number };

/** The open orders of a market; a place that does not answer has shown nothing. */
export async function readOpenOrders({ trader, history }: Reader, place: TestServer, market: string): Promise<void> {
  const answer = await ask(trader, place, `/v1/orders/open/${market}`);
  if (answer === null || !Array.isArray(answer.body)) return;
  const { askedMs, staleMs, body } = answer;
  history.read({ place: place.baseUrl, market, askedMs, staleMs }, body);
}

/** One order, which the place knows or does not know yet. */
export async function readOrder({ trader, history }: Reader, place: TestServer, hash: string): Promise<void> {
  const answer = await ask(trader, place, `/v1/orders/${hash}`);
  if (answer === null || (answer.status !== 200 && answer.status !== 404)) return;
  const { askedMs, staleMs, body, status } = answer;
  history.readOrder({ place: place.baseUrl, hash, askedMs, staleMs }, status === 200 ? body : null);
}

/** The reserved balances of the account in these markets. */
export async function readBalances(
  { trader, history }: Reader,
  place: TestServer,
  markets: readonly string[],
): Promise<void> {
  const answer = await ask(trader, place, '/v1/user/balances');
  if (answer === null || answer.status !== 200) return;
  const { askedMs, staleMs, body } = answer;
  history.readBalances({ place: place.baseUrl, askedMs, staleMs }, reservedIn(body, markets));
}

async function ask(trader: Trader, place: TestServer, path: string): Promise<Answer | null> {
  const { headers } = trader.client.prepareSigned('GET', path);
  const askedMs = Date.now();
  const signal = AbortSignal.timeout(READ_WITHIN_MS);
  const response = await fetch(place.baseUrl + path, { headers, signal }).catch(() => null);
  const body = await response?.json().catch(() => null);
  if (response === null || body == null) return null;
  const stale = response.headers.get('x-svc-stale-ms');
  const isStandby = response.headers.get('x-svc-role') === 'standby';
  // A standby that does not say how stale it is may be at any point.
  const staleMs = stale === null ? (isStandby ? Number.POSITIVE_INFINITY : 0) : Number(stale);
  return { status: response.status, body, askedMs, staleMs };
}

export function streamHeaders({ client }: Trader): Record<string, string> {
  return { ...client.prepareSigned('GET', '/v1/ws').headers };
}
