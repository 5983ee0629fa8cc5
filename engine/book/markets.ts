/**
 * The markets of one shard: those that the current command changed, those that time will change, and those that are
 * being ended.
 * Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { Endings } from './endings.ts';
import { EventSets } from './eventSets.ts';
import { Market } from './market.ts';
import type { Orders } from './orders.ts';
import { Transitions } from './transitions.ts';

/** The first versions of snapshots with markets that are being ended, with stages, and with times of last fills. */
export const STAGES_VERSION = 9;
const FILL_TIMES_VERSION = 11;
/** The first one with event sets. */
const SETS_VERSION = 17;

export class Markets {
  /** Markets that the current command changed, for the MARKET events. */
  readonly touched: Market[] = [];
  /** The first `dirtyCount` are those that may have changed since the last digest: a command looked them up. */
  readonly dirty: Market[] = [];
  dirtyCount = 0;
  readonly transitions = new Transitions();
  readonly endings = new Endings();
  readonly sets = new EventSets();
  readonly #byIndex = new Map<number, Market>();
  /** The same markets as a dense array, for the hot look-up: every command looks up its market, most of them twice. */
  readonly #at: (Market | undefined)[] = [];
  #commandNumber = 0;

  /** For commands, which may change the market: the next digest then recomputes its part. */
  get(index: number): Market | undefined {
    const market = index < this.#at.length ? this.#at[index] : undefined;
    if (market !== undefined) this.#markDirty(market);
    return market;
  }

  /** For readers, which change nothing: `checkInvariants` must not make the digest recompute a part. */
  peek(index: number): Market | undefined {
    return this.#byIndex.get(index);
  }

  add(market: Market): void {
    assert(!this.#byIndex.has(market.index), 'markets: a market is opened once');
    market.ordinal = this.#byIndex.size;
    this.#byIndex.set(market.index, market);
    while (this.#at.length <= market.index) this.#at.push(undefined);
    this.#at[market.index] = market;
    this.#markDirty(market);
  }

  /** Called once the digest includes all dirty markets. */
  clearDirty(): void {
    for (let i = 0; i < this.dirtyCount; i++) this.dirty[i].isDirty = false;
    this.dirtyCount = 0;
  }

  /** In order of opening: the same at every replay. */
  all(): IterableIterator<Market> {
    return this.#byIndex.values();
  }

  startCommand(): void {
    this.#commandNumber++;
    // Touched markets are rare: reading the length is cheap, setting it is a call.
    if (this.touched.length > 0) this.touched.length = 0;
  }

  /** Status, rules or collateral changed: a MARKET event follows the command. */
  touch(market: Market): void {
    this.#markDirty(market);
    if (market.touched === this.#commandNumber) return;
    market.touched = this.#commandNumber;
    this.touched.push(market);
  }

  /** Queues are not kept: `state.ts` fills the books again from the orders. */
  persist(io: SnapshotIo, orders: Orders): void {
    const known = [...this.#byIndex.values()];
    const count = io.number(known.length);
    assert(known.length === 0 || known.length === count, 'markets: a snapshot is read into nothing');
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
      persistEnding(io, market);
      if (io.version >= STAGES_VERSION) market.stage = io.number(market.stage);
      if (io.version >= FILL_TIMES_VERSION) market.lastFillMicros = io.number(market.lastFillMicros);
      if (io.version >= SETS_VERSION) this.#persistPlace(io, market);
      if (old !== undefined) continue;
      this.add(market);
      this.transitions.plan(market);
    }
    if (io.version >= SETS_VERSION) this.sets.persist(io);
    this.endings.persist(io, (index) => this.#byIndex.get(index));
  }

  /** Asserts that the two forms of the list agree, and what the parts of this list promise. */
  validate(): void {
    const dirty = new Set(this.dirty.slice(0, this.dirtyCount));
    this.transitions.validate(this.#byIndex.values());
    this.endings.validate(this.#byIndex.values());
    for (const market of this.#byIndex.values()) {
      assert(this.#at[market.index] === market, 'markets: both look-ups lead to the market');
      assert(market.isDirty === dirty.has(market), 'markets: a dirty market is in the list');
    }
  }

  /** Its place in its set, as in MARKET_OPEN. */
  #persistPlace(io: SnapshotIo, market: Market): void {
    const { set } = market;
    const first = io.number(set === null ? 0 : set.first + 1);
    if (first === 0) return;
    const ordinal = io.number(market.setOrdinal);
    const size = io.number(set?.size ?? 0);
    if (set === null) this.sets.join(market, first - 1, ordinal, size);
  }

  #markDirty(market: Market): void {
    if (market.isDirty) return;
    market.isDirty = true;
    this.dirty[this.dirtyCount++] = market;
  }
}

function persistEnding(io: SnapshotIo, market: Market): void {
  market.isClosing = io.number(market.isClosing ? 1 : 0) === 1;
  market.decision = io.number(market.decision);
  market.decisionYesPpm = io.number(market.decisionYesPpm);
  market.cursor = io.number(market.cursor);
}
