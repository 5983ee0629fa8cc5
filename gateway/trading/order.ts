/**
 * An order of a request, however it came: as JSON that was read in one pass (orderScanner.ts) or parsed
 * (parsedOrders.ts), or as a record of the binary entry (binaryOrder.ts). It is a PLACE record in the form that clients
 * have (shared/wire/entry.ts), and what a record does not have. Checks, encoding and answers are written once for it.
 *
 * Invariant:
 *   ORDER-1  The record of an order belongs to the body that was read last into its memory: an order is sent in the
 *            turn in which its body was read, or kept. What it has beside the record stays its own.
 */
import { assert } from '../../shared/base/assert.ts';
import { isImmediate, OUTCOME, type Side } from '../../shared/base/codes.ts';
import { COMMAND, kindOutcome, kindSide, kindTimeInForce } from '../../shared/wire/commands.ts';
import { type RecordMemory, readSafe } from '../../shared/wire/record.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog, MarketEntry } from '../markets/catalog.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import { tokenMismatch } from './orderRules.ts';

const { PLACE } = COMMAND;

/** Writes the answer to an accepted order from the views, instead of a JSON body. */
export type AcceptedSink = { accepted(views: Views, reply: ShardReply, order: Order): void };

/** The names that a record has only as bytes, or not at all. */
export type OrderNames = {
  /** Empty if the order is named by its token alone. */
  readonly marketId: string;
  readonly tokenId: string;
  readonly clientId: string | undefined;
  readonly groupName: string | undefined;
};

/** An order that another thread has read; its words are a PLACE without its header. */
export type ReadPlacement = Omit<OrderNames, 'groupName'> & {
  readonly words: Uint32Array;
  /** The word at which the record starts. */
  readonly at: number;
};

/** The records of one body. */
export class OrderRecords implements RecordMemory {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** The number of the body to which the records belong. */
  body = 0;

  constructor(words: Uint32Array, bytes = new Uint8Array(words.buffer)) {
    this.words = words;
    this.bytes = bytes;
  }
}

export class Order implements OrderNames {
  readonly records: OrderRecords;
  /** The word at which the record starts. */
  readonly at: number;
  readonly kind: number;
  readonly makerAmount: number;
  readonly takerAmount: number;
  readonly marketId: string;
  readonly tokenId: string;
  readonly clientId: string | undefined;
  readonly groupName: string | undefined;
  /** Why the fields contradict each other; null when they do not. */
  readonly contradiction: Refusal | null;
  /** The record is in its long form. */
  readonly isExtended: boolean;
  /** Null if the answer is JSON. */
  readonly sink: AcceptedSink | null;
  readonly #body: number;

  constructor(
    records: OrderRecords,
    at: number,
    { marketId, tokenId, clientId, groupName }: OrderNames,
    contradiction: Refusal | null = null,
    isExtended = false,
    sink: AcceptedSink | null = null,
  ) {
    const { words } = records;
    this.records = records;
    this.#body = records.body;
    this.at = at;
    this.kind = words[at + PLACE.kind];
    this.makerAmount = readSafe(words, at + PLACE.makerAmount);
    this.takerAmount = readSafe(words, at + PLACE.takerAmount);
    this.marketId = marketId;
    this.tokenId = tokenId;
    this.clientId = clientId;
    this.groupName = groupName;
    this.contradiction = contradiction;
    this.isExtended = isExtended;
    this.sink = sink;
  }

  get side(): Side {
    return kindSide(this.kind) as Side;
  }

  /** FOK and FAK orders never rest. */
  get isImmediate(): boolean {
    return isImmediate(kindTimeInForce(this.kind));
  }

  marketIn(catalog: Pick<Catalog, 'byId' | 'byToken'>): MarketEntry | undefined {
    return this.marketId === '' ? catalog.byToken(this.tokenId) : catalog.byId(this.marketId);
  }

  /** Why the token is not the one of the outcome; null when it is. */
  refuseToken(market: Pick<MarketEntry, 'yesTokenId' | 'noTokenId'>): Refusal | null {
    const isYes = kindOutcome(this.kind) === OUTCOME.YES;
    return this.tokenId === (isYes ? market.yesTokenId : market.noTokenId) ? null : tokenMismatch(this.tokenId);
  }

  /** The same order with a record of its own, for a request that waits while other bodies are read. */
  kept(): Order {
    const records = new OrderRecords(this.records.words.slice(this.at, this.at + PLACE.WORDS));
    return new Order(records, 0, this, this.contradiction, this.isExtended, this.sink);
  }

  /** ORDER-1. */
  requireLast(): void {
    assert(this.records.body === this.#body, 'ORDER-1: the record is still that of this order');
  }
}
