/**
 * Orders on their way to a shard, one by one or many at once: what a body, its headers and the state of the account
 * add up to becomes one command, and its reply finds the way back to whoever sent it.
 * Owner: the gateway thread.
 */
import type { REPLACE_MODE } from '../shared/commands.ts';
import { NO_GROUP, REPLACE_ELSEWHERE } from '../shared/commands.ts';
import { E, ERRORS, errorRow, OK } from '../shared/errors.ts';
import type { Call } from './call.ts';
import type { ClientOrderIds } from './clientOrderIds.ts';
import type { Accounts } from './control/accounts.ts';
import type { Catalog, MarketEntry } from './control/catalog.ts';
import { OrderEncoder, type Placement, type PlacementExtras } from './encodeOrder.ts';
import type { EngineClient, EngineReply, ReplyHandler } from './engineClient.ts';
import { refusalOf } from './engineRefusal.ts';
import type { GroupDesk } from './groupDesk.ts';
import { type Placed, placedNow } from './placementResponse.ts';
import type { QueryPool } from './queries/pool.ts';
import type { Refusal } from './respond.ts';
import { NONE } from './views/columns.ts';
import type { Views } from './views/index.ts';

/** What becomes of an order that was sent; one per route. */
export type OrderResult = {
  /** It is answered with what `Placed.replaced` says, too. */
  readonly isAmend: boolean;
  placed(placed: Placed, task: OrderTask): void;
  refused(refusal: Refusal, task: OrderTask): void;
};

/** One order of a request; made for the request, so it may carry what the answer needs. */
export class OrderTask {
  /** Whose failure it is when answering goes wrong. */
  readonly call: Call;
  readonly body: Placement;
  /** Its place in a batch. */
  readonly row: number;
  readonly result: OrderResult;
  /** The client order id of the body is kept for it. */
  holdsClientId = false;

  constructor(call: Call, body: Placement, result: OrderResult, row = 0) {
    this.call = call;
    this.body = body;
    this.result = result;
    this.row = row;
  }

  get account(): number {
    return this.call.key!.accountIndex;
  }

  /** What a balance that is too small is short of. */
  get asset(): 'USDC' | 'TOKEN' {
    return this.body.side === 'BUY' ? 'USDC' : 'TOKEN';
  }
}

export type PlacementsDeps = {
  readonly engine: EngineClient;
  readonly views: Views;
  readonly catalog: Pick<Catalog, 'byId'>;
  readonly accounts: Pick<Accounts, 'ownerOf' | 'maySign'>;
  readonly clientIds: ClientOrderIds;
  readonly groups: GroupDesk;
  readonly queries: Pick<QueryPool, 'placedWithKey'>;
  /** Whoever gets this owes the call its answer. */
  readonly onError: (error: unknown, call: Call) => void;
};

