/**
 * The stores of one process of a simulated cluster: changes that commands rest on, and answers to requests with a key.
 * A leader puts each of them into the log; an answer leaves once the log holds it.
 *
 * Invariant:
 *   SIMGATEWAY-1  No command is sent while changes wait for room in the outbox: it could overtake one of them.
 */
import assert from 'node:assert/strict';
import { type LogRow, OutboxProducer, type Replication, STREAM } from '../../shared/wire/replication.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { LocalEnd } from '../../shared/wire/threads.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import type { Random } from '../support/random.ts';

export const GATEWAY_STREAMS = [STREAM.CONTROL, STREAM.ANSWERS] as const;
type GatewayStream = (typeof GATEWAY_STREAMS)[number];

/** Small, so that a long change waits for room. */
const OUTBOX_BYTES = 4096;
const LONG_BYTES = 9000;

export class SimGateway {
  outboxBuffer = createRingBuffer(OUTBOX_BYTES);
  /** Answers that clients have. */
  readonly delivered: string[] = [];
  #outbox = new OutboxProducer(this.outboxBuffer);
  /** The rows of each store, by sequence from 1 on. */
  readonly #rows: Record<GatewayStream, string[]> = { [STREAM.CONTROL]: [], [STREAM.ANSWERS]: [] };
  readonly #durable: Record<GatewayStream, number> = { [STREAM.CONTROL]: 0, [STREAM.ANSWERS]: 0 };
  #undelivered: { readonly sequence: number; readonly text: string }[] = [];
  #leads = false;

  /** The changes that every command rests on which is sent now. */
  get changes(): number {
    return this.#rows[STREAM.CONTROL].length;
  }

  /** SIMGATEWAY-1. */
  get maySend(): boolean {
    return this.#outbox.flush();
  }

  /** A new process: what its files have and the log does not was never answered. */
  start(database: FakeDatabase): void {
    this.outboxBuffer = createRingBuffer(OUTBOX_BYTES);
    this.#outbox = new OutboxProducer(this.outboxBuffer);
    this.#leads = false;
    this.#undelivered = [];
    for (const stream of GATEWAY_STREAMS) {
      const rows = this.#rows[stream];
      const isLogged = (text: string, index: number): boolean => {
        const row = database.rowOf(stream, index + 1);
        return row === null ? index + 1 < (database.firstAfter(stream, 0)?.sequence ?? 0) : textOf(row) === text;
      };
      const first = rows.findIndex((text, index) => !isLogged(text, index));
      if (first >= 0) rows.length = first;
      this.#durable[stream] = rows.length;
    }
  }

  ends(): readonly LocalEnd[] {
    return GATEWAY_STREAMS.map((stream) => ({ stream, sequence: this.#rows[stream].length }));
  }

  lead(): void {
    this.#leads = true;
  }

  apply(row: LogRow): void {
    const rows = this.#rows[row.stream as GatewayStream];
    assert.equal(row.sequence, rows.length + 1, `the rows of stream ${row.stream} have no gap`);
    rows.push(textOf(row));
  }

  /** @param isLong longer than the outbox */
  change(text: string, isLong: boolean): void {
    this.#put(STREAM.CONTROL, isLong ? text.padEnd(LONG_BYTES, '.') : text);
  }

  answer(text: string): void {
    if (this.#leads) this.#undelivered.push({ text, sequence: this.#put(STREAM.ANSWERS, text) });
  }

  /** The answers whose rows are held leave. */
  deliver(replication: Replication): void {
    this.#outbox.flush();
    while (
      this.#undelivered.length > 0 &&
      this.#undelivered[0]!.sequence <= replication.held(STREAM.ANSWERS) &&
      replication.state() !== 'lost'
    ) {
      this.delivered.push(this.#undelivered.shift()!.text);
    }
  }

  has(text: string): boolean {
    return this.#rows[STREAM.ANSWERS].includes(text);
  }

  isAllHeld(replication: Replication): boolean {
    return GATEWAY_STREAMS.every((stream) => replication.held(stream) === this.#rows[stream].length);
  }

  digest(stream: GatewayStream): string {
    return this.#rows[stream].map((text) => text.slice(0, 40)).join();
  }

  durable(stream: number): number {
    return this.#durable[stream as GatewayStream];
  }

  sync(): void {
    for (const stream of GATEWAY_STREAMS) this.#durable[stream] = this.#rows[stream].length;
  }

  /** Rows that were not synced may be gone. */
  die(isPowerCut: boolean, random: Random): void {
    if (!isPowerCut) return;
    for (const stream of GATEWAY_STREAMS) {
      const rows = this.#rows[stream];
      rows.length = random.between(this.#durable[stream], rows.length);
    }
  }

  #put(stream: GatewayStream, text: string): number {
    const sequence = this.#rows[stream].push(text);
    this.#outbox.put({ stream, sequence, bytes: Buffer.from(text) });
    return sequence;
  }
}

function textOf({ bytes }: LogRow): string {
  return Buffer.from(bytes).toString();
}
