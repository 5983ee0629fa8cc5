/**
 * A batch of trades as the exchange contract settles it: every order once, and the matches as indices into them. The
 * result depends only on the trades, so a batch can be made again and compared.
 */
import { encodeFunctionData, type Hex } from 'viem';
import { assert } from '../base/assert.ts';
import { MATCH_TYPE, OUTCOME } from '../base/codes.ts';
import { type ChainOrder, EXCHANGE_ABI } from './exchangeAbi.ts';

/** A signed order, and the hash that identifies it. */
type IdentifiedOrder = ChainOrder & { readonly hash: Hex };

/** A trade of the engine, with its two orders. */
export type ChainTrade = {
  readonly shard: number;
  /** The number of the trade in its shard; part of the trade's id on the chain. */
  readonly tradeSequence: number;
  readonly taker: IdentifiedOrder;
  readonly maker: IdentifiedOrder;
  readonly makerOutcome: number;
  readonly matchType: number;
  readonly lots: number;
  readonly yesTicks: number;
  readonly ticksPerUnit: number;
};

const SHARD_SHIFT = 64n;

/** The id under which the contract settles a trade once. Ids of a shard are consecutive, which saves gas. */
export function chainTradeId(shard: number, tradeSequence: number): bigint {
  return (BigInt(shard) << SHARD_SHIFT) | BigInt(tradeSequence);
}

/** The inverse: the shard and the number of a trade id. */
export function placeOfTrade(tradeId: bigint): { readonly shard: number; readonly tradeSequence: number } {
  return { shard: Number(tradeId >> SHARD_SHIFT), tradeSequence: Number(BigInt.asUintN(Number(SHARD_SHIFT), tradeId)) };
}

/** Returns the data of a call of `settleBatch`, with the trades in order. */
export function encodeBatch(batchId: Hex, trades: readonly ChainTrade[]): Hex {
  const indices = new Map<Hex, number>();
  const orders: ChainOrder[] = [];
  const indexOf = ({ hash, order, signature }: IdentifiedOrder): bigint => {
    const known = indices.get(hash) ?? orders.push({ order, signature }) - 1;
    indices.set(hash, known);
    return BigInt(known);
  };
  const matches = trades.map((trade) => {
    assert(
      (trade.matchType === MATCH_TYPE.STANDARD) === (trade.maker.order.side !== trade.taker.order.side),
      'chain: only a buy and a sell make a standard match',
    );
    const { lots, ticksPerUnit, yesTicks } = trade;
    const makerTicks = trade.makerOutcome === OUTCOME.YES ? yesTicks : ticksPerUnit - yesTicks;
    return {
      tradeId: chainTradeId(trade.shard, trade.tradeSequence),
      taker: indexOf(trade.taker),
      maker: indexOf(trade.maker),
      tokens: BigInt(lots) * BigInt(ticksPerUnit),
      makerMicro: BigInt(lots) * BigInt(makerTicks),
    };
  });
  const args = [batchId, orders, matches] as const;
  return encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'settleBatch', args });
}
