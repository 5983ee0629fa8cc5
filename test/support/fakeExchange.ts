/**
 * The exchange contract and its market factory as settlement sees them: completed work by id. Some matches fail for
 * lack of funds and some transactions are reverted; their bytes decide which, so that a reorganised chain has the same
 * results.
 */
import {
  type DecodeFunctionDataReturnType,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  type Hex,
  hexToBytes,
  keccak256,
  parseAbiParameters,
  toHex,
} from 'viem';
import { EXCHANGE_ABI, FACTORY_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { Log } from '../../shared/chain/node.ts';
import { marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import { decodedCall } from './decodedCall.ts';
import type { FakeContract } from './fakeChain.ts';
import { FakeResolutions } from './fakeResolutions.ts';

export const EXCHANGE: Hex = '0x00000000000000000000000000000000000000e1';
export const FACTORY: Hex = '0x00000000000000000000000000000000000000f1';
export const TOKENS: Hex = '0x00000000000000000000000000000000000000d1';
export { RESOLUTIONS } from './fakeResolutions.ts';
export const COLLATERAL: Hex = '0x00000000000000000000000000000000000000c1';
type Match = { readonly tradeId: bigint; readonly tokens: bigint; readonly makerMicro: bigint };

const NOTHING = { isSuccess: true, logs: [] };
const REVERTED = { isSuccess: false, logs: [] };

export class FakeExchange implements FakeContract {
  /** Tokens and micro-USDC of the maker, by the id of the trade. */
  readonly trades = new Map<bigint, string>();
  /** Calls that are no batch, in the order in which they were carried out. */
  readonly movements: string[] = [];
  /** The tokens of the markets that the exchange knows, by condition. */
  readonly markets = new Map<string, Hex>();
  readonly resolutions: FakeResolutions;
  readonly #factory: FakeFactory;
  readonly #done = new Set<string>();

  /** @param delaySec of decisions */
  constructor(factory: FakeFactory = { isPaused: false }, delaySec = 0) {
    this.resolutions = new FakeResolutions(delaySec);
    this.#factory = factory;
  }

  run(data: Hex, timestampSec: number): { isSuccess: boolean; logs: Log[] } {
    if (data === '0x') return NOTHING;
    const made = toMarket(data);
    if (made !== null) return this.#make(made);
    const isDecided = this.resolutions.run(data, timestampSec);
    if (isDecided !== null) return isDecided ? NOTHING : REVERTED;
    const call = tryDecode(data)!;
    if (call.functionName !== 'settleBatch') {
      if (this.#begin(data)) this.#move(call);
      return NOTHING;
    }
    const [batchId, , matches] = call.args as readonly [Hex, unknown, readonly Match[]];
    if (isIn(batchId, 9)) return REVERTED;
    if (!this.#begin(batchId)) return NOTHING;
    return { isSuccess: true, logs: matches.map((match, index) => this.#settle(batchId, index, match)) };
  }

  view(data: Hex): Hex {
    const ofDecisions = this.resolutions.view(data);
    if (ofDecisions !== null) return ofDecisions;
    const factoryCall = decodedCall(FACTORY_ABI, data);
    if (factoryCall?.functionName === 'createMarket' && this.#factory.isPaused)
      throw new RpcError('eth_call: EnforcedPause');
    if (factoryCall !== null) return toHex(0, { size: 32 });
    const call = tryDecode(data);
    if (call?.functionName === 'balanceOf') return toHex(0, { size: 64 });
    if (call?.functionName === 'markets') return this.markets.get(call.args[0]) ?? toHex(0, { size: 64 });
    const isDone = call?.functionName === 'tradeSettled' && this.trades.has(call.args[0]);
    return toHex(isDone ? 1 : 0, { size: 32 });
  }

  /** A market that it knows already gives no event. */
  #make({ conditionId, tokens }: Made): { isSuccess: boolean; logs: Log[] } {
    if (this.#factory.isPaused) return REVERTED;
    if (this.markets.has(conditionId)) return NOTHING;
    this.markets.set(conditionId, tokens);
    const topics = encodeEventTopics({ abi: EXCHANGE_ABI, eventName: 'MarketRegistered', args: { conditionId } });
    return { isSuccess: true, logs: [{ address: EXCHANGE, topics: topics as Hex[], data: tokens }] };
  }

  #begin(id: Hex): boolean {
    const isNew = !this.#done.has(id);
    this.#done.add(id);
    return isNew;
  }

  #move(call: Call): void {
    this.movements.push(`${call.functionName} ${call.args.at(-1)}`);
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

type Made = { readonly conditionId: Hex; readonly tokens: Hex };

/** A switch that every state of the chain shares. */
type FakeFactory = { isPaused: boolean };

/** The market that a call of the factory makes; null for another call. */
function toMarket(data: Hex): Made | null {
  const call = decodedCall(FACTORY_ABI, data);
  if (call?.functionName !== 'createMarket') return null;
  const idBytes = hexToBytes(call.args[0]);
  const tokens = outcomeTokenIds({ marketFactory: FACTORY, collateral: COLLATERAL }, idBytes).map(BigInt);
  return {
    conditionId: marketIds(FACTORY, idBytes).conditionId as Hex,
    tokens: encodeAbiParameters(parseAbiParameters('uint256, uint256'), [tokens[0], tokens[1]]),
  };
}

function failed(batchId: Hex, index: number, reason: Hex): Log {
  const topics = encodeEventTopics({ abi: EXCHANGE_ABI, eventName: 'MatchFailed', args: { batchId } }) as Hex[];
  const data = encodeAbiParameters(parseAbiParameters('uint256, bytes'), [BigInt(index), reason]);
  return { address: EXCHANGE, topics, data };
}

/** True for one of `parts` groups, decided by the hash of the bytes. */
function isIn(data: Hex, parts: number): boolean {
  return BigInt(keccak256(data)) % BigInt(parts) === 0n;
}

type Call = DecodeFunctionDataReturnType<typeof EXCHANGE_ABI>;

/** A reorganised chain runs the same calls again, and their decoding takes most of the time. */
const decoded = new Map<Hex, Call | null>();

/** Null if the call is for another contract. */
function tryDecode(data: Hex): Call | null {
  const known = decoded.get(data);
  if (known !== undefined) return known;
  const call = decodedCall(EXCHANGE_ABI, data);
  decoded.set(data, call);
  return call;
}
