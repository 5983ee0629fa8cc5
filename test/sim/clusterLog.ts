/**
 * The replicated log of a simulated cluster, and the way to it. The log has one order, adds rows behind the row they
 * follow or not at all, refuses former epochs, and forgets nothing. The way delays, and may be cut at any moment:
 * requests on it may then still arrive, much later, and their answers never do.
 */
import assert from 'node:assert/strict';
import { firstSequenceOf, JournalHead } from '../../engine/journal/row.ts';
import { RowReader } from '../../engine/journal/rowReader.ts';
import type { LoggedRows } from '../../engine/replication/rejoin.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';
import type { LogRow, NewRow } from '../../shared/wire/replication.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import type { Random } from '../support/random.ts';

/** Steps of the world after which a lease that was not renewed has ended. */
const LEASE_STEPS = 400;
const MOST_ROWS_READ = 5;

export type Request =
  | { readonly kind: 'take'; readonly holder: string }
  | { readonly kind: 'renew'; readonly epoch: number }
  | { readonly kind: 'append'; readonly epoch: number; readonly after: number; readonly rows: readonly NewRow[] }
  | { readonly kind: 'resolve'; readonly epoch: number; readonly lastHeld: number }
  | { readonly kind: 'read'; readonly after: number };

export type Answer =
  | { readonly kind: 'take'; readonly taken: { readonly epoch: number; readonly end: number } | null }
  | { readonly kind: 'renew'; readonly isLeader: boolean }
  | { readonly kind: 'append'; readonly isAdded: boolean }
  | { readonly kind: 'resolve'; readonly isLeader: boolean; readonly rows: readonly LogRow[] }
  | { readonly kind: 'read'; readonly rows: readonly LogRow[] };

/** Every published record is compared with one of these. */
type Fact = { readonly timeMs: number; readonly command: number };

export class SimLog {
  readonly rows: LogRow[] = [];
  epoch = 0;
  /** By stream and sequence of its records. */
  readonly facts: Map<number, Fact>[];
  readonly #heads: JournalHead[];
  readonly #reader = new RowReader('of the log', TEST_KEY);
  readonly #step: () => number;
  #expiresAt = 0;

  constructor(streams: number, step: () => number) {
    this.#step = step;
    this.facts = Array.from({ length: streams }, () => new Map());
    this.#heads = this.facts.map(() => new JournalHead(0, 0, 0));
  }

  /** The last record that the log holds of a stream. */
  endOf(stream: number): number {
    return this.#heads[stream]!.sequence;
  }

  run(request: Request): Answer {
    switch (request.kind) {
      case 'take': {
        if (this.#step() < this.#expiresAt) return { kind: 'take', taken: null };
        this.#expiresAt = this.#step() + LEASE_STEPS;
        return { kind: 'take', taken: { epoch: ++this.epoch, end: this.rows.length } };
      }
      case 'renew':
        return { kind: 'renew', isLeader: this.#renew(request.epoch) };
      case 'append':
        return { kind: 'append', isAdded: this.#append(request) };
      case 'resolve':
        return {
          kind: 'resolve',
          isLeader: this.#renew(request.epoch),
          rows: this.rows.slice(request.lastHeld),
        };
      case 'read':
        return { kind: 'read', rows: this.rows.slice(request.after, request.after + MOST_ROWS_READ) };
    }
  }

  /** For a member that comes back. Its process asks for nothing else meanwhile. */
  rowsOf(stream: number): LoggedRows {
    const own = (): LogRow[] => this.rows.filter((row) => row.stream === stream);
    return {
      range: async () => (this.epoch === 0 ? null : { after: 0, last: this.endOf(stream) }),
      row: async (sequence) => own().find((row) => row.sequence === sequence)?.bytes ?? null,
      oldest: async () => own()[0] ?? null,
    };
  }

  /** The position after which rows of some stream are missing that ends with this sequence. */
  positionOf(stream: number, sequence: number): number {
    const missing = this.rows.find((row) => row.stream === stream && row.sequence > sequence);
    return missing === undefined ? this.rows.length : missing.position - 1;
  }

  #renew(epoch: number): boolean {
    if (epoch !== this.epoch) return false;
    this.#expiresAt = this.#step() + LEASE_STEPS;
    return true;
  }

  #append({ epoch, after, rows }: Extract<Request, { kind: 'append' }>): boolean {
    if (epoch !== this.epoch || after !== this.rows.length) return false;
    for (const { stream, sequence, bytes } of rows) {
      const head = this.#heads[stream]!;
      assert.equal(firstSequenceOf({ sequence, bytes }), head.sequence + 1, 'the rows of a stream have no gap');
      this.#reader.load({ sequence, bytes }, head);
      this.#reader.show((record) => {
        const command = record.command.words[record.command.word + ANY_COMMAND.type]! & 0xffff;
        this.facts[stream]!.set(record.sequence, { timeMs: record.timeMs, command });
      });
      this.rows.push({ position: this.rows.length + 1, epoch, stream, sequence, bytes });
    }
    return true;
  }
}

/** The requests of one process, in order, and the answers of the log. */
export class SimConnection {
  readonly #log: SimLog;
  readonly #random: Random;
  readonly #hear: (answer: Answer, request: Request) => void;
  #requests: Request[] = [];
  #answers: { readonly answer: Answer; readonly request: Request }[] = [];
  /** Requests of connections that were cut: they may still arrive. */
  #late: Request[] = [];

  constructor(log: SimLog, random: Random, hear: (answer: Answer, request: Request) => void) {
    this.#log = log;
    this.#random = random;
    this.#hear = hear;
  }

  send(request: Request): void {
    this.#requests.push(request);
  }

  /** The next request arrives, or the next answer. */
  step(): void {
    if (this.#answers.length > 0 && (this.#requests.length === 0 || this.#random.chance(50))) {
      const { answer, request } = this.#answers.shift()!;
      this.#hear(answer, request);
    } else if (this.#requests.length > 0) {
      const request = this.#requests.shift()!;
      this.#answers.push({ request, answer: this.#log.run(request) });
    }
  }

  /** A request of an earlier connection arrives; no one waits for its answer any more. */
  arriveLate(): void {
    const request = this.#late.shift();
    if (request !== undefined && this.#random.chance(70)) this.#log.run(request);
  }

  /** Nothing that was sent is answered. */
  cut(): void {
    this.#late.push(...this.#requests.filter(({ kind }) => kind !== 'read'));
    this.#requests = [];
    this.#answers = [];
  }
}
