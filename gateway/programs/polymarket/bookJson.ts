/** Books and prices as their clients read them: decimals as texts, and the best price of each side last. */
import { createHash } from 'node:crypto';
import { formatPrice, formatUnits, parsePrice } from '../../../shared/client/amounts.ts';
import type { Listed, Outcome, Token } from './catalogue.ts';

type Level = { readonly price: string; readonly token_quantity_atomic: string };
export type Sides = { readonly bids: readonly Level[]; readonly asks: readonly Level[] };
type Summary = { readonly price: string; readonly size: string };

/** In "0.50" of a tick of 0.01 both digits are there, as in what clients send. */
export function priceText(price: string, { tick }: Pick<Listed, 'tick'>): string {
  const digits = tick.length - '0.'.length;
  const [whole, fraction = ''] = price.split('.');
  return `${whole}.${fraction.replace(/0+$/, '').padEnd(digits, '0')}`;
}

/** One token's book. Its hash is the SHA-1 of the same object with an empty hash, which clients compute as well. */
export function bookJson({ listed, tokenId }: Token, sides: Sides, timestampMs: number, lastPrice: string): object {
  const summaries = (levels: readonly Level[]): readonly Summary[] =>
    levels.toReversed().map(({ price, token_quantity_atomic }) => ({
      price: priceText(price, listed),
      size: formatUnits(token_quantity_atomic),
    }));
  const book = {
    market: listed.conditionId,
    asset_id: tokenId,
    timestamp: String(timestampMs),
    hash: '',
    bids: summaries(sides.bids),
    asks: summaries(sides.asks),
    min_order_size: formatUnits(listed.leastAtomic),
    tick_size: listed.tick,
    neg_risk: false,
    last_trade_price: lastPrice,
  };
  return { ...book, hash: createHash('sha1').update(JSON.stringify(book)).digest('hex') };
}

export type Best = { readonly bid: string | null; readonly ask: string | null };

/** Half way between the best prices; null where a side is empty. */
export function midpointOf({ bid, ask }: Best, { listed }: Token): string | null {
  if (bid === null || ask === null) return null;
  const ticks = ticksOf(bid, listed) + ticksOf(ask, listed);
  return ratioText(ticks, 2n * BigInt(listed.ticksPerUnit));
}

export function spreadOf({ bid, ask }: Best, { listed }: Pick<Token, 'listed'>): string | null {
  if (bid === null || ask === null) return null;
  const ticks = ticksOf(ask, listed) - ticksOf(bid, listed);
  return ticks > 0n ? priceText(ratioText(ticks, BigInt(listed.ticksPerUnit)), listed) : '0';
}

/** The price of a token, seen from the other one. */
export function otherPrice(price: string, { ticksPerUnit }: Pick<Listed, 'ticksPerUnit'>): string {
  return formatPrice(BigInt(ticksPerUnit) - parsePrice(price, ticksPerUnit), ticksPerUnit);
}

export function ofOutcome(priceOfYes: string, outcome: Outcome, listed: Listed): string {
  return outcome === 0 ? priceOfYes : otherPrice(priceOfYes, listed);
}

/** "0.65000000" of a record is 65 ticks. */
function ticksOf(price: string, { ticksPerUnit }: Pick<Listed, 'ticksPerUnit'>): bigint {
  return parsePrice(price, ticksPerUnit);
}

/** With six digits, which is enough for half a tick of every grid. */
function ratioText(part: bigint, whole: bigint): string {
  return formatUnits((part * 1_000_000n) / whole);
}
