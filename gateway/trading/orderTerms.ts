/**
 * The terms of an order in a request: a JSON body here, a record of the binary entry in binaryOrder.ts. Checks,
 * encoding and answers read the terms through this type, so that they are written once.
 */
import type { PlacementBody } from '../../shared/api/orders.ts';
import { SIDE, type Side } from '../../shared/base/codes.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog, MarketEntry } from '../markets/catalog.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { OrderEncoder, PlacementExtras, Placer } from './encodeOrder.ts';
import { isImmediateBody, refuseCombination, refuseToken } from './orderRules.ts';

/** Writes the answer to an accepted order from the views, instead of a JSON body. */
export type AcceptedSink = { accepted(views: Views, reply: ShardReply, terms: OrderTerms): void };

export type OrderTerms = {
  /** The same terms as JSON. */
  readonly body: PlacementBody;
  readonly side: Side;
  /** FOK and FAK orders never rest. */
  readonly isImmediate: boolean;
  readonly makerAmount: number;
  readonly takerAmount: number;
  readonly clientId: string | undefined;
  readonly groupName: string | undefined;
  /** Null if the answer is JSON. */
  readonly sink: AcceptedSink | null;
  /** Why the terms contradict each other; null when they do not. */
  refuseCombination(): Refusal | null;
  marketIn(catalog: Pick<Catalog, 'byId' | 'byToken'>): MarketEntry | undefined;
  /** Why the token is not the one of the outcome; null when it is. */
  refuseToken(market: MarketEntry): Refusal | null;
  /** @returns the command, valid until the next one is encoded. */
  encode(encoder: OrderEncoder, placer: Placer, extras: PlacementExtras | undefined, moreBits: number): Uint32Array;
};

export class JsonOrder implements OrderTerms {
  readonly body: PlacementBody;
  readonly sink = null;

  constructor(body: PlacementBody) {
    this.body = body;
  }

  get side(): Side {
    return SIDE[this.body.side];
  }

  get isImmediate(): boolean {
    return isImmediateBody(this.body);
  }

  get makerAmount(): number {
    return Number(this.body.maker_amount);
  }

  get takerAmount(): number {
    return Number(this.body.taker_amount);
  }

  get clientId(): string | undefined {
    return this.body.client_order_id;
  }

  get groupName(): string | undefined {
    return this.body.order_group;
  }

  refuseCombination(): Refusal | null {
    return refuseCombination(this.body);
  }

  marketIn(catalog: Pick<Catalog, 'byId'>): MarketEntry | undefined {
    return catalog.byId(this.body.market_id.toLowerCase());
  }

  refuseToken(market: MarketEntry): Refusal | null {
    return refuseToken(this.body, market);
  }

  encode(encoder: OrderEncoder, placer: Placer, extras: PlacementExtras | undefined, moreBits: number): Uint32Array {
    return encoder.encode(this.body, placer, extras, moreBits);
  }
}
