/**
 * The client order ids in use (RULES.md 7.7). An account's orders are spread over the shards, so the gateway ensures
 * that no two of them share one. An id is in use while an open order has it (the views know these) and while an order
 * with it was sent and not answered (this file keeps these). Owner: the gateway thread.
 *
 * Invariants:
 *   CLIENTIDS-1  From `tryClaim` to `release` no other order gets the id; when the order was accepted, the views
 *                contain it before the release.
 *   CLIENTIDS-2  When a shard was lost with the order, no order gets the id until that shard has published its state.
 */
import { E } from '../../shared/base/errors.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { OpenOrders } from '../shardlink/orderViews.ts';
import type { Views } from '../shardlink/views.ts';

/** `unknown` means that the shard was lost and may have accepted the order. */
type IdState = 'free' | 'onItsWay' | 'unknown';

export class ClientOrderIds {
  readonly #views: Pick<Views, 'findByClientId'>;
  readonly #engine: Pick<ShardClient, 'isReady'>;
  /** By claimed id: the functions to call when its order was answered. */
  readonly #onTheirWay = new Map<string, (() => void)[]>();
  /** By lost shard: ids of orders that were sent to it (CLIENTIDS-2). There may be thousands. */
  readonly #unknown = new Map<number, Set<string>>();

  constructor(views: Pick<Views, 'findByClientId'>, engine: Pick<ShardClient, 'isReady'>) {
    this.#views = views;
    this.#engine = engine;
  }

  /**
   * Claims an id for an order that is about to be sent. Returns false if another order has the id.
   * @param replaced hash of the open order that it replaces, whose id it may use
   */
  tryClaim(account: number, clientId: string, replaced: Uint32Array | null): boolean {
    if (this.stateOf(account, clientId) !== 'free') return false;
    const open = this.#views.findByClientId(account, clientId);
    const isTakenOver = open !== null && replaced !== null && open.orders.find(replaced, 0) === open.slot;
    if (open !== null && !isTakenOver) return false;
    this.#onTheirWay.set(keyOf(account, clientId), []);
    return true;
  }

  /** Called when the order that claimed the id was answered by its shard with this code, or was not sent. */
  release(account: number, clientId: string, code: number, shard: number): void {
    const key = keyOf(account, clientId);
    const waiting = this.#onTheirWay.get(key)!;
    this.#onTheirWay.delete(key);
    if (code === E.OUTCOME_UNKNOWN) {
      const lost = this.#unknown.get(shard) ?? new Set();
      this.#unknown.set(shard, lost.add(key));
    }
    for (const notify of waiting) notify();
  }

  /**
   * The state of an id, apart from open orders in the views; ids of lost shards become free once these are READY again.
   */
  stateOf(account: number, clientId: string): IdState {
    const key = keyOf(account, clientId);
    if (this.#onTheirWay.has(key)) return 'onItsWay';
    for (const [shard, lost] of this.#unknown) {
      if (this.#engine.isReady(shard)) this.#unknown.delete(shard);
      else if (lost.has(key)) return 'unknown';
    }
    return 'free';
  }

  /** Calls back once the order that claimed this id was answered. */
  whenAnswered(account: number, clientId: string, notify: () => void): void {
    this.#onTheirWay.get(keyOf(account, clientId))!.push(notify);
  }

  /** The open order with the id, or null. */
  find(account: number, clientId: string): { readonly orders: OpenOrders; readonly slot: number } | null {
    return this.#views.findByClientId(account, clientId);
  }
}

function keyOf(account: number, clientId: string): string {
  return `${account} ${clientId}`;
}
