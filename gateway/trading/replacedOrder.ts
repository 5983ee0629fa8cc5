/** The replaced order, as the answer to the replacement shows it (RULES.md 7.10). */
import type { ReplacedOrder } from '../../shared/api/orders.ts';
import { ORDER_STATUS } from '../../shared/base/codes.ts';
import { HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import {
  filledAmount,
  filledTokens,
  type OrderAmounts,
  type OrderRecord,
  remainingAmount,
} from '../../shared/base/orderMath.ts';
import { NONE } from '../shardlink/growingColumn.ts';
import { openOrderFacts } from '../shardlink/orderFacts.ts';
import type { Views } from '../shardlink/views.ts';

/** The old order of a request, as it was when the request came. */
export class OldOrder {
  /** A copy: the next request writes its hash into the same words. */
  readonly hash: Uint32Array;
  /** Null if it was not known to be open, for example while it was on its way. */
  readonly #amounts: OrderAmounts | null;

  constructor(views: Views, hash: Uint32Array) {
    this.hash = hash.slice();
    const orders = views.orders.find((ofShard) => ofShard.find(hash, 0) !== NONE);
    this.#amounts = orders === undefined ? null : openOrderFacts(views, orders, orders.find(hash, 0));
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.hash.buffer, this.hash.byteOffset, HASH_BYTES);
  }

  /** It was cancelled with this many lots left; null: only its record says how it ended. */
  endedWith(remainingLots: number): ReplacedOrder | null {
    if (this.#amounts === null) return null;
    const ended = { ...this.#amounts, remainingLots, status: ORDER_STATUS.CANCELLED };
    return {
      order_hash: toHex(this.bytes),
      remaining: String(remainingAmount(ended)),
      filled_amount: String(filledAmount(ended)),
      filled_token_quantity_atomic: String(filledTokens(ended)),
    };
  }
}

/** The same from the order's record, once it has ended. */
export function endedAs({
  order_hash,
  remaining,
  filled_amount,
  filled_token_quantity_atomic,
}: OrderRecord): ReplacedOrder {
  return { order_hash, remaining, filled_amount, filled_token_quantity_atomic };
}
