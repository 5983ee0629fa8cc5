/**
 * The nonce stream of one key: transactions are reserved, signed, broadcast, replaced if they are stuck, and watched
 * until they are final. Owner: one thread and process for each key; the rows are in the owner's database.
 *
 *   reserved ──► signed ──► broadcast ──► mined ──► final
 *      row        bytes      again and      │        32 confirmations, and finalized
 *                            again ◄────────┘ a reorg: the same bytes go out again
 *
 * Invariants:
 *   ENVELOPES-1  The row of a nonce is durable before anything is signed for it, and signed bytes before they are sent.
 *   ENVELOPES-2  A nonce has one job for ever. Replacements have the same nonce, destination and data, and fees that
 *                are at least an eighth higher; any of them may be mined.
 *   ENVELOPES-3  A change of state and its consequences for the owner are one transaction.
 *   ENVELOPES-4  Doing a job twice is harmless: if another program's transaction has used a nonce, the nonce is
 *                reported as lost, and its job may be reserved again.
 */
import { assert } from '../base/assert.ts';
import { type Heads, lastSettledBlock } from './depth.ts';
import type { Attempt, Draft, Envelope, EnvelopeRows } from './envelopeRows.ts';
import { feesFor, Tips } from './fees.ts';
import type { ChainKey } from './key.ts';
import type { Block, ChainNode, Hex, Receipt } from './node.ts';
import { RpcError } from './rpc.ts';

/** The number of envelopes that may wait for a block: most nodes keep no more than this for one sender. */
export const MOST_OPEN = 16;
/** A transaction that is in no block after this time is replaced by one with higher fees. */
const STUCK_MS = 30_000;
/** Nodes forget transactions, so an unmined transaction is sent again after this time. */
const REPEAT_MS = 5000;

/** The owner follows its jobs with these functions. Each is called inside the transaction that changes the envelope. */
export type JobListener = {
  /** Interprets a receipt. It may ask the chain; the result is carried out once the envelope is mined. */
  read(job: number, receipt: Receipt): Promise<() => void>;
  unmined(job: number): void;
  final(job: number): void;
  /** @param draft the draft that was reserved. */
  lost(job: number, draft: Draft): void;
};

type EnvelopeOptions = {
  readonly key: ChainKey;
  readonly chainId: number;
  readonly node: ChainNode;
  readonly rows: EnvelopeRows;
  readonly jobs: JobListener;
  /** The highest fee that a transaction may offer; if a transaction needs more, an alarm is raised. */
  readonly mostFeeWei: bigint;
  readonly nowMs: () => number;
};

export class Envelopes {
  /** The number of nonces that other programs' transactions of this key have used since the start. */
  foreign = 0;
  /** The last refused broadcast, for the log; null after a successful broadcast. */
  lastRefusal: string | null = null;
  /** True while a stuck transaction may not offer more. */
  isAtMostFee = false;
  readonly #options: EnvelopeOptions;
  readonly #sentMs = new Map<Hex, number>();
  #count: number | null = null;
  /** Blocks by number, kept for this step, so that transactions of one block ask for it once. */
  readonly #blocks = new Map<number, Block | null>();
  readonly #tips: Tips;
  #tipWei: bigint | null | undefined;

  constructor(options: EnvelopeOptions) {
    this.#options = options;
    this.#tips = new Tips(options.chainId);
  }

  /** Returns true if another job may be reserved. The first step must be over, because it learns the nonce. */
  get hasRoom(): boolean {
    return this.#count !== null && this.#options.rows.countOpen() < MOST_OPEN;
  }

  /** Gives a job the next nonce. Called inside the transaction that stores the job (ENVELOPES-1). */
  reserve(job: number, draft: Draft): void {
    const { rows, nowMs } = this.#options;
    assert(this.#count !== null, 'ENVELOPES-1: the chain was asked for its nonce');
    rows.add(Math.max(rows.nextNonce(), this.#count), job, draft, nowMs());
  }

  /** Brings every envelope as far as it can go now. An error of the node ends the step; the next step continues. */
  async step(heads: Heads): Promise<void> {
    const { node, key, rows } = this.#options;
    this.#blocks.clear();
    this.#tipWei = undefined;
    this.#count = await node.transactionCount(key.address, 'latest');
    const finalCount = await node.transactionCount(key.address, heads.finalized.number);
    const unsettled = rows.unsettled();
    const newest = unsettled.findLast(({ state }) => state === 'mined');
    // The hash of a block covers all blocks before it, and lower nonces are in those: one look is enough for all.
    const areMinedThere = newest !== undefined && (await this.#isInPlace(newest));
    const settled = lastSettledBlock(heads);
    for (const envelope of unsettled) {
      if (envelope.state === 'open') await this.#observeOpen(envelope, finalCount);
      else if (!areMinedThere || envelope.block_number! <= settled)
        await this.#observeMined(envelope, heads, finalCount);
    }
    if (rows.countOpen() === 0) this.isAtMostFee = false;
    this.#fillGap();
    for (const envelope of rows.unsettled()) {
      if (envelope.state === 'open') await this.#bringOut(envelope, heads.head);
    }
  }

  async #observeOpen(envelope: Envelope, finalCount: number): Promise<void> {
    // The chain has no transaction with this nonce.
    if (envelope.nonce >= this.#count!) return;
    const found = await this.#findMined(envelope);
    if (found !== null) await this.#setMined(envelope, found);
    else if (envelope.nonce < finalCount) this.#lose(envelope);
  }

  async #observeMined(envelope: Envelope, heads: Heads, finalCount: number): Promise<void> {
    const { rows, jobs } = this.#options;
    const { nonce, job } = envelope;
    const found = await this.#findMined(envelope);
    if (found === null) {
      // A lagging node does not know the block yet; any other node has this block or another one at its height.
      if (heads.head.number < envelope.block_number!) return;
      rows.commit(() => {
        rows.setOpen(nonce);
        if (job !== null) jobs.unmined(job);
      });
      this.#forget(nonce);
      return;
    }
    if (envelope.hash !== found.hash || envelope.block_hash !== found.blockHash) {
      await this.#setMined(envelope, found);
      return;
    }
    if (found.blockNumber > lastSettledBlock(heads) || nonce >= finalCount) return;
    rows.commit(() => {
      rows.end(nonce, 'final');
      if (job !== null) jobs.final(job);
    });
    this.#forget(nonce);
  }

  async #setMined({ nonce, job, state }: Envelope, receipt: Receipt): Promise<void> {
    const { rows, jobs } = this.#options;
    const apply = job === null ? () => {} : await jobs.read(job, receipt);
    rows.commit(() => {
      if (state === 'mined' && job !== null) jobs.unmined(job);
      rows.setMined(nonce, receipt);
      apply();
    });
  }

  /** Returns the receipt of an envelope's transaction that is in a block, if the chain has that block. */
  async #findMined({ nonce }: Envelope): Promise<Receipt | null> {
    const { node, rows } = this.#options;
    // The last transaction is the likeliest.
    for (const { hash } of rows.attempts(nonce).reverse()) {
      const receipt = await node.receipt(hash);
      if (receipt === null) continue;
      const block = await this.#block(receipt.blockNumber);
      if (block?.hash === receipt.blockHash) return receipt;
    }
    return null;
  }

  async #isInPlace({ block_number, block_hash }: Envelope): Promise<boolean> {
    return (await this.#block(block_number!))?.hash === block_hash;
  }

  async #block(number: number): Promise<Block | null> {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    const block = await this.#options.node.block(number);
    this.#blocks.set(number, block);
    return block;
  }

