/**
 * Entry point of the settlement thread. It may end at any moment: the next one goes on from settlement.db. A node that
 * does not answer, or that has another chain, stops the sending; the journals are followed all the same.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import { chainKey } from '../../shared/chain/key.ts';
import { ChainNode, type Hex } from '../../shared/chain/node.ts';
import { HttpRpc, NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { Progress } from '../../shared/wire/progress.ts';
import type { SettlementMessage, SettlementOptions } from '../../shared/wire/threads.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { Settlement } from './settlement.ts';
import { openSettlementDb } from './settlementDb.ts';

/** A chain has a block every two seconds or so. */
const PAUSE_MS = 1000;

stepBack(NICE_FOLLOWER);
const { keys, ...options } = await ShardKey.forAll(workerData as SettlementOptions);
const progress = new Progress(options.progress);
const node = new ChainNode(new HttpRpc(options.rpcUrl));
const db = openSettlementDb(options.settlementDbPath);
const settlement = new Settlement({
  db,
  node,
  key: chainKey(options.operatorKey),
  chainId: options.chainId,
  contracts: {
    exchange: options.exchangeAddress.toLowerCase() as Hex,
    marketFactory: options.marketFactoryAddress.toLowerCase() as Hex,
  },
  mostFeeWei: options.mostFeeWei,
  progress,
  journalPaths: options.journalPaths,
  keys,
  nowMs: () => Date.now(),
});
let isStopping = false;
let isRightChain = false;
parentPort?.on('message', () => {
  isStopping = true;
});
while (!isStopping) {
  const problem = await round();
  parentPort?.postMessage({ health: settlement.health(), problem } satisfies SettlementMessage);
  await sleep(PAUSE_MS);
}
settlement.close();
db.close();
parentPort?.close();

/** @returns why it ended early, or null. */
async function round(): Promise<string | null> {
  // Each look follows a bounded stretch.
  while (settlement.follow());
  for (let shard = 0; shard < progress.shards; shard++) progress.setSettled(shard, settlement.followed(shard));
  try {
    isRightChain ||= (await node.chainId()) === options.chainId;
    if (!isRightChain) return 'the node has another chain';
    await settlement.step();
    return null;
  } catch (error) {
    if (error instanceof NodeUnreachable || error instanceof RpcError) return error.message;
    throw error;
  }
}
