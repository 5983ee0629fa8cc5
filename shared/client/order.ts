/**
 * Turns "buy 100 at 0.65" into the exact amounts of an order, which rounds nothing. What signs them is in
 * orderSigner.ts: a program whose wallet signs by itself does not load the code of private keys.
 */
import { isImmediate, MAX_ORDER_AMOUNT, type Outcome, TIME_IN_FORCE } from '../base/codes.ts';
import {
  checkedLots,
  checkedTicks,
  formatUnits,
  PRICE_SCALE,
  parseLots,
  parsePrice,
  parseScaledPrice,
  parseUnits,
} from './amounts.ts';
import { checkedSide } from './sweep.ts';
import type { PlacementBody, SelfTradeName, SideName, TimeInForceName } from './types.ts';

/** The parts of a market that an order depends on: its tokens and its grid. */
export type OrderMarket = { id: string; yes_token_id: string; no_token_id: string; ticks_per_unit: number };

type IntentFields = {
  market: OrderMarket;
  outcomeIndex: Outcome;
  side: SideName;
  feeRateBps: number;
  /** At least the floor of the maker (RULES.md 5.12): what `place` signs; 0 where a draft is made without a client. */
  nonce?: number | undefined;
  expirationSec?: number | undefined;
  timeInForce?: TimeInForceName | undefined;
  postOnly?: boolean | undefined;
  minTakerNet?: string | undefined;
  selfTradePrevention?: SelfTradeName | undefined;
  /** The client order id and the order group are not signed. */
  clientOrderId?: string | undefined;
  orderGroup?: string | undefined;
};

/**
 * `price` in USDC per token ("0.65") and `size` in tokens ("12.5"). GTC and GTD have both on the market's grid; FOK and
 * FAK need only come out in whole units of USDC (RULES.md 1.4).
 */
export type OrderIntent = IntentFields & { price: string; size: string };

/** The same in the integers of the exchange: 65n ticks of a market with 100, 125,000n lots of 0.0001 tokens. */
export type ExactIntent = IntentFields & { priceTicks: bigint; quantityLots: bigint };

/** Every member of an intent, whichever way it says its amounts. */
const MEMBERS: Readonly<Record<keyof (OrderIntent & ExactIntent), true>> = {
  ...{ market: true, outcomeIndex: true, side: true, price: true, size: true, priceTicks: true, quantityLots: true },
  ...{ feeRateBps: true, nonce: true, expirationSec: true, timeInForce: true, postOnly: true, minTakerNet: true },
  ...{ selfTradePrevention: true, clientOrderId: true, orderGroup: true },
};

/** A placement body without wallets, salt and signature. */
export type OrderDraft = Omit<PlacementBody, 'maker' | 'signer' | 'taker' | 'salt' | 'signature'>;

export type SignedOrder = { body: PlacementBody; orderHash: string };

/** `maker` is the wallet that pays, if the signing key is its delegate; the salt is random unless given. */
export type SigningOptions = { maker?: string | undefined; salt?: string | undefined };

/**
 * Throws a RangeError for a price and a size that the exchange would refuse whatever the book is, or that no whole
 * amounts say, and a TypeError for one that is a number of JavaScript, and for a member that it does not know: an order
 * with `postonly` would take from the book.
 */
export function draftOrder(intent: OrderIntent | ExactIntent): OrderDraft {
  const { market } = intent;
  for (const name of Object.keys(intent)) if (!Object.hasOwn(MEMBERS, name)) throw unknownMember(name);
  const side = checkedSide(intent.side);
  const { quantityAtomic, notionalMicro } = amountsOf(intent);
  const isBuy = side === 'BUY';
  return {
    market_id: market.id,
    token_id: intent.outcomeIndex === 0 ? market.yes_token_id : market.no_token_id,
    side,
    maker_amount: String(isBuy ? notionalMicro : quantityAtomic),
    taker_amount: String(isBuy ? quantityAtomic : notionalMicro),
    nonce: intent.nonce ?? 0,
    expiration: intent.expirationSec ?? 0,
    fee_rate_bps: intent.feeRateBps,
    outcome_index: intent.outcomeIndex,
    time_in_force: intent.timeInForce ?? 'GTC',
    post_only: intent.postOnly ?? false,
    ...(intent.minTakerNet === undefined ? {} : { min_taker_net: intent.minTakerNet }),
    ...(intent.selfTradePrevention === undefined ? {} : { self_trade_prevention: intent.selfTradePrevention }),
    ...(intent.clientOrderId === undefined ? {} : { client_order_id: intent.clientOrderId }),
    ...(intent.orderGroup === undefined ? {} : { order_group: intent.orderGroup }),
  };
}

