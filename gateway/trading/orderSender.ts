/**
 * Sends orders to their shards, one by one or many at once: body, headers and the state of the account become one
 * command, and its reply is reported to the order that was sent.
 * Owner: the gateway thread.
 */
import type { PlacementBody, ReplacedOrder } from '../../shared/api/orders.ts';
import { ORDER_STATUS, ORDER_STATUS_NAMES, SIDE } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import type { OrderRecord } from '../../shared/base/orderMath.ts';
import type { REPLACE_MODE } from '../../shared/wire/commands.ts';
import { NO_GROUP, PLACE_BIT_TOO_MANY_OPEN, REPLACE_ELSEWHERE } from '../../shared/wire/commands.ts';
import { flagsExpecting } from '../../shared/wire/expectedRemainder.ts';
import { hashStartOf, isWronglySigned } from '../../shared/wire/hashStart.ts';
import type { AccountStates } from '../account/accountStates.ts';
import type { Accounts } from '../account/accounts.ts';
import type { AccountReads } from '../account/reads.ts';
import type { Refusal } from '../base/refusal.ts';
import type { BadSignatures } from '../http/badSignatures.ts';
import type { Call } from '../http/call.ts';
import { okWritten } from '../http/respond.ts';
import type { AccountCall } from '../http/route.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { ShardClient } from '../shardlink/client.ts';
import { NONE } from '../shardlink/growingColumn.ts';
import { refusalOf } from '../shardlink/refusal.ts';
import type { ReplyHandler, ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { ClientOrderIds } from './clientOrderIds.ts';
import { OrderEncoder, type PlacementExtras } from './encodeOrder.ts';
import type { GroupCommands } from './groupCommands.ts';
import type { OpenOrderCounts } from './openOrderCounts.ts';
import { Order } from './order.ts';
import { ParsedOrders } from './parsedOrders.ts';
import { type PastOrders, refusalAfter } from './pastOrders.ts';
import type { Placed } from './placed.ts';
import { placedNow } from './placementResponse.ts';
import type { PlacementReads } from './reads.ts';
import { endedAs, OldOrder } from './replacedOrder.ts';

type ReplaceMode = (typeof REPLACE_MODE)[keyof typeof REPLACE_MODE];

/** One order of a request, until it is answered; a route extends it by what its answer needs. */
export abstract class SentOrder {
  /** The call to answer when a reply handler fails. */
  abstract readonly call: AccountCall;
  readonly order: Order;
  /** Its index in a batch. */
  readonly row: number;
  /** True if the client order id of the body is claimed for it. */
  holdsClientId = false;
  /** The market in which the order counts as open until it is answered, or NONE. */
  countedMarket: number = NONE;
  /** The old order, if this one replaces it. */
  old: OldOrder | null = null;
  /** The old order's final state, once it was replaced. */
  ended: ReplacedOrder | null = null;

  constructor(order: Order, row = 0) {
    this.order = order;
    this.row = row;
  }

  get account(): number {
    return this.call.principal.accountIndex;
  }

  /** The asset that a refusal for insufficient balance names. */
  get asset(): 'USDC' | 'TOKEN' {
    return this.order.side === SIDE.BUY ? 'USDC' : 'TOKEN';
  }

  /** True if the answer needs `Placed.replaced`. */
  get isAmend(): boolean {
    return false;
  }

  /** The record of this reply has accepted the order. */
  accepted(views: Views, reply: ShardReply): void {
    this.placed(placedNow(views, reply, this.order, this.isAmend));
  }

  /** The same, with the order that was placed; also called for an order that an earlier request has placed. */
  abstract placed(placed: Placed): void;

  /** The order was refused after `tryPlace`, by its shard or because its outcome is unknown. */
  abstract refused(refusal: Refusal): void;
}

export type OrderSenderDeps = {
  readonly engine: ShardClient;
  readonly views: Views;
  readonly catalog: Pick<Catalog, 'byId' | 'byToken'>;
  readonly accounts: Pick<Accounts, 'grantOf'>;
  readonly accountStates: Pick<AccountStates, 'placingRefusal'>;
  readonly clientIds: ClientOrderIds;
  /** Null if nothing is limited. */
  readonly badSignatures: BadSignatures | null;
  readonly openOrders: OpenOrderCounts;
  readonly groups: GroupCommands;
  readonly queries: Pick<AccountReads & PlacementReads, 'orderByHash' | 'placedWithKey'>;
  readonly past: PastOrders;
  /** Answers a call whose handler has failed. */
  readonly onError: (error: unknown, call: Call) => void;
};

export class OrderSender {
  readonly #deps: OrderSenderDeps;
  readonly #encoder: OrderEncoder;
  readonly #past: PastOrders;
  readonly #parsed = new ParsedOrders();
  readonly #onReply: ReplyHandler<SentOrder> = (reply, sent) => {
    if (isWronglySigned(reply)) this.#deps.badSignatures?.count(sent.account);
    this.#release(sent, reply.code, reply.shard);
    this.#report(reply, sent);
  };

  constructor(deps: OrderSenderDeps) {
    this.#deps = deps;
    this.#past = deps.past;
    this.#encoder = new OrderEncoder(deps.accounts);
  }

  /** The order of a request: that of a body that has passed its schema, unless it was read in another way. */
  orderOf(order: PlacementBody | Order): Order {
    return order instanceof Order ? order : this.#parsed.read(order);
  }

  /** Sends the order. Returns null if it was sent, otherwise why not. */
  tryPlace(sent: SentOrder): Refusal | null {
    return this.#trySend(sent, null, 0);
  }

  /** The same for an order that replaces the order with the hash `old`, eight words. */
  tryReplace(sent: SentOrder, old: Uint32Array, mode: ReplaceMode, expected: string | undefined): Refusal | null {
    sent.old = new OldOrder(this.#deps.views, old);
    const expectedRemaining = expected === undefined ? undefined : Number(expected);
    return this.#trySend(sent, old, mode, expectedRemaining);
  }

  #trySend(sent: SentOrder, old: Uint32Array | null, mode: number, expectedRemaining?: number): Refusal | null {
    const { order, call } = sent;
    const limited = this.#deps.badSignatures?.refusalFor(sent.account) ?? null;
    if (limited !== null) return limited;
    const group = this.#groupOf(sent);
    if (group === null) return unknownGroup(order.groupName!);
    if (order.contradiction !== null) return order.contradiction;
    const market = order.marketIn(this.#deps.catalog);
    if (market === undefined) return { row: ERRORS.MARKET_NOT_FOUND };
    const mismatch = order.refuseToken(market);
    if (mismatch !== null) return mismatch;
    const restricted = this.#deps.accountStates.placingRefusal(sent.account, order.side);
    if (restricted !== null) return { row: restricted };
    const { shard, index } = market;
    // A shard that was down when the group was made gets the group when it is back.
    if (group !== NO_GROUP && !this.#deps.groups.isKnownTo(shard, group)) return { row: ERRORS.ENGINE_BUSY };

    const moreBits = this.#countOpen(sent, index, shard, old);
    const extras = this.#extrasOf(sent, group, old, expectedRemaining);
    const writer = this.#encoder.ready(order, call.principal, extras, moreBits);
    const expectation = expectedRemaining === undefined ? 0 : flagsExpecting(expectedRemaining);
    const { engine } = this.#deps;
    const code =
      old === null
        ? engine.place(shard, sent.account, index, writer, this.#onReply, sent)
        : engine.replace(
            shard,
            sent.account,
            index,
            writer,
            old,
            this.#flagsOf(sent, old, shard, mode) | expectation,
            this.#onReply,
            sent,
          );
    if (code === OK) return null;
    this.#release(sent, OK, shard);
    return { row: errorRow(code) };
  }

  #report(reply: ShardReply, sent: SentOrder): void {
    const { call, order } = sent;
    const { views } = this.#deps;
    // An answer that is kept with an idempotency key is JSON.
    const sink = call.idempotencyHold === null ? order.sink : null;
    if (reply.code === OK && sink !== null) okWritten(call, () => sink.accepted(views, reply, order));
    else if (reply.code === OK && sent.old !== null) this.#replaced(reply, sent, sent.old);
    else if (reply.code === OK) sent.accepted(views, reply);
    else if (reply.code === E.DUPLICATE_ORDER && call.idempotencyHold !== null) void this.#findPlaced(sent);
    else if (reply.code === E.ORDER_NOT_FOUND && sent.old !== null) void this.#findReplaced(sent, sent.old);
    else this.#refused(reply, sent);
  }

  #refused(reply: ShardReply, sent: SentOrder): void {
    const refusal = refusalOf(reply, sent.asset);
    const start = hashStartOf(reply);
    if (start === null) sent.refused(refusal);
    else void this.#findAccepted(sent, start, refusal);
  }

  /** The shard would refuse the order whether or not it was accepted before, so it may have forgotten it. */
  async #findAccepted(sent: SentOrder, start: Uint8Array, refusal: Refusal): Promise<void> {
    try {
      const past = await this.#past.anyOrder(sent.account, start);
      if (past !== 'accepted') sent.refused(refusalAfter(past, refusal));
      else if (sent.call.idempotencyHold !== null) await this.#findPlaced(sent);
      else sent.refused({ row: ERRORS.DUPLICATE_ORDER, isOfShard: true });
    } catch (error) {
      this.#deps.onError(error, sent.call);
    }
  }

  /** The views have the new order only in this turn. */
  #replaced(reply: ShardReply, sent: SentOrder, old: OldOrder): void {
    const { views } = this.#deps;
    sent.ended = old.endedWith(reply.c);
    if (sent.ended !== null) sent.accepted(views, reply);
    else void this.#findEnded(sent, old, placedNow(views, reply, sent.order, sent.isAmend));
  }

  /** The old order was placed while this request was on its way, or long ago: its record says how it ended. */
  async #findEnded(sent: SentOrder, old: OldOrder, placed: Placed): Promise<void> {
    try {
      const found = await this.#deps.queries.orderByHash(sent.account, old.bytes);
      if (found.ok && found.value !== null) {
        sent.ended = endedAs(found.value);
        sent.placed(placed);
      } else sent.refused({ row: ERRORS.OUTCOME_UNKNOWN });
    } catch (error) {
      sent.call.idempotencyHold?.leaveUnresolved();
      this.#deps.onError(error, sent.call);
    }
  }

  /**
   * The order to replace may be over and forgotten, or belong to another shard, where it is over by now: the answer is
   * then that of a closed order, wherever its market is (RULES.md 7.10).
   */
  async #findReplaced(sent: SentOrder, old: OldOrder): Promise<void> {
    try {
      const found = await this.#deps.queries.orderByHash(sent.account, old.bytes);
      if (!found.ok) sent.refused({ row: found.row });
      else if (found.value === null) sent.refused({ row: ERRORS.ORDER_NOT_FOUND });
      else if (isOpen(found.value)) sent.refused({ row: ERRORS.REPLACES_ANOTHER_MARKET });
      else sent.refused({ row: ERRORS.ORDER_NOT_CANCELLABLE });
    } catch (error) {
      this.#deps.onError(error, sent.call);
    }
  }

  /**
   * The order exists already. If the command that placed it had this request's key and payload, this very request has
   * placed it and the answer was lost; it then gets the answer of the first time (RULES.md 6.7).
   */
  async #findPlaced(sent: SentOrder): Promise<void> {
    const { call, row } = sent;
    const { account, route, key, fingerprint } = call.idempotencyHold!.use;
    try {
      const found = await this.#deps.queries.placedWithKey({ account, route, key, fingerprint, row });
      if (!found.ok) sent.refused({ row: ERRORS.OUTCOME_UNKNOWN });
      else if (found.value === null) sent.refused({ row: ERRORS.DUPLICATE_ORDER });
      else if (sent.old === null) sent.placed(found.value);
      else await this.#findEnded(sent, sent.old, found.value);
    } catch (error) {
      call.idempotencyHold?.leaveUnresolved();
      this.#deps.onError(error, call);
    }
  }

  /** Null if the account has no such group. */
  #groupOf({ order, account }: SentOrder): number | null {
    const { groupName } = order;
    return groupName === undefined ? NO_GROUP : this.#deps.groups.indexOf(account, groupName);
  }

  /** Claims the client order id. @returns undefined if everything fits into a plain record. */
  #extrasOf(
    sent: SentOrder,
    group: number,
    old: Uint32Array | null,
    expectedRemaining: number | undefined,
  ): PlacementExtras | undefined {
    const { call, order } = sent;
    const { clientId } = order;
    if (clientId !== undefined) sent.holdsClientId = this.#deps.clientIds.tryClaim(sent.account, clientId, old);
    const hold = call.idempotencyHold;
    const hasExtras = clientId !== undefined || group !== NO_GROUP || call.deadlineMs !== 0 || hold !== null;
    if (!hasExtras && old === null) return undefined;
    return {
      deadlineMs: call.deadlineMs,
      group,
      expectedRemaining,
      isClientIdTaken: clientId !== undefined && !sent.holdsClientId,
      key: hold === null ? undefined : { ...hold.words, route: hold.use.route, row: sent.row },
    };
  }

  /**
   * Counts an order that may rest.
   * @returns the bit of the command that says that the account has too many open orders already.
   */
  #countOpen(sent: SentOrder, market: number, shard: number, old: Uint32Array | null): number {
    if (sent.order.isImmediate) return 0;
    if (!this.#deps.openOrders.tryClaim(sent.account, market, shard, old)) return PLACE_BIT_TOO_MANY_OPEN;
    sent.countedMarket = market;
    return 0;
  }

  /** The shard has answered the order with this code, or the order was not sent. */
  #release(sent: SentOrder, code: number, shard: number): void {
    const { account, countedMarket } = sent;
    if (countedMarket !== NONE) {
      sent.countedMarket = NONE;
      this.#deps.openOrders.release(account, countedMarket, code, shard);
    }
    if (!sent.holdsClientId) return;
    sent.holdsClientId = false;
    this.#deps.clientIds.release(account, sent.order.clientId!, code, shard);
  }

  #flagsOf(sent: SentOrder, old: Uint32Array, shard: number, mode: number): number {
    const { orders } = this.#deps.views;
    const open = orders.find((ofShard) => ofShard.find(old, 0) !== NONE);
    if (open === undefined) return mode;
    if (open.shard === shard) return mode;
    return open.accountOf(open.find(old, 0)) === sent.account ? mode | REPLACE_ELSEWHERE : mode;
  }
}

/** It was placed after its hash had been looked up. */
function isOpen({ status }: OrderRecord): boolean {
  return (
    status === ORDER_STATUS_NAMES[ORDER_STATUS.OPEN] || status === ORDER_STATUS_NAMES[ORDER_STATUS.PARTIALLY_FILLED]
  );
}

function unknownGroup(value: string): Refusal {
  const details = { field: 'order_group', rule: 'known', value };
  return { row: ERRORS.VALIDATION_ERROR, message: 'unknown order group', details };
}
