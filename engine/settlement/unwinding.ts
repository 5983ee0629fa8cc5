/**
 * Computes how to undo a fill in the ledger (RULES.md 17.40): the change of USDC and tokens of each party. Pure.
 *
 * The fee of an order is due on all that it has received. So the fee of one fill is the fee on everything less the fee
 * on everything else. The contract computes it in the same way, without this fill: afterwards ledger and contract agree
 * to the unit, whichever fills of an order are undone.
 */
import { OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { bpsFloor, mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import type { UnwindingChanges } from '../../shared/wire/tradeQuestions.ts';

type UnwoundParty = {
  readonly side: number;
  readonly outcome: number;
  readonly feeBps: number;
  /**
   * Tokens received by a BUY or USDC received by a SELL, before fees, over all fills of the order including this one.
   */
  readonly received: number;
};
type Fill = { readonly lots: number; readonly yesTicks: number; readonly ticksPerUnit: number };
type Change = UnwindingChanges['maker'];

export function unwindingOf(fill: Fill, maker: UnwoundParty, taker: UnwoundParty): UnwindingChanges {
  const [ofMaker, ofTaker] = [changeOf(fill, maker), changeOf(fill, taker)];
  const fee = [0, 1, 2].map((asset) => 0 - ofMaker.fee[asset] - ofTaker.fee[asset]);
  return { maker: ofMaker.own, taker: ofTaker.own, fee: fee as unknown as Change };
}

/** Tokens or USDC that a party of a fill has received, before fees. */
export function receivedIn({ lots, yesTicks, ticksPerUnit }: Fill, side: number, outcome: number): number {
  return mulSafe(lots, side === SIDE.BUY ? ticksPerUnit : ownTicks(outcome, yesTicks, ticksPerUnit));
}

function changeOf(fill: Fill, { side, outcome, feeBps, received }: UnwoundParty): { own: Change; fee: Change } {
  const notional = mulSafe(fill.lots, ownTicks(outcome, fill.yesTicks, fill.ticksPerUnit));
  const tokens = mulSafe(fill.lots, fill.ticksPerUnit);
  const fee = bpsFloor(received, feeBps) - bpsFloor(received - receivedIn(fill, side, outcome), feeBps);
  if (side === SIDE.BUY) return { own: changesTo(outcome, notional, fee - tokens), fee: changesTo(outcome, 0, fee) };
  return { own: changesTo(outcome, fee - notional, tokens), fee: changesTo(outcome, fee, 0) };
}

function changesTo(outcome: number, micro: number, atomic: number): Change {
  return outcome === OUTCOME.YES ? [micro, atomic, 0] : [micro, 0, atomic];
}
