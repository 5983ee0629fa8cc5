/**
 * Checks every order of read.db with an independent second computation: the limit and the lots follow from its signed
 * amounts, the filled and remaining amounts from its fills (RULES.md 1.4, 1.6). The computation is the audit's
 * (signedOrder.ts). This covers orders whose journals were trimmed, and those in the archive.
 */
import type Database from 'better-sqlite3';
import { SIDE } from '../../shared/base/codes.ts';
import { toHex } from '../../shared/base/hex.ts';
import { filledAmount, remainingAmount } from '../../shared/base/orderMath.ts';
import { archivedOrders } from '../projector/archiveFiles.ts';
import { doneOf, limitAndLotsOf } from './signedOrder.ts';

type OrderRow = {
  readonly hash: Uint8Array;
  readonly ticksPerUnit: number;
  readonly side: number;
  readonly timeInForce: number;
  readonly makerAmount: number;
  readonly takerAmount: number;
  readonly limitTicks: number;
  readonly quantityLots: number;
  readonly remainingLots: number;
  readonly filledNotionalMicro: number;
  readonly status: number;
};

const COLUMNS = `
  hash, side, time_in_force AS timeInForce, maker_amount AS makerAmount, taker_amount AS takerAmount,
  limit_ticks AS limitTicks, lots AS quantityLots, remaining_lots AS remainingLots,
  filled_notional_micro AS filledNotionalMicro, orders.status AS status`;
const QUERY = `
  SELECT ${COLUMNS}, ticks_per_unit AS ticksPerUnit FROM orders JOIN markets USING (market) WHERE orders.shard = ?`;
type ArchivedRow = Omit<OrderRow, 'ticksPerUnit'> & { readonly shard: number; readonly market: number };

/** @returns a line about the first order that differs; empty if all orders are as they were signed. */
export function differencesFromSigned(db: Database.Database, shard: number): string[] {
  for (const row of rowsOf(db, shard)) {
    const what = differenceOf(row);
    if (what !== null) return [`shard ${shard}: order ${toHex(row.hash)}: ${what}`];
  }
  return [];
}

function* rowsOf(db: Database.Database, shard: number): Generator<OrderRow, void> {
  yield* db.prepare<[number], OrderRow>(QUERY).iterate(shard);
  const units = db.prepare<[number], number>('SELECT ticks_per_unit FROM markets WHERE market = ?').pluck();
  for (const row of archivedOrders<ArchivedRow>(db, `${COLUMNS}, shard, market`)) {
    if (row.shard === shard) yield { ...row, ticksPerUnit: units.get(row.market)! };
  }
}

function differenceOf(row: OrderRow): string | null {
  const ticksPerUnit = BigInt(row.ticksPerUnit);
  const { side, timeInForce } = row;
  if (row.makerAmount < 1 || row.takerAmount < 1) return 'an amount that was signed is missing';
  if (row.remainingLots < 0 || row.remainingLots > row.quantityLots) return 'more remains than was ordered';
  const makerAmount = BigInt(row.makerAmount);
  const signed = { side, timeInForce, makerAmount, takerAmount: BigInt(row.takerAmount) };
  const { limitTicks, lots } = limitAndLotsOf(signed, ticksPerUnit);
  const filledLots = BigInt(row.quantityLots - row.remainingLots);
  const { filled, remaining } = doneOf(signed, filledLots * ticksPerUnit, row.status);
  const compared = [
    ['limit in ticks', row.limitTicks, limitTicks],
    ['lots', row.quantityLots, lots],
    ['filled amount', filledAmount(row), filled],
    ['remaining amount', remainingAmount(row), remaining],
  ] as const;
  const wrong = compared.find(([, stated, own]) => BigInt(stated) !== own);
  if (wrong !== undefined) return `${wrong[0]}: the row says ${wrong[1]}, its signed amounts ${wrong[2]}`;
  const atLimit = filledLots * limitTicks;
  const paid = BigInt(row.filledNotionalMicro);
  const isFair = side === SIDE.BUY ? paid <= atLimit : paid >= atLimit;
  return isFair ? null : `its fills come to ${paid} micro-USDC, at its limit they come to ${atLimit}`;
}
