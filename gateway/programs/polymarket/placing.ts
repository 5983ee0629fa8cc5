/**
 * Places one order of theirs as one order of the exchange, or, for an amount of USDC, as several.
 *
 * Invariants:
 *   POLYPLACING-1  The salt of a part follows from the order's hash: if it is sent again, also after a crash, it is the
 *                  same order of the exchange, and is carried out once.
 *   POLYPLACING-2  A purchase at the market never spends more than its amount: at their limit, the lots of a part cost
 *                  at most what is left. It goes on while the book has something for what is left.
 *   POLYPLACING-3  A FOK purchase is refused unless the book has all of it, and its first part is all of it but for one
 *                  least order, or is not filled at all.
 */
import { keccak256 } from 'viem';
import type { Clock } from '../../../shared/base/clock.ts';
import { formatUnits } from '../../../shared/client/amounts.ts';
import { isRefusal } from '../../../shared/client/answers.ts';
import type { ExchangeClient } from '../../../shared/client/client.ts';
import type { Fill, PlacementResponse } from '../../../shared/client/types.ts';
import type { Accounts } from './accounts.ts';
import { type LimitAndLots, limitAndLotsOf, limitOf, type OrderKind } from './amounts.ts';
import type { Catalogue, Token } from './catalogue.ts';
import { transactionOf } from './ids.ts';
import { nextStep } from './purchase.ts';
import { objectOf, Refusal } from './reply.ts';
import { type CheckedOrder, checkedOrder } from './signedOrder.ts';
import type { KeyRow, OrderRow, PolymarketStore } from './store.ts';

const KINDS: readonly OrderKind[] = ['GTC', 'GTD', 'FOK', 'FAK'];
const MOST_ROUNDS = 32;
const MOST_LEVELS = 100;
const MOST_FUNDERS = 10;
const NOT_FOUND = 404;
/** The words that their clients and bots know, by the code of the exchange. */
const NAMES = {
  INSUFFICIENT_BALANCE: 'INVALID_ORDER_NOT_ENOUGH_BALANCE: not enough balance / allowance',
  BELOW_MIN_SIZE: 'INVALID_ORDER_MIN_SIZE: the size is lower than the minimum',
  ORDER_EXPIRED: 'INVALID_ORDER_EXPIRATION: the expiration is over',
  INVALID_TICK: 'INVALID_ORDER_MIN_TICK_SIZE: the price is off the grid',
  FOK_NOT_FILLED: "FOK_ORDER_NOT_FILLED_ERROR: the order couldn't be fully filled",
  FAK_NO_FILL: 'FAK_ORDER_NOT_FILLED_ERROR: no orders found to match with FAK order',
  POST_ONLY_WOULD_CROSS: 'INVALID_POST_ONLY_ORDER: the order crosses the book',
  MARKET_NOT_ACTIVE: 'MARKET_NOT_READY: the market does not take orders',
} as const;

type Parts = {
  readonly store: PolymarketStore;
  readonly accounts: Accounts;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly chainId: number;
};
type Placement = {
  readonly order: CheckedOrder;
  readonly kind: OrderKind;
  readonly postOnly: boolean;
  readonly token: Token;
  readonly number: number;
  readonly client: ExchangeClient;
};

