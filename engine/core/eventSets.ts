/**
 * Commands for event sets (RULES.md 19): conversions, the decision of all members at once, and paying their holders.
 * Owner: the shard thread. What the numbers mean is in book/eventSets.ts, why they add up in shared/base/eventSets.ts.
 *
 * The decision of a set takes effect in one record, after the last order of all members is closed (decisions.ts). Until
 * then each of them is resolving and has its payout as the decision that it waits for.
 */
import { assert } from '../../shared/base/assert.ts';
import { MARKET_STATUS, OUTCOME } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { type Chosen, CONVERSION, conversionMicro, equalPayoutsPpm, isChosen } from '../../shared/base/eventSets.ts';
import { addSafe } from '../../shared/base/int.ts';
import { PPM } from '../../shared/base/payout.ts';
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { type EventSet, type Market, maySettle, UNDECIDED } from '../book/market.ts';
import { changeExcess, takingPart } from './decisions.ts';
import { payHolders, startClosing, startSettling } from './resolution.ts';
import type { ShardState } from './state.ts';
import { step } from './steps.ts';

const { CONVERT_SET, DECIDE_SET } = COMMAND;

export function chosenIn(words: Uint32Array, word: number): Chosen {
  return [words[word + CONVERT_SET.chosen], words[word + CONVERT_SET.chosen + 1]];
}

/** @returns OK, or INSUFFICIENT_BALANCE with nothing changed. */
export function convertSet(state: ShardState, words: Uint32Array, word: number): number {
  const { emit, ledger, markets } = state;
  const set = setOf(state, words, word);
  const account = words[word + ANY_COMMAND.account];
  const amount = readSafe(words, word + CONVERT_SET.amountAtomic);
  const direction = words[word + CONVERT_SET.direction];
  const chosen = chosenIn(words, word);
  const members = takingPart(set);
  const count = members.filter(({ setOrdinal }) => isChosen(chosen, setOrdinal)).length;
  const micro = conversionMicro(count, amount);
  const isToUsdc = direction === CONVERSION.TO_USDC;
  if (!isToUsdc && micro > 0 && !ledger.tryDebit(account, micro)) return E.INSUFFICIENT_BALANCE;
  // Towards USDC the account gives No and gets Yes; where none is chosen, it gives a Yes of every market.
  const noAtomic = isToUsdc ? -amount : amount;
  const yesAtomic = count === 0 ? noAtomic : -noAtomic;
  let change = isToUsdc ? micro : 0 - micro;
  for (const market of members) {
    const isNo = isChosen(chosen, market.setOrdinal);
    ledger.addTokens(account, market.index, isNo ? OUTCOME.NO : OUTCOME.YES, isNo ? noAtomic : yesAtomic);
    if (isNo) {
      market.collateralMicro = addSafe(market.collateralMicro, noAtomic);
      markets.touch(market);
    }
    emit.setConverted(account, market.index, direction, change, isNo ? 0 : yesAtomic, isNo ? noAtomic : 0);
    change = 0;
  }
  if (isToUsdc) ledger.credit(account, micro);
  changeExcess(state, set, yesAtomic);
  return OK;
}

/** Decides all members that are not eliminated. */
export function decideSet(state: ShardState, words: Uint32Array, word: number): void {
  const { markets } = state;
  const set = setOf(state, words, word);
  const members = set.undecided;
  const payouts = payoutsIn(set, words, word);
  assert(payouts.reduce((sum, ppm) => sum + ppm, 0) === PPM, 'EVENTSET-3: the payouts add up to one USDC');
  for (const market of members) {
    assert(markets.get(market.index) === market, 'EVENTSET-4: a member is a market of the shard');
    market.decision = words[word + DECIDE_SET.status];
    market.decisionYesPpm = payouts[market.setOrdinal];
    market.status = MARKET_STATUS.RESOLVING;
    startClosing(state, market);
    markets.transitions.plan(market);
  }
  step(state, words[word + DECIDE_SET.rows], readSafe(words, word + ANY_COMMAND.timeMs));
}

/** By ordinal, those of eliminated members among them: 0. */
export function payoutsIn(set: EventSet, words: Uint32Array, word: number): number[] {
  const at = word + DECIDE_SET.payoutsYesPpm;
  const given = Array.from({ length: set.size }, (_, ordinal) => words[at + ordinal]);
  if (given.some((ppm) => ppm !== 0)) return given;
  const equal = equalPayoutsPpm(set.undecided.length);
  for (const [place, { setOrdinal }] of set.undecided.entries()) given[setOrdinal] = equal[place];
  return given;
}

/** Starts paying the holders of every member that is not settled yet. */
export function settleSet(state: ShardState, words: Uint32Array, word: number): void {
  const timeMs = readSafe(words, word + ANY_COMMAND.timeMs);
  for (const market of setOf(state, words, word).members) {
    assert(market !== undefined, 'EVENTSET-4: a decided set is complete');
    if (!maySettle(market)) continue;
    startSettling(state, market);
    if (!market.isSettling) payHolders(state, market, 0, timeMs);
  }
  step(state, words[word + COMMAND.SETTLE_SET.rows], timeMs);
}

function setOf({ markets }: ShardState, words: Uint32Array, word: number): EventSet {
  const set = markets.sets.get(words[word + ANY_COMMAND.market]);
  assert(set !== undefined, 'EVENTSET-4: the set of an accepted command is known');
  return set;
}

/** True for a member whose decision waits for its own last order alone. */
export function isEliminating({ decision, set }: Market): boolean {
  return set !== null && decision !== UNDECIDED && !set.isDeciding;
}
