/**
 * Compares the ledger with the escrow, by account and asset, at a final block: the chain must hold what the ledger has,
 * apart from amounts under way between the two. Each round compares some balances: first the changed ones, then the
 * next of all balances.
 *
 * Invariants:
 *   RECONCILE-1  Ledger, work and chain are compared as of one moment: the followed records, and the last block whose
 *                events were read.
 *   RECONCILE-2  A difference is reported only if it persists over several blocks: one wrong answer of a lagging node
 *                is not reported.
 */

import { decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem';
import { FEE_ACCOUNT, OUTCOME } from '../../shared/base/codes.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainNode } from '../../shared/chain/node.ts';
import { NodeUnreachable } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { Markets } from './chainMarkets.ts';
import { type Asset, outcomeOfAsset, tokenAsset, UnderWay, USDC } from './underWay.ts';

export type Balance = {
  /** Null for the sum of all accounts. */
  readonly account: number | null;
  readonly asset: Asset;
  readonly ledger: bigint;
  /** The amount to add to the ledger's balance. */
  readonly underWay: bigint;
  readonly held: bigint;
};
type Place = { readonly account: number; readonly asset: Asset };

const ERC20 = parseAbi(['function balanceOf(address) view returns (uint256)']);
/** Questions to the node in a round. */
const MOST_ASKED = 48;
/** With more work under way than this, settlement is busy enough and nothing is compared. */
const MOST_UNDER_WAY = 50_000;
const MOST_NOTED = 10_000;
const TIMES_SEEN = 3;
/** The sum of all accounts is computed once in so many rounds. */
const ROUNDS_OF_TOTAL = 16;

type ReconciliationOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly markets: Markets;
  readonly usdc: Hex;
  readonly exchanges: () => readonly Hex[];
};

