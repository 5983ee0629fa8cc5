/**
 * Who uses which client order id (RULES.md 7.7). An account's orders are spread over the shards, so that no two of them
 * have the same one is decided here: an id is in use while an open order has it, which the views know, and while an
 * order that asked for it is on its way, which is kept here.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   U1  From `tryClaim` to `release` nobody else gets the id; when the order was accepted, the views know it before.
 *   U2  Where a shard was lost with the order, nobody gets the id until that shard has told what it holds.
 */
import { E } from '../shared/errors.ts';
import type { EngineClient } from './engineClient.ts';
import type { Views } from './views/index.ts';
import type { OpenOrders } from './views/orders.ts';

/** `unknown`: it went down with its shard and may come back. */
export type IdState = 'free' | 'onItsWay' | 'unknown';

export class ClientOrderIds {
  readonly #views: Pick<Views, 'findByClientId'>;
  readonly #engine: Pick<EngineClient, 'isReady'>;
  /** Who is to be told when the order was answered. */
  readonly #onTheirWay = new Map<string, (() => void)[]>();
  /** Those lost on their way, and the shard that has to tell (U2). */
  readonly #unknown = new Map<string, number>();

  constructor(views: Pick<Views, 'findByClientId'>, engine: Pick<EngineClient, 'isReady'>) {
    this.#views = views;
    this.#engine = engine;
  }

  /**
   * For an order that is about to be sent. False when another one has the id.
   * @param replaced hash of the open order that gives way to it, whose id it may take over
   */
  tryClaim(account: number, clientId: string, replaced: Uint32Array | null): boolean {
    if (this.stateOf(account, clientId) !== 'free') return false;
    const open = this.#views.findByClientId(account, clientId);
    const isTakenOver = open !== null && replaced !== null && open.orders.find(replaced, 0) === open.slot;
    if (open !== null && !isTakenOver) return false;
    this.#onTheirWay.set(keyOf(account, clientId), []);
    return true;
  }

  /** The order that claimed the id was answered by its shard with this code, or never sent. */
  release(account: number, clientId: string, code: number, shard: number): void {
    const key = keyOf(account, clientId);
    const waiting = this.#onTheirWay.get(key)!;
    this.#onTheirWay.delete(key);
    if (code === E.OUTCOME_UNKNOWN) this.#unknown.set(key, shard);
    for (const tell of waiting) tell();
  }

  /** Of orders that are not open yet. */
  stateOf(account: number, clientId: string): IdState {
    const key = keyOf(account, clientId);
    if (this.#onTheirWay.has(key)) return 'onItsWay';
    for (const [lost, shard] of this.#unknown) if (this.#engine.isReady(shard)) this.#unknown.delete(lost);
    return this.#unknown.has(key) ? 'unknown' : 'free';
  }

  /** Calls back once the order on its way with this id was answered. */
  whenAnswered(account: number, clientId: string, tell: () => void): void {
    this.#onTheirWay.get(keyOf(account, clientId))!.push(tell);
  }

  /** The open order that has the id; null when there is none. */
  find(account: number, clientId: string): { readonly orders: OpenOrders; readonly slot: number } | null {
    return this.#views.findByClientId(account, clientId);
  }
}

function keyOf(account: number, clientId: string): string {
  return `${account} ${clientId}`;
}
