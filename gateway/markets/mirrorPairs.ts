/**
 * Mirror moneylines (RULES.md 12.31): the same game listed twice, with the two outcomes in opposite order. Their books
 * never meet, so one of the two is named canonical, and makers quote there.
 */
import { MARKET_STATUS, type MarketStatus } from '../../shared/base/codes.ts';
import type { MarketEntry } from './catalog.ts';

/** The present status of a market; null until its shard has opened it. */
export type StatusOf = (market: MarketEntry) => MarketStatus | null;

export type MirrorPair = { readonly canonical: MarketEntry; readonly mirror: MarketEntry };

/**
 * Returns the pair among the markets of one event; null if there is none, or if it is unclear which two markets it is.
 */
export function mirrorPair(markets: readonly MarketEntry[], statusOf: StatusOf): MirrorPair | null {
  const moneylines = markets.filter(({ details }) => details.external_market_type === 'moneyline');
  const candidates = moneylines.filter((market) => isListed(statusOf(market)));
  if (candidates.length !== 2) return null;
  const [a, b] = candidates;
  const [first, second] = a.details.outcomes;
  if (b.details.outcomes[0] !== second || b.details.outcomes[1] !== first) return null;
  // A moneyline about another result, such as a draw, makes the event a fixture with three results.
  if (!moneylines.every(({ details }) => details.outcomes.includes(first) && details.outcomes.includes(second))) {
    return null;
  }
  return isCanonical(a, b) ? { canonical: a, mirror: b } : { canonical: b, mirror: a };
}

/** Traders cannot use a draft or a cancelled market, so neither can replace its mirror. */
function isListed(status: MarketStatus | null): boolean {
  return status !== null && status !== MARKET_STATUS.DRAFT && status !== MARKET_STATUS.CANCELLED;
}

/** Decided by texts that stay the same as long as the two markets do; never by liquidity, which moves all day. */
function isCanonical(a: MarketEntry, b: MarketEntry): boolean {
  const [ofA, ofB] = [subTicker(a), subTicker(b)];
  return ofA === ofB ? a.id < b.id : ofA < ofB;
}

/** "LAL" of "NBA-26JAN10LALBOS-LAL": the suffix that the provider appends to the ticker of the game. */
function subTicker({ details }: MarketEntry): string {
  const ticker = details.external_event_id ?? '';
  return ticker.slice(ticker.lastIndexOf('-') + 1);
}
