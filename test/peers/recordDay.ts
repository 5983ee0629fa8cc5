/**
 * Records the day of a running demo for `day.test.ts`, from the orders of its accounts:
 *
 *     node shared/run.mjs test/peers/recordDay.ts data/live/demo.json
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { UserOrder } from '../../shared/client/types.ts';
import { DAY_FILE } from './day.ts';

const MARKETS = 4;
const DAY_MS = 86_400_000;
const PAGE = 200;
const PRICE_SCALE = 100_000_000n;
const TIMEOUT_MS = 60_000;

type Account = { name: string; key_id: string; secret: string; passphrase: string };
type Demo = { base_url: string; accounts: readonly Account[]; flow: { market_ids: readonly string[] } };
type Recorded = UserOrder & { readonly name: string };

/** @param ticksOf ticks to one USDC by market */
function dayText(orders: readonly Recorded[], ticksOf: ReadonlyMap<string, number>): string {
  const endMs = Math.max(...orders.map(({ created_at }) => Date.parse(created_at)));
  const day = orders.filter(({ created_at }) => Date.parse(created_at) > endMs - DAY_MS);
  const counts = Map.groupBy(day, ({ market_id }) => market_id);
  const chosen = [...ticksOf.keys()]
    .sort((a, b) => (counts.get(b)?.length ?? 0) - (counts.get(a)?.length ?? 0))
    .slice(0, MARKETS);
  const kept = day
    .filter(({ market_id }) => chosen.includes(market_id))
    .sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at) || a.sequence - b.sequence);
  const since = (time: string): number => Date.parse(time) - (endMs - DAY_MS);
  const placed = kept.map((order): [number, string] => {
    const { name, side, outcome_index, time_in_force, price } = order;
    const cells = [chosen.indexOf(order.market_id), side, outcome_index, time_in_force];
    return [since(order.created_at), [name, ...cells, price.replace(/0+$/, ''), sizeOf(order)].join()];
  });
  const cancelled = kept.flatMap(({ status, time_in_force, updated_at }, at): [number, string][] =>
    status === 'cancelled' && time_in_force === 'GTC' ? [[since(updated_at), `cancel,${at}`]] : [],
  );
  const lines = [...placed, ...cancelled].sort(([a], [b]) => a - b).map(([ms, rest]) => `${ms},${rest}`);
  return [...chosen.map((id) => `market,${ticksOf.get(id)}`), ...lines, ''].join('\n');
}

/** Tokens, from the signed limit. */
function sizeOf({ price, initial_limit_notional_usdc_micro: notional }: UserOrder): string {
  const [whole, fraction = ''] = price.split('.');
  const atomic = (BigInt(notional!) * PRICE_SCALE) / BigInt(`${whole}${fraction.padEnd(8, '0')}`);
  const text = atomic.toString().padStart(7, '0');
  return `${text.slice(0, -6)}.${text.slice(-6)}`.replace(/\.?0+$/, '');
}

async function ordersOf(baseUrl: string, { name, key_id: keyId, secret, passphrase }: Account): Promise<Recorded[]> {
  const credentials = { keyId, secret, passphrase };
  const client = new ExchangeClient({ baseUrl, credentials, timeoutMs: TIMEOUT_MS });
  const orders: Recorded[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.userOrders({ sort: 'created_at', limit: PAGE, ...(cursor ? { cursor } : {}) });
    orders.push(...page.orders.map((order) => ({ name, ...order })));
    const last = page.orders.at(-1);
    const isOver = last === undefined || Date.parse(last.created_at) < Date.now() - DAY_MS;
    cursor = isOver ? null : page.next_cursor;
  }
  return orders;
}

if (import.meta.main) {
  const demo: Demo = JSON.parse(readFileSync(process.argv[2] ?? 'data/live/demo.json', 'utf8'));
  const client = new ExchangeClient({ baseUrl: demo.base_url });
  const orders = (await Promise.all(demo.accounts.map((account) => ordersOf(demo.base_url, account)))).flat();
  const ticks = new Map<string, number>();
  for (const id of demo.flow.market_ids) ticks.set(id, (await client.tickSize(id)).ticks_per_unit);
  writeFileSync(DAY_FILE, dayText(orders, ticks));
}
