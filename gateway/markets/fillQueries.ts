/**
 * The SQL of the tape: the newest trades of all markets, optionally of a minimum size. Runs in the query pool.
 *
 * Trades have no index on their size. Instead the largest trade of every day, hour, minute and second is stored: a
 * query with a minimum size skips spans without such a trade, and reads the trades of one second at a time.
 */
import type Database from 'better-sqlite3';
import { OUTCOME } from '../../shared/base/codes.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { MAXIMA_SPANS_MS } from '../../shared/tables/statsExchange.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { TRADES } from '../../shared/tables/trades.ts';
import { fillIdsSince, firstIdAfter, timeOfId } from '../base/page.ts';

export type FillsTask = {
  /** The id of the last trade already shown; null for the newest trades. */
  readonly before: Uint8Array | null;
  /** FILLS_EVER for no lower bound. */
  readonly sinceMicros: number;
  readonly minMicro: number;
  readonly limit: number;
};

const FILL = select(TRADES, 'id', 'market', 'taker_account', 'taker_side', 'taker_outcome', 'matched_ms', 'after_us');
const UNITS = select(MARKETS, 'ticks_per_unit');
/** A trade as its taker sees it. */
export type Fill = SelectedBy<typeof FILL> &
  SelectedBy<typeof UNITS> & { readonly taker_ticks: number; readonly notional_micro: number };

const TAKER_TICKS = `iif(taker_outcome = ${OUTCOME.YES}, yes_ticks, ticks_per_unit - yes_ticks)`;
const END_OF_TIME = new Uint8Array(UUID_BYTES).fill(0xff);

export class FillQueries {
  readonly #fills: Database.Statement<[Uint8Array, Uint8Array, Uint8Array, number, number, number], Fill>;
  readonly #spans: Database.Statement<[number, number, number, number], number>;

  constructor(db: Database.Database) {
    this.#fills = db.prepare(`
      SELECT ${FILL.sql}, ${UNITS.sql}, ${TAKER_TICKS} AS taker_ticks, lots * ${TAKER_TICKS} AS notional_micro
      FROM trades CROSS JOIN markets USING (market)
      WHERE id >= ? AND id < ? AND (id >= ? OR matched_ms * 1000 + after_us >= ?) AND lots * ${TAKER_TICKS} >= ?
      ORDER BY id DESC LIMIT ?`);
    this.#spans = db
      .prepare<[number, number, number, number], number>(
        `SELECT start_ms FROM trade_maxima WHERE span_ms = ? AND start_ms >= ? AND start_ms < ? AND notional_micro >= ?
         ORDER BY start_ms DESC`,
      )
      .pluck();
  }

  /** Newest first. */
  recent({ before, sinceMicros, minMicro, limit }: FillsTask): Fill[] {
    const { firstId, surelyId } = fillIdsSince(sinceMicros);
    const end = before ?? END_OF_TIME;
    if (minMicro === 0) return this.#fills.all(firstId, end, surelyId, sinceMicros, 0, limit);
    const found: Fill[] = [];
    const endMs = Buffer.from(end).readUIntBE(0, 6) + 1;
    for (const secondMs of this.#largeSpans(0, 0, endMs, timeOfId(firstId), minMicro)) {
      const startId = firstIdAfter(secondMs - 1);
      const endId = firstIdAfter(secondMs + MAXIMA_SPANS_MS.at(-1)! - 1);
      const [from, to] = [later(startId, firstId), earlier(endId, end)];
      found.push(...this.#fills.all(from, to, surelyId, sinceMicros, minMicro, limit - found.length));
      if (found.length >= limit) break;
    }
    return found;
  }

  /** The seconds with a trade of at least that size, newest first. */
  *#largeSpans(
    level: number,
    startMs: number,
    endMs: number,
    sinceMs: number,
    minMicro: number,
  ): Generator<number, void> {
    const spanMs = MAXIMA_SPANS_MS[level];
    const from = Math.max(startMs, sinceMs - (sinceMs % spanMs));
    const isLast = level === MAXIMA_SPANS_MS.length - 1;
    for (const start of this.#spans.all(spanMs, from, endMs, minMicro)) {
      if (isLast) yield start;
      else yield* this.#largeSpans(level + 1, start, Math.min(endMs, start + spanMs), sinceMs, minMicro);
    }
  }
}

function later(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Buffer.compare(a, b) > 0 ? a : b;
}

function earlier(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Buffer.compare(a, b) < 0 ? a : b;
}
