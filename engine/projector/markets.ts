/**
 * Projection of the markets: the UUID of a market index and the units its orders count in, which never change, its
 * status and times of trading, and the volume it has traded.
 * Owner: the projector thread.
 *
 * Invariants:
 *   MARKETROWS-1  A market has its row before its first order, and its UUID and units never change.
 *   MARKETROWS-2  After `flush` volume_micro is the sum of its trades that count (EXCHANGESTATS-3), at the taker's
 *                 prices.
 *   MARKETROWS-3  After `flush` status and times are those of its newest event.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { insert, type NewRowOf, type SelectedBy, select } from '../../shared/tables/table.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';

const KNOWN = select(MARKETS, 'market', 'ticks_per_unit', 'status', 'start_ms', 'end_ms');

type Opening = Terms & { ticksPerUnit: number; openedMs: number };
type Terms = { status: number; startMs: number; endMs: number };

export class MarketProjection {
  /** By market index, undefined where none is known. */
  readonly #ticksPerUnit: number[] = [];
  readonly #terms: Terms[] = [];
  readonly #changed = new Set<number>();
  /** By market: the volume since the last flush. Even the sum of one batch may pass the safe integers. */
  readonly #traded = new Map<number, bigint>();
  readonly #insert: Database.Statement<[NewRowOf<typeof MARKETS>]>;
  readonly #setTerms: Database.Statement<[Terms & { market: number }]>;
  readonly #addVolume: Database.Statement<[bigint, number]>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare(insert(MARKETS));
    this.#addVolume = db.prepare('UPDATE markets SET volume_micro = volume_micro + ? WHERE market = ?');
    this.#setTerms = db.prepare(
      'UPDATE markets SET status = @status, start_ms = @startMs, end_ms = @endMs WHERE market = @market',
    );
    const known = db.prepare<[], SelectedBy<typeof KNOWN>>(`SELECT ${KNOWN.sql} FROM markets`);
    for (const row of known.iterate()) {
      this.#ticksPerUnit[row.market] = row.ticks_per_unit;
      this.#terms[row.market] = { status: row.status, startMs: row.start_ms, endMs: row.end_ms };
    }
  }

  ticksPerUnit(market: number): number {
    const ticksPerUnit = this.#ticksPerUnit[market];
    assert(ticksPerUnit !== undefined, 'MARKETROWS-1: a market is known before its orders');
    return ticksPerUnit;
  }

  /**
   * Applies a MARKET event.
   * @param timeMs of its record, 0 if that is not the one that opened the market
   */
  apply(words: Uint32Array, word: number, timeMs: number): void {
    const market = words[word + ANY_EVENT.market];
    const ticksPerUnit = words[word + EVENT.MARKET.ticksPerUnit];
    const known = this.#ticksPerUnit[market];
    assert(known === undefined || known === ticksPerUnit, 'MARKETROWS-1: units never change');
    const terms = {
      status: words[word + EVENT.MARKET.status],
      startMs: readSafe(words, word + EVENT.MARKET.startMs),
      endMs: readSafe(words, word + EVENT.MARKET.endMs),
    };
    if (known === undefined) this.#open(market, { ticksPerUnit, openedMs: timeMs, ...terms }, words, word);
    else if (isSame(this.#terms[market], terms)) return;
    this.#terms[market] = terms;
    this.#changed.add(market);
  }

  #open(market: number, opening: Opening, words: Uint32Array, word: number): void {
    const { ticksPerUnit, openedMs: opened_ms, status, startMs: start_ms, endMs: end_ms } = opening;
    assert(ticksPerUnit > 1, 'MARKETROWS-1: a unit has at least one tick inside');
    const uuid = new Uint8Array(words.buffer, words.byteOffset + (word + EVENT.MARKET.uuid) * 4, UUID_BYTES);
    const terms = { status, start_ms, end_ms, opened_ms };
    this.#insert.run({ market, uuid, ticks_per_unit: ticksPerUnit, ...terms, volume_micro: 0n });
    this.#ticksPerUnit[market] = ticksPerUnit;
  }

  addVolume(market: number, volumeMicro: number): void {
    this.#traded.set(market, (this.#traded.get(market) ?? 0n) + BigInt(volumeMicro));
  }

  /** Writes what has changed, and then passes it on: to the catalogue, which lists markets by it. */
  flush(follow: (changed: ReadonlySet<number>, traded: Iterable<number>) => void): void {
    for (const market of this.#changed) this.#setTerms.run({ market, ...this.#terms[market] });
    // In the order of the table, so that neighbours share its pages.
    const traded = [...this.#traded].sort(([a], [b]) => a - b);
    for (const [market, volumeMicro] of traded) this.#addVolume.run(volumeMicro, market);
    if (this.#changed.size + this.#traded.size > 0) follow(this.#changed, this.#traded.keys());
    this.#changed.clear();
    this.#traded.clear();
  }
}

function isSame(a: Terms, b: Terms): boolean {
  return a.status === b.status && a.startMs === b.startMs && a.endMs === b.endMs;
}
