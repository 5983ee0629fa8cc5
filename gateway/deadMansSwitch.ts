/**
 * The dead-man's switch (RULES.md 7.8): a client that has once sent a heartbeat and then sends none for WINDOW_MS has
 * all its open orders cancelled.
 * Owner: the gateway thread.
 *
 *   idle ──heartbeat──► armed ──no heartbeat for a window──► cancelling ──every shard has done it──► idle
 *                       ▲    │                                    │
 *                       └────┘ heartbeat: a new window            └──heartbeat──► armed anew, cancelling goes on
 *
 * Invariants:
 *   W1  Windows are measured in served time: time in which this process took heartbeats. A look that comes late (a
 *       stalled process, a machine that slept, a clock that was moved) adds nothing, nor does the time of draining; so
 *       no deadline passes while the server is not there to hear.
 *   W2  An account is in control.db before its first heartbeat is answered, and leaves it only when every shard has
 *       cancelled. A crash in between finds it armed, with a full window.
 *   W3  All windows are equally long and a heartbeat moves its account to the end: the first of #deadlines is the next.
 *   W4  A cancellation is sent again to a shard that was away, had no room or was lost, until the shard has done it.
 */
import type { Clock } from '../shared/clock.ts';
import { OK } from '../shared/errors.ts';
import type { ArmedSwitches } from './control/armedSwitches.ts';
import type { EngineReply, ReplyHandler } from './engineClient.ts';
import type { Logger } from './log.ts';

/** The part of the engine client used here. */
export type MassCancelEngine = {
  cancelAfterSilence<C>(shard: number, account: number, handler: ReplyHandler<C>, context: C): number;
};

export type DeadMansSwitchOptions = {
  readonly shards: number;
  readonly engine: MassCancelEngine;
  readonly store: Pick<ArmedSwitches, 'all' | 'arm' | 'disarm'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether a heartbeat sent now would be taken. */
  readonly isServing: () => boolean;
  /** A window has ended without a heartbeat. */
  readonly onTriggered?: (account: number) => void;
};

export const WINDOW_MS = 15_000;
/** Looks are a quarter of a second apart; what lies further apart is a gap in which nothing was heard. */
const MAX_GAP_MS = 1000;

/** All open orders of an account on one shard. */
type Part = { readonly account: number; readonly shard: number };

export class DeadMansSwitch {
  readonly #options: DeadMansSwitchOptions;
  readonly #deadlines = new Map<number, number>();
  /** Parts that no shard has been asked yet, or that it has not done. */
  readonly #toSend = new Set<Part>();
  /** By account: parts not done yet, sent or not. */
  readonly #open = new Map<number, number>();
  #servedMs = 0;
  #lookedMs: number;
  #triggered = 0;
  #cancelledOrders = 0;
  readonly #onReply: ReplyHandler<Part> = (reply, part) => this.#replied(reply, part);

  constructor(options: DeadMansSwitchOptions) {
    this.#options = options;
    this.#lookedMs = options.clock.nowMs();
  }

  /** At readiness: whoever was armed before gets a full window from now. */
  start(): void {
    this.#lookedMs = this.#options.clock.nowMs();
    for (const account of this.#options.store.all()) this.#deadlines.set(account, this.#servedMs + WINDOW_MS);
  }

  /** A heartbeat of the account, taken now. */
  beat(account: number): void {
    const { store, clock } = this.#options;
    const nowMs = clock.nowMs();
    const isKept = this.#deadlines.delete(account) || this.#open.has(account);
    if (!isKept) store.arm(account, nowMs);
    this.#deadlines.set(account, this.#servedMs + withinGap(nowMs - this.#lookedMs) + WINDOW_MS);
  }

  /** Several times a second. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    const passedMs = nowMs - this.#lookedMs;
    this.#lookedMs = nowMs;
    if (!this.#options.isServing()) return;
    if (passedMs === withinGap(passedMs)) this.#servedMs += passedMs;
    for (const [account, deadlineMs] of this.#deadlines) {
      if (deadlineMs > this.#servedMs) break;
      this.#trigger(account);
    }
    for (const part of this.#toSend) this.#send(part);
  }

  get armed(): number {
    return this.#deadlines.size;
  }

  /** Since the start. */
  get triggered(): number {
    return this.#triggered;
  }

  /** Since the start. */
  get cancelledOrders(): number {
    return this.#cancelledOrders;
  }

  #trigger(account: number): void {
    const { shards, log, onTriggered } = this.#options;
    this.#deadlines.delete(account);
    this.#triggered++;
    log.warn({ account }, 'no heartbeat within the window: its orders are cancelled');
    for (let shard = 0; shard < shards; shard++) this.#toSend.add({ account, shard });
    this.#open.set(account, (this.#open.get(account) ?? 0) + shards);
    onTriggered?.(account);
  }

  #send(part: Part): void {
    const code = this.#options.engine.cancelAfterSilence(part.shard, part.account, this.#onReply, part);
    if (code === OK) this.#toSend.delete(part);
  }

  #replied(reply: EngineReply, part: Part): void {
    if (reply.code !== OK) {
      this.#toSend.add(part);
      return;
    }
    this.#cancelledOrders += reply.a;
    const left = this.#open.get(part.account)! - 1;
    if (left > 0) this.#open.set(part.account, left);
    else this.#done(part.account);
  }

  #done(account: number): void {
    this.#open.delete(account);
    if (this.#deadlines.has(account)) return;
    try {
      this.#options.store.disarm(account);
    } catch (error) {
      // A switch that is left armed cancels once more after a restart, which is the safe side.
      this.#options.log.error({ err: error, account }, 'a switch could not be disarmed durably');
    }
  }
}

function withinGap(passedMs: number): number {
  return Math.min(Math.max(passedMs, 0), MAX_GAP_MS);
}
