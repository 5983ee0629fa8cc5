/**
 * The memory of the orders that the projector knows: the open ones, and those that have closed in the batch at hand.
 * An order that is over is used again for another, so following orders leaves nothing to collect: tens of thousands of
 * new objects in a batch would each be copied twice before they are thrown away.
 * Owner: the projector thread.
 *
 * Invariant:
 *   ORDERPOOL-1  An order is used again only when the batch in which it was given back is written: until then rows that
 *                wait to be written name its id.
 */
import { assert } from '../../shared/base/assert.ts';
import { HASH_BYTES, UUID_BYTES } from '../../shared/base/hex.ts';
import { NO_GROUP } from '../../shared/wire/commands.ts';
import type { PrivateOrder } from '../../shared/wire/privateProjection.ts';

/** Orders whose ids and hashes share one piece of memory. */
const CHUNK_ORDERS = 256;
const HASH_WORDS = HASH_BYTES / 4;

export class OpenOrder implements PrivateOrder {
  /** A view of the pool's memory. */
  readonly id: Uint8Array;
  readonly hash: Uint32Array;
  readonly hashWord: number;
  account = 0;
  market = 0;
  side = 0;
  outcome = 0;
  kind = 0;
  createdMs = 0;
  orderSequence = 0;
  clientId: string | null = null;
  group: number = NO_GROUP;
  ticksPerUnit = 0;
  makerAmount = 0;
  takerAmount = 0;
  quantityLots = 0;
  remainingLots = 0;
  filledNotionalMicro = 0;
  shardSequence = 0;
  updatedMs = 0;
  /** True once the order has a row. The values below are those of its new row: they are not kept any longer. */
  isWritten = false;
  shard = 0;
  limitTicks = 0;
  feeBps = 0;
  expirationSec = 0;
  slot: number | null = null;
  status = 0;
  reason: number | null = null;

  constructor(id: Uint8Array, hash: Uint32Array, hashWord: number) {
    this.id = id;
    this.hash = hash;
    this.hashWord = hashWord;
  }

  /** The bytes of its hash, in the pool's memory. */
  get hashBytes(): Uint8Array {
    return new Uint8Array(this.hash.buffer, this.hash.byteOffset + this.hashWord * 4, HASH_BYTES);
  }
}

export class OrderPool {
  readonly #free: OpenOrder[] = [];
  readonly #givenBack: OpenOrder[] = [];

  /** @returns an order without a client id and without a group; all else in it is left from another. */
  take(): OpenOrder {
    if (this.#free.length === 0) this.#grow();
    const order = this.#free.pop()!;
    order.clientId = null;
    order.group = NO_GROUP;
    return order;
  }

  giveBack(order: OpenOrder): void {
    this.#givenBack.push(order);
  }

  /** ORDERPOOL-1. The rows of the batch are written. */
  endBatch(): void {
    for (const order of this.#givenBack) {
      assert(order.isWritten, 'ORDERPOOL-1: an order that is used again has its row');
      this.#free.push(order);
    }
    this.#givenBack.length = 0;
  }

  #grow(): void {
    const ids = new Uint8Array(CHUNK_ORDERS * UUID_BYTES);
    const hashes = new Uint32Array(CHUNK_ORDERS * HASH_WORDS);
    for (let i = 0; i < CHUNK_ORDERS; i++) {
      this.#free.push(new OpenOrder(ids.subarray(i * UUID_BYTES, (i + 1) * UUID_BYTES), hashes, i * HASH_WORDS));
    }
  }
}
