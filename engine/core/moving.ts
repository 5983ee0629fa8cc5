/**
 * Movements of USDC and full sets (FUNDS and CONVERT), and their fees on a chain (RULES.md 17.50). Owner: the shard
 * thread.
 *
 * Invariants:
 *   MOVING-1  The fee of a movement leaves the account in the same debit or, for a merge, from its proceeds: there is
 *             no movement without its fee, and no fee without its movement.
 *   MOVING-2  A movement is applied once, by its reference. Its market, if it has one, is known then; a repeat may name
 *             any.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { addSafe } from '../../shared/base/int.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Market } from '../book/market.ts';
import { FOR_EVER } from '../book/retention.ts';
import type { ShardState } from './state.ts';

const { FEE_ACCOUNT, MOVEMENT, OUTCOME } = codes;
const { ANY_COMMAND, COMMAND, NO_MARKET, feeIn, movementIn } = commands;
const { CONVERT, FUNDS } = COMMAND;

/** The USDC that a split or merge debits: a merge credits its amount before its fee is taken. */
export function debitOf(isSplit: boolean, amount: number, fee: number): number {
  return isSplit ? amount + fee : Math.max(fee - amount, 0);
}

/** @returns OK, or INSUFFICIENT_BALANCE with nothing changed. */
export function convert(state: ShardState, market: Market, words: Uint32Array, word: number): number {
  const { ledger, emit, markets } = state;
  const account = words[word + ANY_COMMAND.account];
  const amount = readSafe(words, word + CONVERT.amountAtomic);
  const movement = movementIn(words[word + CONVERT.movementAndFee]);
  const fee = feeIn(words[word + CONVERT.movementAndFee]);
  const isSplit = movement === MOVEMENT.SPLIT;
  const debit = debitOf(isSplit, amount, fee);
  if (debit > 0 && !ledger.tryDebit(account, debit)) return E.INSUFFICIENT_BALANCE;
  const sign = isSplit ? 1 : -1;
  ledger.addTokens(account, market.index, OUTCOME.YES, sign * amount);
  ledger.addTokens(account, market.index, OUTCOME.NO, sign * amount);
  market.collateralMicro = addSafe(market.collateralMicro, sign * amount);
  if (!isSplit) ledger.credit(account, Math.max(amount - fee, 0));
  markets.touch(market);
  emit.funds(account, market.index, movement, amount);
  keepFee(state, account, fee);
  return OK;
}

/** @returns OK, or INSUFFICIENT_BALANCE with nothing changed. */
export function moveFunds(state: ShardState, words: Uint32Array, word: number): number {
  const { ledger, digest, emit, markets, references, totals } = state;
  const account = words[word + ANY_COMMAND.account];
  const amount = readSafe(words, word + FUNDS.amountMicro);
  const movement = movementIn(words[word + FUNDS.movementAndFee]);
  const fee = feeIn(words[word + FUNDS.movementAndFee]);
  const reference = word + FUNDS.reference;
  // A repeat is answered again and applied once, whatever market it names.
  if (references.has(words, reference)) return OK;
  const index = words[word + ANY_COMMAND.market];
  // A deposit of full sets has a market.
  const market = index === NO_MARKET ? null : markets.get(index);
  assert(market !== undefined, 'MOVING-2: the market of an accepted movement is known');
  if (movement === MOVEMENT.DEPOSIT) {
    assert(fee === 0, 'MOVING-1: a deposit has no fee');
    totals.depositedMicro = addSafe(totals.depositedMicro, amount);
    if (market === null) ledger.credit(account, amount);
  } else {
    if (!ledger.tryDebit(account, amount + fee)) return E.INSUFFICIENT_BALANCE;
    totals.withdrawnMicro = addSafe(totals.withdrawnMicro, amount);
  }
  references.insert(words, reference, account, FOR_EVER, FOR_EVER);
  digest.reference(words, reference, account);
  emit.funds(account, NO_MARKET, movement, amount, words, reference);
  keepFee(state, account, fee);
  if (market !== null) addSets(state, market, account, amount);
  return OK;
}

/** The fee was debited together with its movement. */
function keepFee({ ledger, emit }: ShardState, account: number, fee: number): void {
  if (fee === 0) return;
  ledger.credit(FEE_ACCOUNT, fee);
  emit.funds(account, NO_MARKET, MOVEMENT.FEE, fee);
}

/** The USDC of the deposit is split before the account can use it. */
function addSets({ ledger, emit, markets }: ShardState, market: Market, account: number, amount: number): void {
  for (const outcome of [OUTCOME.YES, OUTCOME.NO]) ledger.addTokens(account, market.index, outcome, amount);
  market.collateralMicro = addSafe(market.collateralMicro, amount);
  markets.touch(market);
  emit.funds(account, market.index, MOVEMENT.SPLIT, amount);
}
