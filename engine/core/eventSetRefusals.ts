/** The refusals of commands for event sets and for their members (RULES.md 19). A part of admission.ts. */
import { isDecided, MARKET_STATUS, MAX_ORDER_AMOUNT, OUTCOME } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { CONVERSION, conversionMicro, isChosen, LEAST_MEMBERS, MOST_MEMBERS } from '../../shared/base/eventSets.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import { PPM } from '../../shared/base/payout.ts';
import { ANY_COMMAND, COMMAND, UNCHANGED } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { FIRST_WITH_SETS } from '../../shared/wire/version.ts';
import { type EventSet, type Market, mayDecide, maySettle } from '../book/market.ts';
import { type Admitted, refuseShort } from './admitted.ts';
import { takingPart } from './decisions.ts';
import { chosenIn, isEliminating, payoutsIn } from './eventSets.ts';
import type { ShardState } from './state.ts';

const { CONVERT_SET, DECIDE_SET, MARKET_OPEN, MARKET_PATCH, RESOLVE, SETTLE_SET } = COMMAND;
const { ACTIVE, CANCELLED, LOCKED, RESOLVED, RESOLVING } = MARKET_STATUS;
/** Without collateral: by how much of its amount a conversion may change each of its tokens and the USDC. */
const CONVERSION_WEIGHT = 2;

/** True for a command that older rules do not know, so that it cannot be written into a journal under them. */
export function needsSets(type: number, rules: number, words: Uint32Array, word: number): boolean {
  if (rules >= FIRST_WITH_SETS) return false;
  if (type === MARKET_OPEN.TYPE) return words[word + MARKET_OPEN.set] !== 0;
  return type === CONVERT_SET.TYPE || type === DECIDE_SET.TYPE || type === SETTLE_SET.TYPE;
}

/** EVENTSET-4. A market that is opened again is ignored. */
export function refuseMember({ markets }: ShardState, words: Uint32Array, word: number): number {
  const setWord = words[word + MARKET_OPEN.set];
  if (setWord === 0 || markets.peek(words[word + ANY_COMMAND.market]) !== undefined) return OK;
  const place = words[word + MARKET_OPEN.place];
  const [ordinal, size] = [place & 0xff, (place >>> 8) & 0xff];
  if (size < LEAST_MEMBERS || size > MOST_MEMBERS || ordinal >= size) return E.VALIDATION_ERROR;
  const set = markets.sets.get(setWord - 1);
  if (set === undefined) return OK;
  const other = set.members.find((market) => market !== undefined);
  const isAlike =
    other !== undefined &&
    other.ticksPerUnit === words[word + MARKET_OPEN.ticksPerUnit] &&
    other.minOrderAtomic === readSafe(words, word + MARKET_OPEN.minOrderAtomic) &&
    other.feeBps === words[word + MARKET_OPEN.feeBps] &&
    other.startMs === readSafe(words, word + MARKET_OPEN.startMs) &&
    other.endMs === readSafe(words, word + MARKET_OPEN.endMs);
  return isAlike && set.size === size && set.members[ordinal] === undefined ? OK : E.VALIDATION_ERROR;
}

/** Fee and times change for all members at once, and none is closed alone; each may be locked, and opened again. */
export function refuseMemberPatch(market: Market, words: Uint32Array, word: number): number {
  if (market.set === null) return OK;
  const feeBps = words[word + MARKET_PATCH.feeBps];
  const isSame =
    (feeBps === UNCHANGED || feeBps === market.feeBps) &&
    readSafe(words, word + MARKET_PATCH.startMs) === market.startMs &&
    readSafe(words, word + MARKET_PATCH.endMs) === market.endMs;
  return isSame && words[word + MARKET_PATCH.status] !== RESOLVING ? OK : E.MEMBER_OF_SET;
}

/** The one decision of a single member is its elimination as No. */
export function refuseElimination(set: EventSet, market: Market, words: Uint32Array, word: number): number {
  if (words[word + RESOLVE.status] !== RESOLVED || words[word + RESOLVE.payoutYesPpm] !== 0) return E.MEMBER_OF_SET;
  if (!set.isComplete || !mayDecide(market, RESOLVED)) return E.INVALID_TRANSITION;
  return set.undecided.length > LEAST_MEMBERS ? OK : E.TOO_FEW_MEMBERS;
}

/** An eliminated member is settled alone until its set is decided. */
export function refuseMemberSettling(set: EventSet, market: Market): number {
  if (set.isDecided || !isDecided(market.status)) return E.MEMBER_OF_SET;
  return maySettle(market) ? OK : E.INVALID_TRANSITION;
}

