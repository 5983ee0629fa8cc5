/**
 * The gateway's end of the replicated log: one stream for each of its databases. Records go into the outbox of the
 * gateway thread in the order in which they were made, and the log reports up to which record it holds each stream.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   GATEWAYLOG-1  Records of all streams are in the log in the order in which they were put.
 *   GATEWAYLOG-2  While `isFull`, a record waits outside of the outbox. A command sent to a shard now could get into
 *                 the log before that record, so none may be sent.
 *   GATEWAYLOG-3  Waiters are called in the order of their records, each once.
 */
import { assert } from '../../shared/base/assert.ts';
import type { HeldLog } from '../../shared/records/heldLog.ts';
import type { OutboxProducer, Replication } from '../../shared/wire/replication.ts';

export type GatewayLogOptions = {
  readonly memory: Pick<Replication, 'held' | 'awaitHeld' | 'state'>;
  readonly outbox: Pick<OutboxProducer, 'put' | 'flush' | 'isWaiting'>;
  /** After this time, waiters get the answer that it is unknown whether the log will hold their record. */
  readonly patienceMs: number;
};

type Waiter = {
  readonly sequence: number;
  readonly untilMs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
};

/**
 * The share of the patience that is left while the log takes nothing: an answer that waited for a shard in vain has
 * used up its own.
 */
const STALLED_PATIENCE = 0.2;
/** Time between two attempts to move waiting records into a full outbox. */
const FLUSH_MS = 5;

export class GatewayLog {
  readonly #options: GatewayLogOptions;
  readonly #streams = new Map<number, StreamLog>();
  #flushing: NodeJS.Timeout | null = null;

  constructor(options: GatewayLogOptions) {
    this.#options = options;
  }

  /** @param stream one of STREAM. */
  stream(stream: number): HeldLog {
    let log = this.#streams.get(stream);
    if (log === undefined) {
      log = new StreamLog(stream, this.#options, () => this.#flushLater());
      this.#streams.set(stream, log);
    }
    return log;
  }

  /** GATEWAYLOG-2 */
  get isFull(): boolean {
    return this.#options.outbox.isWaiting;
  }

  close(): void {
    if (this.#flushing !== null) clearInterval(this.#flushing);
    this.#flushing = null;
  }

  #flushLater(): void {
    if (!this.isFull || this.#flushing !== null) return;
    this.#flushing = setInterval(() => {
      if (this.#options.outbox.flush()) this.close();
    }, FLUSH_MS);
    this.#flushing.unref();
  }
}

class StreamLog implements HeldLog {
  readonly #stream: number;
  readonly #options: GatewayLogOptions;
  readonly #onPut: () => void;
  /** In the order of the sequence numbers of their records. */
  readonly #waiters: Waiter[] = [];
  #isWatching = false;
  #last = 0;

  constructor(stream: number, options: GatewayLogOptions, onPut: () => void) {
    this.#stream = stream;
    this.#options = options;
    this.#onPut = onPut;
  }

  put(sequence: number, bytes: Uint8Array): void {
    assert(sequence > this.#last, 'GATEWAYLOG-1: the records of a stream are put in order');
    this.#last = sequence;
    this.#options.outbox.put({ stream: this.#stream, sequence, bytes });
    this.#onPut();
  }

  held(): number {
    return this.#options.memory.held(this.#stream);
  }

  whenHeld(sequence: number): Promise<void> {
    if (this.held() >= sequence) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const { memory, patienceMs } = this.#options;
      const untilMs = performance.now() + patienceMs * (memory.state() === 'stalled' ? STALLED_PATIENCE : 1);
      const at = this.#waiters.findLastIndex((waiter) => waiter.sequence <= sequence);
      this.#waiters.splice(at + 1, 0, { sequence, untilMs, resolve, reject });
      if (!this.#isWatching) void this.#watch();
    });
  }

  /** Waits for one record at a time, the first that a waiter needs. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    for (let first = this.#waiters[0]; first !== undefined; first = this.#waiters[0]) {
      const leftMs = first.untilMs - performance.now();
      const isHeld = await this.#options.memory.awaitHeld(this.#stream, first.sequence, leftMs);
      const held = this.held();
      while (this.#waiters.length > 0 && this.#waiters[0].sequence <= held) this.#waiters.shift()!.resolve();
      if (!isHeld && this.#waiters[0] === first) {
        this.#waiters.shift();
        first.reject(new Error(`stream ${this.#stream}: the log does not hold record ${first.sequence}`));
      }
    }
    this.#isWatching = false;
  }
}
