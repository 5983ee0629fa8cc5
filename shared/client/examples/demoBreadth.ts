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
import type { Market, PlacementBody } from '../types.ts';

type BreadthExchange = Pick<ExchangeClient, 'browseEvents' | 'bbos' | 'orderMarket' | 'placeOrders'>;
type Quoted = Pick<Market, 'id' | 'fee_bps'>;

/** Markets of a game that are about numbers, even where its results exclude each other. */
const LINES: ReadonlySet<string> = new Set(['total', 'spread']);

/** Tokens of each order. */
export const BREADTH_SIZE = '20';
/** A quoted market takes up to that many dollars. */
const MOST_MARKETS = 600;
const EVENTS_AT_ONCE = 100;
const BBOS_AT_ONCE = 50;
const ORDERS_AT_ONCE = 14;
/** Visitors share the limits of the address: after each market and each group of orders the others go first. */
const PAUSE_MS = 120;
const LEAST_VALUE = 0.06;

/** Markets with the value of Yes. */
export type Breadth = ReadonlyMap<string, { readonly market: Quoted; readonly value: number }>;
/** The values of the markets that the demo has chosen already. */
type Known = Readonly<Record<string, number>>;

/**
 * Chooses the markets: of each event all results of one question, and one line of each kind. No event has two kinds
 * while another has none. The same catalogue gives the same values.
 */
export async function chooseMarkets(
  exchange: BreadthExchange,
  isTaken: (id: string) => boolean,
  known: Known = {},
): Promise<Breadth> {
  /** By how many of the same event go before them. */
  const turns: { market: Quoted; value: number }[][] = [];
  for (let offset = 0; ; offset += EVENTS_AT_ONCE) {
    const answer = await exchange.browseEvents({ limit: EVENTS_AT_ONCE, offset, core_lines: true });
    if (!('events' in answer)) break;
    for (const event of answer.events) {
      for (const [turn, { type, markets }] of event.market_groups.entries()) {
        const areExclusive = event.external_event_mutually_exclusive === true && !LINES.has(type);
        const active = markets.filter(({ status }) => status === 'active');
        const chosen = areExclusive ? active : active.slice(0, 1);
        const values = valuesOf(chosen, areExclusive);
        turns[turn] ??= [];
        turns[turn].push(...chosen.map((market, at) => ({ market, value: known[market.id] ?? values[at] })));
      }
    }
    if (answer.events.length < EVENTS_AT_ONCE) break;
  }
  const free = turns.flat().filter(({ market }) => !isTaken(market.id));
  return new Map(free.slice(0, MOST_MARKETS).map((each) => [each.market.id, each]));
}

/** Chances of the results of one question add up to one. */
export function valuesOf(markets: readonly { readonly id: string }[], areExclusive: boolean): number[] {
  const drawn = markets.map(({ id }) => LEAST_VALUE + (1 - 2 * LEAST_VALUE) * shareOf(id));
  if (!areExclusive || markets.length < 2) return drawn;
  const sum = drawn.reduce((a, b) => a + b, 0);
  return drawn.map((value) => value / sum);
}

/** The price of an order for Yes, and of one for No, around the value: in ticks of the outcome that is bought. */
export function quotesAround(value: number, ticksPerUnit: number): { readonly yes: number; readonly no: number } {
  const ticks = ticksOf(value, ticksPerUnit);
  return { yes: ticks - 1, no: ticksPerUnit - ticks - 1 };
}

/** From 0 to 1, the same for the same id. */
export function shareOf(id: string): number {
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
  signer: Pick<OrderSigner, 'sign'>,
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
      const quotes = quotesAround(value, market.ticks_per_unit);
      const add = (outcomeIndex: Outcome, priceTicks: number): void => {
        const price = tickToPrice(priceTicks, market.ticks_per_unit);
        const order = { market, outcomeIndex, side: 'BUY', price, size: BREADTH_SIZE, feeRateBps } as const;
        bodies.push(signer.sign(draftOrder({ ...order, postOnly: true })).body);
      };
      if (best_bid === null) add(OUTCOME.YES, quotes.yes);
      if (best_ask === null) add(OUTCOME.NO, quotes.no);
      if (bodies.length >= ORDERS_AT_ONCE) await placeAll();
    }
  }
  await placeAll();
  return placed;
}

/** There is a step on either side. */
export function ticksOf(value: number, ticksPerUnit: number): number {
  return Math.min(Math.max(Math.round(value * ticksPerUnit), 2), ticksPerUnit - 2);
}
