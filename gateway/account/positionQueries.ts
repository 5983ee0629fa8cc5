/**
 * The SQL of the positions of an account, a slice at a time, and their rows as clients see them (RULES.md 14.20). Runs
 * in a thread of the query pool, which also writes the texts: the gateway thread passes them on unchanged.
 *
 * Invariants:
 *   REALIZED-1  From the decision on, tokens of a decided market count as sold for their payout. The rows show this
 *                only once the tokens are gone (claimed or settled), with the same amount to the micro. So a decision
 *                costs one record however many accounts hold tokens, and nothing is counted twice.
 */
import type Database from 'better-sqlite3';
import { OUTCOME } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { payoutPartMicro } from '../../shared/base/payout.ts';
import { decimal6, price8HalfUp } from '../../shared/base/units.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { COST_BASIS, POSITIONS } from '../../shared/tables/positions.ts';
import { type RowOf, select } from '../../shared/tables/table.ts';
import { type PositionMask, positionId } from './positionIds.ts';

/** A position of an account: positions are in the order of markets, Yes before No. */
export type PositionKey = readonly [market: number, outcome: number];

export type PositionsTask = {
  readonly account: number;
  /** Null for all markets. */
  readonly market: number | null;
  /** The slice starts after this position, which need not exist. */
  readonly after: PositionKey;
  readonly limit: number;
  /** By outcome. */
  readonly masks: readonly PositionMask[];
  /** The markets that the account has marked as claimed. */
  readonly marked: ReadonlySet<number>;
};

type PositionsSlice = {
  /** One JSON text per position. */
  readonly texts: readonly string[];
  /** Null if no position follows. */
  readonly next: PositionKey | null;
};

/** The place before the first market. */
export const FIRST_POSITION: PositionKey = [-1, 0];

const KNOWN = BigInt(COST_BASIS.KNOWN);
const RECOVERED = BigInt(COST_BASIS.RECOVERED);

const SHOWN = select(
  POSITIONS,
  'market',
  'outcome',
  'quantity_atomic',
  'entry_atto',
  'cost_micro',
  'realized_micro',
  'is_paid',
  'cost_basis',
);
const UUID = select(MARKETS, 'uuid');
/** As `safeIntegers` reads it. */
type PositionRow = Pick<
  Record<keyof RowOf<typeof POSITIONS>, bigint>,
  'market' | 'outcome' | 'quantity_atomic' | 'entry_atto' | 'cost_micro' | 'realized_micro' | 'is_paid' | 'cost_basis'
> & {
  readonly uuid: Uint8Array;
  /** Null until the market is decided. */
  readonly yes_ppm: bigint | null;
  /** Of the same account and market. */
  readonly yes_atomic: bigint | null;
};

const SELECT = `
  SELECT ${SHOWN.sql}, ${UUID.sql},
    (SELECT payout_yes_ppm FROM market_stats WHERE market = positions.market AND decided_sequence > 0) AS yes_ppm,
    (SELECT yes.quantity_atomic FROM positions AS yes WHERE yes.account = positions.account
       AND yes.market = positions.market AND yes.outcome = ${OUTCOME.YES}) AS yes_atomic
  FROM positions JOIN markets USING (market) WHERE account = ?`;
const PAGE = '(market, outcome) > (?, ?) ORDER BY market, outcome LIMIT ?';

export class PositionQueries {
  readonly #ofAccount: Database.Statement<[number, number, number, number], PositionRow>;
  readonly #ofMarket: Database.Statement<[number, number, number, number, number], PositionRow>;
  readonly #any: Database.Statement<[number, number], 1>;

  constructor(db: Database.Database) {
    this.#ofAccount = db.prepare<[number, number, number, number], PositionRow>(`${SELECT} AND ${PAGE}`).safeIntegers();
    this.#ofMarket = db
      .prepare<[number, number, number, number, number], PositionRow>(`${SELECT} AND market = ? AND ${PAGE}`)
      .safeIntegers();
    this.#any = db.prepare<[number, number], 1>('SELECT 1 FROM positions WHERE account = ? AND market = ?').pluck();
  }

  slice({ account, market, after, limit, masks, marked }: PositionsTask): PositionsSlice {
    const rows =
      market === null
        ? this.#ofAccount.all(account, ...after, limit)
        : this.#ofMarket.all(account, market, ...after, limit);
    const last = rows.length === limit ? rows.at(-1)! : null;
    return {
      texts: rows.map((row) => positionText(row, masks[Number(row.outcome)], marked.has(Number(row.market)))),
      next: last === null ? null : [Number(last.market), Number(last.outcome)],
    };
  }

  /** True if the account has, or had, tokens of the market. */
  has(account: number, market: number): boolean {
    return this.#any.get(account, market) !== undefined;
  }
}

/**
 * RULES.md 10.18: the entry price of tokens with an unknown cost is unknown, and so is the result of the last of them.
 */
function hasEntry({ cost_basis, quantity_atomic }: PositionRow): boolean {
  return cost_basis === KNOWN || (cost_basis === RECOVERED && quantity_atomic !== 0n);
}

/** REALIZED-1 */
function realizedMicro(row: PositionRow): bigint {
  const { outcome, quantity_atomic: atomic, cost_micro, realized_micro, yes_ppm, yes_atomic } = row;
  if (yes_ppm === null || atomic === 0n) return realized_micro;
  const pays = payoutPartMicro(Number(outcome), Number(yes_atomic ?? 0n), Number(atomic), Number(yes_ppm));
  return realized_micro + BigInt(pays) - cost_micro;
}

function positionText(row: PositionRow, mask: PositionMask, isMarked: boolean): string {
  return JSON.stringify({
    id: positionId(row.uuid, mask),
    market_id: bytesToUuid(row.uuid),
    outcome_index: Number(row.outcome),
    quantity: String(row.quantity_atomic),
    average_entry_price: hasEntry(row) ? price8HalfUp(row.entry_atto) : null,
    realized_pnl: row.cost_basis === KNOWN ? decimal6(realizedMicro(row)) : null,
    claimed: isMarked || row.is_paid === 1n,
  });
}
