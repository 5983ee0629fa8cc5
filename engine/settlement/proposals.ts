/**
 * The state of markets in the contract `Resolutions`, and proposals there that the exchange has not made: they take
 * effect unless they are vetoed, so each is an alarm from its first block on.
 */
import { decodeFunctionResult, encodeFunctionData, keccak256, toBytes, zeroAddress } from 'viem';
import type { ForeignProposal } from '../../shared/base/chainFacts.ts';
import { RESOLUTIONS_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { BlockTag, ChainNode, Hex } from '../../shared/chain/node.ts';
import { NodeUnreachable } from '../../shared/chain/rpc.ts';
import type { DecisionRows } from './decisionRows.ts';

/** The newest proposal of a market, and how the market was decided. */
export type Standing = {
  /** 0: none. */
  readonly number: number;
  readonly proposer: Hex;
  /** From this second on it may be carried out. */
  readonly from: number;
  readonly yesPayout: number;
  readonly isOpen: boolean;
  readonly isDecided: boolean;
  readonly decidedYes: number;
};

const PROPOSER_ROLE = keccak256(toBytes('PROPOSER_ROLE'));
/** Of one call. */
const MOST_READ = 100;

export class Proposals {
  /** Those that are open, or were carried out and are not what the ledger has. */
  foreign: readonly ForeignProposal[] = [];
  readonly #node: ChainNode;
  readonly #at: Hex;
  readonly #rows: DecisionRows;
  /** Every proposal up to this number is in a block that stays, and was looked at. */
  #read = 0;
  /** Of those, the markets that may need a veto. */
  readonly #watched = new Set<Hex>();

  constructor(node: ChainNode, at: Hex, rows: DecisionRows) {
    this.#node = node;
    this.#at = at;
    this.#rows = rows;
  }

  /** Looks at what is new, and at what was an alarm before. @param settled the last block that stays */
  async step(settled: number): Promise<void> {
    const now = await this.#marketsAt('latest');
    const stay = now.length === 0 ? [] : await this.#marketsAt(settled);
    const uuids = [...new Set([...this.#watched, ...now])];
    this.foreign = this.#foreignOf(uuids, await this.standings(uuids, 'latest'));
    // A veto may still be taken back.
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

  /** Null of a proposal that is wanted, or is what the ledger has. */
  #foreignIn(marketId: Hex, { number, proposer, from, yesPayout, isOpen, isDecided, decidedYes }: Standing) {
    if (!isOpen && !isDecided) return null;
    const payout = isDecided ? decidedYes : yesPayout;
    const known = this.#rows.ofUuid(marketId);
    const wanted = known === undefined ? undefined : this.#rows.get(known.market);
    if (payout === wanted?.payout_yes_ppm || payout === known?.payout_yes_ppm) return null;
    // A market of another program is none of ours once it is decided.
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

  /** No bytes are the answer of a node that has no state of the contract, or of a block before the contract. */
  async #ask<T>(tag: BlockTag, data: Hex, decode: (answer: Hex) => T, before: T | null = null): Promise<T> {
    const answer = await this.#node.view(this.#at, data, tag);
    if (answer !== '0x') return decode(answer);
    if (tag !== 'latest' && before !== null) return before;
    throw new NodeUnreachable('the node does not have the state of the contract of resolutions');
  }
}
