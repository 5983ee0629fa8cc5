/**
 * The markets of one shard, which of them the current command changed, and when time alone changes one next.
 * Owner: the shard thread.
 */
import type { Digest } from './digest.ts';
import { Market } from './market.ts';
import type { Orders } from './orders.ts';
import type { SnapshotIo } from './snapshotIo.ts';

export class Markets {
  /** Those the current command changed, for the MARKET events. */
  readonly touched: Market[] = [];
  /** Those the running digest may not know as they are: looked up by a command since it was last brought up to date. */
  readonly #unsealed: Market[] = [];
  /** When the next market starts or closes by itself, or Infinity. */
  nextTransitionMs = Number.POSITIVE_INFINITY;
  readonly #byIndex = new Map<number, Market>();
  /** The same by place: every command asks, most of them twice. */
  readonly #at: (Market | undefined)[] = [];
  #commandNumber = 0;

  /** For a command, which may change the market: the digest looks at it again. */
  get(index: number): Market | undefined {
    const market = index < this.#at.length ? this.#at[index] : undefined;
    if (market !== undefined) this.#noteUnsealed(market);
    return market;
  }

  /** For those who only look: the auditor must not put right what it is to find. */
  peek(index: number): Market | undefined {
    return this.#byIndex.get(index);
  }

  add(market: Market): void {
    this.#byIndex.set(market.index, market);
    while (this.#at.length <= market.index) this.#at.push(undefined);
    this.#at[market.index] = market;
    this.#noteUnsealed(market);
  }

  /** Brings the digest up to date: an exchange has many markets, and few of them change between two seals. */
  digestUnsealed(digest: Digest): void {
    for (const market of this.#unsealed) {
      digest.market(market);
      market.isUnsealed = false;
    }
    this.#unsealed.length = 0;
  }

  /** In order of opening: the same at every replay. */
  all(): IterableIterator<Market> {
    return this.#byIndex.values();
  }

  beginCommand(): void {
    this.#commandNumber++;
    // Hardly ever one: setting a length is a call, reading it is not.
    if (this.touched.length > 0) this.touched.length = 0;
  }

  /** Status, rules or collateral changed: readers are told how the market stands after the command. */
  touch(market: Market): void {
    this.#noteUnsealed(market);
    if (market.touched === this.#commandNumber) return;
    market.touched = this.#commandNumber;
    this.touched.push(market);
  }

  /** Queues are not kept: `state.ts` fills the books again from the orders. */
  persist(io: SnapshotIo, orders: Orders): void {
    const known = [...this.#byIndex.values()];
    const count = io.number(known.length);
    for (let i = 0; i < count; i++) {
      const old = known[i];
      const index = io.number(old?.index ?? 0);
      const uuid = io.u32(old?.uuid ?? new Uint32Array(4));
      const ticksPerUnit = io.number(old?.ticksPerUnit ?? 0);
      const minOrderAtomic = io.number(old?.minOrderAtomic ?? 0);
      const status = io.number(old?.status ?? 0);
      const feeBps = io.number(old?.feeBps ?? 0);
      const startMs = io.number(old?.startMs ?? 0);
      const endMs = io.number(old?.endMs ?? 0);
      const market =
        old ?? new Market(orders, index, uuid, ticksPerUnit, minOrderAtomic, status, feeBps, startMs, endMs);
      market.collateralMicro = io.number(market.collateralMicro);
      market.sequence = io.number(market.sequence);
      market.openOrders = io.number(market.openOrders);
      market.isClosed = io.number(market.isClosed ? 1 : 0) === 1;
      market.payoutYesPpm = io.number(market.payoutYesPpm);
      market.resolvedMs = io.number(market.resolvedMs);
      market.settledMs = io.number(market.settledMs);
      market.roundingPpm = io.number(market.roundingPpm);
      this.add(market);
    }
    this.plan();
  }

  /** To be called when a status or a time changed. */
  plan(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const market of this.#byIndex.values()) next = Math.min(next, market.nextTransitionMs());
    this.nextTransitionMs = next;
  }

  #noteUnsealed(market: Market): void {
    if (market.isUnsealed) return;
    market.isUnsealed = true;
    this.#unsealed.push(market);
  }
}