function unknownMember(name: string): TypeError {
  const meant = Object.keys(MEMBERS).find((known) => known.toLowerCase() === name.replaceAll('_', '').toLowerCase());
  return new TypeError(`an order has no ${name}${meant === undefined ? '' : `: it is written ${meant}`}`);
}

type Amounts = { readonly quantityAtomic: bigint; readonly notionalMicro: bigint };

/** Each of the two is said in one of its ways. */
function amountsOf(intent: OrderIntent | ExactIntent): Amounts {
  const { market, side, timeInForce } = intent;
  const ticksPerUnit = market.ticks_per_unit;
  const { price, size, priceTicks, quantityLots }: Partial<OrderIntent & ExactIntent> = intent;
  const isExact = (given: unknown): boolean => given === undefined || typeof given === 'bigint';
  if ((price !== undefined && priceTicks !== undefined) || (size !== undefined && quantityLots !== undefined)) {
    throw new TypeError('an order has a price or priceTicks, and a size or quantityLots');
  }
  if (!isExact(priceTicks) || !isExact(quantityLots)) throw new TypeError('priceTicks and quantityLots are bigints');
  if (!isImmediate(TIME_IN_FORCE[timeInForce ?? 'GTC'])) {
    const ticks = priceTicks === undefined ? parsePrice(price!, ticksPerUnit) : onGrid(priceTicks, ticksPerUnit);
    const lots = quantityLots === undefined ? parseLots(size!, ticksPerUnit) : checkedLots(quantityLots, ticksPerUnit);
    return { quantityAtomic: lots * BigInt(ticksPerUnit), notionalMicro: lots * ticks };
  }
  const perTick = PRICE_SCALE / BigInt(ticksPerUnit);
  const quantityAtomic = quantityLots === undefined ? parseUnits(size!) : quantityLots * BigInt(ticksPerUnit);
  const scaledPrice = priceTicks === undefined ? parseScaledPrice(price!) : priceTicks * perTick;
  return checkedTaking({ quantityAtomic, scaledPrice }, side, ticksPerUnit);
}

/** Of an order that does not rest: what the exchange refuses of it whatever the book is (RULES.md 1.4). */
function checkedTaking(
  { quantityAtomic, scaledPrice }: { readonly quantityAtomic: bigint; readonly scaledPrice: bigint },
  side: SideName,
  ticksPerUnit: number,
): Amounts {
  const lotAtomic = BigInt(ticksPerUnit);
  const scaled = quantityAtomic * scaledPrice;
  const notionalMicro = scaled / PRICE_SCALE;
  const [most, size] = [BigInt(MAX_ORDER_AMOUNT), formatUnits(quantityAtomic)];
  if (quantityAtomic < lotAtomic || quantityAtomic > most || notionalMicro > most)
    throw new RangeError(`size ${size} is less than a lot of ${formatUnits(lotAtomic)} tokens, or too large`);
  if (scaled % PRICE_SCALE !== 0n)
    throw new RangeError(`size ${size} at this price is no whole number of millionths of USDC`);
  const hasTick =
    side === 'BUY'
      ? notionalMicro * lotAtomic >= quantityAtomic
      : notionalMicro > 0n && notionalMicro * lotAtomic <= quantityAtomic * (lotAtomic - 1n);
  if (!hasTick)
    throw new RangeError(`${size} tokens for ${formatUnits(notionalMicro)} USDC: this market has no such price`);
  return { quantityAtomic, notionalMicro };
}

function onGrid(ticks: bigint, ticksPerUnit: number): bigint {
  return BigInt(checkedTicks(ticks, ticksPerUnit));
}
