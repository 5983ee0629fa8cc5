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
const { NUMBERS, WORDS } = rows;

/** Settles one side of a fill and lowers the order's remaining lots. @returns the fee, in what the party receives. */
export function settleParty(
  orders: Orders,
  ledger: Ledger,
  slot: number,
  lots: number,
  ownTicks: number,
  ticksPerUnit: number,
): number {
  const account = orders.account[slot << WORDS]!;
  const market = orders.market[slot << WORDS]!;
  const kind = orders.kind[slot << WORDS]!;
  const feeBps = orders.feeBps[slot << WORDS]!;
  const notionalMicro = lots * ownTicks;
  const tokensAtomic = lots * ticksPerUnit;
  const filledLotsBefore = orders.quantityLots[slot << NUMBERS]! - orders.remainingLots[slot << NUMBERS]!;
  const notionalBefore = orders.filledNotionalMicro[slot << NUMBERS]!;
  orders.remainingLots[slot << NUMBERS] = orders.remainingLots[slot << NUMBERS]! - lots;
  orders.filledNotionalMicro[slot << NUMBERS] = addSafe(notionalBefore, notionalMicro);

  if (kindSide(kind) === SIDE.BUY) {
    const outcome = kindOutcome(kind);
    const receivedBefore = filledLotsBefore * ticksPerUnit;
    const fee = bpsFloor(receivedBefore + tokensAtomic, feeBps) - bpsFloor(receivedBefore, feeBps);
    const reservedMicro = lots * orders.limitTicks[slot << WORDS]!;
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
  const kind = orders.kind[slot << WORDS]!;
  const account = orders.account[slot << WORDS]!;
  const lots = orders.remainingLots[slot << NUMBERS]!;
  if (lots === 0) return;
  if (kindSide(kind) === SIDE.BUY) ledger.release(account, lots * orders.limitTicks[slot << WORDS]!);
  else ledger.releaseTokens(account, orders.market[slot << WORDS]!, kindOutcome(kind), lots * ticksPerUnit);
}