  /** Keeps ENVELOPES-4. */
  #lose({ nonce, job }: Envelope): void {
    const { rows, jobs } = this.#options;
    const draft = rows.draft(nonce);
    this.foreign++;
    rows.commit(() => {
      rows.end(nonce, 'foreign');
      if (job !== null) jobs.lost(job, draft);
    });
    this.#forget(nonce);
  }

  /**
   * A gap between the chain's nonce and the first open one would block everything, so each missing nonce gets an empty
   * transaction.
   */
  #fillGap(): void {
    const { rows, key, nowMs } = this.#options;
    const [first] = rows.unsettled().filter(({ state }) => state === 'open');
    if (first === undefined) return;
    rows.commit(() => {
      for (let nonce = Math.max(this.#count!, first.nonce - MOST_OPEN); nonce < first.nonce; nonce++) {
        if (!rows.has(nonce)) rows.add(nonce, null, { to: key.address, data: '0x', gas: 21_000 }, nowMs());
      }
    });
  }

  async #bringOut(envelope: Envelope, head: Block): Promise<void> {
    const { nowMs, rows } = this.#options;
    let last: Attempt | null = rows.attempts(envelope.nonce).at(-1) ?? null;
    // Only the transaction with the chain's next nonce can be stuck because of its own fees.
    const isNext = envelope.nonce === this.#count;
    if (last === null) last = await this.#sign(envelope, null, head);
    else if (isNext && nowMs() - last.signed_ms >= STUCK_MS) last = (await this.#sign(envelope, last, head)) ?? last;
    if (last === null || (await this.#broadcast(last))) return;
    // The node does not have it, and a higher tip may be accepted at once.
    last = await this.#sign(envelope, last, head);
    if (last !== null) await this.#broadcast(last);
  }

  /** Signs another transaction for the envelope, and stores it. Null if it may not offer enough. */
  async #sign(envelope: Envelope, before: Attempt | null, head: Block): Promise<Attempt | null> {
    const { node, key, rows, chainId, mostFeeWei, nowMs } = this.#options;
    if (this.#tipWei === undefined) this.#tipWei = await node.priorityFeeWei();
    const fees = feesFor(head.baseFeeWei, this.#tips.usual(this.#tipWei), before, mostFeeWei);
    this.isAtMostFee = fees === null;
    if (fees === null) {
      this.#tips.forget();
      return null;
    }
    const { nonce } = envelope;
    const { to, data, gas } = rows.draft(nonce);
    const { bytes, hash } = await key.sign({ chainId, nonce, to, data, gas: BigInt(gas), ...fees });
    const attempt: Attempt = {
      attempt: (before?.attempt ?? 0) + 1,
      hash,
      max_fee_wei: String(fees.maxFeePerGas),
      priority_fee_wei: String(fees.maxPriorityFeePerGas),
      signed_ms: nowMs(),
    };
    rows.commit(() => rows.addAttempt(nonce, attempt, bytes));
    return attempt;
  }

  /** @returns false if the node refuses it because of its tip. */
  async #broadcast({ hash, priority_fee_wei }: Attempt): Promise<boolean> {
    const { node, rows, nowMs } = this.#options;
    if (nowMs() - (this.#sentMs.get(hash) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return true;
    let isTaken = true;
    try {
      await node.send(rows.bytes(hash));
      this.lastRefusal = null;
    } catch (error) {
      // Only receipts decide whether it is known, mined or already replaced, never the text of a refusal.
      if (!(error instanceof RpcError)) throw error;
      if (!/already known|already imported/i.test(error.message)) this.lastRefusal = error.message;
      isTaken = !this.#tips.refused(error.message, BigInt(priority_fee_wei));
    }
    this.#sentMs.set(hash, nowMs());
    return isTaken;
  }

  #forget(nonce: number): void {
    for (const { hash } of this.#options.rows.attempts(nonce)) this.#sentMs.delete(hash);
  }
}
