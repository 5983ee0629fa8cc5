/**
 * Moves USDC on a chain with the key of the provider's wallet, which also pays for the transactions. The wallet signs
 * each transfer like a customer's wallet (EIP-3009), and the signed bytes are on the disk before this class sends them.
 * So this class has to remember nothing: a transaction that is lost with the process costs gas, and moves nothing
 * twice.
 * Owner: the provider's thread.
 *
 * Invariants:
 *   CHAINRAIL-1  At most one transaction of a transfer has an effect: the token accepts its nonce once.
 *   CHAINRAIL-2  A transfer is sent with the lowest account nonce that no other transfer under way has, so that none
 *                waits for a transaction that is no longer sent.
 *   CHAINRAIL-3  The cursor of arrivals never passes a block that a reorganisation can remove.
 */
import { lastFinal } from '../../../shared/chain/depth.ts';
import { raised } from '../../../shared/chain/fees.ts';
import { chainKey } from '../../../shared/chain/key.ts';
import { LogStretches } from '../../../shared/chain/logStretches.ts';
import { ChainNode, type Hex, type PlacedLog } from '../../../shared/chain/node.ts';
import { Relay } from '../../../shared/chain/relay.ts';
import { TRANSFERRED } from '../../../shared/chain/relayToken.ts';
import { NodeUnreachable, type Rpc } from '../../../shared/chain/rpc.ts';
import { privateKeyBytes, signDigest } from '../../../shared/client/privateKey.ts';
import { type TransferAuthorization, transferDigest } from '../../../shared/crypto/eip3009.ts';
import type { Arrival, OwnTransfer, OwnTransferState, RailMoment, RampRail } from './rail.ts';

/** A sent transaction that carries a transfer. */
type Sent = {
  readonly accountNonce: number;
  readonly fee: number;
  readonly signed: string;
  readonly builtMs: number;
  readonly askedMs: number;
};

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
  /** By the nonce of the transfer. */
  readonly #sent = new Map<string, Sent>();
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

  async send(transfer: OwnTransfer, signature: string): Promise<boolean> {
    const nowMs = this.#options.nowMs();
    for (const [nonce, { askedMs }] of this.#sent) if (nowMs - askedMs > FORGET_MS) this.#sent.delete(nonce);
    const sent = await this.#transactionFor(transfer, signature, nowMs);
    if (sent === null) return false;
    this.#sent.set(transfer.nonce, { ...sent, askedMs: nowMs });
    const result = await this.#ask.railBroadcast({ signed: sent.signed });
    // The transaction's nonce was used before the start, or its price is too low: the next attempt makes a new one.
    if (result === 'nonce_too_low') this.#sent.delete(transfer.nonce);
    if (result === 'underpriced') this.#sent.set(transfer.nonce, { ...sent, builtMs: 0, askedMs: nowMs });
    return result === 'accepted';
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

  /** CHAINRAIL-1, CHAINRAIL-2. Null if the chain would not carry the transfer out now. */
  async #transactionFor(own: OwnTransfer, signature: string, nowMs: number): Promise<Sent | null> {
    const before = this.#sent.get(own.nonce);
    const accountNonce = await this.#accountNonceFor(own.nonce);
    const isStuck = before !== undefined && nowMs - before.builtMs >= REPLACE_MS;
    if (before?.accountNonce === accountNonce && !isStuck) return before;
    const transfer = this.#whole(own);
    const fault = await this.#ask.railPreflight({ transfer, signature });
    if (fault !== null) return null;
    const replaced = before?.accountNonce === accountNonce ? before : null;
    const usual = await this.#ask.railFee({});
    const wanted = replaced === null ? usual : Math.max(usual, Number(raised(BigInt(replaced.fee))));
    const fee = Math.min(wanted, Number(this.#options.mostFeeWei));
    const fields = { accountNonce, fee, transfer, signature, replaced: replaced?.signed ?? null };
    const { signed } = await this.#ask.railEnvelope(fields);
    return { accountNonce, fee, signed, builtMs: nowMs, askedMs: nowMs };
  }

  async #accountNonceFor(nonce: string): Promise<number> {
    const others = [...this.#sent].filter(([each]) => each !== nonce).map(([, { accountNonce }]) => accountNonce);
    let free = await this.#ask.railNonce({});
    while (others.includes(free)) free++;
    return free;
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
