/**
 * The channel `market` (RULES.md 8.23): every change of a market's status, stage, fee, times and decision, and every
 * new market, numbered across all markets and kept for clients that reconnect. Owner: the gateway thread. `applied` and
 * `flush` run inside the pump, after the views.
 *
 * Invariants:
 *   CHANGES-1  Between two batches, a market's last frame (or, without one, the state found at the start) equals the
 *              state in the views.
 *   CHANGES-2  Numbers grow by 1, in the order in which the views changed. They are valid within one run: another
 *              process has other numbers and another `run`.
 */
import { randomBytes } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { marketState } from '../shardlink/marketState.ts';
import type { MarketViews } from '../shardlink/marketViews.ts';
import type { RecordResult } from '../shardlink/recordResult.ts';
import { toFrame } from './marketChannel.ts';

/** Kinds of changes, as frames name them. */
export const CHANGE_NAMES = ['opened', 'status', 'stage', 'fee', 'times', 'decision', 'settled'] as const;
type ChangeName = (typeof CHANGE_NAMES)[number];

/** At least this many changes are kept for clients that reconnect. */
const KEPT_CHANGES = 65_536;

export type Change = { readonly market: number; readonly eventId: string | null; readonly frame: Buffer };
export type ChangeSubscriber = { changed(change: Change): void };
/** The event of a market, by its index; null if it belongs to none. */
export type EventOf = (market: number) => string | null;

type State = ReturnType<typeof stateOf>;
type ChangesOptions = { readonly markets: MarketViews; readonly eventOf: EventOf; readonly clock: Clock };

export class MarketChanges {
  /** CHANGES-2. */
  readonly run = randomBytes(8).toString('hex');
  readonly #options: ChangesOptions;
  /** By market: its state as last published, or as found at the start. */
  readonly #known: (State | undefined)[] = [];
  /** By market: the number of its last change; 0 before the first of this run. */
  readonly #lastOf: number[] = [];
  /** Shards that have recovered once: the initial state of their markets is known. */
  readonly #shards = new Set<number>();
  readonly #subscribers = new Set<ChangeSubscriber>();
  #kept: Change[] = [];
  /** The number of the first change in `#kept`. */
  #first = 1;
  /** Number of the first change that was not pushed. */
  #unpushed = 1;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /** The number of the newest change. */
  get last(): number {
    return this.#first + this.#kept.length - 1;
  }

  add(subscriber: ChangeSubscriber): void {
    this.#subscribers.add(subscriber);
  }

  remove(subscriber: ChangeSubscriber): void {
    this.#subscribers.delete(subscriber);
  }

  /** True if every change after this number of this run is kept. */
  canReplay(run: string, sequence: number): boolean {
    return run === this.run && sequence <= this.last && sequence + 1 >= this.#first;
  }

  change(sequence: number): Change {
    const change = this.#kept[sequence - this.#first];
    assert(change !== undefined, 'CHANGES-2: only a change that is kept is read');
    return change;
  }

  /** The present state of a market: the frame stands for every change up to its number. */
  stateFrame(market: number): Buffer {
    return this.#frame(market, [], this.last, this.#options.clock.nowMs());
  }

  applied(shard: number, { timeMs }: RecordResult, words: Uint32Array, word: number): void {
    if (!this.#shards.has(shard)) return;
    const type = typeOf(words[word + ANY_EVENT.type]);
    if (type === EVENT.MARKET.TYPE) this.#look(words[word + ANY_EVENT.market], timeMs);
    else if (type === EVENT.STAGE.TYPE) this.#lookAtAll(shard, timeMs);
  }

  /** The views show what the shard has recovered. At the start there is no earlier state to compare with. */
  recovered(shard: number): void {
    const { markets } = this.#options;
    if (this.#shards.has(shard)) {
      this.#lookAtAll(shard, 0);
      return;
    }
    this.#shards.add(shard);
    for (const market of markets.ofShard(shard)) this.#known[market] = stateOf(markets, market);
  }

  flush(): void {
    for (; this.#unpushed <= this.last; this.#unpushed++) {
      const change = this.change(this.#unpushed);
      for (const subscriber of this.#subscribers) subscriber.changed(change);
    }
    if (this.#kept.length < 2 * KEPT_CHANGES) return;
    this.#first += this.#kept.length - KEPT_CHANGES;
    this.#kept = this.#kept.slice(-KEPT_CHANGES);
  }

  #lookAtAll(shard: number, timeMs: number): void {
    for (const market of this.#options.markets.ofShard(shard)) this.#look(market, timeMs);
  }

  /** CHANGES-1. @param timeMs the record's time; 0 for a recovery, which has no record */
  #look(market: number, timeMs: number): void {
    const { markets, eventOf, clock } = this.#options;
    const before = this.#known[market];
    const now = stateOf(markets, market);
    const names = changesOf(before, now);
    if (names.length === 0) return;
    this.#known[market] = now;
    const sequence = this.last + 1;
    const frame = this.#frame(market, names, sequence, timeMs === 0 ? clock.nowMs() : timeMs);
    this.#lastOf[market] = sequence;
    this.#kept.push({ market, eventId: eventOf(market), frame });
  }

  #frame(market: number, names: readonly ChangeName[], sequence: number, timeMs: number): Buffer {
    const { markets, eventOf } = this.#options;
    const event = eventOf(market);
    return toFrame(
      `{"channel":"market","market_id":"${markets.id(market)}","sequence":${sequence}` +
        `,"previous_sequence":${this.#lastOf[market] ?? 0},"timestamp":${timeMs}` +
        `,"data":{"changed":${JSON.stringify(names)},"event_id":${event === null ? 'null' : `"${event}"`}` +
        `,${marketState(markets, market)}}}`,
    );
  }
}

function stateOf(markets: MarketViews, market: number) {
  return {
    status: markets.status(market),
    stage: markets.stage(market),
    feeBps: markets.feeBps(market),
    startMs: markets.startMs(market),
    endMs: markets.endMs(market),
    payoutYesPpm: markets.payoutYesPpm(market),
    resolvedMs: markets.resolvedMs(market),
    settledMs: markets.settledMs(market),
  };
}

function changesOf(before: State | undefined, now: State): ChangeName[] {
  if (before === undefined) return ['opened'];
  const names: ChangeName[] = [];
  if (now.status !== before.status) names.push('status');
  if (now.stage !== before.stage) names.push('stage');
  if (now.feeBps !== before.feeBps) names.push('fee');
  if (now.startMs !== before.startMs || now.endMs !== before.endMs) names.push('times');
  if (now.resolvedMs !== before.resolvedMs || now.payoutYesPpm !== before.payoutYesPpm) names.push('decision');
  if (now.settledMs !== before.settledMs) names.push('settled');
  return names;
}
