/**
 * Reads logs of a contract in stretches of blocks of a size that the node allows. Nodes differ in how many blocks or
 * logs one question may ask for, and each says so in its own words: a refused stretch is halved, and after an answered
 * one the size may double. A node that refuses because of a quota says nothing about stretches: it is not asked for a
 * while, and this time doubles.
 */
import type { ChainNode, Hex, PlacedLog } from './node.ts';
import { NodeUnreachable, QUOTA, RpcError } from './rpc.ts';

/** Few nodes allow more. */
const MOST_BLOCKS = 2000;
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;

type Query = { readonly address: Hex; readonly topics: readonly (Hex | readonly Hex[] | null)[] };

export class LogStretches {
  /** The number of blocks of the next question. */
  blocks: number;
  readonly #node: ChainNode;
  readonly #mostBlocks: number;
  readonly #nowMs: () => number;
  #pauseMs = FIRST_PAUSE_MS;
  #askAgainMs = 0;

  constructor(node: ChainNode, nowMs: () => number, mostBlocks = MOST_BLOCKS) {
    this.#node = node;
    this.#nowMs = nowMs;
    this.#mostBlocks = mostBlocks;
    this.blocks = mostBlocks;
  }

  /** Null if the node allows only shorter stretches; then `blocks` is shorter. */
  async ask(query: Query, fromBlock: number, toBlock: number): Promise<PlacedLog[] | null> {
    if (this.#nowMs() < this.#askAgainMs) throw new NodeUnreachable('the node refuses logs for its quota');
    try {
      const logs = await this.#node.logs({ ...query, fromBlock, toBlock });
      this.blocks = Math.min(this.#mostBlocks, this.blocks * 2);
      this.#pauseMs = FIRST_PAUSE_MS;
      return logs;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (QUOTA.test(error.message)) {
        this.#askAgainMs = this.#nowMs() + this.#pauseMs;
        this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
        throw new NodeUnreachable(error.message);
      }
      if (toBlock === fromBlock) throw error;
      this.blocks = Math.max(1, Math.floor((toBlock - fromBlock + 1) / 2));
      return null;
    }
  }
}
