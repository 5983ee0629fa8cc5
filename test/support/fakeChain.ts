/**
 * A chain in memory, with all that goes wrong between it and the exchange, from a seed: calls that are never answered,
 * answers from a node that is behind, receipts that are withheld or of blocks that are gone, transactions that are
 * forgotten, base fees that multiply, reorganisations, and transactions of the same key from elsewhere.
 */
import {
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
  toHex,
} from 'viem';
import type { Log } from '../../shared/chain/node.ts';
import { NodeUnreachable, type Rpc, RpcError } from '../../shared/chain/rpc.ts';
import type { Random } from './random.ts';

/** The contracts: a state that is computed again from the first block after every reorganisation. */
export type FakeContract = {
  run(data: Hex, timestampSec: number): { readonly isSuccess: boolean; readonly logs: readonly Log[] };
  /** Throws RpcError where the call would be reverted. */
  view(data: Hex, timestampSec: number): Hex;
  /** The contract can be asked for its state at an earlier block. */
  readonly hasPast?: true;
};
type FakeChainOptions = {
  /** Blocks after which a block is final. */
  readonly finality?: number;
  readonly timestampSec?: (block: number) => number;
  /** A tip below this is refused in these words. */
  readonly leastTip?: { readonly wei: bigint; readonly words: (tipWei: bigint) => string };
};
type LogQuery = {
  topics: readonly (Hex | readonly Hex[] | null)[];
  fromBlock: Hex;
  toBlock: Hex;
};
type Transaction = { hash: Hex; from: Hex; nonce: number; to: Hex; data: Hex; maxFee: bigint; tip: bigint };
type Block = {
  hash: Hex;
  number: number;
  timestampSec: number;
  baseFee: bigint;
  transactions: {
    hash: Hex;
    from: Hex;
    nonce: number;
    logs: readonly Log[];
    receipt: Record<string, unknown>;
  }[];
  sources: Transaction[];
};

const NO_NONCE = -1;
const FINALITY = 64;
const BLOCK_SECONDS = 2;
const GAS_LIMIT = 30_000_000;
const ANYWHERE: Hex = '0x00000000000000000000000000000000000000ff';

export class FakeChain<C extends FakeContract> implements Rpc {
  contract: C;
  /** Of 100 calls, the number that fail in some way. */
  faults = 0;
  baseFee = 1_000_000_000n;
  readonly blocks: Block[] = [];
  readonly #random: Random;
  readonly #makeContract: () => C;
  /** By sender, then by nonce. */
  readonly #pending = new Map<Hex, Map<number, Transaction>>();
  /** Receipts of blocks that are gone. */
  readonly #orphans = new Map<Hex, Record<string, unknown>>();
  readonly #parsed = new Map<Hex, Transaction>();
  /** Transactions of other keys, which come first in the next block. */
  #others: Transaction[] = [];
  readonly #options: FakeChainOptions;
  #fresh = 0;
  #past: { number: number; head: Hex; contract: C } | null = null;

  constructor(random: Random, makeContract: () => C, options: FakeChainOptions = {}) {
    this.#random = random;
    this.#options = options;
    this.#makeContract = makeContract;
    this.contract = makeContract();
    this.mine();
  }

  get head(): Block {
    return this.blocks.at(-1)!;
  }

