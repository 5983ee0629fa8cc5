/**
 * Which markets of the demo are quoted and traded, and at which value of Yes: those that a visitor sees on the cards of
 * the home page. The values of one question are consistent, and stay as they are for the life of a demo.
 */
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { shareOf, valuesOf } from '../../shared/client/examples/demoBreadth.ts';
import type { EventEntry, MarketEntry } from '../markets/catalog.ts';
import { typeOf } from '../markets/enumerations.ts';
import { mirrorPair, type StatusOf } from '../markets/mirrorPairs.ts';
import { coreLines } from '../markets/tiles.ts';

export type ValuedMarket = { readonly market: MarketEntry; readonly value: number };
export type ValuedQuestion = { readonly isExclusive: boolean; readonly markets: readonly ValuedMarket[] };

type Quotable = {
  readonly statusOf: StatusOf;
  /** The value at which a book of the demo is quoted already. */
  readonly quotedValue: (market: MarketEntry) => number | undefined;
};

const LEAST_VALUE = 0.03;
const WHOLE_PERCENT = 100;

export function valuedQuestions(events: readonly EventEntry[], quotable: Quotable): ValuedQuestion[] {
  return events.flatMap((event) => {
    const mirror = mirrorPair(event.markets, quotable.statusOf)?.mirror;
    const isQuotable = (market: MarketEntry): boolean =>
      market !== mirror && quotable.statusOf(market) === MARKET_STATUS.ACTIVE && !isCuriosity(market);
    const byType = Map.groupBy(coreLines(event.markets.filter(isQuotable)), typeOf);
    return [...byType].map(([type, markets]): ValuedQuestion => {
      const isExclusive =
        event.details.external_event_mutually_exclusive === true && type !== 'total' && type !== 'spread';
      // Of others the first stands for its kind: another line of the same game.
      const chosen = isExclusive ? markets : markets.slice(0, 1);
      const values = consistent(chosen, isExclusive, quotable);
      return { isExclusive, markets: chosen.map((market, at) => ({ market, value: values[at] })) };
    });
  });
}

/** The others divide what those that are quoted already leave, in proportion to their values. */
function consistent(markets: readonly MarketEntry[], isExclusive: boolean, { quotedValue }: Quotable): number[] {
  const drawn = valuesOf(markets, isExclusive);
  const values = markets.map((market, at) => quotedValue(market) ?? postedValue(market) ?? drawn[at]);
  if (!isExclusive) return values;
  const sum = (isQuoted: boolean): number =>
    values.reduce((all, value, at) => all + ((quotedValue(markets[at]) !== undefined) === isQuoted ? value : 0), 0);
  const factor = Math.max(1 - sum(true), LEAST_VALUE) / sum(false);
  return values.map((value, at) => (quotedValue(markets[at]) === undefined ? value * factor : value));
}

/** The estimate of the provider. */
function postedValue({ details }: MarketEntry): number | undefined {
  const yes = details.outcome_probabilities?.[0];
  return yes === undefined ? undefined : Math.min(Math.max(yes / WHOLE_PERCENT, LEAST_VALUE), 1 - LEAST_VALUE);
}

function isCuriosity({ details }: MarketEntry): boolean {
  return (details.subcategories ?? []).includes('novelty');
}

/** From 0 to 1: few markets are traded often. The same market is as popular at every start. */
export function popularityOf({ id }: MarketEntry): number {
  return shareOf(`popularity of ${id}`);
}
