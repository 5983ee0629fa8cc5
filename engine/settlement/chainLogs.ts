/**
 * Reads the logs of a contract in block ranges as long as the node allows (shared/chain/logStretches.ts) and verifies
 * them.
 *
 * Invariant:
 *   CHAINLOGS-1  A log counts only if the receipt of its transaction has it too, in the block that the chain has at
 *                that height: three answers of the node agree.
 */
import { LogStretches } from '../../shared/chain/logStretches.ts';
import type { ChainNode, Hex, Log, PlacedLog } from '../../shared/chain/node.ts';
import { NodeUnreachable } from '../../shared/chain/rpc.ts';

type Stretch = { readonly logs: PlacedLog[]; readonly to: number };

export class ChainLogs {
  readonly #node: ChainNode;
  readonly #stretches: LogStretches;

  constructor(node: ChainNode, nowMs: () => number) {
    this.#node = node;
    this.#stretches = new LogStretches(node, nowMs);
  }

  /**
   * Returns the logs in chain order, or null if the node allows only shorter ranges: the next call asks for a shorter
   * one.
   */
  async read(exchange: Hex, events: readonly Hex[], fromBlock: number, last: number): Promise<Stretch | null> {
    const toBlock = Math.min(last, fromBlock + this.#stretches.blocks - 1);
    const logs = await this.#stretches.ask({ address: exchange, topics: [events] }, fromBlock, toBlock);
    if (logs === null) return null;
    const isAsked = ({ address, topics, blockNumber }: PlacedLog) =>
      address === exchange && events.includes(topics[0]) && blockNumber >= fromBlock && blockNumber <= toBlock;
    if (!logs.every(isAsked)) throw new NodeUnreachable('the node gives logs that it was not asked for');
    logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    return { logs, to: toBlock };
  }

  /** Returns the logs of all blocks of a range, in chain order. */
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
