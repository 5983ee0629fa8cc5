/** Makes an order from the ticket, has the wallet sign it, and sends it. */
import type { Outcome } from '../../../shared/base/codes.ts';
import { sumToDecimal } from '../../../shared/base/units.ts';
import { ApiError } from '../../../shared/client/http.ts';
import type { Side } from '../../../shared/client/sweep.ts';
import type {
  AmendResponse,
  Market,
  NonceFloor,
  PlacementBody,
  PlacementResponse,
  PlatformConfig,
  SelfTradeName,
  TimeInForceName,
  UserOrder,
} from '../../../shared/client/types.ts';
import type { Eip712Domain } from '../../../shared/crypto/eip712.ts';
import { get } from './api.ts';
import { part } from './parts.ts';
import { sendOnce } from './sending.ts';
import { ask } from './session.ts';
import { currentWallet, loadSigner } from './wallets.ts';

/** The parts of an order that its person chooses. */
type Choice = {
  readonly market: Market;
  readonly ticksPerUnit: number;
  readonly outcome: Outcome;
  readonly side: Side;
  /** Price in USDC: "0.555". */
  readonly price: string;
  readonly sizeAtomic: bigint;
  readonly timeInForce: TimeInForceName;
  readonly expirationSec: number;
  readonly isPostOnly: boolean;
  readonly leastNetAtomic: bigint;
  readonly selfTrade: SelfTradeName;
  /** Names of an order that replaces another: they stay. */
  readonly names?: { readonly client_order_id?: string | undefined; readonly order_group?: string | undefined };
};

export async function place(choice: Choice, onUnanswered: () => void): Promise<PlacementResponse> {
  return checked(sendOnce('POST', '/v1/orders', await signed(choice), onUnanswered));
}

/**
 * Replaces an open order by a new one in one step, unless the order was filled since it was shown (RULES.md 7.10,
 * 7.15).
 */
export async function amend(old: UserOrder, choice: Choice, onUnanswered: () => void): Promise<AmendResponse> {
  const body = { new_order: await signed(choice), expected_remaining: old.remaining };
  return checked(sendOnce('PUT', `/v1/orders/${old.order_hash}/amend`, body, onUnanswered));
}

const orderPart = () => part(() => import('../../../shared/client/order.ts'));

/**
 * Loads what signing needs before an order does: a tab that is open during an upgrade has it, and goes on trading. A
 * part that cannot be loaded yet is asked for again by the order.
 */
export function prepareToSign(): void {
  for (const loading of [orderPart(), loadSigner()]) loading.catch(() => {});
}

let domain: Promise<Eip712Domain> | null = null;

/** Loads the domain once for all orders, as long as it is accepted. */
function signingDomain(): Promise<Eip712Domain> {
  domain ??= get<PlatformConfig>('/v1/platform/config').then((config) => config.eip712_domain!);
  domain.catch(forgetDomain);
  return domain;
}

function forgetDomain(): void {
  domain = null;
}

let floor: { readonly wallet: string; readonly nonce: Promise<NonceFloor> } | null = null;

/** The lowest nonce that the exchange accepts from the wallet (RULES.md 5.12). */
async function nonceOf(wallet: string): Promise<number> {
  if (floor?.wallet !== wallet) floor = { wallet, nonce: ask('GET', `/v1/wallets/${wallet}/nonce-floor`) };
  floor.nonce.catch(forgetFloor);
  return (await floor.nonce).nonce_floor;
}

function forgetFloor(): void {
  floor = null;
}

/** A refused signature may have been made for contracts that were replaced, or below a floor that was raised. */
async function checked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'INVALID_SIGNATURE') forgetDomain();
    if (error instanceof ApiError && error.code === 'NONCE_BELOW_FLOOR') forgetFloor();
    throw error;
  }
}

async function signed(choice: Choice): Promise<PlacementBody> {
  const { market, ticksPerUnit, outcome, side, price, sizeAtomic, timeInForce, expirationSec, names } = choice;
  const [wallet, { draftOrder }, eip712Domain] = await Promise.all([currentWallet(), orderPart(), signingDomain()]);
  const tokens = { yes_token_id: market.yes_token_id, no_token_id: market.no_token_id };
  const draft = draftOrder({
    market: { id: market.id, ticks_per_unit: ticksPerUnit, ...tokens },
    outcomeIndex: outcome,
    side,
    price,
    size: sumToDecimal(sizeAtomic),
    feeRateBps: market.fee_bps,
    nonce: await nonceOf(wallet.address),
    timeInForce,
    expirationSec,
    postOnly: choice.isPostOnly,
    ...(choice.leastNetAtomic === 0n ? {} : { minTakerNet: String(choice.leastNetAtomic) }),
    ...(choice.selfTrade === 'none' ? {} : { selfTradePrevention: choice.selfTrade }),
    ...(names?.client_order_id === undefined ? {} : { clientOrderId: names.client_order_id }),
    ...(names?.order_group === undefined ? {} : { orderGroup: names.order_group }),
  });
  return wallet.signOrder(draft, eip712Domain);
}
