/**
 * Moves USDC on a chain with the key of the provider's wallet, which also pays for the transactions. The wallet signs
 * each transfer like a customer's wallet (EIP-3009), and the signed bytes are on the disk before this class sends them.
 * So the relayer may keep its envelopes in memory: a transaction that is lost with the process costs gas, and moves
 * nothing twice.
 * Owner: the provider's thread.
 *
 * Invariants:
 *   CHAINRAIL-1  At most one transaction of a transfer has an effect: the token accepts its nonce once.
 *   CHAINRAIL-2  A transfer for which nothing has asked for a while gives up its account nonce (RELAYER-6), so that
 *                none waits for a transaction that is no longer sent.
 *   CHAINRAIL-3  The cursor of arrivals never passes a block that a reorganisation can remove.
 */
import { lastFinal } from '../../../shared/chain/depth.ts';
import { EnvelopesInMemory } from '../../../shared/chain/envelopesInMemory.ts';
import { raisedUpTo } from '../../../shared/chain/fees.ts';
import { chainKey } from '../../../shared/chain/key.ts';
import { LogStretches } from '../../../shared/chain/logStretches.ts';
import { ChainNode, type Hex, type PlacedLog } from '../../../shared/chain/node.ts';
import { Relay } from '../../../shared/chain/relay.ts';
import { type RelayedRail, Relayer } from '../../../shared/chain/relayer.ts';
import { TRANSFERRED } from '../../../shared/chain/relayToken.ts';
import { NodeUnreachable, type Rpc } from '../../../shared/chain/rpc.ts';
import { privateKeyBytes, signDigest } from '../../../shared/client/privateKey.ts';
import { type TransferAuthorization, transferDigest } from '../../../shared/crypto/eip3009.ts';
import type { Arrival, OwnTransfer, OwnTransferState, RailMoment, RampRail } from './rail.ts';

type ChainRailOptions = {
  readonly rpc: Rpc;
  readonly chainId: number;
  /** In lower case. */
  readonly usdc: Hex;
  /** Key of the provider's wallet. */
  readonly privateKey: string;
  readonly mostFeeWei: bigint;
  readonly nowMs: () => number;
};

/** A transaction that is in no block for this long is replaced by one with a higher fee. */
const REPLACE_MS = 60_000;
/** A transfer that was not requested for this long is no longer under way. */
const FORGET_MS = 30_000;
const NO_SENDER = `0x${'0'.repeat(40)}`;
/** The most log queries of one check; the next check goes on. */
const MOST_STRETCHES = 50;

export class ChainRail implements RampRail {
  readonly address: string;
  readonly #options: ChainRailOptions;
  readonly #ask: Relay['handlers'];
  readonly #stretches: LogStretches;
  readonly #relayer: Relayer;
  readonly #envelopes = new EnvelopesInMemory();
  /** By the nonce of the transfer. */
  readonly #askedMs = new Map<string, number>();
  /** Final blocks after the cursor that were read and have no arrivals. */
  #empty = { after: '', through: 0 };
  /** The highest block ever reported as final. */
  #finalizedBlock = 0;

