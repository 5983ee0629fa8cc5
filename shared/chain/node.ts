/** Settlement's questions to a node. The form of every answer is checked (RPC-2). */
import type { Hex } from '../base/hex.ts';
import { NodeUnreachable, type Rpc, RpcError } from './rpc.ts';

export type { Hex };

export type BlockTag = 'latest' | 'finalized' | number;

export type Block = {
  readonly number: number;
  readonly hash: Hex;
  readonly timestampSec: number;
  readonly gasLimit: number;
  readonly baseFeeWei: bigint;
};
export type Log = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex };
/** A log with its place in the chain. */
export type PlacedLog = Log & {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: number;
};
type LogQuery = {
  readonly address: Hex;
  /** By position; null matches any topic, an array matches one of several. */
  readonly topics: readonly (Hex | readonly Hex[] | null)[];
  readonly fromBlock: number;
  readonly toBlock: number;
};
export type Receipt = {
  readonly hash: Hex;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly isSuccess: boolean;
  readonly gasUsed: bigint;
  readonly logs: readonly Log[];
};

export class ChainNode {
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  async chainId(): Promise<number> {
    return toNumber(await this.#rpc.call('eth_chainId', []));
  }

  /** Null if the chain is not that long. */
  async block(tag: BlockTag): Promise<Block | null> {
    const found = await this.#rpc.call('eth_getBlockByNumber', [blockTag(tag), false]);
    if (found === null) return null;
    const block = toFields(found);
    return {
      number: toNumber(block['number']),
      hash: toHash(block['hash']),
      timestampSec: toNumber(block['timestamp']),
      gasLimit: toNumber(block['gasLimit']),
      baseFeeWei: block['baseFeePerGas'] === undefined ? 0n : toQuantity(block['baseFeePerGas']),
    };
  }

  /** The number of mined transactions of an address, which is the nonce of its next one. */
  async transactionCount(address: Hex, tag: BlockTag): Promise<number> {
    return toNumber(await this.#rpc.call('eth_getTransactionCount', [address, blockTag(tag)]));
  }

  async balanceWei(address: Hex): Promise<bigint> {
    return toQuantity(await this.#rpc.call('eth_getBalance', [address, 'latest']));
  }

  /** The usual tip; null if the node suggests none. */
  async priorityFeeWei(): Promise<bigint | null> {
    try {
      return toQuantity(await this.#rpc.call('eth_maxPriorityFeePerGas', []));
    } catch (error) {
      if (error instanceof RpcError) return null;
      throw error;
    }
  }

  async send(bytes: Hex): Promise<void> {
    await this.#rpc.call('eth_sendRawTransaction', [bytes]);
  }

  async receipt(hash: Hex): Promise<Receipt | null> {
    const found = await this.#rpc.call('eth_getTransactionReceipt', [hash]);
    if (found === null) return null;
    const receipt = toFields(found);
    const { logs } = receipt;
    if (receipt['transactionHash'] !== hash) throw malformed('the receipt of another transaction');
    if (receipt['blockHash'] === null) return null;
    if (!Array.isArray(logs)) throw malformed('a receipt without logs');
    return {
      hash,
      blockNumber: toNumber(receipt['blockNumber']),
      blockHash: toHash(receipt['blockHash']),
      isSuccess: toNumber(receipt['status']) === 1,
      gasUsed: toQuantity(receipt['gasUsed']),
      logs: logs.map((log) => toLog(toFields(log))),
    };
  }

  /** Returns true if the node has the transaction, in a block or waiting for one. */
  async isKnown(hash: Hex): Promise<boolean> {
    return (await this.#rpc.call('eth_getTransactionByHash', [hash])) !== null;
  }

  /** The call of a transaction in a block. Null if the node does not know it. */
  async callOf(hash: Hex): Promise<{ readonly to: Hex | null; readonly input: Hex } | null> {
    const found = await this.#rpc.call('eth_getTransactionByHash', [hash]);
    if (found === null) return null;
    const transaction = toFields(found);
    if (transaction['hash'] !== hash) throw malformed('another transaction');
    return {
      to: transaction['to'] === null ? null : toHexText(transaction['to']),
      input: toHexText(transaction['input']),
    };
  }

  /** Logs in the order of the chain. Nodes refuse ranges of too many blocks. */
  async logs({ address, topics, fromBlock, toBlock }: LogQuery): Promise<PlacedLog[]> {
    const range = { fromBlock: blockTag(fromBlock), toBlock: blockTag(toBlock) };
    const found = await this.#rpc.call('eth_getLogs', [{ address, topics, ...range }]);
    if (!Array.isArray(found)) throw malformed('no logs');
    return found.map((each) => {
      const log = toFields(each);
      return {
        ...toLog(log),
        blockNumber: toNumber(log['blockNumber']),
        blockHash: toHash(log['blockHash']),
        transactionHash: toHash(log['transactionHash']),
        logIndex: toNumber(log['logIndex']),
      };
    });
  }

  async hasCode(address: Hex, tag: BlockTag): Promise<boolean> {
    return toHexText(await this.#rpc.call('eth_getCode', [address, blockTag(tag)])) !== '0x';
  }

  async view(to: Hex, data: Hex, tag: BlockTag): Promise<Hex> {
    return toHexText(await this.#rpc.call('eth_call', [{ to, data }, blockTag(tag)]));
  }

  /** Throws RpcError if the call would be reverted. */
  async simulate(call: { readonly from: Hex; readonly to: Hex; readonly data: Hex; readonly gas: number }) {
    const gas = `0x${call.gas.toString(16)}`;
    await this.#rpc.call('eth_call', [{ ...call, gas }, 'latest']);
  }
}

function blockTag(tag: BlockTag): string {
  return typeof tag === 'number' ? `0x${tag.toString(16)}` : tag;
}

function toLog(log: Record<string, unknown>): Log {
  const { topics } = log;
  if (!Array.isArray(topics)) throw malformed('a log without topics');
  return { address: toHexText(log['address']), topics: topics.map(toHash), data: toHexText(log['data']) };
}

function toFields(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw malformed('no object');
  return { ...value };
}

function toHexText(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(value)) throw malformed('no bytes in hex');
  return `0x${value.slice(2).toLowerCase()}`;
}

function toHash(value: unknown): Hex {
  const hash = toHexText(value);
  if (hash.length !== 66) throw malformed('no hash');
  return hash;
}

function toQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw malformed('no quantity');
  return BigInt(value);
}

function toNumber(value: unknown): number {
  const number = Number(toQuantity(value));
  if (!Number.isSafeInteger(number)) throw malformed('a quantity beyond the safe integers');
  return number;
}

function malformed(what: string): NodeUnreachable {
  return new NodeUnreachable(`malformed answer of the node: ${what}`);
}
