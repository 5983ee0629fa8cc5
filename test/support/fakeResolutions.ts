/** The contract that decides markets as settlement sees it. Anybody may do everything. */
import { encodeFunctionData, encodeFunctionResult, type Hex, toHex } from 'viem';
import { RESOLUTIONS_ABI } from '../../shared/chain/exchangeAbi.ts';
import { decodedCall } from './decodedCall.ts';

export const RESOLUTIONS: Hex = '0x00000000000000000000000000000000000000b1';
const PROPOSER: Hex = '0x00000000000000000000000000000000000000b2';
type Proposal = { number: bigint; yes: bigint; from: bigint; isOpen: boolean; isDecided: boolean };

export class FakeResolutions {
  /** The markets of all proposals, in their order. */
  readonly proposed: Hex[] = [];
  readonly newest = new Map<Hex, Proposal>();
  mayPropose = true;
  readonly #delaySec: number;

  constructor(delaySec: number) {
    this.#delaySec = delaySec;
  }

  /** @returns whether it was carried out; null for a call of another contract. */
  run(data: Hex, timestampSec: number): boolean | null {
    const call = decodedCall(RESOLUTIONS_ABI, data);
    if (call === null) return null;
    const first = call.args[0];
    if (call.functionName === 'propose') {
      const before = this.newest.get(first as Hex);
      if (before?.isOpen || before?.isDecided || !this.mayPropose) return false;
      const number = BigInt(this.proposed.push(first as Hex));
      this.newest.set(first as Hex, {
        ...{ number, yes: call.args[1], isOpen: true, isDecided: false },
        from: BigInt(timestampSec + this.#delaySec),
      });
      return true;
    }
    const found = this.newest.get(this.proposed[Number(first) - 1]);
    if (found === undefined || !found.isOpen || found.number !== first) return false;
    const isDecided = call.functionName === 'carryOut';
    if (isDecided && timestampSec < found.from) return false;
    found.isOpen = false;
    found.isDecided = isDecided;
    return true;
  }

  view(data: Hex): Hex | null {
    const call = decodedCall(RESOLUTIONS_ABI, data);
    const abi = RESOLUTIONS_ABI;
    if (call?.functionName === 'hasRole') return toHex(this.mayPropose ? 1 : 0, { size: 32 });
    if (call?.functionName === 'delay' || call?.functionName === 'leastDelay') {
      return toHex(this.#delaySec, { size: 32 });
    }
    if (call?.functionName === 'marketsFrom') {
      const result = this.proposed.slice(Number(call.args[0]) - 1, Number(call.args[0] + call.args[1]) - 1);
      return encodeFunctionResult({ abi, functionName: 'marketsFrom', result });
    }
    if (call?.functionName !== 'standingsOf') return null;
    const result = call.args[0].map((market) => {
      const { number, yes, from, isOpen, isDecided } = this.newest.get(market) ?? NONE;
      const decidedYes = isDecided ? yes : 0n;
      return { number, proposer: PROPOSER, from, yesPayout: yes, isOpen, isDecided, decidedYes };
    });
    return encodeFunctionResult({ abi, functionName: 'standingsOf', result });
  }
}

const NONE: Proposal = { number: 0n, yes: 0n, from: 0n, isOpen: false, isDecided: false };

/** The data of a transaction of others. */
export function ofProposal(functionName: 'veto' | 'carryOut', number: number): Hex {
  return encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName, args: [BigInt(number)] });
}
