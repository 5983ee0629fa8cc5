/**
 * Sends books and old frames to connections that lack some. However many connections there are, one turn of the event
 * loop sends a bounded number of frames and stops after a bounded time. Orders have priority. Owners of connections
 * take turns, and so do the connections of one owner. Owner: the gateway thread.
 *
 * Invariants:
 *   CATCHUP-1  A turn of the event loop takes at most STEPS_A_TURN steps, and no further step once TURN_MS have passed.
 *   CATCHUP-2  A connection that waits here lacks frames and its client has room for them; a connection without room
 *              returns when its socket has drained.
 *   CATCHUP-3  A step that throws ends only its own connection.
 */
import { SpareTurns } from '../base/spareTurns.ts';
import { ANONYMOUS, KEYED, ReplayBudgets } from './replayBudgets.ts';

export type CatchingUp = {
  /** An API key, or the address of a connection without a key. */
  readonly owner: string;
  readonly isAnonymous: boolean;
  /** True if frames are missing and the client has room for more. */
  readonly canStep: boolean;
  /** Sends some of the missing frames. @returns the bytes sent. */
  step(): number;
  /** A step has failed: the missing frames cannot be sent. */
  failed(error: unknown): void;
};

/** A step is up to 64 frames or a book, and takes about a tenth of a millisecond. */
const STEPS_A_TURN = 8;
/** An order may be delayed by such a turn at each of its passages through the thread. */
const TURN_MS = 0.3;
/** Time between two checks of owners that have spent their budget. */
const REST_MS = 50;

export class CatchUps {
  readonly #nowMs: () => number;
  /** Measures steps, to fractions of a millisecond. */
  readonly #stopwatchMs: () => number;
  readonly #budgets = new ReplayBudgets();
  /** Connections by owner; the first of the first owner is next. */
  readonly #waiting = new Map<string, Set<CatchingUp>>();
  /** Owners that have spent their budget, with their connections. */
  readonly #resting = new Map<string, Set<CatchingUp>>();
  #stepsLeft = STEPS_A_TURN;
  /** The steps of this turn so far. */
  #tookMs = 0;
  readonly #spareTurns: SpareTurns;
  #restTimer: NodeJS.Timeout | undefined;

  constructor(
    nowMs: () => number,
    areOrdersUnderway: () => boolean = () => false,
    stopwatchMs: () => number = () => performance.now(),
  ) {
    this.#nowMs = nowMs;
    this.#stopwatchMs = stopwatchMs;
    this.#spareTurns = new SpareTurns(this.#turn, areOrdersUnderway);
  }

  /** Registers a connection that may be able to send missing frames; as much as fits into this turn is sent at once. */
  serve(connection: CatchingUp): void {
    if (!connection.canStep) return;
    const { owner } = connection;
    const waiting = this.#resting.get(owner) ?? this.#waiting.get(owner) ?? new Set();
    waiting.add(connection);
    if (!this.#resting.has(owner)) this.#waiting.set(owner, waiting);
    this.#run();
  }

  /** The connection has closed. */
  forget(connection: CatchingUp): void {
    for (const owners of [this.#waiting, this.#resting]) {
      const connections = owners.get(connection.owner);
      connections?.delete(connection);
      if (connections?.size === 0) owners.delete(connection.owner);
    }
  }

  tick(): void {
    this.#budgets.tick(this.#nowMs());
  }

  stop(): void {
    clearTimeout(this.#restTimer);
    this.#waiting.clear();
    this.#resting.clear();
  }

  /** CATCHUP-1. */
  #run(): void {
    for (;;) {
      const next = this.#waiting.entries().next().value;
      if (next === undefined) break;
      const [owner, connections] = next;
      if (!this.#budgets.has(owner, this.#nowMs())) {
        this.#waiting.delete(owner);
        this.#resting.set(owner, connections);
        this.#restTimer ??= setTimeout(this.#wake, REST_MS);
        continue;
      }
      if (this.#stepsLeft === 0 || this.#tookMs >= TURN_MS) break;
      this.#stepsLeft--;
      this.#waiting.delete(owner);
      const startedMs = this.#stopwatchMs();
      this.#step(connections);
      this.#tookMs += this.#stopwatchMs() - startedMs;
      if (connections.size > 0) this.#waiting.set(owner, connections);
    }
    if (this.#stepsLeft < STEPS_A_TURN) this.#spareTurns.request();
  }

  /** CATCHUP-3. */
  #step(connections: Set<CatchingUp>): void {
    const connection: CatchingUp = connections.values().next().value!;
    connections.delete(connection);
    try {
      if (!connection.canStep) return;
      const bytes = connection.step();
      this.#budgets.spend(connection.owner, connection.isAnonymous ? ANONYMOUS : KEYED, bytes, this.#nowMs());
      if (connection.canStep) connections.add(connection);
    } catch (error) {
      connection.failed(error);
    }
  }

  readonly #turn = (): void => {
    this.#stepsLeft = STEPS_A_TURN;
    this.#tookMs = 0;
    this.#run();
  };

  readonly #wake = (): void => {
    this.#restTimer = undefined;
    for (const [owner, connections] of this.#resting) this.#waiting.set(owner, connections);
    this.#resting.clear();
    this.#run();
  };
}
