/**
 * What one fill does to one party's money (RULES.md 2.3, 3.1). Owner: the shard thread.
 *
 * With L lots at the party's own price of t ticks, D ticks per unit:
 *   BUY   pays L*t micro-USDC of what it reserved at its limit, gets the difference back, receives L*D tokens less fee
 *   SELL  gives L*D reserved tokens, receives L*t micro-USDC less fee
 * The fee is what is due on everything the order received so far less what it paid already, so many small fills pay
 * exactly what one large fill pays.
 */
import * as codes from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import { addSafe, bpsFloor } from '../shared/int.ts';
import type { Ledger } from './ledger.ts';
import type { Orders } from './orders.ts';
import * as rows from './orders.ts';

// Own constants for speed: see emit.ts.
const { FEE_ACCOUNT, SIDE } = codes;
const { kindOutcome, kindSide } = commands;
const { AT, NUMBER_AT, NUMBERS, WORDS } = rows;

/** Settles one side of a fill and lowers the order's remaining lots. @returns the fee, in what the party receives. */
export function settleParty(
  orders: Orders,
  ledger: Ledger,
  slot: number,
  lots: number,
  ownTicks: number,
  ticksPerUnit: number,
): number {
  const { words, numbers } = orders;
  const row = slot << WORDS;
  const at = slot << NUMBERS;
  const account = words[row | AT.ACCOUNT]!;
  const market = words[row | AT.MARKET]!;
  const kind = words[row | AT.KIND]!;
  const feeBps = words[row | AT.FEE_BPS]!;
  const notionalMicro = lots * ownTicks;
  const tokensAtomic = lots * ticksPerUnit;
  const remainingBefore = numbers[at | NUMBER_AT.REMAINING_LOTS]!;
  const filledLotsBefore = numbers[at | NUMBER_AT.QUANTITY_LOTS]! - remainingBefore;
  const notionalBefore = numbers[at | NUMBER_AT.FILLED_NOTIONAL]!;
  numbers[at | NUMBER_AT.REMAINING_LOTS] = remainingBefore - lots;
  numbers[at | NUMBER_AT.FILLED_NOTIONAL] = addSafe(notionalBefore, notionalMicro);

  if (kindSide(kind) === SIDE.BUY) {
    const outcome = kindOutcome(kind);
    const receivedBefore = filledLotsBefore * ticksPerUnit;
    const fee = bpsFloor(receivedBefore + tokensAtomic, feeBps) - bpsFloor(receivedBefore, feeBps);
    const reservedMicro = lots * words[row | AT.LIMIT_TICKS]!;
    ledger.spendReserved(account, reservedMicro);
    ledger.credit(account, reservedMicro - notionalMicro);
    ledger.addTokens(account, market, outcome, tokensAtomic - fee);
    ledger.addTokens(FEE_ACCOUNT, market, outcome, fee);
    return fee;
  }
  const fee = bpsFloor(notionalBefore + notionalMicro, feeBps) - bpsFloor(notionalBefore, feeBps);
  ledger.spendReservedTokens(account, market, kindOutcome(kind), tokensAtomic);
  ledger.credit(account, notionalMicro - fee);
  ledger.credit(FEE_ACCOUNT, fee);
  return fee;
}

/** Gives back what an order still reserves, at its close. */
export function releaseReservation(orders: Orders, ledger: Ledger, slot: number, ticksPerUnit: number): void {
  const { words } = orders;
  const row = slot << WORDS;
  const kind = words[row | AT.KIND]!;
  const account = words[row | AT.ACCOUNT]!;
  const lots = orders.remainingLots[slot << NUMBERS]!;
  if (lots === 0) return;
  if (kindSide(kind) === SIDE.BUY) ledger.release(account, lots * words[row | AT.LIMIT_TICKS]!);
  else ledger.releaseTokens(account, words[row | AT.MARKET]!, kindOutcome(kind), lots * ticksPerUnit);
}
