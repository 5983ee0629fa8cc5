/**
 * Quotes the many markets of the demo in which no market maker of the flow is, so that a visitor finds a price nearly
 * everywhere: one small order for each outcome, around a value that stays the same. What was taken is offered again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { OUTCOME, type Outcome } from '../../base/codes.ts';
import { tickToPrice } from '../../base/units.ts';
import type { ExchangeClient } from '../client.ts';
import { draftOrder, type OrderMarket } from '../order.ts';
import type { OrderSigner } from '../orderSigner.ts';
import type { BrowseQuery, Market, PlacementBody } from '../types.ts';

type BreadthExchange = Pick<ExchangeClient, 'browseEvents' | 'bbos' | 'orderMarket' | 'placeOrders'>;
type Quoted = Pick<Market, 'id' | 'fee_bps'>;

const SIZE = '20';
/** A quoted market takes up to that many dollars: its maker has funds for this many markets. */
const MOST_MARKETS = 330;
/** All results of one question, or one line of a kind. */
const MOST_RESULTS = 3;
const BBOS_AT_ONCE = 50;
const ORDERS_AT_ONCE = 14;
/** Visitors share the limits of the address: after each market and each group of orders the others go first. */
const PAUSE_MS = 120;
/** The events that a front page shows first in each of its orders. */
const PAGES: readonly Partial<BrowseQuery>[] = [
  { sort: 'start', limit: 100 },
  { sort: 'ending', limit: 60 },
  { sort: 'new', limit: 60 },
];
const LEAST_VALUE = 0.06;

/** Markets with the value of Yes. */
export type Breadth = ReadonlyMap<string, { readonly market: Quoted; readonly value: number }>;

/** Chooses the markets: a few of each event that a visitor sees first. The same catalogue gives the same values. */
export async function chooseMarkets(exchange: BreadthExchange, isTaken: (id: string) => boolean): Promise<Breadth> {
  const chosen = new Map<string, { market: Quoted; value: number }>();
  for (const page of PAGES) {
    const answer = await exchange.browseEvents({ ...page, core_lines: true });
    if (!('events' in answer)) continue;
    for (const event of answer.events) {
      for (const { type, markets } of event.market_groups) {
        const areExclusive = event.external_event_mutually_exclusive === true && type !== 'total';
        const active = markets.filter(({ status }) => status === 'active').slice(0, areExclusive ? MOST_RESULTS : 1);
        const values = valuesOf(active, areExclusive);
        for (const [at, market] of active.entries()) {
          const isFull = chosen.size >= MOST_MARKETS || isTaken(market.id);
          if (!isFull) chosen.set(market.id, { market, value: values[at] });
        }
      }
    }
  }
  return chosen;
}

/** Chances of the results of one question add up to one. */
export function valuesOf(markets: readonly { readonly id: string }[], areExclusive: boolean): number[] {
  const drawn = markets.map(({ id }) => LEAST_VALUE + (1 - 2 * LEAST_VALUE) * shareOf(id));
  if (!areExclusive || markets.length < 2) return drawn;
  const sum = drawn.reduce((a, b) => a + b, 0);
  return drawn.map((value) => value / sum);
}

/** From 0 to 1, the same for the same id. */
function shareOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) / 2 ** 32;
}

/**
 * Places an order where a side of a book is empty.
 * @param grids the markets that were ordered in before; new ones are added
 * @returns the number of orders that were placed
 */
export async function quoteAll(
  exchange: BreadthExchange,
  signer: OrderSigner,
  breadth: Breadth,
  grids: Map<string, OrderMarket>,
): Promise<number> {
  const ids = [...breadth.keys()];
  let placed = 0;
  let bodies: PlacementBody[] = [];
  const placeAll = async (): Promise<void> => {
    if (bodies.length === 0) return;
    placed += bodies.length;
    await exchange.placeOrders(bodies);
    bodies = [];
    await sleep(PAUSE_MS);
  };
  for (let at = 0; at < ids.length; at += BBOS_AT_ONCE) {
    const asked = ids.slice(at, at + BBOS_AT_ONCE).map((market_id) => ({ market_id, outcome_index: OUTCOME.YES }));
    const { markets } = await exchange.bbos(asked);
    for (const { market_id, best_bid, best_ask } of markets) {
      if (best_bid !== null && best_ask !== null) continue;
      const {
        market: { fee_bps: feeRateBps },
        value,
      } = breadth.get(market_id)!;
      let market = grids.get(market_id);
      if (market === undefined) {
        market = await exchange.orderMarket(market_id);
        grids.set(market_id, market);
        await sleep(PAUSE_MS);
      }
      const ticks = ticksOf(value, market.ticks_per_unit);
      const add = (outcomeIndex: Outcome, priceTicks: number): void => {
        const price = tickToPrice(priceTicks, market.ticks_per_unit);
        const order = { market, outcomeIndex, side: 'BUY', price, size: SIZE, feeRateBps } as const;
        bodies.push(signer.sign(draftOrder({ ...order, postOnly: true })).body);
      };
      if (best_bid === null) add(OUTCOME.YES, ticks - 1);
      if (best_ask === null) add(OUTCOME.NO, market.ticks_per_unit - ticks - 1);
      if (bodies.length >= ORDERS_AT_ONCE) await placeAll();
    }
  }
  await placeAll();
  return placed;
}

/** There is a step on either side. */
function ticksOf(value: number, ticksPerUnit: number): number {
  return Math.min(Math.max(Math.round(value * ticksPerUnit), 2), ticksPerUnit - 2);
}