  #nextNonce(from: Hex): number {
    return this.#countAt(this.head.number, from);
  }

  mine(blocks = 1): void {
    for (let i = 0; i < blocks; i++) this.#mineOne();
  }

  /** The last blocks are replaced by as many others; some of their transactions are forgotten. */
  reorganise(depth: number, keepsOthers: boolean | null = null): void {
    const gone = this.blocks.splice(Math.max(1, this.blocks.length - depth));
    for (const block of gone) {
      for (const [index, { hash, receipt }] of block.transactions.entries()) {
        this.#orphans.set(hash, receipt);
        const source = block.sources[index];
        const isKept = this.#random.chance(50);
        if (!(source.nonce === NO_NONCE ? (keepsOthers ?? isKept) : isKept)) continue;
        if (source.nonce === NO_NONCE) this.#others.push(source);
        else this.#accept(source);
      }
    }
    this.contract = this.#makeContract();
    for (const { sources, timestampSec } of this.blocks) {
      for (const { data } of sources) this.contract.run(data, timestampSec);
    }
    this.mine(gone.length);
  }

  /** Another program with the same key uses its next nonce. */
  useNonceElsewhere(from: Hex): void {
    const nonce = this.#nextNonce(from);
    const hash = this.#freshHash();
    const fees = { maxFee: this.baseFee * 1000n, tip: 1n };
    this.#pendingOf(from).set(nonce, { hash, from, nonce, to: ANYWHERE, data: '0x', ...fees });
    this.mine();
  }

  /** Another key sends it. @returns its hash. */
  sendElsewhere(data: Hex): Hex {
    const hash = this.#freshHash();
    this.#others.push({ hash, from: ANYWHERE, nonce: NO_NONCE, to: ANYWHERE, data, maxFee: 0n, tip: 0n });
    return hash;
  }

  /** The node forgets what waits for a block. */
  forget(): void {
    this.#pending.clear();
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    if (this.#random.below(100) >= this.faults) return this.#answer(method, params, this.head.number);
    if (this.#random.chance(40)) throw new NodeUnreachable(`${method}: no answer from the node`);
    if (this.#random.chance(40)) {
      const behind = Math.max(0, this.head.number - this.#random.between(1, 5));
      return this.#answer(method, params, behind);
    }
    if (method === 'eth_getTransactionReceipt') {
      return this.#random.chance(50) ? null : (this.#orphans.get(params[0] as Hex) ?? null);
    }
    if (method === 'eth_sendRawTransaction') return keccak256(params[0] as Hex);
    return this.#answer(method, params, this.head.number);
  }

  async #answer(method: string, params: readonly unknown[], head: number): Promise<unknown> {
    switch (method) {
      case 'eth_chainId':
        return '0x89';
      case 'eth_getBlockByNumber':
        return this.#describe(this.blocks[this.#numberOf(params[0] as string, head)]);
      case 'eth_getTransactionCount':
        return toHex(this.#countAt(this.#numberOf(params[1] as string, head), params[0] as Hex));
      case 'eth_maxPriorityFeePerGas':
        return toHex(1_000_000_000);
      case 'eth_getBalance':
        return toHex(10n ** 20n);
      case 'eth_sendRawTransaction':
        return this.#accept(await this.#parse(params[0] as Hex));
      case 'eth_getTransactionReceipt':
        return this.#receiptOf(params[0] as Hex, head);
      case 'eth_call':
        return this.#view((params[0] as { data: Hex }).data, this.#numberOf(params[1] as string, head));
      case 'eth_getCode':
        return '0x60';
      case 'eth_getTransactionByHash':
        return this.#isKnown(params[0] as Hex) ? {} : null;
      case 'eth_getLogs':
        return this.#logs(params[0] as LogQuery, head);
      default:
        throw new RpcError(`${method}: not supported`);
    }
  }

  async #parse(bytes: Hex): Promise<Transaction> {
    const known = this.#parsed.get(bytes);
    if (known !== undefined) return known;
    const { nonce = 0, to, data = '0x', maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(bytes);
    const [maxFee, tip] = [maxFeePerGas ?? 0n, maxPriorityFeePerGas ?? 0n];
    const serializedTransaction = bytes as TransactionSerialized;
    const from = (await recoverTransactionAddress({ serializedTransaction })).toLowerCase() as Hex;
    const transaction = { hash: keccak256(bytes), from, nonce, to: to ?? ANYWHERE, data, maxFee, tip };
    this.#parsed.set(bytes, transaction);
    return transaction;
  }

  #accept(transaction: Transaction): Hex {
    const { from, nonce, hash, maxFee, tip } = transaction;
    if (nonce < this.#nextNonce(from)) throw new RpcError('nonce too low');
    const { leastTip } = this.#options;
    if (leastTip !== undefined && tip < leastTip.wei) throw new RpcError(leastTip.words(tip));
    const before = this.#pendingOf(from).get(nonce);
    if (before?.hash === hash) throw new RpcError('already known');
    const isRaised = (now: bigint, then: bigint) => now * 8n >= then * 9n;
    if (before !== undefined && !(isRaised(maxFee, before.maxFee) && isRaised(tip, before.tip))) {
      throw new RpcError('replacement transaction underpriced');
    }
    this.#pendingOf(from).set(nonce, transaction);
    return hash;
  }

  #pendingOf(from: Hex): Map<number, Transaction> {
    const pending = this.#pending.get(from) ?? new Map<number, Transaction>();
    this.#pending.set(from, pending);
    return pending;
  }

  #mineOne(): void {
    const number = this.blocks.length;
    const block: Block = {
      hash: this.#freshHash(),
      number,
      timestampSec: this.#options.timestampSec?.(number) ?? 1_800_000_000 + number * BLOCK_SECONDS,
      baseFee: this.baseFee,
      transactions: [],
      sources: [],
    };
    this.blocks.push(block);
    for (const other of this.#others.splice(0)) this.#put(block, other);
    for (const from of this.#pending.keys()) this.#include(block, from);
  }

  /** The transactions of a sender, in the order of their nonces, as far as they pay the base fee. */
  #include(block: Block, from: Hex): void {
    const pending = this.#pendingOf(from);
    let nonce = this.#nextNonce(from);
    for (;;) {
      const next = pending.get(nonce);
      if (next === undefined || next.maxFee < this.baseFee) break;
      pending.delete(nonce++);
      this.#put(block, next);
    }
  }

  #put(block: Block, next: Transaction): void {
    const { isSuccess, logs } = this.contract.run(next.data, block.timestampSec);
    const receipt = {
      transactionHash: next.hash,
      blockHash: block.hash,
      blockNumber: toHex(block.number),
      status: isSuccess ? '0x1' : '0x0',
      gasUsed: '0x5208',
      logs,
    };
    block.transactions.push({ hash: next.hash, from: next.from, nonce: next.nonce, logs, receipt });
    block.sources.push(next);
  }

  #isKnown(hash: Hex): boolean {
    const waiting = [...[...this.#pending.values()].flatMap((each) => [...each.values()]), ...this.#others];
    return waiting.some((each) => each.hash === hash) || this.#receiptOf(hash, this.head.number) !== null;
  }

  /** Logs of blocks that the node knows: a lagging node gives fewer, and no error. */
  #logs({ topics, fromBlock, toBlock }: LogQuery, head: number): unknown[] {
    const fits = (topic: Hex | undefined, wanted: Hex | readonly Hex[] | null): boolean =>
      wanted === null || (typeof wanted === 'string' ? topic === wanted : wanted.includes(topic!));
    const known = this.blocks.slice(Number(fromBlock), Math.min(Number(toBlock), head) + 1);
    return known.flatMap(({ number, hash, transactions }) => {
      const all = transactions.flatMap((transaction) => transaction.logs.map((log) => ({ log, transaction })));
      const placed = all.map(({ log, transaction }, index) => {
        const place = { blockNumber: toHex(number), blockHash: hash, transactionHash: transaction.hash };
        return { ...log, ...place, logIndex: toHex(index) };
      });
      return placed.filter((log) => topics.every((wanted, index) => fits(log.topics[index], wanted)));
    });
  }

  #view(data: Hex, number: number): Hex {
    const { contract, head } = this;
    if (number >= head.number || contract.hasPast !== true) return contract.view(data, head.timestampSec);
    if (this.#past?.number !== number || this.#past.head !== head.hash) {
      const past = this.#makeContract();
      for (const { sources, timestampSec } of this.blocks.slice(0, number + 1)) {
        for (const each of sources) past.run(each.data, timestampSec);
      }
      this.#past = { number, head: head.hash, contract: past };
    }
    return this.#past.contract.view(data, this.blocks[number].timestampSec);
  }

  #receiptOf(hash: Hex, head: number): unknown {
    for (const { number, transactions } of this.blocks.toReversed()) {
      if (number > head) continue;
      const found = transactions.find((transaction) => transaction.hash === hash);
      if (found !== undefined) return found.receipt;
    }
    return null;
  }

  #countAt(number: number, of: Hex): number {
    let count = 0;
    for (const block of this.blocks) {
      if (block.number > number) break;
      for (const { from } of block.transactions) if (from === of) count++;
    }
    return count;
  }

  #numberOf(tag: string, head: number): number {
    if (tag === 'latest') return head;
    if (tag === 'finalized') return Math.max(0, head - (this.#options.finality ?? FINALITY));
    return Number(tag);
  }

  #describe(block: Block | undefined): unknown {
    if (block === undefined) return null;
    const { hash, number, timestampSec, baseFee } = block;
    const timestamp = toHex(timestampSec);
    return { hash, number: toHex(number), timestamp, gasLimit: toHex(GAS_LIMIT), baseFeePerGas: toHex(baseFee) };
  }

  #freshHash(): Hex {
    return toHex(++this.#fresh, { size: 32 });
  }
}
