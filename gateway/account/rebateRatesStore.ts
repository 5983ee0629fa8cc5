/**
 * The share of fees that makers of a market get back (RULES.md 14.45). Owner: the gateway thread; in memory, written
 * through to control.db.
 *
 * Invariant:
 *   REBATERATE-1  A rate is valid from a moment until the market's next rate: it never changes earlier earnings.
 */
import { assert } from '../../shared/base/assert.ts';
import type { ControlDatabase } from '../base/database.ts';

type RebateRate = { readonly market: number; readonly sinceMs: number; readonly bps: number };

const COLUMNS = 'market_index AS market, since_ms AS sinceMs, rebate_bps AS bps';

export class RebateRates {
  /** By market, then by time. */
  #rates: RebateRate[] = [];
  readonly #insert;
  readonly #select;

  constructor(database: ControlDatabase) {
    this.#insert = database.prepare<RebateRate>(
      'INSERT INTO rebate_rates (market_index, since_ms, rebate_bps) VALUES ($market, $sinceMs, $bps)',
    );
    this.#select = database.prepare<[], RebateRate>(
      `SELECT ${COLUMNS} FROM rebate_rates ORDER BY market_index, since_ms`,
    );
    this.reload();
  }

  /** Reads all rates again: they are few, because an administrator sets each by hand. */
  reload(): void {
    this.#rates = this.#select.all();
  }

  /** Every rate that there ever was, by market, then by time. */
  get all(): readonly RebateRate[] {
    return this.#rates;
  }

  /** The rate that holds now; 0 where none was set. */
  of(market: number): number {
    return this.#rates.findLast((rate) => rate.market === market)?.bps ?? 0;
  }

  /** Durable when it returns. */
  set(market: number, bps: number, nowMs: number): RebateRate {
    const last = this.#rates.findLast((rate) => rate.market === market);
    const rate = { market, bps, sinceMs: Math.max(nowMs, (last?.sinceMs ?? 0) + 1) };
    assert(bps >= 0 && bps <= 10_000, 'REBATERATE-1: a rebate is a part of a fee');
    this.#insert.run(rate);
    const at = this.#rates.findLastIndex((each) => each.market <= market);
    this.#rates.splice(at + 1, 0, rate);
    return rate;
  }
}