export class Placing {
  readonly #parts: Parts;
  /** The hashes of orders that are being placed. */
  readonly #underWay = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @param value the body of POST /order, or a row of POST /orders. @throws Refusal */
  async place(value: unknown, key: KeyRow): Promise<object> {
    const { store, accounts, catalogue, chainId } = this.#parts;
    const { order: fields, orderType, owner, postOnly } = objectOf(value);
    const kind = KINDS.find((each) => each === orderType);
    if (kind === undefined) throw new Refusal(400, 'Invalid order payload: orderType');
    if (owner !== key.key) throw new Refusal(400, 'the order owner has to be the owner of the API KEY');
    const order = await checkedOrder(fields, chainId);
    await this.#assertParties(order, key);
    this.#assertExpiration(order, kind);
    if (postOnly === true && (kind === 'FOK' || kind === 'FAK')) {
      throw new Refusal(400, 'INVALID_POST_ONLY_ORDER: only GTC and GTD orders may be post-only');
    }
    const token = await catalogue.token(order.tokenId);
    this.#assertFee(order, token);
    const client = accounts.client(key.address);
    const before = store.order(order.id);
    if (this.#underWay.has(order.id) || (before !== undefined && (await this.#isPlaced(before, client)))) {
      throw duplicate(order);
    }
    this.#underWay.add(order.id);
    try {
      const number = before?.number ?? store.addOrder(this.#row(order, kind, token, key));
      return await this.#carryOut({ order, kind, postOnly: postOnly === true, token, number, client });
    } finally {
      this.#underWay.delete(order.id);
    }
  }

  async #carryOut(placement: Placement): Promise<object> {
    const { order, kind, token } = placement;
    const isAmount = order.side === 'BUY' && (kind === 'FOK' || kind === 'FAK');
    try {
      const fills = isAmount
        ? await this.#buy(placement)
        : (await this.#send(placement, limitAndLotsOf(order, kind, token.listed), kind, 0)).fills;
      return answerOf(order, fills);
    } catch (error) {
      // After a crash history may lag behind the exchange, which has the order already.
      if (isRefusal(error) && error.code === 'DUPLICATE_ORDER') throw duplicate(order);
      // An order that was not placed may be sent again.
      if (isRefusal(error) || error instanceof Refusal) this.#parts.store.removeOrder(placement.number);
      throw isRefusal(error) && isNamed(error.code) ? new Refusal(400, NAMES[error.code]) : error;
    }
  }

  /** POLYPLACING-2, POLYPLACING-3. */
  async #buy(placement: Placement): Promise<readonly Fill[]> {
    const { order, token, client } = placement;
    const { market, ticksPerUnit, leastAtomic } = token.listed;
    const [mostTicks, lotAtomic] = [limitOf(order, token.listed), BigInt(ticksPerUnit)];
    const leastLots = (leastAtomic + lotAtomic - 1n) / lotAtomic;
    const fills: Fill[] = [];
    for (let round = 0, leftMicro = order.makerAmount; round < MOST_ROUNDS; round++) {
      const { asks } = await client.book(market.id, { outcome_index: token.outcome, levels: MOST_LEVELS });
      const isFirst = round === 0;
      const isFirstOfFok = isFirst && placement.kind === 'FOK';
      const step = nextStep({ asks, ticksPerUnit, mostTicks, leftMicro, leastLots }, isFirstOfFok);
      if (isFirstOfFok && (step === null || step.unspentMicro >= mostTicks)) throw notWhole();
      // The exchange says of the first part that nothing is there for it.
      const terms = step ?? { limitTicks: mostTicks, lots: leftMicro / mostTicks };
      if (!isFirst && (step === null || terms.lots < leastLots)) break;
      const part = await this.#send(placement, terms, isFirst ? placement.kind : 'FAK', round).catch(
        (error: unknown) => {
          // The tokens that have been bought are the answer, whatever became of the rest.
          if (!isFirst) return null;
          throw error;
        },
      );
      if (part === null) break;
      fills.push(...part.fills);
      leftMicro -= part.fills.reduce((sum, { notional_usdc_micro }) => sum + BigInt(notional_usdc_micro), 0n);
      if (part.fills.length === 0 || leftMicro < terms.limitTicks) break;
    }
    return fills;
  }

  /** POLYPLACING-1. */
  async #send(
    placement: Placement,
    terms: LimitAndLots,
    timeInForce: OrderKind,
    part: number,
  ): Promise<PlacementResponse> {
    const { order, token, number, client, postOnly } = placement;
    const { store, accounts } = this.#parts;
    const intent = {
      marketId: token.listed.market.id,
      outcomeIndex: token.outcome,
      side: order.side,
      priceTicks: terms.limitTicks,
      quantityLots: terms.lots,
      timeInForce,
      postOnly,
      ...(timeInForce === 'GTD' ? { expirationSec: order.expirationSec } : {}),
    };
    const salt = BigInt(keccak256(Buffer.from(`${order.id}/${part}`))).toString();
    const { body, orderHash } = await client.signOrder(intent, { maker: order.signer, salt });
    store.addPart(orderHash, number);
    try {
      const answer = await client.placeOrder(body);
      store.setOrderId(orderHash, answer.order_id);
      return answer;
    } catch (error) {
      // The client has kept an old fee, floor or contract: it reads them anew for the next order.
      if (isRefusal(error) && ['FEE_RATE_MISMATCH', 'INVALID_SIGNATURE', 'NONCE_BELOW_FLOOR'].includes(error.code)) {
        accounts.forget(order.signer);
      }
      throw error;
    }
  }

  /** Of an order whose answer was lost: the exchange says whether it has a part of it. */
  async #isPlaced({ number }: OrderRow, client: ExchangeClient): Promise<boolean> {
    const { store } = this.#parts;
    for (const { order_hash, order_id } of store.parts(number)) {
      if (order_id !== null) return true;
      const record = await client.getOrder(order_hash).catch((error: unknown) => {
        if (isRefusal(error) && error.status === NOT_FOUND) return null;
        throw error;
      });
      if (record === null) continue;
      store.setOrderId(order_hash, record.id);
      return true;
    }
    return false;
  }

  async #assertParties({ maker, signer, signatureType }: CheckedOrder, key: KeyRow): Promise<void> {
    const { store, accounts } = this.#parts;
    if (signer !== key.address) throw new Refusal(400, 'the order signer address has to be the address of the API KEY');
    if (signatureType === 0) {
      if (maker !== signer) throw new Refusal(400, 'the maker of signature type 0 has to be the signer');
      return;
    }
    const known = store.signerOf(maker);
    if (known === signer) return;
    if (known !== undefined) throw new Refusal(400, 'the maker address belongs to another signer');
    if (store.funderCount(signer) >= MOST_FUNDERS)
      throw new Refusal(400, `a signer has at most ${MOST_FUNDERS} makers`);
    if (!(await accounts.mayFund(signer, maker))) throw new Refusal(400, 'the maker is no wallet of the account');
    store.setSigner(maker, signer);
  }

  #assertExpiration({ expirationSec }: CheckedOrder, kind: OrderKind): void {
    const isOver = expirationSec * 1000 <= this.#parts.clock.nowMs();
    if (kind === 'GTD' ? !isOver : expirationSec === 0) return;
    throw new Refusal(400, 'INVALID_ORDER_EXPIRATION: a GTD order has one that lies ahead, any other has 0');
  }

  /** The second struct agrees to the market's fee without naming it. */
  #assertFee({ feeRateBps }: CheckedOrder, { listed: { market } }: Token): void {
    if (feeRateBps === null || feeRateBps >= market.fee_bps) return;
    throw new Refusal(400, `invalid fee rate (${feeRateBps}), the fee of the market is ${market.fee_bps}`);
  }

  #row(order: CheckedOrder, kind: OrderKind, { listed, outcome }: Token, key: KeyRow) {
    return {
      ...{ id: order.id, address: key.address, owner: key.key, maker: order.maker, side: order.side, kind },
      market_id: listed.market.id,
      outcome_index: outcome,
      maker_amount: String(order.makerAmount),
      taker_amount: String(order.takerAmount),
      expiration_sec: order.expirationSec,
      created_sec: Math.floor(this.#parts.clock.nowMs() / 1000),
    };
  }
}