export class Placements {
  readonly #deps: PlacementsDeps;
  readonly #encoder: OrderEncoder;
  readonly #onReply: ReplyHandler<OrderTask> = (reply, task) => {
    if (task.holdsClientId) this.#releaseClientId(task, reply.code, reply.shard);
    this.#tell(reply, task);
  };

  constructor(deps: PlacementsDeps) {
    this.#deps = deps;
    this.#encoder = new OrderEncoder(deps.catalog, deps.accounts);
  }

  #tell(reply: EngineReply, task: OrderTask): void {
    const { call, body, result } = task;
    if (reply.code === OK) result.placed(placedNow(this.#deps.views, reply, body, result.isAmend), task);
    else if (reply.code === E.DUPLICATE_ORDER && call.idempotencyHold !== null) void this.#findPlaced(task);
    else result.refused(refusalOf(reply, task.asset), task);
  }

  /**
   * The order was placed before: by this very request, if the command that placed it had its key and payload, and the
   * answer was lost. Then it is answered now as it was to be answered then (RULES.md 6.7).
   */
  async #findPlaced(task: OrderTask): Promise<void> {
    const { call, row, result } = task;
    const { account, route, key, fingerprint } = call.idempotencyHold!.place;
    try {
      const found = await this.#deps.queries.placedWithKey({ account, route, key, fingerprint, row });
      if (!found.ok) result.refused({ row: ERRORS.OUTCOME_UNKNOWN }, task);
      else if (found.value === null) result.refused({ row: ERRORS.DUPLICATE_ORDER }, task);
      else result.placed(found.value, task);
    } catch (error) {
      call.isUnresolved = true;
      this.#deps.onError(error, call);
    }
  }

  /** Null when it was sent; else nothing was. */
  tryPlace(task: OrderTask): Refusal | null {
    return this.#trySend(task, null, ({ shard, index }) => {
      return this.#deps.engine.place(shard, task.account, index, this.#encoder.record, this.#onReply, task);
    });
  }

  /** The order with the hash `old`, eight words, gives way. */
  tryReplace(
    task: OrderTask,
    old: Uint32Array,
    mode: (typeof REPLACE_MODE)[keyof typeof REPLACE_MODE],
  ): Refusal | null {
    return this.#trySend(task, old, ({ shard, index }) => {
      const flags = mode | (this.#isOpenElsewhere(task.account, old, shard) ? REPLACE_ELSEWHERE : 0);
      const { record } = this.#encoder;
      return this.#deps.engine.replace(shard, task.account, index, record, old, flags, this.#onReply, task);
    });
  }

  #trySend(task: OrderTask, old: Uint32Array | null, send: (market: MarketEntry) => number): Refusal | null {
    const group = this.#groupOf(task);
    if (group === null) return unknownGroup(task.body);
    const extras = this.#extrasOf(task, group, old);
    const market = this.#encoder.tryEncode(task.body, task.call.key!, extras);
    const refusal = 'row' in market ? market : this.#refuseSending(market, group, send);
    if (refusal !== null && task.holdsClientId) this.#releaseClientId(task, OK, 0);
    return refusal;
  }

  #refuseSending(market: MarketEntry, group: number, send: (market: MarketEntry) => number): Refusal | null {
    // A shard that was away when the group was made hears of it as it comes back.
    if (group !== NO_GROUP && !this.#deps.groups.isKnownTo(market.shard, group)) return { row: ERRORS.ENGINE_BUSY };
    const code = send(market);
    return code === OK ? null : { row: errorRow(code) };
  }

  /** Null when there is no such group. */
  #groupOf({ body, account }: OrderTask): number | null {
    const { order_group } = body;
    return order_group === undefined ? NO_GROUP : this.#deps.groups.indexOf(account, order_group);
  }

  /** Undefined where the plain record says it all. */
  #extrasOf(task: OrderTask, group: number, old: Uint32Array | null): PlacementExtras | undefined {
    const { call, body } = task;
    const { client_order_id: clientId } = body;
    if (clientId !== undefined) task.holdsClientId = this.#deps.clientIds.tryClaim(task.account, clientId, old);
    const hold = call.idempotencyHold;
    const hasExtras = clientId !== undefined || group !== NO_GROUP || call.deadlineMs !== 0 || hold !== null;
    if (!hasExtras && old === null) return undefined;
    return {
      deadlineMs: call.deadlineMs,
      group,
      isClientIdTaken: clientId !== undefined && !task.holdsClientId,
      key: hold === null ? undefined : { ...hold.words, route: hold.place.route, row: task.row },
    };
  }

  #releaseClientId(task: OrderTask, code: number, shard: number): void {
    task.holdsClientId = false;
    this.#deps.clientIds.release(task.account, task.body.client_order_id!, code, shard);
  }

  #isOpenElsewhere(account: number, hash: Uint32Array, shard: number): boolean {
    for (const orders of this.#deps.views.orders) {
      const slot = orders.shard === shard ? NONE : orders.find(hash, 0);
      if (slot !== NONE) return orders.accountOf(slot) === account;
    }
    return false;
  }
}

function unknownGroup({ order_group: value }: Placement): Refusal {
  const details = { field: 'order_group', rule: 'known', value };
  return { row: ERRORS.VALIDATION_ERROR, options: { message: 'unknown order group', details } };
}
