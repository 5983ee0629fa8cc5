/** What a client of a witness reads at any place of an exchange. */
import type { TestServer } from './server.ts';
import type { Trader } from './traders.ts';
import type { AccountHistory } from './witnessHistory.ts';

/** A place that hangs is asked no longer. */
const READ_WITHIN_MS = 5000;

type Reader = { readonly trader: Trader; readonly history: AccountHistory };

/** The open orders of a market; a place that does not answer has shown nothing. */
export async function readOpenOrders({ trader, history }: Reader, place: TestServer, market: string): Promise<void> {
  const path = `/v1/orders/open/${market}`;
  const { headers } = trader.client.prepareSigned('GET', path);
  const askedMs = Date.now();
  const signal = AbortSignal.timeout(READ_WITHIN_MS);
  const response = await fetch(place.baseUrl + path, { headers, signal }).catch(() => null);
  const orders = response?.status === 200 ? await response.json().catch(() => null) : null;
  if (response === null || !Array.isArray(orders)) return;
  const stale = response.headers.get('x-svc-stale-ms');
  const isStandby = response.headers.get('x-svc-role') === 'standby';
  // A standby that does not say how stale it is may be at any point.
  const staleMs = stale === null ? (isStandby ? Number.POSITIVE_INFINITY : 0) : Number(stale);
  history.read({ place: place.baseUrl, market, askedMs, staleMs }, orders);
}

export function streamHeaders({ client }: Trader): Record<string, string> {
  return { ...client.prepareSigned('GET', '/v1/ws').headers };
}
