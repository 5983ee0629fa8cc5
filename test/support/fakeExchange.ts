/**
 * The exchange contract as settlement sees it: what was done, by id. Some matches fail for want of funds and some
 * transactions are reverted; which ones follows from their bytes, so that a reorganised chain comes to the same.
 */
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  type Hex,
  keccak256,
  parseAbiParameters,
  toHex,
} from 'viem';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { Log } from '../../shared/chain/node.ts';
import type { FakeContract } from './fakeChain.ts';

export const EXCHANGE: Hex = '0x00000000000000000000000000000000000000e1';
export const FACTORY: Hex = '0x00000000000000000000000000000000000000f1';
type Match = { readonly tradeId: bigint; readonly tokens: bigint; readonly makerMicro: bigint };

const NOTHING = { isSuccess: true, logs: [] };
const REVERTED = { isSuccess: false, logs: [] };

export class FakeExchange implements FakeContract {
  /** Tokens and micro-USDC of the maker, by the id of the trade. */
  readonly trades = new Map<bigint, string>();
  /** Calls that are no batch, in the order in which they were carried out. */
  readonly movements: string[] = [];
  readonly #done = new Set<string>();

  run(data: Hex): { isSuccess: boolean; logs: Log[] } {
    if (data === '0x') return NOTHING;
    const call = tryDecode(data);
    if (call === null) this.movements.push('resolve');
    if (call === null || call.functionName !== 'settleBatch') {
      if (call === null || this.#begin(data)) this.#move(call);
      return NOTHING;
    }
    const [batchId, , matches] = call.args as readonly [Hex, unknown, readonly Match[]];
    if (isIn(batchId, 9)) return REVERTED;
    if (!this.#begin(batchId)) return NOTHING;
    return { isSuccess: true, logs: matches.map((match, index) => this.#settle(batchId, index, match)) };
  }

  view(data: Hex): Hex {
    const call = decodeFunctionData({ abi: EXCHANGE_ABI, data });
    const isDone = call.functionName === 'tradeSettled' && this.trades.has(call.args[0]);
    return toHex(isDone ? 1 : 0, { size: 32 });
  }

  #begin(id: Hex): boolean {
    const isNew = !this.#done.has(id);
    this.#done.add(id);
    return isNew;
  }

  #move(call: ReturnType<typeof tryDecode>): void {
    if (call !== null) this.movements.push(`${call.functionName} ${call.args.at(-1)}`);
  }

  #settle(batchId: Hex, index: number, match: Match): Log {
    const { tradeId, tokens, makerMicro } = match;
    const abi = EXCHANGE_ABI;
    if (this.trades.has(tradeId)) {
      return failed(batchId, index, encodeErrorResult({ abi, errorName: 'TradeAlreadySettled', args: [tradeId] }));
    }
    if (isIn(toHex(BigInt(batchId) ^ tradeId, { size: 32 }), 7)) {
      const args = [EXCHANGE, 0n, 0n, 1n] as const;
      return failed(batchId, index, encodeErrorResult({ abi, errorName: 'InsufficientHeld', args }));
    }
    this.trades.set(tradeId, `${tokens} ${makerMicro}`);
    const args = { tradeId, takerHash: batchId, makerHash: batchId };
    const topics = encodeEventTopics({ abi, eventName: 'MatchSettled', args }) as Hex[];
    const data = encodeAbiParameters(parseAbiParameters('uint256, uint256, uint256, uint256'), [
      tokens,
      makerMicro,
      0n,
      0n,
    ]);
    return { address: EXCHANGE, topics, data };
  }
}

function failed(batchId: Hex, index: number, reason: Hex): Log {
  const topics = encodeEventTopics({ abi: EXCHANGE_ABI, eventName: 'MatchFailed', args: { batchId } }) as Hex[];
  const data = encodeAbiParameters(parseAbiParameters('uint256, bytes'), [BigInt(index), reason]);
  return { address: EXCHANGE, topics, data };
}

/** One of `parts`, by the hash of the bytes. */
function isIn(data: Hex, parts: number): boolean {
  return BigInt(keccak256(data)) % BigInt(parts) === 0n;
}

type Call = ReturnType<typeof decodeFunctionData<typeof EXCHANGE_ABI>>;

/** A reorganised chain runs the same calls again, and their decoding takes most of the time. */
const decoded = new Map<Hex, Call | null>();

/** Null for a call of another contract. */
function tryDecode(data: Hex): Call | null {
  const known = decoded.get(data);
  if (known !== undefined) return known;
  let call: Call | null = null;
  try {
    call = decodeFunctionData({ abi: EXCHANGE_ABI, data });
  } catch {}
  decoded.set(data, call);
  return call;
}
