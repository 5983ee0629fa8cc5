/** Makes an order from a ticket, has the wallet sign it, and sends it once. */
import type { Outcome } from '../../shared/base/codes.ts';
import type { Market, PlacementResponse, PlatformConfig } from '../../shared/client/types.ts';
import { get, isUnanswered } from './api.ts';
import { ask } from './session.ts';
import { currentWallet } from './wallets.ts';

export type Kind = 'GTC' | 'FAK' | 'FOK' | 'POST_ONLY';
export const KINDS: readonly (readonly [Kind, string])[] = [
  ['GTC', 'Limit: the rest stays in the book'],
  ['POST_ONLY', 'Limit that never takes'],
  ['FAK', 'At once: the rest is cancelled'],
  ['FOK', 'All at once or nothing'],
];

type Placing = {
  readonly market: Market;
  readonly ticksPerUnit: number;
  readonly outcome: Outcome;
  readonly side: 'BUY' | 'SELL';
  readonly kind: Kind;
  readonly price: string;
  readonly size: string;
};

export async function place({
  market,
  ticksPerUnit,
  outcome,
  side,
  kind,
  price,
  size,
}: Placing): Promise<PlacementResponse> {
  const [wallet, { draftOrder }, config] = await Promise.all([
    currentWallet(),
    import('../../shared/client/order.ts'),
    get<PlatformConfig>('/v1/platform/config'),
  ]);
  const tokens = { yes_token_id: market.yes_token_id!, no_token_id: market.no_token_id! };
  const draft = draftOrder({
    market: { id: market.id, ticks_per_unit: ticksPerUnit, ...tokens },
    outcomeIndex: outcome,
    side,
    price,
    size,
    feeRateBps: market.fee_bps,
    timeInForce: kind === 'POST_ONLY' ? 'GTC' : kind,
    postOnly: kind === 'POST_ONLY',
  });
  const order = await wallet.signOrder(draft, config.eip712_domain!);
  try {
    return await ask('POST', '/v1/orders', order);
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    throw new Error('No answer: the order may have been placed. Look at your orders before you send another.');
  }
}
