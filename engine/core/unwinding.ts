/**
 * The end of a fill that the chain refuses for good (RULES.md 17.40): each party, and the fee account, returns what it
 * received and gets back what it gave. The command states each party's changes; here they must add up. In the same way
 * the ledger takes over movements that only the chain has, after a restore to an earlier time (17.44). Owner: the shard
 * thread.
 *
 * Invariants:
 *   UNWIND-1  Over all parties the Yes and the No tokens change by the same number of sets, which is the change of the
 *             collateral, and the USDC by as much the other way: nothing is made and nothing is lost.
 *   UNWIND-2  A fill is unwound once: its reference is remembered like a deposit's.
 */
import { assert } from '../../shared/base/assert.ts';
import { FEE_ACCOUNT, MAX_ORDER_AMOUNT, OUTCOME } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { addSafe } from '../../shared/base/int.ts';
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import type { Market } from '../book/market.ts';
import { FOR_EVER } from '../book/retention.ts';
import { type Admitted, refuseShort } from './admitted.ts';
import type { ShardState } from './state.ts';

const { UNWIND } = COMMAND;
const PARTIES = [0, 1, 2] as const;
type Party = (typeof PARTIES)[number];
/** Offsets from a party's first change: to its USDC, its Yes tokens and its No tokens. */
const [MICRO, YES, NO] = [0, 2, 4] as const;
type Asset = typeof MICRO | typeof YES | typeof NO;

/** @returns OK, or the number of the error. */
export function refuseUnwinding(state: ShardState, words: Uint32Array, word: number, admitted: Admitted): number {
  if (state.references.has(words, word + UNWIND.reference)) return OK; // a repeat: answered again, done once
  const market = state.markets.get(words[word + ANY_COMMAND.market]);
  if (market === undefined) return E.MARKET_NOT_FOUND;
  if (market.set !== null) return E.MEMBER_OF_SET; // no set is on a chain
  // The market's holders are being or have been paid: the tokens of the fill are gone.
  if (market.isSettling || market.settledMs !== 0) return E.MARKET_NOT_ACTIVE;
  if (!addsUp(words, word)) return E.VALIDATION_ERROR;
  for (const party of PARTIES) {
    for (const asset of [MICRO, YES, NO] as const) {
      const refusal = refuseParty(state, market, words, word, party, asset, admitted);
      if (refusal !== OK) return refusal;
    }
  }
  return OK;
}

function refuseParty(
  { ledger }: ShardState,
  { index }: Market,
  words: Uint32Array,
  word: number,
  party: Party,
  asset: Asset,
  admitted: Admitted,
): number {
  const required = 0 - changeOfAccount(words, word, party, asset);
  if (required <= 0) return OK;
  const account = accountOf(words, word, party);
  const outcome = asset === YES ? OUTCOME.YES : OUTCOME.NO;
  const isMicro = asset === MICRO;
  const available = isMicro ? ledger.availableMicro(account) : ledger.availableTokens(account, index, outcome);
  if (available >= required) return OK;
  const reserved = isMicro ? ledger.reservedOf(account) : ledger.reservedTokens(account, index, outcome);
  return refuseShort(required, available, reserved, admitted);
}

/** @returns OK, or INSUFFICIENT_BALANCE with nothing changed. */
export function unwind(state: ShardState, market: Market, words: Uint32Array, word: number): number {
  const { digest, emit, ledger, markets, references } = state;
  const reference = word + UNWIND.reference;
  if (references.has(words, reference)) return OK;
  assert(addsUp(words, word), 'UNWIND-1: what is unwound adds up');
  if (!tryDebitAll(state, words, word)) return E.INSUFFICIENT_BALANCE;
  for (const party of PARTIES) {
    const account = accountOf(words, word, party);
    const micro = isFirstOf(words, word, party) ? changeOfAccount(words, word, party, MICRO) : 0;
    if (micro > 0) ledger.credit(account, micro);
    ledger.addTokens(account, market.index, OUTCOME.YES, changeOf(words, word, party, YES));
    ledger.addTokens(account, market.index, OUTCOME.NO, changeOf(words, word, party, NO));
  }
  market.collateralMicro = addSafe(market.collateralMicro, sumOf(words, word, YES));
  markets.touch(market);
  const maker = words[word + ANY_COMMAND.account];
  references.insert(words, reference, maker, FOR_EVER, FOR_EVER);
  digest.reference(words, reference, maker);
  const trade = readSafe(words, word + UNWIND.tradeSequence);
  for (const party of [0, 1] as const) {
    const [micro, yes, no] = [MICRO, YES, NO].map((asset) => changeOf(words, word, party, asset));
    // A split or merge that was taken over from the chain has only one party.
    if (micro === 0 && yes === 0 && no === 0) continue;
    emit.unwound(accountOf(words, word, party), market.index, trade, micro, yes, no);
  }
  return OK;
}

/** Another shard may have been faster: then the debits made here are returned. */
function tryDebitAll({ ledger }: ShardState, words: Uint32Array, word: number): boolean {
  for (const party of PARTIES) {
    if (ledger.tryDebit(accountOf(words, word, party), debitOf(words, word, party))) continue;
    for (const before of PARTIES) {
      if (before < party) ledger.credit(accountOf(words, word, before), debitOf(words, word, before));
    }
    return false;
  }
  return true;
}

/** An account that is two of the parties is debited once, for the first of them. */
function debitOf(words: Uint32Array, word: number, party: Party): number {
  return isFirstOf(words, word, party) ? Math.max(0, 0 - changeOfAccount(words, word, party, MICRO)) : 0;
}

function isFirstOf(words: Uint32Array, word: number, party: Party): boolean {
  const account = accountOf(words, word, party);
  return PARTIES.every((other) => other >= party || accountOf(words, word, other) !== account);
}

/** Keeps UNWIND-1. */
function addsUp(words: Uint32Array, word: number): boolean {
  for (const party of PARTIES) {
    for (const asset of [MICRO, YES, NO] as const) {
      if (Math.abs(changeOf(words, word, party, asset)) > MAX_ORDER_AMOUNT) return false;
    }
  }
  const sets = sumOf(words, word, YES);
  return sumOf(words, word, NO) === sets && sumOf(words, word, MICRO) + sets === 0;
}

function sumOf(words: Uint32Array, word: number, asset: Asset): number {
  return PARTIES.reduce<number>((sum, party) => sum + changeOf(words, word, party, asset), 0);
}

/** The sum over all parties that are this party's account. */
function changeOfAccount(words: Uint32Array, word: number, party: Party, asset: Asset): number {
  const account = accountOf(words, word, party);
  const own = PARTIES.filter((other) => accountOf(words, word, other) === account);
  return own.reduce<number>((sum, other) => sum + changeOf(words, word, other, asset), 0);
}

function changeOf(words: Uint32Array, word: number, party: Party, asset: Asset): number {
  const first = party === 0 ? UNWIND.makerMicro : party === 1 ? UNWIND.takerMicro : UNWIND.feeMicro;
  return readSigned(words, word + first + asset);
}

function accountOf(words: Uint32Array, word: number, party: Party): number {
  if (party === 2) return FEE_ACCOUNT;
  return words[word + (party === 0 ? ANY_COMMAND.account : UNWIND.takerAccount)];
}