export class Reconciliation {
  /** The block of the last comparison, and the number of balances compared since the start. */
  block: number | null = null;
  compared = 0;
  readonly #options: ReconciliationOptions;
  /** Balances that differed when they were last compared, and the number of blocks at which they did. */
  readonly #suspects = new Map<string, { balance: Balance; times: number; block: number }>();
  readonly #changed = new Map<string, Place>();
  #nextAccount = 0;
  #rounds = 0;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  /** Adds this balance to those compared next. */
  noteChanged(account: number, market: number | null): void {
    // With so many, the pass over all accounts reaches them just as soon.
    if (this.#changed.size >= MOST_NOTED) return;
    const places = market === null ? [USDC] : [USDC, ...BOTH.map((outcome) => tokenAsset(market, outcome))];
    for (const asset of places) this.#changed.set(`${account} ${asset}`, { account, asset });
  }

  /** Differences that persist (RECONCILE-2). */
  differences(): readonly Balance[] {
    return [...this.#suspects.values()].filter(({ times }) => times >= TIMES_SEEN).map(({ balance }) => balance);
  }

  /**
   * Compares some balances.
   * @param block the block up to which all events were read
   */
  async step(block: number): Promise<void> {
    const { db } = this.#options;
    if (block === this.block || this.#countUnderWay() > MOST_UNDER_WAY || isSettledAfter(db, block)) return;
    // RECONCILE-1: the thread follows nothing while this is computed.
    const underWay = new UnderWay(db, this.#options.markets, block);
    const hasTotal = this.#rounds++ % ROUNDS_OF_TOTAL === 0 || this.#suspects.has(`null ${USDC}`);
    const total = hasTotal ? this.#ledgerTotal(underWay) : null;
    const balances = this.#next().map((place) => {
      return { ...place, ledger: this.#ledgerOf(place), underWay: underWay.of(place.account, place.asset) };
    });
    const held = await Promise.all(balances.map((place) => this.#heldOf(place, block)));
    for (const [index, balance] of balances.entries()) {
      const amount = held[index];
      if (amount !== null) this.#judge({ ...balance, held: amount }, block);
    }
    if (total !== null) this.#judge({ ...total, held: await this.#usdcOf(block) }, block);
    this.block = block;
    this.compared += balances.length;
  }

  /** Every balance at once, each with its difference; for a tool. */
  async all(block: number): Promise<Balance[]> {
    const { db, markets } = this.#options;
    const underWay = new UnderWay(db, markets, block);
    const found: Balance[] = [];
    const places = this.#accountsFrom(0, Number.MAX_SAFE_INTEGER).flatMap((account) => this.#placesOf(account));
    for (let from = 0; from < places.length; from += MOST_ASKED) {
      const part = places.slice(from, from + MOST_ASKED);
      const held = await Promise.all(part.map((place) => this.#heldOf(place, block)));
      for (const [index, place] of part.entries()) {
        const ledger = this.#ledgerOf(place);
        found.push({ ...place, ledger, underWay: underWay.of(place.account, place.asset), held: held[index] ?? 0n });
      }
    }
    found.push({ ...this.#ledgerTotal(underWay), held: await this.#usdcOf(block) });
    return found;
  }

  #judge(balance: Balance, block: number): void {
    const key = `${balance.account} ${balance.asset}`;
    if (!isDifferent(balance)) {
      this.#suspects.delete(key);
      return;
    }
    const before = this.#suspects.get(key);
    const times = before === undefined ? 1 : before.times + (before.block < block ? 1 : 0);
    this.#suspects.set(key, { balance, times, block });
  }

  /** Suspects come first, then changed balances, then the next accounts in order. */
  #next(): Place[] {
    const chosen = new Map<string, Place>();
    const add = (place: Place): unknown => chosen.set(`${place.account} ${place.asset}`, place);
    for (const { balance } of this.#suspects.values()) {
      if (balance.account !== null && chosen.size < MOST_ASKED / 2) add(balance as Place);
    }
    for (const [key, place] of this.#changed) {
      if (chosen.size >= MOST_ASKED - 8) break;
      this.#changed.delete(key);
      if (this.#isCompared(place)) add(place);
    }
    const accounts = this.#accountsFrom(this.#nextAccount, 8);
    this.#nextAccount = accounts.length < 8 ? 0 : accounts.at(-1)! + 1;
    for (const account of accounts) {
      for (const place of this.#placesOf(account)) if (chosen.size < MOST_ASKED) add(place);
    }
    return [...chosen.values()];
  }

  #accountsFrom(first: number, limit: number): number[] {
    const sql = 'SELECT DISTINCT account FROM ledger_usdc WHERE account >= ? ORDER BY account LIMIT ?';
    return preparedValue<[number, number], number>(this.#options.db, sql).all(first, limit);
  }

  #placesOf(account: number): Place[] {
    const sql = 'SELECT market FROM ledger_tokens WHERE account = ? AND (yes <> 0 OR no <> 0)';
    const markets = preparedValue<[number], number>(this.#options.db, sql).all(account);
    const tokens = markets.flatMap((market) =>
      BOTH.map((outcome) => ({ account, asset: tokenAsset(market, outcome) })),
    );
    return [{ account, asset: USDC }, ...tokens].filter((place) => this.#isCompared(place));
  }

  /**
   * Tokens of a decided market become USDC at different times in the ledger and on the chain; their payouts are
   * compared instead.
   */
  #isCompared({ asset }: Place): boolean {
    return asset === USDC || !this.#options.markets.isDecided(outcomeOfAsset(asset).market);
  }

  #ledgerOf({ account, asset }: Place): bigint {
    const { db } = this.#options;
    if (asset === USDC) {
      const sum = preparedValue<[number], bigint | null>(db, 'SELECT sum(micro) FROM ledger_usdc WHERE account = ?');
      return sum.safeIntegers().get(account) ?? 0n;
    }
    const column = asset % 2 === OUTCOME.YES ? 'yes' : 'no';
    const sql = `SELECT ${column} FROM ledger_tokens WHERE account = ? AND market = ?`;
    return BigInt(preparedValue<[number, number], number>(db, sql).get(account, outcomeOfAsset(asset).market) ?? 0);
  }

  #ledgerTotal(underWay: UnderWay): Omit<Balance, 'held'> {
    const sum = preparedValue<[], bigint | null>(this.#options.db, 'SELECT sum(micro) FROM ledger_usdc').safeIntegers();
    return { account: null, asset: USDC, ledger: sum.get() ?? 0n, underWay: underWay.total(USDC) };
  }

  /** Sums over all contracts: a predecessor may still hold some. Null while the account's wallet is not known. */
  async #heldOf({ account, asset }: Place, block: number): Promise<bigint | null> {
    const { db, exchanges, markets, node } = this.#options;
    const sql = 'SELECT address FROM escrows WHERE account = ?';
    const wallet = preparedValue<[number], Hex>(db, sql).get(account) ?? null;
    if (wallet === null && account !== FEE_ACCOUNT) return null;
    const tokenId = asset === USDC ? 0n : BigInt(markets.tokensOf(outcomeOfAsset(asset).market)[asset % 2]);
    const held = exchanges().map(async (exchange) => {
      const args = [account === FEE_ACCOUNT ? exchange : wallet!, tokenId] as const;
      const call = { abi: EXCHANGE_ABI, functionName: 'balanceOf', args } as const;
      const data = await node.view(exchange, encodeFunctionData(call), block);
      // Before the contract was created there is no answer, and it held nothing.
      return data === '0x' ? 0n : decodeFunctionResult({ ...call, data: full(data, 2) })[0];
    });
    return (await Promise.all(held)).reduce((sum, each) => sum + each, 0n);
  }

  async #usdcOf(block: number): Promise<bigint> {
    const { exchanges, node, usdc } = this.#options;
    const all = exchanges().map(async (exchange) => {
      const call = { abi: ERC20, functionName: 'balanceOf', args: [exchange] } as const;
      const data = await node.view(usdc, encodeFunctionData(call), block);
      // On a chain as young as the exchange, USDC may not exist at that block.
      return data === '0x' ? 0n : decodeFunctionResult({ ...call, data: full(data, 1) });
    });
    return (await Promise.all(all)).reduce((sum, each) => sum + each, 0n);
  }

  #countUnderWay(): number {
    const sql = `SELECT count(*) FROM work WHERE status IN ('pending', 'submitted', 'mined')`;
    return preparedValue<[], number>(this.#options.db, sql).get()!;
  }
}

const BOTH = [OUTCOME.YES, OUTCOME.NO];

/** Positive if the chain holds more than the ledger says. */
export function differenceOf({ ledger, underWay, held }: Balance): bigint {
  return held - ledger - underWay;
}

/** For the sum of all accounts the escrow may hold more: unheld funds, and payouts that were not claimed. */
export function isDifferent(balance: Balance): boolean {
  const difference = differenceOf(balance);
  return balance.account === null ? difference < 0n : difference !== 0n;
}

/**
 * Returns true while work is settled in blocks after this one, the last whose events were read: a lagging node reports
 * an older head than it did before.
 */
export function isSettledAfter(db: StoreDatabase, block: number): boolean {
  const sql = 'SELECT 1 FROM jobs WHERE block_number > ? AND is_final = 1 LIMIT 1';
  return prepared(db, sql).get(block) !== undefined;
}

function full(data: Hex, words: number): Hex {
  if (data.length !== 2 + 64 * words) throw new NodeUnreachable('the node does not have the state of the contract');
  return data;
}