function isNamed(code: string): code is keyof typeof NAMES {
  return Object.hasOwn(NAMES, code);
}

function answerOf({ id, side }: CheckedOrder, fills: readonly Fill[]): object {
  const sum = (amount: (fill: Fill) => string): string =>
    formatUnits(fills.reduce((total, fill) => total + BigInt(amount(fill)), 0n));
  const usdc = sum(({ notional_usdc_micro }) => notional_usdc_micro);
  const tokens = sum(({ token_quantity_atomic }) => token_quantity_atomic);
  const hasFills = fills.length > 0;
  const [makingAmount, takingAmount] = side === 'BUY' ? [usdc, tokens] : [tokens, usdc];
  return {
    ...{ success: true, errorMsg: '', orderID: id, status: hasFills ? 'matched' : 'live' },
    takingAmount: hasFills ? takingAmount : '',
    makingAmount: hasFills ? makingAmount : '',
    transactionsHashes: fills.map(({ trade_id }) => transactionOf(trade_id)),
    tradeIDs: fills.map(({ trade_id }) => trade_id),
  };
}

function duplicate({ id }: CheckedOrder): Refusal {
  return new Refusal(400, `INVALID_ORDER_DUPLICATED: order ${id} is there already`);
}

/** POLYPLACING-3. */
function notWhole(): Refusal {
  return new Refusal(400, NAMES.FOK_NOT_FILLED);
}
