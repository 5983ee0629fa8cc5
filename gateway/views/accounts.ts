/**
 * What every account holds, as the shards' events told it: USDC per shard and tokens per (account, market). All of it
 * is durable: a change is here only once its journal transaction is.
 * Owner: the gateway thread. Units: micro-USDC and atomic tokens.
 *
 * An account's USDC is spread over the shards; one shard's net alone may be negative, their sum is what is available.
 */

import { FEE_ACCOUNT, MOVEMENT, OUTCOME, type Outcome } from '../../shared/codes.ts';
import { NO_MARKET } from '../../shared/commands.ts';
import {
  ACCOUNT_NET,
  ACCOUNT_NO_AVAILABLE,
  ACCOUNT_NO_RESERVED,
  ACCOUNT_RESERVED,
  ACCOUNT_YES_AVAILABLE,
  ACCOUNT_YES_RESERVED,
  EV_ACCOUNT,
  EV_FLAGS,
  EV_MARKET,
  FUNDS_EV_AMOUNT,
  FUNDS_EV_REFERENCE,
} from '../../shared/events.ts';
import { addSafe } from '../../shared/int.ts';
import { readSafe, readSigned } from '../../shared/record.ts';
import { grown, NONE } from './columns.ts';
import type { PairIndex } from './pairIndex.ts';

const FIRST_ACCOUNTS = 256;
const REFERENCE_WORDS = 8;

/** One shard's part of every account, by account index. */
export class ShardFunds {
  netMicro = new Float64Array(FIRST_ACCOUNTS);
  reservedMicro = new Float64Array(FIRST_ACCOUNTS);
  /** shardSequence of the last record that touched the account. */
  lastSequence = new Float64Array(FIRST_ACCOUNTS);
  /** Sums of all movements so far. */
  depositsMicro = 0n;
  withdrawalsMicro = 0n;

  fit(accounts: number): void {
    if (accounts <= this.netMicro.length) return;
    this.netMicro = grown(this.netMicro, accounts);
    this.reservedMicro = grown(this.reservedMicro, accounts);
    this.lastSequence = grown(this.lastSequence, accounts);
  }
}

export type TokenBalance = {
  readonly market: number;
  readonly outcome: Outcome;
  readonly availableAtomic: number;
  readonly reservedAtomic: number;
};

export class AccountViews {
  /** Accounts that any event has named: indices below this. */
  count = 1;
  readonly shards: ShardFunds[];
  readonly pairs: PairIndex;
  yesAvailable = new Float64Array(FIRST_ACCOUNTS);
  yesReserved = new Float64Array(FIRST_ACCOUNTS);
  noAvailable = new Float64Array(FIRST_ACCOUNTS);
  noReserved = new Float64Array(FIRST_ACCOUNTS);

  constructor(shards: number, pairs: PairIndex) {
    this.shards = Array.from({ length: shards }, () => new ShardFunds());
    this.pairs = pairs;
  }

  availableMicro(account: number): number {
    let sum = 0;
    for (const shard of this.shards) if (account < shard.netMicro.length) sum = addSafe(sum, shard.netMicro[account]!);
    return sum;
  }

  reservedMicro(account: number): number {
    let sum = 0;
    for (const shard of this.shards) {
      if (account < shard.reservedMicro.length) sum = addSafe(sum, shard.reservedMicro[account]!);
    }
    return sum;
  }

  /** The last record of a shard that touched the account, 0 when none has since the start. */
  lastSequence(account: number, shard: number): number {
    const sequences = this.shards[shard]!.lastSequence;
    return account < sequences.length ? sequences[account]! : 0;
  }

  /** Every outcome of which the account has any, in the order of markets. */
  allTokens(account: number): TokenBalance[] {
    const held: TokenBalance[] = [];
    for (let pair = this.pairs.newestRow(account); pair !== NONE; pair = this.pairs.nextRow(pair)) {
      for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
        const balance = this.#tokensOf(pair, outcome);
        if (balance.availableAtomic !== 0 || balance.reservedAtomic !== 0) held.push(balance);
      }
    }
    return held.sort((a, b) => a.market - b.market || a.outcome - b.outcome);
  }

  /** ACCOUNT carries absolute numbers, so applying one twice changes nothing. */
  applyAccount(funds: ShardFunds, shardSequence: number, words: Uint32Array, word: number): void {
    const account = words[word + EV_ACCOUNT]!;
    funds.fit(account + 1);
    if (account >= this.count) this.count = account + 1;
    funds.netMicro[account] = readSigned(words, word + ACCOUNT_NET);
    funds.reservedMicro[account] = readSafe(words, word + ACCOUNT_RESERVED);
    funds.lastSequence[account] = shardSequence;
    const market = words[word + EV_MARKET]!;
    if (market === NO_MARKET) return;
    const pair = this.pairs.rowOf(account, market);
    this.#fitPairs(pair + 1);
    this.yesAvailable[pair] = readSigned(words, word + ACCOUNT_YES_AVAILABLE);
    this.yesReserved[pair] = readSafe(words, word + ACCOUNT_YES_RESERVED);
    this.noAvailable[pair] = readSigned(words, word + ACCOUNT_NO_AVAILABLE);
    this.noReserved[pair] = readSafe(words, word + ACCOUNT_NO_RESERVED);
  }

  /**
   * A movement adds to its sum. At recovery a shard tells each sum so far as one movement of the fee account without a
   * reference. Splits, merges and claims turn USDC into collateral and back: no movement in or out.
   */
  applyFunds(funds: ShardFunds, words: Uint32Array, word: number): void {
    const movement = words[word + EV_FLAGS]!;
    if (movement !== MOVEMENT.DEPOSIT && movement !== MOVEMENT.WITHDRAWAL) return;
    const amount = BigInt(readSafe(words, word + FUNDS_EV_AMOUNT));
    const isSumSoFar = words[word + EV_ACCOUNT] === FEE_ACCOUNT && !hasReference(words, word + FUNDS_EV_REFERENCE);
    if (movement === MOVEMENT.DEPOSIT) funds.depositsMicro = (isSumSoFar ? 0n : funds.depositsMicro) + amount;
    else funds.withdrawalsMicro = (isSumSoFar ? 0n : funds.withdrawalsMicro) + amount;
  }

  #tokensOf(pair: number, outcome: Outcome): TokenBalance {
    const isYes = outcome === OUTCOME.YES;
    // A pair that never had a position may lie beyond the columns.
    return {
      market: this.pairs.markets[pair]!,
      outcome,
      availableAtomic: (isYes ? this.yesAvailable[pair] : this.noAvailable[pair]) ?? 0,
      reservedAtomic: (isYes ? this.yesReserved[pair] : this.noReserved[pair]) ?? 0,
    };
  }

  #fitPairs(pairs: number): void {
    this.yesAvailable = grown(this.yesAvailable, pairs);
    this.yesReserved = grown(this.yesReserved, pairs);
    this.noAvailable = grown(this.noAvailable, pairs);
    this.noReserved = grown(this.noReserved, pairs);
  }
}

function hasReference(words: Uint32Array, word: number): boolean {
  for (let i = 0; i < REFERENCE_WORDS; i++) if (words[word + i] !== 0) return true;
  return false;
}
