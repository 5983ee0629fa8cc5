/**
 * A node of a real chain that fails as nodes do, from a seed: calls without an answer, before or after they were
 * carried out, answers that are some blocks old, receipts that are withheld or belong to dropped blocks, and
 * transactions that are accepted and forgotten. Behind one address there is a pool of such nodes, so that an answer of
 * a lagging node may follow one of a node that does not lag.
 */
import { type Hex, keccak256 } from 'viem';
import { NodeUnreachable, type Rpc, RpcError } from '../../shared/chain/rpc.ts';
import type { Random } from '../support/random.ts';

const MOST_BEHIND = 12;

export class FaultyNode {
  /** Of 100 calls, the number that fail in some way. */
  faults = 0;
  /** A lagging node gives fewer logs, and no error: the second check finds the missing ones. */
  readonly hidesLogs: boolean;
  readonly #random: Random;
  /** By transaction: the first receipt that the chain ever had for it. */
  readonly #receipts = new Map<Hex, unknown>();

  constructor(random: Random, hidesLogs: boolean) {
    this.#random = random;
    this.hidesLogs = hidesLogs;
  }

  around(rpc: Rpc): Rpc {
    return { call: (method, params) => this.#call(rpc, method, params) };
  }

  async #call(rpc: Rpc, method: string, params: readonly unknown[]): Promise<unknown> {
    const random = this.#random;
    if (random.below(100) >= this.faults) return this.#noted(method, params, await rpc.call(method, params));
    if (random.chance(20)) return fail(method);
    if (random.chance(20)) {
      await rpc.call(method, params);
      return fail(method);
    }
    if (random.chance(10)) {
      throw new RpcError(`${method}: internal error`);
    }
    if (method === 'eth_sendRawTransaction') {
      return keccak256(params[0] as Hex);
    }
    if (method === 'eth_getTransactionReceipt') {
      return random.chance(50) ? null : (this.#receipts.get(params[0] as Hex) ?? null);
    }
    return this.#behind(rpc, method, params, random.between(1, MOST_BEHIND));
  }

  #noted(method: string, [hash]: readonly unknown[], answer: unknown): unknown {
    const isReceipt = method === 'eth_getTransactionReceipt' && answer !== null;
    if (isReceipt && !this.#receipts.has(hash as Hex)) this.#receipts.set(hash as Hex, answer);
    return answer;
  }

  /** The answer of a node that has not seen the last blocks yet. */
  async #behind(rpc: Rpc, method: string, params: readonly unknown[], blocks: number): Promise<unknown> {
    const head = Number(await rpc.call('eth_blockNumber', [])) - blocks;
    const clipped = (tag: unknown): unknown => {
      if (tag === 'latest') return hex(head);
      return tag === 'finalized' ? hex(Math.max(0, head - 64)) : tag;
    };
    switch (method) {
      case 'eth_getBlockByNumber':
        if (isLater(params[0], head)) return null;
        return rpc.call(method, [clipped(params[0]), params[1]]);
      case 'eth_getTransactionCount':
      case 'eth_getCode':
      case 'eth_call':
        if (isLater(params[1], head)) throw new RpcError(`${method}: header not found`);
        return rpc.call(method, [params[0], clipped(params[1])]);
      case 'eth_getLogs': {
        const logs = (await rpc.call(method, params)) as { blockNumber: Hex }[];
        return this.hidesLogs ? logs.filter(({ blockNumber }) => !isLater(blockNumber, head - 64)) : logs;
      }
      default:
        return rpc.call(method, params);
    }
  }
}

function fail(method: string): never {
  throw new NodeUnreachable(`${method}: no answer from the node`);
}

const hex = (block: number): Hex => `0x${Math.max(0, block).toString(16)}`;

function isLater(tag: unknown, head: number): boolean {
  return typeof tag === 'string' && tag.startsWith('0x') && Number(tag) > head;
}
