/**
 * The orders of each account that are open or may become open (RULES.md 2.11). They are spread over the shards, so they
 * are counted here: the views know the open orders, and this file counts orders that were sent and not answered. Owner:
 * the gateway thread.
 *
 * Invariants:
 *   OPENCOUNT-1  From `tryClaim` to `release` an order counts as open, in its account and in its market; when it was
 *                accepted, the views contain it before the release. No account therefore ever has more open orders than
 *                its bounds at that time allowed.
 *   OPENCOUNT-2  An order that was sent to a shard that was lost counts until the shard has published its state.
 */
import { assert } from '../../shared/base/assert.ts';
import { E } from '../../shared/base/errors.ts';
import { PairTable } from '../../shared/base/pairTable.ts';
import type { ShardClient } from '../shardlink/client.ts';
import { grown, NONE } from '../shardlink/growingColumn.ts';
import type { Views } from '../shardlink/views.ts';
import type { OpenOrderBoundsStore } from './openOrderBoundsStore.ts';

const FIRST_ACCOUNTS = 1024;

type Counted = { readonly account: number; readonly market: number };

export class OpenOrderCounts {
  readonly #views: Pick<Views, 'orders' | 'pairs'>;
  readonly #engine: Pick<ShardClient, 'isReady'>;
  readonly #bounds: Pick<OpenOrderBoundsStore, 'of'>;
  /** Orders on their way, by account, and by the row of their account and market. */
  #ofAccount = new Uint32Array(FIRST_ACCOUNTS);
  #ofPair = new Uint32Array(FIRST_ACCOUNTS);
  readonly #pairs = new PairTable();
  /** By lost shard: the orders that it may have accepted (OPENCOUNT-2). */
  readonly #unknown = new Map<number, Counted[]>();

  constructor(
    views: Pick<Views, 'orders' | 'pairs'>,
    engine: Pick<ShardClient, 'isReady'>,
    bounds: Pick<OpenOrderBoundsStore, 'of'>,
  ) {
    this.#views = views;
    this.#engine = engine;
    this.#bounds = bounds;
  }

  /**
   * Counts an order that is about to be sent. Returns false, and counts nothing, if the account has as many as it may.
   * @param replaced hash of the order that it replaces, which counts as closed
   */
  tryClaim(account: number, market: number, shard: number, replaced: Uint32Array | null): boolean {
    if (this.#unknown.size > 0) this.#releaseFound();
    const { orders, pairs } = this.#views;
    const { inAll, inMarket } = this.#bounds.of(account);
    if (account >= this.#ofAccount.length) this.#ofAccount = grown(this.#ofAccount, account + 1);
    let all = this.#ofAccount[account] + 1;
    for (const each of orders) all += each.countOf(account);
    // An account with few orders in all also has few in the market, so most orders skip the rest.
    if (all > inAll || all > inMarket) {
      const gone = this.#isOpenIn(account, market, shard, replaced) ? 1 : 0;
      const row = this.#pairs.find(account, market);
      const onTheirWay = row === NONE ? 0 : this.#ofPair[row];
      const here = onTheirWay + 1 + orders[shard].countOfPair(pairs.find(account, market));
      if (all - gone > inAll || here - gone > inMarket) return false;
    }
    const row = this.#pairs.rowOf(account, market);
    if (row >= this.#ofPair.length) this.#ofPair = grown(this.#ofPair, row + 1);
    this.#ofAccount[account]++;
    this.#ofPair[row]++;
    return true;
  }

  /** Called when the order was answered by its shard with this code, or was not sent. */
  release(account: number, market: number, code: number, shard: number): void {
    if (code !== E.OUTCOME_UNKNOWN) {
      this.#release(account, market);
      return;
    }
    const lost = this.#unknown.get(shard) ?? [];
    lost.push({ account, market });
    this.#unknown.set(shard, lost);
  }

  #release(account: number, market: number): void {
    const row = this.#pairs.find(account, market);
    assert(this.#ofAccount[account] > 0 && this.#ofPair[row] > 0, 'OPENCOUNT-1: only what was counted is released');
    this.#ofAccount[account]--;
    this.#ofPair[row]--;
  }

  #releaseFound(): void {
    for (const [shard, lost] of this.#unknown) {
      if (!this.#engine.isReady(shard)) continue;
      this.#unknown.delete(shard);
      for (const { account, market } of lost) this.#release(account, market);
    }
  }

  /** The replaced order is the account's, open, and in the market of the new one: otherwise its shard refuses. */
  #isOpenIn(account: number, market: number, shard: number, hash: Uint32Array | null): boolean {
    if (hash === null) return false;
    const orders = this.#views.orders[shard];
    const slot = orders.find(hash, 0);
    return slot !== NONE && orders.accountOf(slot) === account && orders.marketOf(slot) === market;
  }
}
