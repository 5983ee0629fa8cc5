/**
 * Turns "buy 100 at 0.65" into a signed placement body, in two steps that can be used alone: `draftOrder` computes the
 * exact amounts of price and size and rounds nothing, `OrderSigner` hashes and signs any amounts.
 */
import { MAX_ORDER_AMOUNT, type Outcome, SIDE } from '../base/codes.ts';
import { toHex, UINT256_BYTES, uint256ToDecimal } from '../base/hex.ts';
import { divFloor } from '../base/int.ts';
import { NOT_A_NUMBER, tickToPrice, tryParsePriceTicks, tryParseUnits, unitsToDecimal } from '../base/units.ts';
import { type Eip712Domain, hasherFor, type OrderHasher, ZERO_ADDRESS } from '../crypto/eip712.ts';
import { type Keccak256, keccak256 } from '../crypto/keccak.ts';
import { addressOf, privateKeyBytes, signDigest } from './privateKey.ts';
import type { PlacementBody, SelfTradeName, SideName, TimeInForceName } from './types.ts';

/** The parts of a market that an order depends on: its tokens and its grid. */
export type OrderMarket = { id: string; yes_token_id: string; no_token_id: string; ticks_per_unit: number };

/** `price` in USDC per token ("0.65") and `size` in tokens ("12.5"), both exactly on the market's grid. */
export type OrderIntent = {
  market: OrderMarket;
  outcomeIndex: Outcome;
  side: SideName;
  price: string;
  size: string;
  feeRateBps: number;
  nonce?: number;
  expirationSec?: number;
  timeInForce?: TimeInForceName;
  postOnly?: boolean;
  minTakerNet?: string;
  selfTradePrevention?: SelfTradeName;
  /** The client order id and the order group are not signed. */
  clientOrderId?: string;
  orderGroup?: string;
};

/** A placement body without wallets, salt and signature. */
export type OrderDraft = Omit<PlacementBody, 'maker' | 'signer' | 'taker' | 'salt' | 'signature'>;

export type SignedOrder = { body: PlacementBody; orderHash: string };

/** `maker` is the wallet that pays, if the signing key is its delegate; the salt is random unless given. */
export type SigningOptions = { maker?: string; salt?: string };

export function draftOrder(intent: OrderIntent): OrderDraft {
  const { market, side } = intent;
  const ticksPerUnit = market.ticks_per_unit;
  const priceTicks = tryParsePriceTicks(intent.price, ticksPerUnit);
  if (priceTicks === NOT_A_NUMBER) {
    const [first, last] = [tickToPrice(1, ticksPerUnit), tickToPrice(ticksPerUnit - 1, ticksPerUnit)];
    throw new RangeError(`price ${intent.price} is not a step of ${first} between ${first} and ${last}`);
  }
  const quantityAtomic = tryParseUnits(intent.size);
  if (quantityAtomic <= 0 || quantityAtomic > MAX_ORDER_AMOUNT || quantityAtomic % ticksPerUnit !== 0) {
    const [lot, most] = [unitsToDecimal(ticksPerUnit), unitsToDecimal(MAX_ORDER_AMOUNT)];
    throw new RangeError(`size ${intent.size} is not a multiple of ${lot} tokens between ${lot} and ${most}`);
  }
  const notionalMicro = divFloor(quantityAtomic, ticksPerUnit) * priceTicks;
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

/** The largest size on the grid that is at most `size`: `floorSize('1.23456', 100)` is '1.2345'. */
export function floorSize(size: string, ticksPerUnit: number): string {
  const quantityAtomic = tryParseUnits(size);
  if (quantityAtomic === NOT_A_NUMBER) throw new RangeError(`size ${size} is not a number of at most 6 decimals`);
  return unitsToDecimal(quantityAtomic - (quantityAtomic % ticksPerUnit));
}

/** Signs orders with one private key, for one signing domain at a time. One signer serves any number of orders. */
export class OrderSigner {
  readonly address: string;
  readonly #privateKey: Uint8Array;
  readonly #keccak: Keccak256;
  #domain: Eip712Domain;
  #hasher: OrderHasher;

  constructor(privateKey: string, domain: Eip712Domain, keccak: Keccak256 = keccak256) {
    this.#privateKey = privateKeyBytes(privateKey);
    this.address = addressOf(privateKey);
    this.#keccak = keccak;
    this.#domain = domain;
    this.#hasher = hasherFor(domain, keccak);
  }

  /** Changes the domain of later signatures. @returns whether it differs from the one before. */
  useDomain(domain: Eip712Domain): boolean {
    if (isSameDomain(domain, this.#domain)) return false;
    this.#domain = domain;
    this.#hasher = hasherFor(domain, this.#keccak);
    return true;
  }

  sign(draft: OrderDraft, options: SigningOptions = {}): SignedOrder {
    const salt = options.salt ?? uint256ToDecimal(crypto.getRandomValues(new Uint8Array(UINT256_BYTES)));
    const maker = options.maker ?? this.address;
    const digest = this.#hasher.digestOf({
      salt,
      maker,
      signer: this.address,
      tokenId: draft.token_id,
      makerAmount: Number(draft.maker_amount),
      takerAmount: Number(draft.taker_amount),
      expirationSec: draft.expiration ?? 0,
      nonce: Number(draft.nonce),
      feeRateBps: draft.fee_rate_bps,
      minTakerNet: Number(draft.min_taker_net ?? 0),
      side: SIDE[draft.side],
    });
    const signature = signDigest(digest, this.#privateKey);
    const body = { ...draft, maker, signer: this.address, taker: ZERO_ADDRESS, salt, signature };
    return { body, orderHash: toHex(digest) };
  }
}

/** Signs one order in one call; OrderSigner is for many. */
export function signOrder(
  intent: OrderIntent & SigningOptions & { privateKey: string },
  domain: Eip712Domain,
): SignedOrder {
  return new OrderSigner(intent.privateKey, domain).sign(draftOrder(intent), intent);
}

function isSameDomain(a: Eip712Domain, b: Eip712Domain): boolean {
  const isSameContract = a.verifyingContract.toLowerCase() === b.verifyingContract.toLowerCase();
  return isSameContract && a.chainId === b.chainId && a.name === b.name && a.version === b.version;
}
