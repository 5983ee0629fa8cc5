/** Event sets in the second accounting (RULES.md 19): conversions, decisions, and what becomes of their excess. */
import { OUTCOME } from '../../shared/base/codes.ts';
import type { CommandOf } from '../../shared/wire/commands.ts';
import type { Event } from '../../shared/wire/events.ts';
import type { Books, MarketBooks, SetBooks } from './books.ts';
import { AdminError } from './directory.ts';

const PPM = 1_000_000n;

export function setOf(books: Books, first: number): SetBooks {
  const { set } = books.market(first);
  if (set === null) throw new AdminError(`a command for an event set names market ${first}, which is in none`);
  return set;
}

/** The set of a market that is opened; the first of its markets makes it. */
export function joinSet(sets: Map<number, SetBooks>, setWord: number, ordinal: number, market: number): SetBooks {
  const set = sets.get(setWord) ?? { markets: [], excess: 0n };
  sets.set(setWord, set);
  set.markets[ordinal] = market;
  return set;
}

/** With k chosen markets, (k - 1) USDC and a Yes of each other one are a No of each chosen one. */
export function convertSet(books: Books, command: CommandOf<'CONVERT_SET'>): void {
  const { account, market, direction, chosen, amountAtomic } = command;
  const set = setOf(books, market);
  const no = direction === 0 ? -BigInt(amountAtomic) : BigInt(amountAtomic);
  const bits = chosen.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const isChosen = (ordinal: number): boolean => ((bits >> BigInt(ordinal)) & 1n) === 1n;
  const left = set.markets.flatMap((index, ordinal) => (books.market(index).isDecided ? [] : [{ index, ordinal }]));
  const count = BigInt(left.filter(({ ordinal }) => isChosen(ordinal)).length);
  const yes = count === 0n ? no : -no;
  for (const { index, ordinal } of left) {
    if (isChosen(ordinal)) {
      books.tokens(account, index, OUTCOME.NO).available += no;
      books.market(index).collateral += no;
    } else books.tokens(account, index, OUTCOME.YES).available += yes;
  }
  books.purse(account).available -= count === 0n ? no : (count - 1n) * no;
  set.excess += yes;
}

/** Each member gets its payout. */
export function decideSet(books: Books, { market, payoutsYesPpm }: CommandOf<'DECIDE_SET'>): void {
  const words = new DataView(payoutsYesPpm.buffer, payoutsYesPpm.byteOffset, payoutsYesPpm.length);
  const { markets } = setOf(books, market);
  const left = markets.filter((index) => !books.market(index).isDecided);
  const given = markets.map((_, ordinal) => BigInt(words.getUint32(ordinal * 4, true)));
  const isEqual = given.every((ppm) => ppm === 0n);
  const each = PPM / BigInt(left.length);
  for (const [ordinal, index] of markets.entries()) {
    if (books.market(index).isDecided) continue;
    const equal = index === left[0] ? PPM - each * BigInt(left.length - 1) : each;
    books.market(index).payoutYesPpm = isEqual ? equal : given[ordinal];
  }
}

/** A member that is decided together with others takes over its part of the excess, rounded up. */
export function takeOverExcess(books: Books, events: readonly Event[]): void {
  const decided = events.filter((event) => event.name === 'MARKET' && event.resolvedMs > 0);
  const fresh = decided.map(({ market }) => books.market(market)).filter((market) => !market.isDecided);
  for (const market of fresh) market.isDecided = true;
  const taken = new Map<SetBooks, bigint>();
  for (const market of fresh) {
    const { set, payoutYesPpm } = market;
    if (set === null || !set.markets.every((index) => books.market(index).isDecided)) continue;
    const worth = set.excess * payoutYesPpm;
    const share = worth >= 0n ? (worth + PPM - 1n) / PPM : -(-worth / PPM);
    market.collateral += share;
    taken.set(set, (taken.get(set) ?? 0n) + share);
  }
  for (const [set, shares] of taken) set.excess -= shares;
}

/** Commands in whose records holders are paid. */
export const PAYING: readonly string[] = ['SETTLE', 'STEP', 'DECIDE_SET', 'SETTLE_SET'];

export function settleSet(books: Books, first: number): void {
  for (const index of setOf(books, first).markets) {
    const member = books.market(index);
    member.isSettling = !member.isSettled;
  }
}

/** The USDC left in a settled market are its set's, until all markets of that are settled; then the fee account's. */
export function keptOf(books: Books, { set }: MarketBooks, left: bigint): bigint {
  if (set === null) return left;
  set.excess += left;
  if (!set.markets.every((index) => books.market(index).isSettled)) return 0n;
  const kept = set.excess;
  set.excess = 0n;
  return kept;
}

/** The excess of each set after a record, which may change it more than once. */
export function excessesIn(events: readonly Event[]): Map<number, bigint> {
  const excesses = new Map<number, bigint>();
  for (const event of events) if (event.name === 'SET') excesses.set(event.market, BigInt(event.excessMicro));
  return excesses;
}
