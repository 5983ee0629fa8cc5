/**
 * The gateway's own databases in a cluster: each is a stream of the replicated log. A following member passes each row
 * to this class; a leading member writes its changes to the log from `lead` on.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   GATEWAYRECORDS-1  `sequences` names the last durable rows: after a restart the rows after them are given again, and
 *                     rows that are applied already change nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../../shared/base/assert.ts';
import type { RecordLog } from '../../shared/records/heldLog.ts';
import type { ControlCopy } from '../../shared/wire/joining.ts';
import { type LogRow, type Replication, STREAM } from '../../shared/wire/replication.ts';
import type { ControlRecords } from '../base/controlRecords.ts';
import { GatewayLog, type GatewayLogOptions } from '../base/gatewayLog.ts';
import type { LaterSync } from '../base/laterSync.ts';
import type { AuditLog } from '../operator/auditLog.ts';
import type { Answers } from '../shardlink/answers.ts';

/** The thread that settles on a chain. */
export type SettlementStream = {
  /** The last row that is durable in settlement.db. */
  readonly sequence: number;
  follow(row: Pick<LogRow, 'sequence' | 'bytes'>): void;
  lead(log: RecordLog): void;
};

type GatewayRecordsOptions = {
  readonly control: Pick<ControlRecords, 'apply' | 'sequence' | 'sharedSequence' | 'lead' | 'copyTo'>;
  readonly changes: Pick<LaterSync, 'synced'>;
  readonly answers: Pick<Answers, 'apply' | 'sequence' | 'lead'>;
  readonly audit: Pick<AuditLog, 'apply' | 'sharedSequence' | 'notedShared' | 'lead'>;
  /** Null without a chain. */
  readonly settlement: SettlementStream | null;
  /** Called if a row contradicts the data of this machine: the process ends, and joins anew. */
  readonly onRefused: (why: string) => void;
};

/** An answer waits no longer than this for the log; then its outcome is unknown. */
const HELD_MS = 5000;
const LOOK_MS = 2;
const STREAMS = [STREAM.CONTROL, STREAM.ANSWERS, STREAM.AUDIT] as const;

type StreamSequence = { readonly stream: number; readonly sequence: number };

type LeadMemory = { readonly memory: GatewayLogOptions['memory'] & Pick<Replication, 'format'> };

export class GatewayRecords {
  readonly #options: GatewayRecordsOptions;
  /** The last record of control.db that is synced. */
  #control: number;
  #syncing: Promise<void> | null = null;
  /** By stream: the last row that was given. */
  readonly #given = new Map<number, number>();

  constructor(options: GatewayRecordsOptions) {
    this.#options = options;
    this.#control = options.control.sharedSequence;
  }

  /**
   * Applies a row of the log, in the log's order. Throws a RecordError if the row contradicts the data of this machine.
   */
  follow({ stream, sequence, bytes }: LogRow): void {
    const { control, answers, audit, settlement, onRefused } = this.#options;
    this.#given.set(stream, sequence);
    if (stream === STREAM.CONTROL) {
      control.apply({ sequence, bytes });
      void this.#sync();
    } else if (stream === STREAM.ANSWERS) answers.apply({ sequence, bytes });
    else if (stream === STREAM.AUDIT) audit.apply({ sequence, bytes }).catch((error) => onRefused(String(error)));
    else {
      assert(stream === STREAM.SETTLEMENT, 'GATEWAYRECORDS-1: every stream of the gateway has its database');
      assert(settlement !== null, 'GATEWAYRECORDS-1: all members of a cluster settle on the same chain, or on none');
      settlement.follow({ sequence, bytes });
    }
  }

  /** GATEWAYRECORDS-1 */
  sequences(): StreamSequence[] {
    const streams = this.#options.settlement === null ? STREAMS : [...STREAMS, STREAM.SETTLEMENT];
    return streams.map((stream) => ({ stream, sequence: this.durable(stream) }));
  }

  /** Returns the last row of a stream that is durable here, and that a restart finds. */
  durable(stream: number): number {
    const { answers, audit, settlement } = this.#options;
    if (stream === STREAM.CONTROL) return this.#control;
    if (stream === STREAM.ANSWERS) return answers.sequence;
    return stream === STREAM.AUDIT ? audit.notedShared : (settlement?.sequence ?? Infinity);
  }

  /** Resolves when every row that was given is durable here. */
  async settled(): Promise<void> {
    const { audit } = this.#options;
    const has = (stream: number): number => (stream === STREAM.AUDIT ? audit.sharedSequence : this.durable(stream));
    while (![...this.#given].every(([stream, sequence]) => has(stream) >= sequence)) await sleep(LOOK_MS);
  }

  /** Copies control.db for a joining member, once it has this record. */
  async copyControl({ path, atLeast }: ControlCopy): Promise<void> {
    const { control } = this.#options;
    while (control.sequence < atLeast) await sleep(LOOK_MS);
    await control.copyTo(path);
  }

  /** Every row of the log is applied and durable: from now on this member leads. */
  lead({ memory, outbox }: Pick<GatewayLogOptions, 'outbox'> & LeadMemory): void {
    const { control, answers, audit, settlement } = this.#options;
    const log = new GatewayLog({ memory, outbox, patienceMs: HELD_MS });
    control.lead(log.stream(STREAM.CONTROL), memory.format('control'));
    answers.lead(log.stream(STREAM.ANSWERS));
    audit.lead(log.stream(STREAM.AUDIT), memory.format('audit'));
    settlement?.lead(log.stream(STREAM.SETTLEMENT));
  }

  /** Syncs once at a time, for all records that were applied before. */
  async #sync(): Promise<void> {
    if (this.#syncing !== null) return;
    const { control, changes, onRefused } = this.#options;
    try {
      while (this.#control < control.sharedSequence) {
        const { sharedSequence } = control;
        this.#syncing = changes.synced();
        await this.#syncing;
        this.#control = sharedSequence;
      }
    } catch (error) {
      onRefused(String(error));
    }
    this.#syncing = null;
  }
}
