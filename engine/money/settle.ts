/**
 * Settles one party of a fill, and releases what a closed order still reserves (RULES.md 2.3, 3.1). Owner: the shard
 * thread.
 *
 * With L lots at the party's own price of t ticks, D ticks per unit:
 *   BUY   pays L*t micro-USDC of what it reserved at its limit, gets the difference back, receives L*D tokens less fee
 *   SELL  gives L*D reserved tokens, receives L*t micro-USDC less fee
 * The fee is the amount due on everything that the order has received so far, less the fees already paid, so many small
 * fills pay exactly as much as one large fill.
 *
 * Invariants:
 *   SETTLE-1  A party pays no more than its limit, and a fee is part of what it receives: 0 <= fee <= received.
 *   SETTLE-2  A fill leaves 0 <= remainingLots < the lots before it.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { addSafe, bpsFloor } from '../../shared/base/int.ts';
import * as commands from '../../shared/wire/commands.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import type { Ledger } from './ledger.ts';

const { FEE_ACCOUNT, SIDE } = codes;
const { kindOutcome, kindSide } = commands;
const { WORD_AT, DOUBLE_AT, DOUBLE_SHIFT, WORD_SHIFT } = rows;

/**
 * Settles one side of a fill and lowers the order's remaining lots.
 * @returns the fee, in the asset that the party receives.
 */
export function settleParty(
  orders: Orders,
  ledger: Ledger,
  slot: number,
  lots: number,
  ownTicks: number,
  ticksPerUnit: number,
): number {
  const { words, doubles } = orders;
  const row = slot << WORD_SHIFT;
  const at = slot << DOUBLE_SHIFT;
  const account = words[row | WORD_AT.ACCOUNT];
  const market = words[row | WORD_AT.MARKET];
  const kind = words[row | WORD_AT.KIND];
  const feeBps = words[row | WORD_AT.FEE_BPS];
  const notionalMicro = lots * ownTicks;
  const tokensAtomic = lots * ticksPerUnit;
  const remainingBefore = doubles[at | DOUBLE_AT.REMAINING_LOTS];
  assert(lots > 0 && lots <= remainingBefore, 'SETTLE-2: a fill is of lots that remain');
  const filledLotsBefore = doubles[at | DOUBLE_AT.QUANTITY_LOTS] - remainingBefore;
  const notionalBefore = doubles[at | DOUBLE_AT.FILLED_NOTIONAL];
  doubles[at | DOUBLE_AT.REMAINING_LOTS] = remainingBefore - lots;
  doubles[at | DOUBLE_AT.FILLED_NOTIONAL] = addSafe(notionalBefore, notionalMicro);

  if (kindSide(kind) === SIDE.BUY) {
    const outcome = kindOutcome(kind);
    const receivedBefore = filledLotsBefore * ticksPerUnit;
    const fee = bpsFloor(receivedBefore + tokensAtomic, feeBps) - bpsFloor(receivedBefore, feeBps);
    const reservedMicro = lots * words[row | WORD_AT.LIMIT_TICKS];
    assert(notionalMicro <= reservedMicro, 'SETTLE-1: a buyer pays at most the limit');
    assert(fee >= 0 && fee <= tokensAtomic, 'SETTLE-1: a fee is part of the tokens received');
    ledger.spendReserved(account, reservedMicro);
    ledger.credit(account, reservedMicro - notionalMicro);
    ledger.addTokens(account, market, outcome, tokensAtomic - fee);
    ledger.addTokens(FEE_ACCOUNT, market, outcome, fee);
    return fee;
  }
  const fee = bpsFloor(notionalBefore + notionalMicro, feeBps) - bpsFloor(notionalBefore, feeBps);
  assert(ownTicks >= words[row | WORD_AT.LIMIT_TICKS], 'SETTLE-1: a seller gets at least the limit');
  assert(fee >= 0 && fee <= notionalMicro, 'SETTLE-1: a fee is part of the USDC received');
  ledger.spendReservedTokens(account, market, kindOutcome(kind), tokensAtomic);
  ledger.credit(account, notionalMicro - fee);
  ledger.credit(FEE_ACCOUNT, fee);
  return fee;
}

/** Releases what a closed order still reserves. */
export function releaseReservation(orders: Orders, ledger: Ledger, slot: number, ticksPerUnit: number): void {
  const { words } = orders;
  const row = slot << WORD_SHIFT;
  const kind = words[row | WORD_AT.KIND];
  const account = words[row | WORD_AT.ACCOUNT];
  const lots = orders.remainingLots[slot << DOUBLE_SHIFT];
  assert(lots >= 0, 'ORDERS-3: the remaining lots are not negative');
  if (lots === 0) return;
  if (kindSide(kind) === SIDE.BUY) ledger.release(account, lots * words[row | WORD_AT.LIMIT_TICKS]);
  else ledger.releaseTokens(account, words[row | WORD_AT.MARKET], kindOutcome(kind), lots * ticksPerUnit);
}
