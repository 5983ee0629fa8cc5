/** A trader that places one order after the other on a real server, and the time that each took. */
import type { makeMarket, Trader } from '../test/support/traders.ts';

type OrderMarket = Awaited<ReturnType<typeof makeMarket>>;

/** @returns the milliseconds of each order. */
export async function timesOf(trader: Trader, market: OrderMarket, orders: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < orders; at++) {
    const startMs = performance.now();
    await trader.place(market, { side: 'BUY', price: '0.40', size: '1' });
    times.push(performance.now() - startMs);
  }
  await trader.client.cancelAll();
  return times;
}

export function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1];
}

/** The columns of a report. */
export function columnsOf(times: readonly number[]) {
  return {
    orders: times.length,
    'p50 ms': quantile(times, 0.5).toFixed(2),
    'p99 ms': quantile(times, 0.99).toFixed(2),
  };
}
