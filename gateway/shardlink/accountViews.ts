/**
 * The balances of every account, kept up to date by the events of the shards: USDC per shard, tokens per (account,
 * market). Everything here is durable, because a shard publishes an event only after its journal transaction.
 * Owner: the gateway thread. Units: micro-USDC and atomic tokens.
 *
 * The USDC of an account is spread over the shards. The net of a single shard may be negative; the account's available
 * USDC is the sum over all shards.
 */
import { MOVEMENT, OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { addSafe } from '../../shared/base/int.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import { grown, NONE } from './growingColumn.ts';
import type { PairIndex } from './pairIndex.ts';

const FIRST_ACCOUNTS = 256;

/** One shard's part of every account, by account index. */
export class ShardFunds {
  netMicro = new Float64Array(FIRST_ACCOUNTS);
  reservedMicro = new Float64Array(FIRST_ACCOUNTS);
  /** shardSequence of the last record that touched the account. */
  lastSequence = new Float64Array(FIRST_ACCOUNTS);
  /** The sums of all movements. */
  depositsMicro = 0n;
  withdrawalsMicro = 0n;

  fit(accounts: number): void {
    if (accounts <= this.netMicro.length) return;
    this.netMicro = grown(this.netMicro, accounts);
    this.reservedMicro = grown(this.reservedMicro, accounts);
    this.lastSequence = grown(this.lastSequence, accounts);
  }
}

type TokenBalance = {
  readonly market: number;
  readonly outcome: Outcome;
  readonly availableAtomic: number;
  readonly reservedAtomic: number;
};

export class AccountViews {
  /** Every account that an event has named has an index below this. */
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
    for (const shard of this.shards) if (account < shard.netMicro.length) sum = addSafe(sum, shard.netMicro[account]);
    return sum;
  }

  reservedMicro(account: number): number {
    let sum = 0;
    for (const shard of this.shards) {
      if (account < shard.reservedMicro.length) sum = addSafe(sum, shard.reservedMicro[account]);
    }
    return sum;
  }

  /** True while the account has money, free or in orders. */
  hasMoney(account: number): boolean {
    return this.availableMicro(account) > 0 || this.reservedMicro(account) > 0;
  }

  /** The last record of a shard that changed the account since this process started; 0 if there is none. */
  lastSequence(account: number, shard: number): number {
    const sequences = this.shards[shard].lastSequence;
    return account < sequences.length ? sequences[account] : 0;
  }

  /** The outcomes of which the account holds tokens, in the order of markets. */
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

  /** The account's tokens of one outcome. */
  tokens(account: number, market: number, outcome: Outcome): Pick<TokenBalance, 'availableAtomic' | 'reservedAtomic'> {
    const pair = this.pairs.find(account, market);
    return pair === NONE ? { availableAtomic: 0, reservedAtomic: 0 } : this.#tokensOf(pair, outcome);
  }

  /** The full sets that the account could merge. */
  availableSets(account: number, market: number): number {
    const pair = this.pairs.find(account, market);
    if (pair === NONE) return 0;
    const [yes, no] = [OUTCOME.YES, OUTCOME.NO].map((outcome) => this.#tokensOf(pair, outcome).availableAtomic);
    return Math.max(0, Math.min(yes, no));
  }

  /** An ACCOUNT event carries absolute balances, so applying it twice changes nothing. */
  applyAccount(funds: ShardFunds, shardSequence: number, words: Uint32Array, word: number): void {
    const account = words[word + ANY_EVENT.account];
    funds.fit(account + 1);
    if (account >= this.count) this.count = account + 1;
    funds.netMicro[account] = readSigned(words, word + EVENT.ACCOUNT.netMicro);
    funds.reservedMicro[account] = readSafe(words, word + EVENT.ACCOUNT.reservedMicro);
    funds.lastSequence[account] = shardSequence;
    const market = words[word + ANY_EVENT.market];
    if (market === NO_MARKET) return;
    const pair = this.pairs.rowOf(account, market);
    this.#fitPairs(pair + 1);
    this.yesAvailable[pair] = readSigned(words, word + EVENT.ACCOUNT.yesAvailable);
    this.yesReserved[pair] = readSafe(words, word + EVENT.ACCOUNT.yesReserved);
    this.noAvailable[pair] = readSigned(words, word + EVENT.ACCOUNT.noAvailable);
    this.noReserved[pair] = readSafe(words, word + EVENT.ACCOUNT.noReserved);
  }

  /**
   * Adds a movement to its sum. A recovering shard sends each sum as one movement, and its sums then start from zero
   * (VIEWS-3). Splits, merges and claims turn USDC into collateral and back: they are no movements in or out.
   */
  applyFunds(funds: ShardFunds, words: Uint32Array, word: number): void {
    const amount = BigInt(readSafe(words, word + EVENT.FUNDS.amount));
    const movement = words[word + EVENT.FUNDS.movement];
    if (movement === MOVEMENT.DEPOSIT) funds.depositsMicro += amount;
    else if (movement === MOVEMENT.WITHDRAWAL) funds.withdrawalsMicro += amount;
  }

  #tokensOf(pair: number, outcome: Outcome): TokenBalance {
    const isYes = outcome === OUTCOME.YES;
    // The columns of positions are shorter than the pairs when the newest pairs never had a position.
    return {
      market: this.pairs.markets[pair],
      outcome,
      availableAtomic: (isYes ? this.yesAvailable[pair] : this.noAvailable[pair]) ?? 0,
      reservedAtomic: (isYes ? this.yesReserved[pair] : this.noReserved[pair]) ?? 0,
    };
  }

  #fitPairs(pairs: number): void {
    if (pairs <= this.yesAvailable.length) return;
    this.yesAvailable = grown(this.yesAvailable, pairs);
    this.yesReserved = grown(this.yesReserved, pairs);
    this.noAvailable = grown(this.noAvailable, pairs);
    this.noReserved = grown(this.noReserved, pairs);
  }
}
