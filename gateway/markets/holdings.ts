/**
 * The tokens of an account in a market, of both outcomes. Their worth is rounded once for both, as a claim is (RULES.md
 * 3.4), so that claiming tokens whose worth a decision has fixed gains and loses nothing.
 */
import { OUTCOME } from '../../shared/base/codes.ts';

type PositionRow = { readonly account?: bigint; readonly market: bigint; readonly outcome: bigint };

export type MarketHolding<Row> = {
  readonly row: Row;
  readonly market: number;
  readonly yesAtomic: number;
  readonly noAtomic: number;
};

/** @param rows in the order of accounts, markets and outcomes. Markets without holdings are left out. */
export function* holdingsOf<Row extends PositionRow>(
  rows: readonly Row[],
  quantityOf: (row: Row) => bigint,
): Generator<MarketHolding<Row>> {
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    const other = rows[at + 1];
    const first = Number(quantityOf(row));
    const isYes = row.outcome === BigInt(OUTCOME.YES);
    const hasBoth = isYes && other !== undefined && other.market === row.market && other.account === row.account;
    const second = hasBoth ? Number(quantityOf(other)) : 0;
    if (hasBoth) at++;
    if (first === 0 && second === 0) continue;
    const [yesAtomic, noAtomic] = isYes ? [first, second] : [0, first];
    yield { row, market: Number(row.market), yesAtomic, noAtomic };
  }
}
