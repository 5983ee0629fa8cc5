/**
 * Tickers as clients see them (RULES.md 13.14): the best prices from the views, the trades from the read model.
 *
 * Invariant:
 *   TICKERS-1  A ticker whose content has not changed since it was last shown keeps its time, so that documents of
 *              markets in which nothing has happened are the same, byte for byte.
 */

import type { Clock } from '../../shared/base/clock.ts';
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { productToString } from '../../shared/base/int.ts';
import { signedTicksToPrice } from '../../shared/base/units.ts';
import { type BookSide, NO_TICK } from '../shardlink/bookViews.ts';
import { bookPrices, tradePrice } from '../shardlink/prices.ts';
import type { Views } from '../shardlink/views.ts';
import type { DayTrade } from './dayTradingQueries.ts';

type TickerDeps = { readonly views: Pick<Views, 'markets' | 'books'>; readonly clock: Clock };
type Traded = { readonly traded: DayTrade | null; readonly lastYesTicks: number };
/** A ticker depends on these facts and on the book at that sequence number. */
type Facts = Traded & { readonly sequence: number; readonly collateralMicro: number };
type Shown = { readonly facts: Facts; readonly text: string };

const NOTHING: Omit<DayTrade, 'market'> = {
  ...{ trades: 0, tokensAtomic: 0n, notionalMicro: 0n, volumeMicro: 0n },
  ...{ openTicks: NO_TICK, highTicks: NO_TICK, lowTicks: NO_TICK, closeTicks: NO_TICK },
};

export class TickerTexts {
  readonly #deps: TickerDeps;
  /** The last shown tickers by outcome and market. */
  readonly #shown: readonly Map<number, Shown>[] = [new Map(), new Map()];

  constructor(deps: TickerDeps) {
    this.#deps = deps;
  }

  /** A ticker as JSON text (TICKERS-1). */
  text(market: number, outcome: Outcome, traded: Traded): string {
    const { views, clock } = this.#deps;
    const collateralMicro = views.markets.collateralMicro[market];
    const facts = { ...traded, sequence: views.markets.sequence(market), collateralMicro };
    const shown = this.#shown[outcome];
    const before = shown.get(market);
    if (before !== undefined && areSame(before.facts, facts)) return before.text;
    const text = `${textOf(views, market, outcome, facts)},"timestamp":${clock.nowMs()}}`;
    shown.set(market, { facts, text });
    return text;
  }

  /** The market is decided: clients no longer ask for all of its tickers. */
  forget(market: number): void {
    for (const shown of this.#shown) shown.delete(market);
  }
}

/** Every change of a book has a sequence number of its own. */
function areSame(a: Facts, b: Facts): boolean {
  const isSame = a.sequence === b.sequence && a.collateralMicro === b.collateralMicro;
  return isSame && a.lastYesTicks === b.lastYesTicks && areSameTrades(a.traded ?? NOTHING, b.traded ?? NOTHING);
}

function areSameTrades(a: Omit<DayTrade, 'market'>, b: Omit<DayTrade, 'market'>): boolean {
  const isSame = a.trades === b.trades && a.tokensAtomic === b.tokensAtomic && a.notionalMicro === b.notionalMicro;
  const isPriced = a.openTicks === b.openTicks && a.highTicks === b.highTicks && a.lowTicks === b.lowTicks;
  return isSame && isPriced && a.volumeMicro === b.volumeMicro && a.closeTicks === b.closeTicks;
}

/** Everything but the time, without the closing brace. */
function textOf({ markets, books }: TickerDeps['views'], market: number, outcome: Outcome, day: Facts): string {
  const ticksPerUnit = markets.ticksPerUnit(market);
  const book = books.of(market);
  const isYes = outcome === OUTCOME.YES;
  const traded = day.traded ?? NOTHING;
  const price = (yesTicks: number): string | null => tradePrice(yesTicks, outcome, ticksPerUnit);
  const { best_bid, best_ask, spread, midpoint } = bookPrices(book, outcome, ticksPerUnit);
  const quantity = (side: BookSide | undefined, isBid: boolean): string | null => {
    const tick = side === undefined ? NO_TICK : isBid ? side.highest() : side.lowest();
    return tick === NO_TICK ? null : productToString(side!.lots[tick], ticksPerUnit);
  };
  const [bidQuantity, askQuantity] = [quantity(book?.bids, true), quantity(book?.asks, false)];
  return JSON.stringify({
    market_id: markets.id(market),
    outcome_index: outcome,
    last_price: price(day.lastYesTicks),
    change: changeOf(traded, isYes, ticksPerUnit),
    open: price(traded.openTicks),
    // The highest price of No belongs to the lowest of Yes.
    high: price(isYes ? traded.highTicks : traded.lowTicks),
    low: price(isYes ? traded.lowTicks : traded.highTicks),
    token_quantity_atomic: String(traded.tokensAtomic),
    notional_usdc_micro: String(isYes ? traded.notionalMicro : traded.tokensAtomic - traded.notionalMicro),
    volume_usdc_micro: String(traded.volumeMicro),
    trades: traded.trades,
    ...{ best_bid, best_ask },
    best_bid_quantity_atomic: isYes ? bidQuantity : askQuantity,
    best_ask_quantity_atomic: isYes ? askQuantity : bidQuantity,
    ...{ spread, midpoint },
    open_interest_atomic: String(day.collateralMicro),
    sequence: day.sequence,
  }).slice(0, -1);
}

/** From the first to the last price; null without a trade. */
export function changeOf(
  { openTicks, closeTicks, trades }: Pick<DayTrade, 'openTicks' | 'closeTicks' | 'trades'>,
  isYes: boolean,
  ticksPerUnit: number,
): string | null {
  if (trades === 0) return null;
  const ticks = isYes ? closeTicks - openTicks : openTicks - closeTicks;
  return signedTicksToPrice(ticks, ticksPerUnit);
}
