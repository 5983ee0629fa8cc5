/**
 * An order at the prices that are there: how much of the book a sum or a quantity takes, and the worst price of it,
 * which becomes the limit of a FAK order. So what is printed before it is sent is what it does if the book stays.
 */
import type { Outcome } from '../../../base/codes.ts';
import { formatPrice, formatUnits, parsePrice, parseUnits } from '../../amounts.ts';
import type { ExchangeClient } from '../../client.ts';
import type { OrderMarket } from '../../order.ts';
import { facing, sweep, sweepBudget } from '../../sweep.ts';
import type { SideName } from '../../types.ts';
import type { OptionSpecs } from './command.ts';
import { UsageError } from './errors.ts';

export const MARKET_ORDER_OPTIONS = {
  'market-order': {
    description: 'at the prices that are there, in place of --price: what the book has not is not bought',
  },
  'max-slippage': {
    value: 'usdc',
    description: 'a market order: how far from the best price at most',
    fallback: '0.05',
  },
} as const satisfies OptionSpecs;

/** A sum of USDC, or a number of tokens. */
type Amount = { readonly usdcMicro: bigint } | { readonly tokensAtomic: bigint };
type Wanted = { readonly side: SideName; readonly outcome: Outcome; readonly maxSlippage: string };
type Taking = {
  /** The worst price that is taken. */
  readonly price: string;
  readonly size: string;
  readonly costMicro: bigint;
  /** False: the book has less within the slippage. */
  readonly isWhole: boolean;
};

const LEVELS = 100;
const USDC_FORM = /^(?:\$(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)(?:\$|usdc?))$/i;
const TOKENS_FORM = /^(\d+(?:\.\d+)?)tokens?$/i;
const AMOUNT_WORDS = "'$20' or 20usd for a sum, 20tokens for a quantity";

/** "$20", "20usd" or "20tokens". A number alone is refused: of $250 that is not quoted a shell leaves 50. */
export function amountOf(text: string): Amount {
  const usdc = USDC_FORM.exec(text);
  const tokens = TOKENS_FORM.exec(text);
  if (usdc !== null) return { usdcMicro: unitsOf(usdc[1] ?? usdc[2]) };
  if (tokens !== null) return { tokensAtomic: unitsOf(tokens[1]) };
  const isNumber = /^\d+(?:\.\d+)?$/.test(text);
  const why = isNumber ? ' (a shell takes a part of $20 away unless it is quoted)' : '';
  throw new UsageError(`${text} is no amount: ${AMOUNT_WORDS}${why}`);
}

/** A buyer never pays more than the sum, whatever the book has become (MARKETORDER-1). */
export async function takingOf(
  client: ExchangeClient,
  market: OrderMarket,
  amount: Amount,
  { side, outcome, maxSlippage }: Wanted,
): Promise<Taking> {
  const book = await client.book(market.id, { outcome_index: outcome, levels: LEVELS });
  const ticksPerUnit = market.ticks_per_unit;
  const lotAtomic = BigInt(ticksPerUnit);
  const [best] = facing(book, side);
  if (best === undefined) throw new UsageError(`there is no order to ${side === 'BUY' ? 'buy from' : 'sell to'}`);
  const slippageTicks = slippageOf(maxSlippage) / (1_000_000n / lotAtomic);
  const bestTicks = parsePrice(best.price, ticksPerUnit);
  const limit = Number(side === 'BUY' ? bestTicks + slippageTicks : bestTicks - slippageTicks);
  const isSum = 'usdcMicro' in amount;
  const near = { ...book, asks: book.asks.filter(({ price }) => parsePrice(price, ticksPerUnit) <= limit) };
  const walked = isSum
    ? sweepBudget(near, ticksPerUnit, amount.usdcMicro)
    : sweep(book, side, ticksPerUnit, amount.tokensAtomic - (amount.tokensAtomic % lotAtomic), limit);
  const last = BigInt(walked.lastTicks ?? bestTicks);
  const affordable = isSum ? (amount.usdcMicro / last) * lotAtomic : walked.filledAtomic;
  const sizeAtomic = affordable < walked.filledAtomic ? affordable : walked.filledAtomic;
  if (sizeAtomic === 0n)
    throw new UsageError(`that is less than the smallest quantity, ${formatUnits(lotAtomic)} tokens`);
  return {
    price: formatPrice(last, ticksPerUnit),
    size: formatUnits(sizeAtomic),
    costMicro: sweep(book, side, ticksPerUnit, sizeAtomic).notionalMicro,
    isWhole: isSum ? amount.usdcMicro - walked.notionalMicro < last : amount.tokensAtomic - sizeAtomic < lotAtomic,
  };
}

function slippageOf(text: string): bigint {
  try {
    return parseUnits(text);
  } catch {
    throw new UsageError(`--max-slippage ${text} is not a price in USDC (0.05)`);
  }
}

function unitsOf(text: string): bigint {
  try {
    return parseUnits(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
