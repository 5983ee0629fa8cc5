/**
 * The orders of a usual body (usualBodies.ts), as terms over the records of their commands. The records are reused: an
 * order is encoded in the turn in which its body was read.
 * Owner: the thread that reads. The gateway thread takes over orders that a front thread has read.
 *
 * Invariant:
 *   USUALORDERS-1  The records belong to the body that was read last.
 */
import type { PlacementBody } from '../../shared/api/orders.ts';
import { assert } from '../../shared/base/assert.ts';
import { isImmediate, OUTCOME, type Side } from '../../shared/base/codes.ts';
import { COMMAND, kindOutcome, kindSide, kindTimeInForce } from '../../shared/wire/commands.ts';
import { bodyOfRecord } from '../../shared/wire/entryBody.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog, MarketEntry } from '../markets/catalog.ts';
import type { OrderEncoder, PlacementExtras, Placer } from './encodeOrder.ts';
import { refuseToken } from './orderRules.ts';
import type { OrderTerms } from './orderTerms.ts';

const { PLACE } = COMMAND;

/** An order from a reader; its words are a PLACE without its header. */
export type ReadPlacement = {
  readonly words: Uint32Array;
  /** The word at which the record starts. */
  readonly at: number;
  readonly marketId: string;
  readonly tokenId: string;
  readonly clientId: string | undefined;
};

/** The terms of one order: its numbers are its own, its words are those of the reused records. */
export class UsualOrder implements OrderTerms, ReadPlacement {
  readonly sink = null;
  readonly groupName = undefined;
  readonly isExtended = false;
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly kind: number;
  readonly makerAmount: number;
  readonly takerAmount: number;
  readonly marketId: string;
  readonly tokenId: string;
  readonly clientId: string | undefined;
  readonly #orders: UsualOrders;
  readonly #body: number;

  constructor(orders: UsualOrders, at: number, { marketId, tokenId, clientId }: ReadPlacement) {
    this.#orders = orders;
    this.#body = orders.body;
    this.words = orders.words;
    this.bytes = orders.bytes;
    this.at = at;
    this.kind = this.words[at + PLACE.kind];
    this.makerAmount = readSafe(this.words, at + PLACE.makerAmount);
    this.takerAmount = readSafe(this.words, at + PLACE.takerAmount);
    this.marketId = marketId;
    this.tokenId = tokenId;
    this.clientId = clientId;
  }

  get side(): Side {
    return kindSide(this.kind) as Side;
  }

  get isImmediate(): boolean {
    return isImmediate(kindTimeInForce(this.kind));
  }

  get body(): PlacementBody {
    this.#requireLast();
    const body = bodyOfRecord(this, this);
    return this.clientId === undefined ? body : { ...body, client_order_id: this.clientId };
  }

  /** USUAL-1. */
  refuseCombination(): null {
    return null;
  }

  marketIn(catalog: Pick<Catalog, 'byId'>): MarketEntry | undefined {
    return catalog.byId(this.marketId);
  }

  refuseToken(market: MarketEntry): Refusal | null {
    const isYes = kindOutcome(this.kind) === OUTCOME.YES;
    if (this.tokenId === (isYes ? market.yesTokenId : market.noTokenId)) return null;
    return refuseToken(this.body, market);
  }

  encode(encoder: OrderEncoder, placer: Placer, extras: PlacementExtras | undefined, moreBits: number): Uint32Array {
    this.#requireLast();
    return encoder.encodeRecord(this, placer, extras, moreBits);
  }

  #requireLast(): void {
    assert(this.#orders.body === this.#body, 'USUALORDERS-1: the record is still that of this order');
  }
}

/** Space for the records of a body. */
export class UsualOrders {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** The number of the body to which these orders belong. */
  body = 0;
  #count = 0;

  constructor(mostOrders: number) {
    this.words = new Uint32Array(mostOrders * PLACE.WORDS);
    this.bytes = new Uint8Array(this.words.buffer);
  }

  /** Begins another body. */
  clear(): void {
    this.body++;
    this.#count = 0;
  }

  /** Takes over an order of the body; the reader may read the next one afterwards. */
  add(read: ReadPlacement): UsualOrder {
    const at = this.#count++ * PLACE.WORDS;
    assert(at < this.words.length, 'usual orders: a body has no more than there is room for');
    for (let word = 0; word < PLACE.WORDS; word++) this.words[at + word] = read.words[read.at + word];
    return new UsualOrder(this, at, read);
  }
}
