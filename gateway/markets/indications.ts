/**
 * Indications: prices at which a desk says that it would trade, one pair for each market until it expires (RULES.md
 * 9.31). They are not orders: nothing fills against them.
 * Owner: the gateway thread; in memory, written through to control.db.
 *
 * Invariants:
 *   INDICATION-1  An indication ends at the time that its poster gave: neither a restart nor a cache makes it last
 *                 longer.
 */
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

/** In ticks of Yes. */
export type Indication = { readonly bidTicks: number; readonly askTicks: number; readonly expiresMs: number };

type IndicationRow = { market_index: number; bid_ticks: number; ask_ticks: number; expires_ms: number };

export class Indications {
  readonly #changes: Changes;
  /** By the index of the market; expired ones stay until the next one or the next start. */
  readonly #indications = new Map<number, Indication>();
  readonly #replace;
  readonly #select;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#replace = database.prepare<[number, number, number, number]>(
      'INSERT OR REPLACE INTO indications (market_index, bid_ticks, ask_ticks, expires_ms) VALUES (?, ?, ?, ?)',
    );
    this.#select = database.prepare<[number], IndicationRow>('SELECT * FROM indications WHERE market_index = ?');
    for (const row of database.prepare<[], IndicationRow>('SELECT * FROM indications').iterate()) this.#load(row);
  }

  /** A row is replaced, never deleted. */
  reload(changed: TakenRows): void {
    for (const market of changed.numbersOf('indications')) this.#load(this.#select.get(market)!);
  }

  /** INDICATION-1. Null if there is none now. */
  of(marketIndex: number, nowMs: number): Indication | null {
    const indication = this.#indications.get(marketIndex);
    return indication === undefined || indication.expiresMs <= nowMs ? null : indication;
  }

  /** Replaces the previous one. Durable once `durable` resolves. */
  set(marketIndex: number, indication: Indication): void {
    const { bidTicks, askTicks, expiresMs } = indication;
    this.#changes.write(() => this.#replace.run(marketIndex, bidTicks, askTicks, expiresMs));
    this.#indications.set(marketIndex, indication);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  #load({ market_index, bid_ticks, ask_ticks, expires_ms }: IndicationRow): void {
    this.#indications.set(market_index, { bidTicks: bid_ticks, askTicks: ask_ticks, expiresMs: expires_ms });
  }
}
