/**
 * The logs of a contract in stretches as long as the node allows, and what else the node says about them.
 *
 * Invariant:
 *   CHAINLOGS-1  A log counts only if the receipt of its transaction has it too, in the block that the chain has at
 *                that height: three answers of the node agree.
 */
import type { ChainNode, Hex, Log, PlacedLog } from '../../shared/chain/node.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';

/** The most that one question asks for; nodes that allow less say so, and the stretches become shorter. */
const MOST_BLOCKS = 2000;

type Stretch = { readonly logs: PlacedLog[]; readonly to: number };

export class ChainLogs {
  readonly #node: ChainNode;
  #blocks = MOST_BLOCKS;

  constructor(node: ChainNode) {
    this.#node = node;
  }

  /** In the order of the chain. Null where the node allows only shorter stretches: the next question is for one. */
  async read(exchange: Hex, events: readonly Hex[], fromBlock: number, last: number): Promise<Stretch | null> {
    const toBlock = Math.min(last, fromBlock + this.#blocks - 1);
    try {
      const logs = await this.#node.logs({ address: exchange, topics: [events], fromBlock, toBlock });
      const isAsked = ({ address, topics, blockNumber }: PlacedLog) =>
        address === exchange && events.includes(topics[0]!) && blockNumber >= fromBlock && blockNumber <= toBlock;
      if (!logs.every(isAsked)) throw new NodeUnreachable('the node gives logs that it was not asked for');
      logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
      this.#blocks = Math.min(MOST_BLOCKS, this.#blocks * 2);
      return { logs, to: toBlock };
    } catch (error) {
      if (!(error instanceof RpcError) || toBlock === fromBlock) throw error;
      this.#blocks = Math.max(1, Math.floor((toBlock - fromBlock + 1) / 2));
      return null;
    }
  }

  /** Those of all blocks of a range, in the order of the chain. */
  async all(exchange: Hex, events: readonly Hex[], fromBlock: number, last: number): Promise<PlacedLog[]> {
    const found: PlacedLog[] = [];
    for (let next = fromBlock; next <= last; ) {
      const stretch = await this.read(exchange, events, next, last);
      if (stretch === null) continue;
      found.push(...stretch.logs);
      next = stretch.to + 1;
    }
    return found;
  }

  /** Keeps CHAINLOGS-1. */
  async verify(logs: readonly PlacedLog[]): Promise<void> {
    const hashes = new Map<number, Hex | null>();
    for (const log of logs) {
      const { blockNumber } = log;
      if (!hashes.has(blockNumber)) hashes.set(blockNumber, (await this.#node.block(blockNumber))?.hash ?? null);
      const receipt = await this.#node.receipt(log.transactionHash);
      const hasLog = receipt?.isSuccess && receipt.logs.some((each) => isSame(each, log));
      if (!hasLog || receipt.blockHash !== log.blockHash || hashes.get(blockNumber) !== log.blockHash) {
        throw new NodeUnreachable('the node contradicts itself about a log');
      }
    }
  }
}

function isSame(a: Log, b: PlacedLog): boolean {
  return a.address === b.address && a.data === b.data && a.topics.join() === b.topics.join();
}
