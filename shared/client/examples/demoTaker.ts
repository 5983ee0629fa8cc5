/** Takes a little of what is best in some market, as those do who buy and sell in the flow of the demo. */
import { OUTCOME, type Outcome } from '../../base/codes.ts';
import { tickToPrice, tryParsePriceTicks } from '../../base/units.ts';
import type { ExchangeClient } from '../client.ts';
import { draftOrder } from '../order.ts';
import type { OrderSigning } from '../orderSigning.ts';

type TakerExchange = Pick<ExchangeClient, 'bbos' | 'balances' | 'orderMarket' | 'feeRate' | 'signAndPlace'>;

const MOST_TAKEN = 20;
const ATOMIC_PER_TOKEN = 1_000_000;
/** The limit is so much worse than the best price: a quote that moves before the order arrives is taken, too. */
const SLACK = 0.05;

/** Sells what the account has there, or buys; does nothing where no market is quoted on both sides. */
export async function take(exchange: TakerExchange, signer: OrderSigning, marketIds: readonly string[]): Promise<void> {
  const outcomeIndex: Outcome = Math.random() < 0.5 ? OUTCOME.YES : OUTCOME.NO;
  const asked = marketIds.map((market_id) => ({ market_id, outcome_index: outcomeIndex }));
  const [{ markets }, { tokens }] = await Promise.all([exchange.bbos(asked), exchange.balances()]);
  const quoted = markets.filter(({ best_bid, best_ask }) => best_bid !== null && best_ask !== null);
  if (quoted.length === 0) return;
  const { market_id: marketId, best_bid, best_ask } = quoted[Math.floor(Math.random() * quoted.length)];
  const held = tokens.find((row) => row.market_id === marketId && row.outcome_index === outcomeIndex);
  const holdsTokens = Math.floor(Number(held?.available ?? 0) / ATOMIC_PER_TOKEN);
  const isSale = holdsTokens > 0;
  const [market, { maker_fee_bps: feeRateBps }] = await Promise.all([
    exchange.orderMarket(marketId),
    exchange.feeRate(marketId),
  ]);
  const price = worst(isSale, (isSale ? best_bid : best_ask)!, market.ticks_per_unit);
  const size = String(isSale ? Math.min(holdsTokens, MOST_TAKEN) : 1 + Math.floor(Math.random() * MOST_TAKEN));
  const side = isSale ? 'SELL' : 'BUY';
  const order = { market, outcomeIndex, side, price, size, feeRateBps, timeInForce: 'FAK' } as const;
  await exchange.signAndPlace(signer, draftOrder(order));
}

/** The limit of an order that takes what is best now. */
function worst(isSale: boolean, best: string, ticksPerUnit: number): string {
  const slack = Math.ceil(SLACK * ticksPerUnit);
  const ticks = tryParsePriceTicks(best, ticksPerUnit) + (isSale ? -slack : slack);
  return tickToPrice(Math.min(Math.max(ticks, 1), ticksPerUnit - 1), ticksPerUnit);
}
