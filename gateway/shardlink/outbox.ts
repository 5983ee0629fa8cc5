/**
 * Sends errands to every shard until each has carried them out, however long that takes: cancels after a silence and at
 * the end of a connection, sweeps after a restriction, floors of nonces (RULES.md 5.12, 7.8, 8.10, 9.15, 9.16).
 * Owner: the gateway thread.
 *
 *   put ──► owed to each shard ──► in its ring ──carried out──► done once every shard has
 *                 ▲                     │
 *                 └── the shard is lost ┘
 *
 * The sender keeps an errand in control.db if it has to survive the process. It puts the errand again at the next start
 * or lead, with the shards that have carried it out.
 *
 * Invariants:
 *   OUTBOX-1  Order: a part is written into the ring of its shard at once or, if the shard is away or has no room,
 *             before every later command (OWED-1).
 *   OUTBOX-2  Retry: a part is sent again only if the thread of its shard ended before it answered, so it may be
 *             repeated. It is never sent a second time to a thread that may still run the first: orders that were
 *             placed between the two would be cancelled because of an earlier event.
 *   OUTBOX-3  End: an errand ends once, when every shard has carried it out, or when a later errand about the same
 *             subject replaces it. The later one covers it.
 */
import { OK } from '../../shared/base/errors.ts';
import type { ShardClient } from './client.ts';
import type { ReplyHandler } from './reply.ts';

/** The part of the shard client that is used here. */
export type OutboxEngine = Pick<ShardClient, 'owe'>;

export type Errand = {
  /** Sends the command to one shard. @returns OK if it is in the ring */
  readonly send: <C>(shard: number, handler: ReplyHandler<C>, context: C) => number;
  /** A shard has carried it out, and this many orders were cancelled; called for replaced errands too. */
  readonly onCancelled?: (orders: number) => void;
  /** A shard has carried it out, and others have not. */
  readonly onShardDone?: (shard: number) => void;
  /** Every shard has carried it out. */
  readonly onDone?: () => void;
};

/** `isComplete` is true if every shard has carried it out. Otherwise a shard is away, and does so before it trades. */
export type Delivered = { readonly cancelled: number; readonly isComplete: boolean };

type Open = {
  readonly subject: string;
  readonly errand: Errand;
  /** Shards that have not carried it out. */
  readonly waiting: Set<number>;
  /** Shards whose rings have a part whose reply has not come. */
  readonly inFlight: Set<number>;
  cancelled: number;
  onTried: Waiter[];
};

/** Waits for the reply of one shard, or with null for those of all that were sent the errand. */
type Waiter = { readonly shard: number | null; readonly resolve: (delivered: Delivered) => void };

type Part = { readonly open: Open; readonly shard: number };

export class Outbox {
  readonly #shards: number;
  readonly #engine: OutboxEngine;
  /** By subject. */
  readonly #open = new Map<string, Open>();

  constructor(shards: number, engine: OutboxEngine) {
    this.#shards = shards;
    this.#engine = engine;
  }

  has(subject: string): boolean {
    return this.#open.has(subject);
  }

  /**
   * OUTBOX-3. Resolves when every shard that was sent the errand has answered.
   * @param done shards that have carried it out
   */
  put(subject: string, errand: Errand, done: readonly number[] = []): Promise<Delivered> {
    const shards = Array.from({ length: this.#shards }, (_, shard) => shard);
    const waiting = new Set(shards.filter((shard) => !done.includes(shard)));
    const open: Open = { subject, errand, waiting, inFlight: new Set(), cancelled: 0, onTried: [] };
    this.drop(subject);
    this.#open.set(subject, open);
    const tried = triedAt(open, null);
    for (const shard of [...waiting]) this.#owe({ open, shard });
    if (waiting.size === 0) this.#end(open);
    this.#answered(open);
    return tried;
  }

  /** The errand is not needed any more: parts that are in no ring yet are not sent. */
  drop(subject: string): void {
    const open = this.#open.get(subject);
    if (open === undefined) return;
    this.#open.delete(subject);
    this.#tried(open);
  }

  /** Resolves when the shard has answered every errand that it was sent. What other shards do makes no difference. */
  async allTriedAt(shard: number): Promise<void> {
    const inFlight = [...this.#open.values()].filter((open) => open.inFlight.has(shard));
    await Promise.all(inFlight.map((open) => triedAt(open, shard)));
  }

  /** Nothing is awaited any longer: the shards answer too late. They still carry out what they were sent. */
  stopWaiting(): void {
    for (const open of this.#open.values()) this.#tried(open);
  }

  #owe(part: Part, isRepeated = false): void {
    this.#engine.owe(part.shard, part.open.subject, () => this.#send(part), isRepeated);
  }

  #send(part: Part): number {
    const { open, shard } = part;
    if (this.#open.get(open.subject) !== open) return OK;
    const code = open.errand.send(shard, this.#onReply, part);
    if (code === OK) open.inFlight.add(shard);
    return code;
  }

  readonly #onReply: ReplyHandler<Part> = ({ code, a }, part) => {
    const { open } = part;
    open.inFlight.delete(part.shard);
    try {
      if (code === OK) this.#carriedOut(part, a);
      // Owed under the same subject, the part of a replaced errand would take the place of the later one.
      else if (this.#open.get(open.subject) === open) this.#owe(part, true);
    } finally {
      this.#answered(open);
    }
  };

  #carriedOut({ open, shard }: Part, cancelled: number): void {
    open.waiting.delete(shard);
    open.cancelled += cancelled;
    open.errand.onCancelled?.(cancelled);
    if (this.#open.get(open.subject) !== open) return;
    if (open.waiting.size === 0) this.#end(open);
    else open.errand.onShardDone?.(shard);
  }

  #end(open: Open): void {
    this.#open.delete(open.subject);
    open.errand.onDone?.();
  }

  #answered(open: Open): void {
    const { inFlight, onTried } = open;
    const isAwaited = ({ shard }: Waiter) => (shard === null ? inFlight.size > 0 : inFlight.has(shard));
    open.onTried = onTried.filter(isAwaited);
    for (const waiter of onTried) if (!isAwaited(waiter)) waiter.resolve(deliveredOf(open));
  }

  #tried(open: Open): void {
    for (const { resolve } of open.onTried.splice(0)) resolve(deliveredOf(open));
  }
}

function triedAt(open: Open, shard: number | null): Promise<Delivered> {
  return new Promise((resolve) => open.onTried.push({ shard, resolve }));
}

function deliveredOf({ cancelled, waiting }: Open): Delivered {
  return { cancelled, isComplete: waiting.size === 0 };
}
