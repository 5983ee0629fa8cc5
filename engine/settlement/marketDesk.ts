/** Answers about markets, their claims, and who may sign for them. */
import { encodeFunctionData, type Hex, hexToBytes, maxUint256 } from 'viem';
import { checkedHex } from '../../shared/base/hex.ts';
import { EXCHANGE_ABI, TOKENS_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { BlockTag, ChainNode } from '../../shared/chain/node.ts';
import { marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import type { AnswerOf, AskOf } from '../../shared/wire/chainQuestions.ts';
import type { Contracts } from './drafts.ts';
import type { Settlement } from './settlement.ts';

type MarketQuestion = 'deploy' | 'decide' | 'claimTransaction' | 'isClaimed' | 'isDelegate' | 'nonceFloors';
type MarketHandlers = {
  readonly [N in MarketQuestion]: (ask: AskOf<N>) => AnswerOf<N> | Promise<AnswerOf<N>>;
};

const WORD_HEX = 64;

export function marketHandlers(
  node: ChainNode,
  contracts: Contracts,
  settlement: Pick<Settlement, 'wantMarket' | 'wantDecision' | 'claimTransaction' | 'rotation'>,
): MarketHandlers {
  const words = async (to: Hex, data: Hex, count: number, tag: BlockTag = 'latest'): Promise<readonly bigint[]> => {
    const answer = await node.view(to, data, tag);
    if (answer.length !== 2 + WORD_HEX * count) throw new NodeUnreachable('the node does not have the contract');
    const wordAt = (at: number): bigint => BigInt(`0x${answer.slice(2 + WORD_HEX * at, 2 + WORD_HEX * (at + 1))}`);
    return Array.from({ length: count }, (_, at) => wordAt(at));
  };
  /** True if the wallet's tokens are gone: once a market is decided, only a claim removes them. */
  const isClaimed = async (wallet: Hex, marketId: Hex): Promise<boolean> => {
    const { conditionalTokens, marketFactory, usdc: collateral } = contracts;
    const idBytes = hexToBytes(marketId);
    const condition = marketIds(marketFactory, idBytes).conditionId;
    const whole = encodeFunctionData({ abi: TOKENS_ABI, functionName: 'payoutDenominator', args: [condition] });
    if ((await words(conditionalTokens, whole, 1))[0] === 0n) return false;
    for (const token of outcomeTokenIds({ marketFactory, collateral }, idBytes)) {
      const args = [wallet, BigInt(token)] as const;
      const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'balanceOf', args });
      for (const exchange of settlement.rotation.all) {
        if ((await words(exchange, data, 2)).some((amount) => amount !== 0n)) return false;
      }
    }
    return true;
  };
  /** A delegate that is not revoked has no end time. */
  const isDelegate = async (maker: Hex, signer: Hex): Promise<boolean> => {
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'delegateUntil', args: [maker, signer] });
    return (await words(settlement.rotation.newest, data, 1, 'finalized'))[0] === maxUint256;
  };
  /** Returns 0 for a contract older than floors: it refuses the question and accepts every nonce. */
  const nonceFloor = async (maker: Hex): Promise<number> => {
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'nonceFloorOf', args: [maker] });
    try {
      return Number((await words(settlement.rotation.newest, data, 2))[1]);
    } catch (error) {
      if (error instanceof RpcError && (error.data !== null || /revert/i.test(error.message))) return 0;
      throw error;
    }
  };
  return {
    deploy: ({ market, marketId }) => ({ isWanted: settlement.wantMarket(market, checkedHex(marketId)) }),
    decide: (decision) => settlement.wantDecision(decision),
    claimTransaction: ({ shard, sequence }) => ({ hash: settlement.claimTransaction(shard, sequence) }),
    isDelegate: async ({ maker, signer }) => ({ isDelegate: await isDelegate(checkedHex(maker), checkedHex(signer)) }),
    nonceFloors: async ({ wallets }) => ({ floors: await Promise.all(wallets.map(checkedHex).map(nonceFloor)) }),
    isClaimed: async ({ wallet, marketId }) => ({
      isClaimed: await isClaimed(checkedHex(wallet), checkedHex(marketId)),
    }),
  };
}
