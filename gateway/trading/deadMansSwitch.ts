/**
 * The dead-man's switch (RULES.md 7.8): all open orders of an account are cancelled when it has sent a heartbeat and
 * then sends none for WINDOW_MS. Owner: the gateway thread.
 *
 *   idle ──heartbeat──► armed ──no heartbeat for a window──► cancelling ──every shard has done it──► idle
 *                       ▲    │                                    │
 *                       └────┘ heartbeat: a new window            └──heartbeat──► armed anew, cancelling goes on
 *
 * Invariants:
 *   DEADMAN-1  Windows are measured in served time: time in which this process accepted heartbeats. A late tick (a
 *              stalled process, a suspended machine, a changed clock) adds nothing, nor does draining; so no deadline
 *              passes while the server cannot receive heartbeats. When it accepts them again after refusing them for
 *              any reason, each window starts over, because heartbeats sent meanwhile were lost.
 *   DEADMAN-2  An account is armed in control.db before its first heartbeat is answered, and triggered there before its
 *              orders are cancelled, until every shard has cancelled. After a crash, or at the next leader, an armed
 *              switch has a full window, and a triggered switch cancels in the remaining shards before any order is
 *              accepted. In a cluster's log the end of a cancellation precedes the orders placed after it.
 *   DEADMAN-3  All windows are equally long, and a heartbeat moves its account to the end: the first of #deadlines
 *              expires next.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import type { Logger } from '../base/log.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { Errand, Outbox } from '../shardlink/outbox.ts';
import type { ArmedSwitches } from './armedSwitchesStore.ts';

type DeadMansSwitchOptions = {
  readonly outbox: Pick<Outbox, 'put'>;
  readonly engine: Pick<ShardClient, 'cancelMany'>;
  readonly store: Pick<
    ArmedSwitches,
    'armed' | 'triggered' | 'cancelledShards' | 'arm' | 'trigger' | 'cancelled' | 'finish' | 'durable'
  >;
  readonly clock: Clock;
  readonly log: Logger;
  /** True while requests are carried out. */
  readonly isServing: () => boolean;
  /** False while valid heartbeats are refused: by a leader that was cut off from the log, or because of a clock. */
  readonly isAccepting: () => boolean;
  /** Called when a window has ended without a heartbeat. */
  readonly onTriggered?: (account: number) => void;
};

export const WINDOW_MS = 15_000;
/** Ticks are a quarter of a second apart; a longer interval counts as a gap in which no heartbeat could arrive. */
const MAX_GAP_MS = 1000;

export class DeadMansSwitch {
  readonly #options: DeadMansSwitchOptions;
  readonly #deadlines = new Map<number, number>();
  #servedMs = 0;
  #wasAccepting = true;
  #lookedMs: number;
  #triggered = 0;
  #cancelledOrders = 0;

  constructor(options: DeadMansSwitchOptions) {
    this.#options = options;
    this.#lookedMs = options.clock.nowMs();
  }

  /** Called at readiness, before any order is accepted (DEADMAN-2). */
  start(): void {
    const { store, clock } = this.#options;
    this.#lookedMs = clock.nowMs();
    for (const account of store.armed()) this.#deadlines.set(account, this.#servedMs + WINDOW_MS);
    for (const account of store.triggered()) this.#cancel(account, store.cancelledShards(account));
  }

  /** Records a heartbeat of the account. @returns the promise that its answer must wait for, if any (DEADMAN-2) */
  beat(account: number): Promise<void> | null {
    const { store, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (!this.#deadlines.delete(account)) store.arm(account, nowMs);
    this.#deadlines.set(account, this.#servedMs + withinGap(nowMs - this.#lookedMs) + WINDOW_MS);
    return store.durable();
  }

  /**
   * A valid heartbeat was refused only because this process has just started or led: the account is alive, and its
   * state stays.
   */
  refusedBeat(account: number): void {
    if (this.#deadlines.delete(account)) this.#deadlines.set(account, this.#servedMs + WINDOW_MS);
  }

  /** Called several times a second. */
  tick(): void {
    const nowMs = this.#options.clock.nowMs();
    const passedMs = nowMs - this.#lookedMs;
    this.#lookedMs = nowMs;
    if (!this.#options.isServing()) return;
    const isAccepting = this.#options.isAccepting();
    if (isAccepting && !this.#wasAccepting) this.#beginAnew();
    this.#wasAccepting = isAccepting;
    if (isAccepting) this.#look(passedMs);
  }

  #beginAnew(): void {
    for (const account of this.#deadlines.keys()) this.#deadlines.set(account, this.#servedMs + WINDOW_MS);
  }

  #look(passedMs: number): void {
    if (passedMs === withinGap(passedMs)) this.#servedMs += passedMs;
    const due: number[] = [];
    for (const [account, deadlineMs] of this.#deadlines) {
      if (deadlineMs > this.#servedMs) break;
      due.push(account);
    }
    if (due.length > 0) this.#trigger(due);
  }

  get armed(): number {
    return this.#deadlines.size;
  }

  /** Number of switches triggered since the start. */
  get triggered(): number {
    return this.#triggered;
  }

  /** Number of orders that they cancelled since the start. */
  get cancelledOrders(): number {
    return this.#cancelledOrders;
  }

  /** DEADMAN-2. */
  #trigger(accounts: readonly number[]): void {
    const { log, store, clock, onTriggered } = this.#options;
    try {
      store.trigger(accounts, clock.nowMs());
    } catch (error) {
      // Their orders are cancelled anyway; after a crash meanwhile they are found armed, with a full window.
      log.error({ err: error }, 'control.db could not be written: it does not say that these switches were triggered');
    }
    for (const account of accounts) {
      this.#deadlines.delete(account);
      this.#triggered++;
      log.warn({ account }, 'no heartbeat within the window: the orders of the account are cancelled');
      this.#cancel(account);
      onTriggered?.(account);
    }
  }

  /** A second silence of the account replaces what is left of the first. @param done shards that have cancelled */
  #cancel(account: number, done: readonly number[] = []): void {
    const { engine, outbox, store } = this.#options;
    const errand: Errand = {
      send: (shard, handler, context) => engine.cancelMany(shard, account, CLOSE_REASON.HEARTBEAT, handler, context),
      onCancelled: (orders) => {
        this.#cancelledOrders += orders;
      },
      onShardDone: (shard) => this.#keep(account, () => store.cancelled(account, shard)),
      onDone: () => this.#keep(account, () => store.finish(account, this.#deadlines.has(account))),
    };
    void outbox.put(`silence of ${account}`, errand, done);
  }

  /** DEADMAN-2. One shard, or every one, has cancelled the orders of the account. */
  #keep(account: number, write: () => void): void {
    try {
      write();
    } catch (error) {
      // If this fails, the next start cancels the account's orders there once more.
      this.#options.log.error(
        { err: error, account },
        'control.db could not be written: it does not say that this switch has cancelled orders',
      );
    }
  }
}

function withinGap(passedMs: number): number {
  return Math.min(Math.max(passedMs, 0), MAX_GAP_MS);
}
