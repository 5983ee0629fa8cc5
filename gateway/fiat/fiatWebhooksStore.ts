/**
 * The inbox of providers' events (RULES.md 16.30), in control.db: each is stored before it is looked at.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FIATWEBHOOKS-1  (provider, event id) is stored once; a repeated delivery changes nothing.
 *   FIATWEBHOOKS-2  At most MAX_EVENTS are kept, the oldest processed ones go first, and none longer than KEPT_MS.
 */
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

type FiatEvent = { readonly provider: string; readonly eventId: string; readonly partnerReference: string };
type StoredEvent = FiatEvent & { readonly receivedMs: number; readonly processedMs: number | null };

const MAX_EVENTS = 100_000;
const KEPT_MS = 30 * 86_400_000;
/** Rows that one sweep takes away. */
const SWEPT_ROWS = 100;
/** Events that one look takes from the inbox. */
const TAKEN = 100;

export class FiatWebhooks {
  readonly #changes: Changes;
  readonly #statements;
  /** Null: not counted since a record of another member changed the rows. */
  #counted: number | null;

  constructor(database: ControlDatabase, changes: Changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#statements = prepare(database);
    this.#counted = this.#statements.count.get() ?? 0;
  }

  /** The rows are counted when the number is asked for. */
  reload(): void {
    this.#counted = null;
  }

  get #count(): number {
    this.#counted ??= this.#statements.count.get() ?? 0;
    return this.#counted;
  }

  get isFull(): boolean {
    return this.#count >= MAX_EVENTS;
  }

  /** Durable once `durable` says so. @returns false for an event that is there already. */
  add(event: FiatEvent, body: Uint8Array, nowMs: number): boolean {
    let isNew = false;
    const before = this.#count;
    this.#changes.write(() => {
      isNew = this.#statements.insert.run({ ...event, body, nowMs }).changes === 1;
    });
    if (isNew) this.#counted = before + 1;
    return isNew;
  }

  /** Oldest first. */
  waiting(): FiatEvent[] {
    return this.#statements.waiting.all(TAKEN);
  }

  processed({ provider, eventId }: FiatEvent, nowMs: number): void {
    this.#changes.write(() => this.#statements.processed.run(nowMs, provider, eventId));
  }

  of(partnerReference: string): StoredEvent[] {
    return this.#statements.of.all(partnerReference, TAKEN);
  }

  /** FIATWEBHOOKS-2. Called from time to time. */
  sweep(nowMs: number): void {
    const before = this.#count;
    if (before === 0) return;
    const beforeMs = this.isFull ? nowMs : nowMs - KEPT_MS;
    this.#changes.write(() => {
      this.#counted = before - this.#statements.sweep.run(beforeMs, SWEPT_ROWS).changes;
    });
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }
}

function prepare(database: ControlDatabase) {
  return {
    count: database.prepare<[], number>('SELECT COUNT(*) FROM fiat_webhooks').pluck(),
    insert: database.prepare<FiatEvent & { body: Uint8Array; nowMs: number }>(
      `INSERT INTO fiat_webhooks VALUES ($provider, $eventId, $partnerReference, $body, $nowMs, NULL)
       ON CONFLICT (provider, event_id) DO NOTHING`,
    ),
    waiting: database.prepare<[number], FiatEvent>(
      `SELECT provider, event_id AS eventId, partner_reference AS partnerReference FROM fiat_webhooks
       WHERE processed_ms IS NULL ORDER BY received_ms LIMIT ?`,
    ),
    processed: database.prepare<[number, string, string]>(
      'UPDATE fiat_webhooks SET processed_ms = ? WHERE provider = ? AND event_id = ?',
    ),
    of: database.prepare<[string, number], StoredEvent>(
      `SELECT provider, event_id AS eventId, partner_reference AS partnerReference, received_ms AS receivedMs,
         processed_ms AS processedMs
       FROM fiat_webhooks WHERE partner_reference = ? ORDER BY received_ms LIMIT ?`,
    ),
    sweep: database.prepare<[number, number]>(
      `DELETE FROM fiat_webhooks WHERE (provider, event_id) IN (
         SELECT provider, event_id FROM fiat_webhooks
         WHERE received_ms < ? AND processed_ms IS NOT NULL ORDER BY received_ms LIMIT ?)`,
    ),
  };
}