export function refuseConversion(state: ShardState, words: Uint32Array, word: number, admitted: Admitted): number {
  const { exactBound, ledger } = state;
  const account = words[word + ANY_COMMAND.account];
  const amount = readSafe(words, word + CONVERT_SET.amountAtomic);
  const direction = words[word + CONVERT_SET.direction];
  const set = wholeSet(state, words, word);
  if (typeof set === 'number') return set;
  const chosen = chosenIn(words, word);
  const isToUsdc = direction === CONVERSION.TO_USDC;
  if (!isToUsdc && direction !== CONVERSION.FROM_USDC) return E.VALIDATION_ERROR;
  const places = Array.from({ length: MOST_MEMBERS }, (_, ordinal) => ordinal).filter((each) => isChosen(chosen, each));
  if (places.some((ordinal) => ordinal >= set.size)) return E.VALIDATION_ERROR;
  const count = places.length;
  if (amount > MAX_ORDER_AMOUNT || (count - 1) * amount > MAX_SAFE) return E.VALIDATION_ERROR;
  const members = takingPart(set);
  if (members.filter(({ setOrdinal }) => isChosen(chosen, setOrdinal)).length < count) return E.MARKET_NOT_ACTIVE;
  if (members.length < (isToUsdc ? LEAST_MEMBERS : set.size)) return E.MARKET_NOT_ACTIVE;
  if (!members.every(({ status }) => status === ACTIVE || (isToUsdc && status === LOCKED))) return E.MARKET_NOT_ACTIVE;
  if (amount === 0) return E.INVALID_LOT;
  const micro = isToUsdc ? 0 : conversionMicro(count, amount);
  if (micro > 0 && ledger.availableMicro(account) < micro)
    return refuseShort(micro, ledger.availableMicro(account), ledger.reservedOf(account), admitted);
  const givesYes = isToUsdc === (count === 0);
  for (const { index, setOrdinal } of members) {
    const isNo = isChosen(chosen, setOrdinal);
    if (isNo ? !isToUsdc : !givesYes) continue;
    const outcome = isNo ? OUTCOME.NO : OUTCOME.YES;
    const available = ledger.availableTokens(account, index, outcome);
    if (available >= amount) continue;
    return refuseShort(amount, available, ledger.reservedTokens(account, index, outcome), admitted);
  }
  const growth = Math.min(MAX_SAFE, CONVERSION_WEIGHT * set.size * amount);
  if (exactBound === null || growth <= exactBound.room) return OK;
  return refuseShort(growth, exactBound.room, ledger.reservedOf(account), admitted);
}

export function refuseDecision(state: ShardState, words: Uint32Array, word: number): number {
  const set = wholeSet(state, words, word);
  if (typeof set === 'number') return set;
  const status = words[word + DECIDE_SET.status];
  if (status !== RESOLVED && status !== CANCELLED) return E.VALIDATION_ERROR;
  const members = set.undecided;
  if (members.length < LEAST_MEMBERS) return E.INVALID_TRANSITION;
  if (set.members.some((market) => isEliminating(market!))) return E.ENGINE_BUSY; // a moment later it is eliminated
  if (!members.every((market) => mayDecide(market, status))) return E.INVALID_TRANSITION;
  return arePayouts(set, status, words, word) ? OK : E.VALIDATION_ERROR;
}

/** EVENTSET-3. An eliminated member pays nothing for its Yes; equal parts are for a set that is cancelled. */
function arePayouts(set: EventSet, status: number, words: Uint32Array, word: number): boolean {
  let sum = 0;
  for (let ordinal = 0; ordinal < MOST_MEMBERS; ordinal++) {
    const ppm = words[word + DECIDE_SET.payoutsYesPpm + ordinal];
    const market = set.members[ordinal];
    if (ppm !== 0 && (market === undefined || isDecided(market.status))) return false;
    sum += ppm;
  }
  if (sum === 0) return status === CANCELLED;
  return sum === PPM && payoutsIn(set, words, word).every((ppm) => ppm <= PPM);
}

export function refuseSetSettling(state: ShardState, words: Uint32Array, word: number): number {
  const set = wholeSet(state, words, word);
  if (typeof set === 'number') return set;
  return set.isDecided && set.members.some((market) => maySettle(market!)) ? OK : E.INVALID_TRANSITION;
}

/** The set that a command names by its first market, or the number of the error. */
function wholeSet({ markets }: ShardState, words: Uint32Array, word: number): EventSet | number {
  const first = words[word + ANY_COMMAND.market];
  const set = markets.sets.get(first);
  if (set === undefined) return markets.peek(first) === undefined ? E.MARKET_NOT_FOUND : E.NOT_A_SET;
  return set.isComplete ? set : E.MARKET_NOT_ACTIVE;
}
