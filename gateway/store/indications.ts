/**
 * The prices at which a desk says it would trade, one pair for each market until it expires (RULES.md 9.31). They are
 * no orders: nothing fills against them.
 * Owner: the gateway thread; in memory, written through to control.db.
 *
 * Invariants:
 *   INDICATION-1  An indication ends when its poster said it would: neither a restart nor a cache makes it last longer.
 */
import type { ControlDatabase } from './database.ts';
import { type Changes, SYNCED_AT_ONCE } from './laterSync.ts';

/** In ticks of Yes. */
export type Indication = { readonly bidTicks: number; readonly askTicks: number; readonly expiresMs: number };

type IndicationRow = { market_index: number; bid_ticks: number; ask_ticks: number; expires_ms: number };

export class Indications {
  readonly #changes: Changes;
  /** By the index of the market; the expired ones stay until the next one or the next start. */
  readonly #indications = new Map<number, Indication>();
  readonly #replace;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#replace = database.prepare<[number, number, number, number]>(
      'INSERT OR REPLACE INTO indications (market_index, bid_ticks, ask_ticks, expires_ms) VALUES (?, ?, ?, ?)',
    );
    for (const row of database.prepare<[], IndicationRow>('SELECT * FROM indications').iterate()) {
      this.#indications.set(row.market_index, {
        bidTicks: row.bid_ticks,
        askTicks: row.ask_ticks,
        expiresMs: row.expires_ms,
      });
    }
  }

  /** INDICATION-1. Null when there is none now. */
  of(marketIndex: number, nowMs: number): Indication | null {
    const indication = this.#indications.get(marketIndex);
    return indication === undefined || indication.expiresMs <= nowMs ? null : indication;
  }

  /** In place of the one before. Durable once `durable` says so. */
  set(marketIndex: number, indication: Indication): void {
    const { bidTicks, askTicks, expiresMs } = indication;
    this.#changes.write(() => this.#replace.run(marketIndex, bidTicks, askTicks, expiresMs));
    this.#indications.set(marketIndex, indication);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }
}
