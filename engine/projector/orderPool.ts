/**
 * The memory of the orders that the projector knows: the open ones, and those that have closed in the batch at hand.
 * The objects of finished orders are reused, so that following orders creates no garbage: tens of thousands of new
 * objects in a batch would each be copied twice before they are collected. For the same reason an order's numbers are
 * stored outside V8's heap, in which most of them would be separate objects. Owner: the projector thread.
 *
 * Invariant:
 *   ORDERPOOL-1  An order object is reused only after the batch in which it was released is written: until then waiting
 *                rows refer to its id.
 */
import { assert } from '../../shared/base/assert.ts';
import { HASH_BYTES, UUID_BYTES } from '../../shared/base/hex.ts';
import { shardOfId } from '../../shared/base/ids.ts';
import { NO_GROUP } from '../../shared/wire/commands.ts';
import type { PrivateOrder } from '../../shared/wire/privateProjection.ts';

/** Orders that share one piece of memory for each of ids, hashes and numbers. */
const CHUNK_ORDERS = 256;
const HASH_WORDS = HASH_BYTES / 4;
/** The numbers of an order, one after the other. */
const NUMBERS = [
  'account',
  'market',
  'side',
  'outcome',
  'kind',
  'createdMs',
  'orderSequence',
  'group',
  'ticksPerUnit',
  'makerAmount',
  'takerAmount',
  'quantityLots',
  'remainingLots',
  'filledNotionalMicro',
  'shardSequence',
  'updatedMs',
  'shard',
  'limitTicks',
  'feeBps',
  'expirationSec',
  'status',
] as const satisfies readonly (keyof OpenOrder)[];

export class OpenOrder implements PrivateOrder {
  /** A view of the pool's memory. */
  readonly id: Uint8Array;
  readonly hash: Uint32Array;
  readonly hashWord: number;
  readonly #numbers: Float64Array;
  readonly #at: number;
  declare account: number;
  declare market: number;
  declare side: number;
  declare outcome: number;
  declare kind: number;
  declare createdMs: number;
  declare orderSequence: number;
  clientId: string | null = null;
  declare group: number;
  declare ticksPerUnit: number;
  declare makerAmount: number;
  declare takerAmount: number;
  declare quantityLots: number;
  declare remainingLots: number;
  declare filledNotionalMicro: number;
  declare shardSequence: number;
  declare updatedMs: number;
  /** True once the order has a row. The values below belong to its new row and are then dropped. */
  isWritten = false;
  declare shard: number;
  declare limitTicks: number;
  declare feeBps: number;
  declare expirationSec: number;
  slot: number | null = null;
  declare status: number;
  reason: number | null = null;

  static {
    for (const [index, name] of NUMBERS.entries()) {
      Object.defineProperty(OpenOrder.prototype, name, {
        get(this: OpenOrder): number {
          return this.#numbers[this.#at + index];
        },
        set(this: OpenOrder, value: number) {
          this.#numbers[this.#at + index] = value;
        },
      });
    }
  }

  /** @param index of the order in the chunk that these pieces of memory are for */
  constructor(ids: Uint8Array, hashes: Uint32Array, numbers: Float64Array, index: number) {
    this.id = ids.subarray(index * UUID_BYTES, (index + 1) * UUID_BYTES);
    this.hash = hashes;
    this.hashWord = index * HASH_WORDS;
    this.#numbers = numbers;
    this.#at = index * NUMBERS.length;
  }

  /** The shard that accepted it, plus one; 0: the shard that it is in. */
  get origin(): number {
    const idShard = shardOfId(this.id);
    return idShard === this.shard ? 0 : idShard + 1;
  }

  /** The bytes of its hash, in the pool's memory. */
  get hashBytes(): Uint8Array {
    return new Uint8Array(this.hash.buffer, this.hash.byteOffset + this.hashWord * 4, HASH_BYTES);
  }
}

export class OrderPool {
  readonly #free: OpenOrder[] = [];
  readonly #givenBack: OpenOrder[] = [];

  /** @returns an order without client id and group; its other fields still hold another order's values */
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
    const numbers = new Float64Array(CHUNK_ORDERS * NUMBERS.length);
    for (let i = 0; i < CHUNK_ORDERS; i++) this.#free.push(new OpenOrder(ids, hashes, numbers, i));
  }
}
