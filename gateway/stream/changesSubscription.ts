/**
 * A connection's subscription to the channel `market` (RULES.md 8.23): named markets, the markets of events, or all
 * markets. New changes are sent at once; requested states and earlier changes are sent at the client's pace. Owner: the
 * gateway thread, between two pump batches, except for `changed`.
 *
 * Invariant:
 *   CHANGESUBSCRIPTION-1  From its start on, a subscription sends every change of the markets that it follows, once and
 *                         in order. If changes are no longer kept, it sends the states of all these markets instead.
 */
import { isDecided } from '../../shared/base/codes.ts';
import type { MarketViews } from '../shardlink/marketViews.ts';
import type { Change, ChangeSubscriber, EventOf, MarketChanges } from './summaryChanges.ts';

/** A client's position: the run, and the number of the last change that it has. */
export type ChangePlace = { readonly run: string; readonly sequence: number };
/** Markets by index, events by id. */
export type ChangeSelection = {
  readonly markets: readonly number[];
  readonly events: readonly string[];
  readonly all: boolean;
};

/** Frames sent in one turn, and kept changes examined for them. */
const FRAMES_A_TURN = 64;
const LOOKS_A_TURN = 4096;
/** A market that was decided longer ago is not included in the states of all markets. */
const SHOWN_AFTER_END_MS = 86_400_000;

export type ChangesHost = {
  readonly changes: MarketChanges;
  readonly views: MarketViews;
  readonly eventOf: EventOf;
  /** The markets of an event that their shards have opened. */
  readonly marketsOf: (event: string) => readonly number[];
};

export class ChangesSubscription implements ChangeSubscriber {
  readonly markets = new Set<number>();
  readonly events = new Set<string>();
  isAll = false;
  readonly #host: ChangesHost;
  readonly #push: (frame: Buffer) => void;
  /** The last change that was sent or did not concern this subscription; null if changes are sent as they come. */
  #cursor: number | null = null;
  /** Markets whose states are to be sent. */
  readonly #states = new Set<number>();
  /** The states of all markets from this index on are still to be sent; null if none. */
  #scan: number | null = null;

  constructor(host: ChangesHost, push: (frame: Buffer) => void) {
    this.#host = host;
    this.#push = push;
    host.changes.add(this);
  }

  get isLive(): boolean {
    return this.#cursor === null && this.#states.size === 0 && this.#scan === null;
  }

  get isEmpty(): boolean {
    return !this.isAll && this.markets.size + this.events.size === 0;
  }

  /** The number up to which every change was sent. */
  get sequence(): number {
    return this.#cursor ?? this.#host.changes.last;
  }

  end(): void {
    this.#host.changes.remove(this);
  }

  follow({ markets, events, all }: ChangeSelection): void {
    for (const market of markets) this.markets.add(market);
    for (const event of events) this.events.add(event);
    this.isAll ||= all;
  }

  leave({ markets, events, all }: ChangeSelection): void {
    for (const market of markets) this.markets.delete(market);
    for (const event of events) this.events.delete(event);
    if (all) {
      this.isAll = false;
      this.#scan = null;
    }
    for (const market of this.#states) {
      if (!this.#wants(market, this.#host.eventOf(market))) this.#states.delete(market);
    }
  }

  /** Requests the states of all of these markets. */
  state({ markets, events, all }: ChangeSelection): void {
    for (const market of markets) this.#states.add(market);
    for (const event of events) for (const market of this.#host.marketsOf(event)) this.#states.add(market);
    if (all) this.#scan = 0;
  }

  /** Sends every change after this one again, or else the states of everything that is followed. */
  startAfter({ run, sequence }: ChangePlace): void {
    const { changes } = this.#host;
    this.#cursor = changes.canReplay(run, sequence) ? sequence : null;
    if (this.#cursor !== null) return;
    this.state({ markets: [...this.markets], events: [...this.events], all: this.isAll });
  }

  changed({ market, eventId, frame }: Change): void {
    if (this.#cursor === null && this.#wants(market, eventId)) this.#push(frame);
  }

  catchUp(nowMs: number): boolean {
    if (this.#cursor !== null) this.#replay(this.#cursor);
    else if (this.#states.size > 0) this.#sendStates();
    else if (this.#scan !== null) this.#sendPresent(this.#scan, nowMs);
    return this.isLive;
  }

  #replay(from: number): void {
    const { changes } = this.#host;
    if (!changes.canReplay(changes.run, from)) {
      this.startAfter({ run: '', sequence: 0 });
      return;
    }
    const end = Math.min(changes.last, from + LOOKS_A_TURN);
    let at = from;
    for (let sent = 0; at < end && sent < FRAMES_A_TURN; ) {
      const change = changes.change(++at);
      if (!this.#wants(change.market, change.eventId)) continue;
      this.#push(change.frame);
      sent++;
    }
    this.#cursor = at === changes.last ? null : at;
  }

  #sendStates(): void {
    let sent = 0;
    for (const market of this.#states) {
      if (sent++ === FRAMES_A_TURN) return;
      this.#states.delete(market);
      this.#push(this.#host.changes.stateFrame(market));
    }
  }

  #wants(market: number, eventId: string | null): boolean {
    return this.isAll || this.markets.has(market) || (eventId !== null && this.events.has(eventId));
  }

  /** Sends the states of all markets from this one on. */
  #sendPresent(from: number, nowMs: number): void {
    const { changes, views } = this.#host;
    const end = Math.min(views.count, from + LOOKS_A_TURN);
    let market = from;
    for (let sent = 0; market < end && sent < FRAMES_A_TURN; market++) {
      if (!views.has(market)) continue;
      const endMs = Math.max(views.resolvedMs(market), views.settledMs(market));
      if (isDecided(views.status(market)) && endMs < nowMs - SHOWN_AFTER_END_MS) continue;
      this.#push(changes.stateFrame(market));
      sent++;
    }
    this.#scan = market >= views.count ? null : market;
  }
}
