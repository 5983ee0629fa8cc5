/**
 * A recorded day of the demo: what its accounts placed and cancelled in four markets, in 24 hours. A line is
 * `ms,account,market,side,outcome,time in force,price,size` or `ms,cancel,N` for the Nth placement; lines at the start,
 * `market,N`, have the ticks to one USDC of each market. `recordDay.ts` makes the file.
 */
import { readFileSync } from 'node:fs';
import { isRefusal } from '../../shared/client/answers.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { SideName, TimeInForceName } from '../../shared/client/types.ts';
import type { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

export const DAY_FILE = new URL('./demoDay.csv', import.meta.url);
const FUNDS_MICRO = 500_000_000_000;
/** Takers of the demo sell what they have bought on days before. */
const FULL_SETS_ATOMIC = 20_000_000_000n;
const TICKS = [100, 200, 400, 1000] as const;

export type Placed = {
  readonly kind: 'place';
  readonly atMs: number;
  readonly account: string;
  readonly market: number;
  readonly side: SideName;
  readonly outcome: 0 | 1;
  readonly timeInForce: TimeInForceName;
  readonly price: string;
  readonly size: string;
};
type Cancelled = { readonly kind: 'cancel'; readonly atMs: number; readonly placement: number };
type DayEvent = Placed | Cancelled;
type Day = { readonly ticks: readonly number[]; readonly events: readonly DayEvent[] };

export function readDay(): Day {
  const rows = readFileSync(DAY_FILE, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const ticks = rows.filter(([first]) => first === 'market').map(([, count]) => Number(count));
  const events = rows.filter(([first]) => first !== 'market').map(eventOf);
  return { ticks, events };
}

function eventOf(cells: readonly string[]): DayEvent {
  const atMs = Number(cells[0]);
  if (cells[1] === 'cancel') return { kind: 'cancel', atMs, placement: Number(cells[2]) };
  const [, account, market, side, outcome, timeInForce, price, size] = cells as [string, ...string[]];
  return {
    ...{ kind: 'place', atMs, account: account!, market: Number(market), outcome: outcome === '1' ? 1 : 0 },
    side: side === 'SELL' ? 'SELL' : 'BUY',
    timeInForce: timeInForce === 'FAK' ? 'FAK' : 'GTC',
    ...{ price: price!, size: size! },
  };
}

type Entered = { readonly markets: readonly OrderMarket[]; readonly traders: ReadonlyMap<string, Trader> };

/** The accounts of the demo on another exchange, in markets of the same grids. */
export class DayPlayer {
  readonly markets: readonly OrderMarket[];
  readonly #traders: ReadonlyMap<string, Trader>;
  /** Hashes of the placements so far; null for one that was refused. */
  readonly #hashes: (string | null)[] = [];
  refused = 0;

  private constructor({ markets, traders }: Entered) {
    this.markets = markets;
    this.#traders = traders;
  }

  static async enter(server: TestServer, { ticks, events }: Day): Promise<DayPlayer> {
    const markets: OrderMarket[] = [];
    for (const count of ticks) {
      const ticks_per_unit = TICKS.find((known) => known === count)!;
      markets.push(await makeMarket(server, { ticks_per_unit, title: `Day ${markets.length}` }));
    }
    const traders = new Map<string, Trader>();
    for (const name of new Set(events.flatMap((event) => (event.kind === 'place' ? event.account : [])))) {
      const trader = await makeTrader(server, { depositMicro: FUNDS_MICRO, requestsPerSecond: 1000 });
      traders.set(name, trader);
      const sells = events.some((event) => event.kind === 'place' && event.account === name && event.side === 'SELL');
      if (sells) for (const { id } of markets) await trader.client.split(id, FULL_SETS_ATOMIC);
    }
    return new DayPlayer({ markets, traders });
  }

  async play(event: DayEvent): Promise<void> {
    if (event.kind === 'cancel') return this.#cancel(event.placement);
    const { account, market, side, outcome: outcomeIndex, timeInForce, price, size } = event;
    const intent = { side, outcomeIndex, timeInForce, price, size };
    try {
      const { order_hash } = await this.#traders.get(account)!.place(this.markets[market], intent);
      this.#hashes.push(`${account},${order_hash}`);
    } catch (error) {
      // The bots may have taken what the account took on its day.
      if (!isRefusal(error) || error.code !== 'FAK_NO_FILL') throw error;
      this.#hashes.push(null);
      this.refused++;
    }
  }

  /** An order that the bots have filled is not there any more. */
  async #cancel(placement: number): Promise<void> {
    const [account, hash] = this.#hashes[placement]?.split(',') ?? [];
    if (account !== undefined && hash !== undefined) await this.#traders.get(account)!.client.cancelOrders([hash]);
  }
}
