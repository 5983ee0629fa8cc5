/**
 * Orders at the market: so many dollars or tokens, taken from the book at once, and never at a price that is worse than
 * the best one of now by more than the caller allows. The preview says exactly, in units, what the book of now gives; a
 * buyer never pays more than `usd`, whatever the book has become (SWEEP-1).
 */
import type { Outcome } from '../base/codes.ts';
import { checkedLots, formatPrice, parseUnits } from './amounts.ts';
import { atMarket } from './atMarket.ts';
import type { OrderMarket } from './order.ts';
import type { PlaceIntent } from './placer.ts';
import { feeOf, type Levels, type Side } from './sweep.ts';
import type { SelfTradeName } from './types.ts';

type VerifiedBook = { readonly marketId: string; readonly state: string; levels(outcome: Outcome): Levels };

type MarketOrderFields = {
  /** Yes unless it is given. */
  readonly outcomeIndex?: Outcome;
  /** A fill may be so much worse than the best price of now, in USDC per token: "0.02", or "0" for the best alone. */
  readonly maxSlippage: string;
  /** A verified book of the same market (`stream.openBook`), in place of one that is asked for. */
  readonly book?: VerifiedBook;
  readonly minTakerNet?: string;
  readonly selfTradePrevention?: SelfTradeName;
  readonly clientOrderId?: string;
  readonly orderGroup?: string;
};
/** In tokens: "12.5", a whole number such as 12, or 12_500_000n units. */
type OfTokens = { readonly size: string | number | bigint };
/** In USDC: "20.5", a whole number such as 20, or 20_500_000n units. */
type OfUsd = { readonly usd: string | number | bigint };
export type MarketBuy = MarketOrderFields & (OfUsd | OfTokens);
export type MarketSell = MarketOrderFields & OfTokens;

export type MarketPreview = {
  /** The order that is placed: it takes what it finds up to its limit, and its rest is cancelled (FAK). */
  readonly intent: PlaceIntent;
  readonly limitPrice: string;
  readonly sizeAtomic: bigint;
  /** If all is filled, a buyer pays this at most, and a seller gets it at least, before the fee. */
  readonly limitMicro: bigint;
  /** The tokens that the book of now gives or takes, and the USDC for them before the fee. */
  readonly filledAtomic: bigint;
  readonly notionalMicro: bigint;
  /** A buyer pays it in tokens, a seller in USDC; what arrives is after it. */
  readonly feeAtomic: bigint;
  readonly receivedAtomic: bigint;
  /** With eight digits, rounded down; null if the book has nothing up to the limit. */
  readonly averagePrice: string | null;
};

const UNITS = 1_000_000n;
const PRICE_DIGITS = 8;

/** @throws RangeError where nothing stands on the other side, or where the amount pays for no lot. */
export function marketPreview(
  side: Side,
  { market, feeRateBps }: { readonly market: OrderMarket; readonly feeRateBps: number },
  levels: Levels,
  order: MarketBuy | MarketSell,
): MarketPreview {
  const { outcomeIndex = 0, maxSlippage, book: _, ...rest } = order;
  const { usd, size, ...terms }: typeof rest & Partial<OfUsd & OfTokens> = rest;
  if ((usd === undefined) === (size === undefined)) throw new TypeError('an order at the market has usd or a size');
  if (usd !== undefined && side === 'SELL') throw new TypeError('a sale at the market has a size');
  if (maxSlippage === undefined) throw new TypeError("an order at the market has a maxSlippage, such as '0.02'");
  const ticksPerUnit = market.ticks_per_unit;
  const grid = BigInt(ticksPerUnit);
  const amount = usd === undefined ? { sizeAtomic: unitsOf(size!) } : { usdMicro: unitsOf(usd) };
  const slippage = { ticks: (unitsOf(maxSlippage) * grid) / UNITS, from: 'best' } as const;
  const taking = atMarket(levels, side, ticksPerUnit, amount, slippage);
  if (taking === null) throw new RangeError(`nothing is ${side === 'BUY' ? 'offered' : 'bid for'} at the moment`);
  const { limitTicks, lots, taken } = taking;
  if (lots <= 0n) throw new RangeError('the amount pays for no lot of tokens');
  if (usd === undefined && unitsOf(size!) % grid !== 0n) throw new RangeError(`${size} is no whole number of lots`);
  checkedLots(lots, ticksPerUnit);
  const limit = BigInt(limitTicks);
  const gross = side === 'BUY' ? taken.filledAtomic : taken.notionalMicro;
  const feeAtomic = feeOf(gross, feeRateBps);
  return {
    intent: {
      ...terms,
      marketId: market.id,
      outcomeIndex,
      side,
      priceTicks: limit,
      quantityLots: lots,
      timeInForce: 'FAK',
    },
    limitPrice: formatPrice(limit, ticksPerUnit),
    sizeAtomic: lots * grid,
    limitMicro: lots * limit,
    filledAtomic: taken.filledAtomic,
    notionalMicro: taken.notionalMicro,
    feeAtomic,
    receivedAtomic: gross - feeAtomic,
    averagePrice: taken.filledAtomic === 0n ? null : ratio(taken.notionalMicro, taken.filledAtomic),
  };
}

/** A text in its decimals, a number that is whole, and so exact, or units. */
function unitsOf(amount: string | number | bigint): bigint {
  if (typeof amount === 'bigint') return amount;
  if (typeof amount === 'string') return parseUnits(amount);
  if (Number.isSafeInteger(amount)) return parseUnits(String(amount));
  throw new TypeError(`an amount is a text such as '0.65' or a whole number, not a number such as ${amount}`);
}

function ratio(notionalMicro: bigint, quantityAtomic: bigint): string {
  const scaled = String((notionalMicro * 10n ** BigInt(PRICE_DIGITS)) / quantityAtomic).padStart(PRICE_DIGITS + 1, '0');
  return `${scaled.slice(0, -PRICE_DIGITS)}.${scaled.slice(-PRICE_DIGITS)}`;
}

/** @throws Error unless the book is that of the market as it is now. */
export function checkBook(book: VerifiedBook, marketId: string): void {
  if (book.marketId !== marketId.toLowerCase()) throw new Error(`the book is that of market ${book.marketId}`);
  if (book.state !== 'live') throw new Error(`the book is ${book.state}: it promises nothing`);
}