  constructor(options: ChainRailOptions) {
    const node = new ChainNode(options.rpc);
    const key = chainKey(options.privateKey);
    this.#options = options;
    this.address = key.address;
    this.#ask = new Relay({ ...options, node, key }).handlers;
    this.#stretches = new LogStretches(node, options.nowMs);
    this.#relayer = new Relayer({
      rail: this.#relayedRail(),
      transfers: this.#envelopes,
      sessions: { write: (statements) => statements(), durable: async () => {} },
      clock: options,
      mayBroadcast: () => true,
      mayLeave: (nonce) => this.#askedMs.has(nonce),
    });
  }

  balanceMicro(): Promise<number> {
    return this.#ask.railBalance({ address: this.address });
  }

  async moment(): Promise<RailMoment> {
    const head = await this.#ask.railHead({});
    this.#finalizedBlock = Math.max(this.#finalizedBlock, head.finalizedBlock);
    return head;
  }

  async sign(transfer: OwnTransfer): Promise<string> {
    const digest = transferDigest(await this.#ask.railDomain({}), this.#whole(transfer));
    return signDigest(Buffer.from(digest.slice(2), 'hex'), privateKeyBytes(this.#options.privateKey));
  }

  /** CHAINRAIL-1 */
  async send(transfer: OwnTransfer, signature: string): Promise<boolean> {
    const nowMs = this.#options.nowMs();
    this.#askedMs.set(transfer.nonce, nowMs);
    this.#forgetOthers(nowMs);
    const relayed = { ...this.#whole(transfer), sessionId: transfer.nonce, signature };
    const last = this.#envelopes.envelopesOf(transfer.nonce).at(-1);
    if (last !== undefined && (await this.#ask.railTransaction({ txHash: last.txHash }))?.status === 'reverted') {
      await this.#relayer.forget(relayed);
    }
    const isStuck = last !== undefined && nowMs - last.createdMs >= REPLACE_MS;
    const isSent = last?.state === 'accepted';
    const paid = isSent ? await this.#relayer.hasten(relayed, isStuck) : await this.#relayer.pay(relayed);
    return paid.result === 'accepted';
  }

  /** CHAINRAIL-2 */
  #forgetOthers(nowMs: number): void {
    for (const [nonce, askedMs] of this.#askedMs) {
      if (nowMs - askedMs <= FORGET_MS) continue;
      this.#askedMs.delete(nonce);
      this.#envelopes.forget(nonce);
    }
  }

  stateOf(nonce: string): Promise<OwnTransferState> {
    return this.#ask.railAuthorization({ from: this.address, nonce, notBefore: this.#finalizedBlock });
  }

  /** CHAINRAIL-3. A new provider has no customers yet: everything in its wallet is its own. */
  async arrivals(cursor: string): Promise<{ readonly arrivals: readonly Arrival[]; readonly cursor: string }> {
    const { block: head, finalizedBlock } = await this.moment();
    const settled = lastFinal(finalizedBlock, head);
    if (cursor === '') return { arrivals: [], cursor: String(head) };
    const isKnown = this.#empty.after === cursor;
    let from = (isKnown ? this.#empty.through : Number(cursor)) + 1;
    for (let stretches = 0; from <= head; stretches++) {
      if (stretches === MOST_STRETCHES) throw new NodeUnreachable('arrivals of long ago are being read');
      const through = Math.min(head, from + this.#stretches.blocks - 1);
      const logs = await this.#stretches.ask(this.#query(), from, through);
      if (logs === null) continue;
      const arrivals = arrivalsIn(logs);
      if (arrivals.length > 0) {
        return { arrivals, cursor: String(Math.max(Number(cursor), Math.min(through, settled))) };
      }
      from = through + 1;
      this.#empty = { after: cursor, through: Math.min(through, Math.max(settled, Number(cursor))) };
    }
    return { arrivals: [], cursor: String(Math.max(Number(cursor), settled)) };
  }

  #relayedRail(): RelayedRail {
    const ask = this.#ask;
    return {
      preflight: (transfer, signature) => ask.railPreflight({ transfer, signature }),
      transaction: (txHash) => ask.railTransaction({ txHash }),
      authorization: (_from, nonce) => this.stateOf(nonce),
      sender: () => ask.railSender({}),
      accountNonce: () => ask.railNonce({}),
      fee: () => ask.railFee({}),
      bumpedFee: (fee) => raisedUpTo(fee, Number(this.#options.mostFeeWei)),
      envelope: (fields) => ask.railEnvelope(fields),
      broadcast: (signed) => ask.railBroadcast({ signed }),
    };
  }

  #query() {
    const to: Hex = `0x${this.address.slice(2).padStart(64, '0')}`;
    return { address: this.#options.usdc, topics: [TRANSFERRED, null, to] as const };
  }

  #whole(transfer: OwnTransfer): TransferAuthorization {
    return { ...transfer, from: this.address, validAfterSec: 0 };
  }
}

/**
 * Everything that one wallet has sent in one transaction is one arrival. Arrivals of further wallets in it have a
 * number after the hash. USDC that the token minted for the provider is no arrival.
 */
function arrivalsIn(logs: readonly PlacedLog[]): Arrival[] {
  const found = new Map<string, Map<string, Arrival>>();
  for (const { transactionHash: txHash, blockNumber: block, topics, data } of logs) {
    const from = `0x${topics[1].slice(-40)}`;
    if (from === NO_SENDER) continue;
    const ofTransaction = found.get(txHash) ?? new Map<string, Arrival>();
    found.set(txHash, ofTransaction);
    const name = `${txHash}#${ofTransaction.size}`;
    const first = { txHash, from, valueMicro: 0, block, ...(ofTransaction.size === 0 ? {} : { name }) };
    const before = ofTransaction.get(from) ?? first;
    ofTransaction.set(from, { ...before, valueMicro: before.valueMicro + Number(BigInt(data)) });
  }
  return [...found.values()].flatMap((ofTransaction) => [...ofTransaction.values()]);
}
