/** Buying and selling at the present prices, for a sum or a quantity. */
import { command } from '../frame/command.ts';
import { UsageError } from '../frame/errors.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import { ORDER_OPTIONS, SIDE_OF } from '../frame/orderForm.ts';
import { signGiven } from '../frame/signing.ts';
import { amountOf, MARKET_ORDER_OPTIONS, takingOf } from '../frame/taking.ts';
import { decimal, shownPrice } from '../frame/text.ts';
import { sendSigned } from './placing.ts';

const { outcome, 'client-id': clientId, group, maker } = ORDER_OPTIONS;
const OPTIONS = {
  outcome,
  'max-slippage': MARKET_ORDER_OPTIONS['max-slippage'],
  preview: { description: 'print what it would do, and send nothing' },
  'client-id': clientId,
  group,
  maker,
} as const;
/** Options that belong to another kind of order. */
const NOT_GIVEN = {
  file: undefined,
  'expires-in': undefined,
  'expires-at': undefined,
  'post-only': false,
  'min-receive': undefined,
  'self-trade': undefined,
  nonce: undefined,
  'market-order': false,
} as const;

export const BUYING = (['buy', 'sell'] as const).map((side) =>
  command({
    name: side,
    summary:
      side === 'buy'
        ? 'Buy tokens at the prices that are there, for a sum or so many'
        : 'Sell so many tokens at the prices that are there',
    details:
      'What the book has within --max-slippage of its best price is taken, never at a worse one, and the rest is ' +
      'left. ' +
      (side === 'buy'
        ? "A sum is '$20', in quotes because of the shell, or 20usd. It buys the tokens that it pays for at the " +
          'worst of these prices, so that never more is paid, and less at better ones; a quantity is 20tokens.'
        : 'A quantity is 20tokens.'),
    access: 'wallet',
    arguments: {
      market: { description: MARKET_WORDS },
      amount: { description: side === 'buy' ? "'$20', 20usd or 20tokens" : '20tokens' },
    },
    options: OPTIONS,
    examples: [
      ...(side === 'buy' ? ["buy MARKET '$20'", 'buy MARKET 20usd --preview'] : []),
      `${side} MARKET 20tokens --outcome no --max-slippage 0.01`,
    ],
    json: 'the answer of POST /v1/orders; with --preview `{price, size, cost_usdc_micro, is_whole}`',
    run: async (context, given) => {
      const amount = amountOf(given.amount);
      if (side === 'sell' && 'usd' in amount) throw new UsageError('what is sold is a quantity: 20tokens');
      const client = await context.client();
      const marketId = await context.marketId(given.market);
      const wanted = {
        side: SIDE_OF[side],
        outcome: await context.outcome(marketId, given.outcome),
        maxSlippage: given['max-slippage'],
      };
      const { limitPrice: price, sizeAtomic, ...now } = await takingOf(client, marketId, amount, wanted);
      const size = decimal(sizeAtomic);
      const isWhole = now.filledAtomic === sizeAtomic;
      const average = now.averagePrice === null ? '' : ` at ${shownPrice(now.averagePrice)} on average`;
      const lines = [
        `${decimal(now.filledAtomic)} tokens for ${decimal(now.notionalMicro)} USDC${average}, before the fee; ` +
          `${size} at ${shownPrice(price)} at worst`,
        ...(isWhole ? [] : [`the book has no more within ${given['max-slippage']} of its best price`]),
      ];
      if (given.preview) {
        const value = { price, size, cost_usdc_micro: String(now.notionalMicro), is_whole: isWhole };
        return { value, lines };
      }
      for (const line of lines) context.note(line);
      const order = { ...NOT_GIVEN, ...given, market: marketId, side, price, size, tif: 'fak' as const };
      return sendSigned(context, client, await signGiven(context, client, order), {});
    },
  }),
);
