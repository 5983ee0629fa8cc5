/**
 * The state of markets in the contract `Resolutions`, and proposals there that the exchange did not make. Such a
 * proposal takes effect unless it is vetoed, so each raises an alarm from its first block on.
 */
import { decodeFunctionResult, encodeFunctionData, keccak256, toBytes, zeroAddress } from 'viem';
import type { DecisionDelays, ForeignProposal } from '../../shared/base/chainFacts.ts';
import { RESOLUTIONS_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { BlockTag, ChainNode, Hex } from '../../shared/chain/node.ts';
import { NodeUnreachable } from '../../shared/chain/rpc.ts';
import type { DecisionRows } from './decisionRows.ts';

/** The newest proposal of a market, and how the market was decided. */
export type Standing = {
  /** 0 if there is no proposal. */
  readonly number: number;
  readonly proposer: Hex;
  /** The second from which the proposal may be carried out. */
  readonly from: number;
  readonly yesPayout: number;
  readonly isOpen: boolean;
  readonly isDecided: boolean;
  readonly decidedYes: number;
};

const PROPOSER_ROLE = keccak256(toBytes('PROPOSER_ROLE'));
/** The most that one call reads. */
const MOST_READ = 100;

export class Proposals {
  /** Foreign proposals that are open, or that were carried out with a result other than the ledger's. */
  foreign: readonly ForeignProposal[] = [];
  readonly #node: ChainNode;
  readonly #at: Hex;
  readonly #rows: DecisionRows;
  /** Every proposal up to this number is in a final block and was checked. */
  #read = 0;
  /** Among those, the markets that may need a veto. */
  readonly #watched = new Set<Hex>();

  constructor(node: ChainNode, at: Hex, rows: DecisionRows) {
    this.#node = node;
    this.#at = at;
    this.#rows = rows;
  }

  /**
   * Checks new proposals and those that raised an alarm before.
   * @param settled the last final block
   */
  async step(settled: number): Promise<void> {
    const now = await this.#marketsAt('latest');
    const stay = now.length === 0 ? [] : await this.#marketsAt(settled);
    const uuids = [...new Set([...this.#watched, ...now])];
    this.foreign = this.#foreignOf(uuids, await this.standings(uuids, 'latest'));
    // A veto may still be reorganised away.
    const staying = this.#foreignOf(uuids, await this.standings(uuids, settled));
    const isForeign = new Set([...this.foreign, ...staying].map(({ marketId }) => marketId));
    for (const uuid of this.#watched) if (!isForeign.has(uuid)) this.#watched.delete(uuid);
    for (const uuid of stay) if (isForeign.has(uuid)) this.#watched.add(uuid);
    this.#read += stay.length;
  }

  async mayPropose(key: Hex): Promise<boolean> {
    const args = [PROPOSER_ROLE, key] as const;
    return this.#ask('latest', encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName: 'hasRole', args }), (data) =>
      decodeFunctionResult({ abi: RESOLUTIONS_ABI, functionName: 'hasRole', data }),
    );
  }

  async delays(): Promise<DecisionDelays> {
    const [delaySec, leastDelaySec] = await Promise.all([this.#seconds('delay'), this.#seconds('leastDelay')]);
    return { delaySec, leastDelaySec };
  }

  async #seconds(functionName: 'delay' | 'leastDelay'): Promise<number> {
    return this.#ask('latest', encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName }), (data) =>
      Number(decodeFunctionResult({ abi: RESOLUTIONS_ABI, functionName, data })),
    );
  }

  async standings(uuids: readonly Hex[], tag: BlockTag): Promise<Standing[]> {
    if (uuids.length === 0) return [];
    const none = { number: 0n, proposer: zeroAddress, from: 0n, yesPayout: 0n, decidedYes: 0n } as const;
    const before = uuids.map(() => ({ ...none, isOpen: false, isDecided: false }));
    const data = encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName: 'standingsOf', args: [uuids] });
    const decode = (answer: Hex) =>
      decodeFunctionResult({ abi: RESOLUTIONS_ABI, functionName: 'standingsOf', data: answer });
    const found = await this.#ask<ReturnType<typeof decode>>(tag, data, decode, before);
    return found.map(({ number, from, yesPayout, decidedYes, ...each }) => ({
      ...each,
      number: Number(number),
      from: Number(from),
      yesPayout: Number(yesPayout),
      decidedYes: Number(decidedYes),
    }));
  }

  async #marketsAt(tag: BlockTag): Promise<readonly Hex[]> {
    const args = [BigInt(this.#read + 1), BigInt(MOST_READ)] as const;
    const data = encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName: 'marketsFrom', args });
    const decode = (answer: Hex) =>
      decodeFunctionResult({ abi: RESOLUTIONS_ABI, functionName: 'marketsFrom', data: answer });
    return this.#ask<readonly Hex[]>(tag, data, decode, []);
  }

  #foreignOf(uuids: readonly Hex[], standings: readonly Standing[]): ForeignProposal[] {
    return uuids.flatMap((uuid, index) => this.#foreignIn(uuid, standings[index]) ?? []);
  }

  /** Returns null if the proposal is wanted, or is what the ledger has decided. */
  #foreignIn(marketId: Hex, { number, proposer, from, yesPayout, isOpen, isDecided, decidedYes }: Standing) {
    if (!isOpen && !isDecided) return null;
    const payout = isDecided ? decidedYes : yesPayout;
    const known = this.#rows.ofUuid(marketId);
    const wanted = known === undefined ? undefined : this.#rows.get(known.market);
    if (payout === wanted?.payout_yes_ppm || payout === known?.payout_yes_ppm) return null;
    // A market of another program does not concern the exchange once it is decided.
    if (known === undefined && isDecided) return null;
    return {
      marketId,
      market: known?.market ?? null,
      number,
      proposer,
      payoutYesPpm: payout,
      fromSec: from,
      isDecided,
    };
  }

  /** A node that does not have the contract's state, or a block before the contract, answers with no bytes. */
  async #ask<T>(tag: BlockTag, data: Hex, decode: (answer: Hex) => T, before: T | null = null): Promise<T> {
    const answer = await this.#node.view(this.#at, data, tag);
    if (answer !== '0x') return decode(answer);
    if (tag !== 'latest' && before !== null) return before;
    throw new NodeUnreachable('the node does not have the state of the contract of resolutions');
  }
}
