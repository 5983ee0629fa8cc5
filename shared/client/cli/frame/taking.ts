/** An order at the present prices, in the words of the terminal; the SDK computes what it takes. */
import type { Outcome } from '../../../base/codes.ts';
import { errorMessage } from '../../../base/thrown.ts';
import { parseUnits } from '../../amounts.ts';
import type { ExchangeClient } from '../../client.ts';
import type { MarketPreview } from '../../marketOrder.ts';
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
    fallback: '0.02',
  },
} as const satisfies OptionSpecs;

/** A sum of USDC, or a number of tokens. */
type Amount = { readonly usd: bigint } | { readonly size: bigint };
type Wanted = { readonly side: SideName; readonly outcome: Outcome; readonly maxSlippage: string };

const DECIMAL = /^\d+(?:\.\d+)?$/;
const USDC_FORM = /^(?:\$(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)(?:\$|usdc?))$/i;
const TOKENS_FORM = /^(\d+(?:\.\d+)?)tokens?$/i;
const AMOUNT_WORDS = "'$20' or 20usd for a sum, 20tokens for a quantity";

/** "$20", "20usd" or "20tokens". A bare number is refused, because a shell turns an unquoted $250 into 50. */
export function amountOf(text: string): Amount {
  const usdc = USDC_FORM.exec(text);
  const tokens = TOKENS_FORM.exec(text);
  if (usdc !== null) return { usd: unitsOf(usdc[1] ?? usdc[2]) };
  if (tokens !== null) return { size: unitsOf(tokens[1]) };
  const isNumber = DECIMAL.test(text);
  const why = isNumber ? ' (a shell takes a part of $20 away unless it is quoted)' : '';
  throw new UsageError(`${text} is no amount: ${AMOUNT_WORDS}${why}`);
}

/** Previews the orders that the SDK's `buy` and `sell` would place, and sends nothing. */
export async function takingOf(
  client: ExchangeClient,
  marketId: string,
  amount: Amount,
  { side, outcome, maxSlippage }: Wanted,
): Promise<MarketPreview> {
  if (!DECIMAL.test(maxSlippage)) throw new UsageError(`--max-slippage ${maxSlippage} is not a price in USDC (0.05)`);
  const order = { outcomeIndex: outcome, maxSlippage, ...amount };
  try {
    return await client.previewMarket(side, marketId, order);
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
}

function unitsOf(text: string): bigint {
  try {
    return parseUnits(text);
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}
