/**
 * The quotes of a page of markets: prices of their books, indications of desks, the prices of the last trades, and how
 * these changed in 24 hours (RULES.md 12.36).
 */
import type { Quote } from '../../shared/api/quotes.ts';
import { assert } from '../../shared/base/assert.ts';
import { OUTCOME } from '../../shared/base/codes.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { bookPrices, midsOf, tradePrice } from '../shardlink/prices.ts';
import type { Views } from '../shardlink/views.ts';
import type { MarketEntry } from './catalog.ts';
import type { MarketDay } from './dayTradingQueries.ts';
import { separated } from './eventJson.ts';
import type { Indications } from './indications.ts';
import { changeOf } from './summaryTickerTexts.ts';

type QuoteDeps = { readonly views: Pick<Views, 'books'>; readonly indications: Pick<Indications, 'of'> };

/** The texts about one market. */
type Quoted = {
  readonly quote: string;
  /** Null without orders on both sides. */
  readonly mids: string | null;
  /** Null without an indication that is in force. */
  readonly indication: string | null;
};

export class PageQuotes {
  readonly #deps: QuoteDeps;
  readonly #nowMs: number;
  readonly #updatedAt: string;
  /** By the id of the market, in the order of the page. */
  readonly #quoted = new Map<string, Quoted>();

  constructor(deps: QuoteDeps, nowMs: number) {
    this.#deps = deps;
    this.#nowMs = nowMs;
    this.#updatedAt = new Date(nowMs).toISOString();
  }

  /**
   * Reads the quotes of these markets; yields no text.
   * @param days the trading of each of them, by its position
   */
  *collect(markets: readonly MarketEntry[], days: readonly MarketDay[]): Generator<string> {
    for (const [position, market] of markets.entries()) {
      assert(!this.#quoted.has(market.id), 'quotes: a market is on a page once');
      const mids = midsOf(this.#deps.views.books.of(market.index));
      this.#quoted.set(market.id, {
        quote: JSON.stringify(this.#quoteOf(market, days[position])),
        mids: mids === null ? null : `[${mids.join(',')}]`,
        indication: this.#indicationOf(market),
      });
      yield '';
    }
  }

  /** The quote of a market of the page. */
  quoteOf(marketId: string): string {
    return this.#quoted.get(marketId)!.quote;
  }

  /** The members about the whole page. */
  *members(): Generator<string> {
    yield '"ids":[';
    yield* separated(this.#ids());
    yield '],"desk_indications":{';
    yield* separated(this.#texts('indication'));
    yield '},"on_chain":{';
    yield* separated(this.#texts('mids'));
    yield '},"covered":[';
    yield* separated(this.#ids());
    yield `],"updated_at":"${this.#updatedAt}"`;
  }

  /** An answer that has only these members. */
  *alone(): Generator<string> {
    yield '{';
    yield* this.members();
    yield '}';
  }

  *#ids(): Generator<string> {
    for (const id of this.#quoted.keys()) yield `"${id}"`;
  }

  *#texts(name: 'mids' | 'indication'): Generator<string> {
    for (const [id, quoted] of this.#quoted) {
      const text = quoted[name];
      if (text !== null) yield `"${id}":${text}`;
    }
  }

  #quoteOf({ index, ticksPerUnit }: MarketEntry, { traded, lastYesTicks }: MarketDay): Quote {
    const book = this.#deps.views.books.of(index);
    const { best_bid, best_ask, midpoint } = bookPrices(book, OUTCOME.YES, ticksPerUnit);
    return {
      ...{ best_bid, best_ask, midpoint },
      last_price: tradePrice(lastYesTicks, OUTCOME.YES, ticksPerUnit),
      change: traded === null ? null : changeOf(traded, true, ticksPerUnit),
      volume_usdc_micro: String(traded?.volumeMicro ?? 0n),
      updated_at: this.#updatedAt,
    };
  }

  #indicationOf({ index, ticksPerUnit }: MarketEntry): string | null {
    const indication = this.#deps.indications.of(index, this.#nowMs);
    if (indication === null) return null;
    const { bidTicks, askTicks, expiresMs } = indication;
    return JSON.stringify({
      bid: tickToPrice(bidTicks, ticksPerUnit),
      ask: tickToPrice(askTicks, ticksPerUnit),
      expires_at: new Date(expiresMs).toISOString(),
    });
  }
}
