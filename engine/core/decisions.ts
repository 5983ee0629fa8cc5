/**
 * The moment at which a decision takes effect: of one market, or of all members of an event set at once, after the last
 * of their orders is closed (RULES.md 9.6, 19.6). What rounding keeps back of a settled member belongs to its set
 * (EVENTSET-3 in book/eventSets.ts). Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { excessShare } from '../../shared/base/eventSets.ts';
import { addSafe } from '../../shared/base/int.ts';
import { type EventSet, type Market, UNDECIDED } from '../book/market.ts';
import type { ShardState } from './state.ts';

/** The market has lost its last order. */
export function decideClosed(state: ShardState, market: Market, timeMs: number): void {
  if (market.decision === UNDECIDED) return;
  if (market.set?.isDeciding) decideMembers(state, market.set, timeMs);
  else takeEffect(state, market, timeMs);
}

function takeEffect(state: ShardState, market: Market, timeMs: number): void {
  assert(market.openOrders === 0, 'MARKET-2: a decided market has no open order');
  market.status = market.decision;
  market.payoutYesPpm = market.decisionYesPpm;
  market.resolvedMs = timeMs;
  market.decision = UNDECIDED;
  market.decisionYesPpm = 0;
  state.hashes.retention.decide(market.index);
}

/** Each member takes over its part of the excess: then it has the collateral of any decided market. */
function decideMembers(state: ShardState, set: EventSet, timeMs: number): void {
  const members = takingPart(set);
  if (members.some(({ isClosing }) => isClosing)) return;
  let taken = 0;
  for (const market of members) {
    const share = excessShare(set.excessMicro, market.decisionYesPpm);
    market.collateralMicro = addSafe(market.collateralMicro, share.micro);
    market.roundingPpm = share.roundingPpm;
    taken = addSafe(taken, share.micro);
    state.markets.touch(market);
    takeEffect(state, market, timeMs);
  }
  changeExcess(state, set, -taken);
}

/** The members that take part in a conversion and in the decision: those that are not eliminated. */
export function takingPart({ members }: EventSet): Market[] {
  return members.filter((market): market is Market => market !== undefined && !isDecided(market.status));
}

export function changeExcess({ emit, markets }: ShardState, set: EventSet, byMicro: number): void {
  if (byMicro === 0) return;
  set.excessMicro = addSafe(set.excessMicro, byMicro);
  markets.get(set.first); // the digest has the excess in the part of the first market
  emit.set(set);
}

/** @returns what is left for the fee account, once the last member of the set is settled */
export function keepRounding(state: ShardState, set: EventSet, roundedOffMicro: number): number {
  changeExcess(state, set, roundedOffMicro);
  if (!set.members.every((market) => market !== undefined && market.settledMs > 0)) return 0;
  const left = set.excessMicro;
  assert(left >= 0, 'EVENTSET-3: the members of a set are never paid more than its USDC');
  changeExcess(state, set, 0 - left);
  return left;
}
