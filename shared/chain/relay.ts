/**
 * The answers of the chain to cashing in and out: USDC, the transfers that people have signed, and the transactions of
 * the key that pays for them. It keeps no rows and no account nonces: relayer.ts does, and stores each envelope before
 * it is sent.
 *
 * Invariants:
 *   RELAY-1  Only the relay's own bytes are sent: a call of the token, signed by the relayer's key for this chain.
 *   RELAY-2  The effect of a transaction counts while the chain has its block at that height. If a node is behind, or
 *            has forgotten, there is no answer rather than an older one.
 *   RELAY-3  `unused` is reported only as of a block that is not below any finalized block that was reported before.
 *   RELAY-4  With a node that hangs, no more than MOST_UNDER_WAY questions wait for it.
 */

import { keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerializedEIP1559 } from 'viem';
import { checkedHex } from '../base/hex.ts';
import { transferDigest } from '../crypto/eip3009.ts';
import type {
  AuthorizationState,
  BroadcastResult,
  Envelope,
  EnvelopeFields,
  PreflightFault,
  RailHead,
  RailQuestions,
  RailTransaction,
  SignedTransfer,
} from '../wire/railQuestions.ts';
import { BASE_FEES, raised, Tips } from './fees.ts';
import type { ChainKey } from './key.ts';
import { LogStretches } from './logStretches.ts';
import type { Block, ChainNode, Hex, PlacedLog, Receipt } from './node.ts';
import { AUTHORIZATION_CANCELLED, AUTHORIZATION_USED, isRevert, type RelayCall, RelayToken } from './relayToken.ts';
import { NodeUnreachable, RpcError } from './rpc.ts';

type RelayOptions = {
  readonly node: ChainNode;
  /** Null: the exchange has no relayer, and relays nothing. */
  readonly key: ChainKey | null;
  readonly chainId: number;
  /** The address in lower case. */
  readonly usdc: Hex;
  /** The highest price per unit of gas that a transaction may offer. */
  readonly mostFeeWei: bigint;
  /** The number of blocks of one search for an event: few nodes allow more than the default. */
  readonly searchBlocks?: number;
  readonly nowMs: () => number;
  /** The interval at which the newest blocks are asked for. */
  readonly headsMs?: number;
};

type RailHandlers = {
  readonly [N in keyof RailQuestions]: (ask: RailQuestions[N]['ask']) => Promise<RailQuestions[N]['answer']>;
};

const ZERO = `0x${'0'.repeat(40)}`;
/** Shorter than the time between two blocks of most chains. */
const HEADS_MS = 1000;
/**
 * The number of questions in one search for an authorization, and the number of blocks that are searched in all: nine
 * days of two seconds.
 */
const MOST_SEARCHES = 200;
const MOST_BLOCKS = 400_000;
const MOST_UNDER_WAY = 256;
/** The number of transactions whose authorization is remembered. */
const MOST_KNOWN = 10_000;

/** Texts by which nodes say that they already have a transaction or do not take it; any other text is a refusal. */
const KNOWN = /already known|already imported|known transaction/i;
const NONCE_TOO_LOW = /nonce too low|nonce is too low|old nonce/i;
const UNDERPRICED = /underpriced|less than block base fee|fee too low|max fee per gas/i;

type Heads = { readonly head: Block; readonly finalized: Block; readonly askedMs: number };

export class Relay {
  readonly handlers: RailHandlers = {
    railDomain: () => this.#bounded(() => this.#token.domain()),
    railHead: () => this.#bounded(() => this.#head()),
    railBalance: ({ address }) => this.#bounded(() => this.#token.balanceMicro(address)),
    railReachable: ({ address }) => this.#bounded(() => this.#isReachable(address)),
    railSigned: ({ address, digest, signature }) =>
      this.#bounded(() => this.#token.isSignedBy(checkedHex(address), checkedHex(digest), signature)),
    railPreflight: ({ transfer, signature }) => this.#bounded(() => this.#preflight(transfer, signature)),
    railSender: async () => this.#key.address,
    railNonce: () => this.#bounded(() => this.#options.node.transactionCount(this.#key.address, 'latest')),
    railFee: () => this.#bounded(() => this.#fee()),
    railEnvelope: (fields) => this.#bounded(() => this.#envelope(fields)),
    railBroadcast: ({ signed }) => this.#bounded(() => this.#broadcast(signed as TransactionSerializedEIP1559)),
    railTransaction: ({ txHash }) => this.#bounded(() => this.#transaction(checkedHex(txHash))),
    railAuthorization: ({ from, nonce, notBefore }) => this.#bounded(() => this.#authorization(from, nonce, notBefore)),
  };
  readonly #options: RelayOptions;
  readonly #token: RelayToken;
  readonly #tips: Tips;
  readonly #stretches: LogStretches;
  /** By owner and nonce: the block from which the search for its event continues. */
  readonly #searched = new Map<string, number>();
  /** By owner and nonce: the transaction that has used or cancelled it, as last seen. */
  readonly #known = new Map<string, Hex>();
  #heads: Heads | null = null;
  #asked: Promise<Heads> | null = null;
  #underWay = 0;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#tips = new Tips(options.chainId);
    this.#stretches = new LogStretches(options.node, options.nowMs, options.searchBlocks);
    this.#token = new RelayToken(options.node, options.usdc, options.chainId);
  }

  /** RELAY-4 */
  async #bounded<T>(answer: () => Promise<T>): Promise<T> {
    if (this.#underWay >= MOST_UNDER_WAY) throw new NodeUnreachable('too many questions wait for the node');
    this.#underWay++;
    try {
      return await answer();
    } finally {
      this.#underWay--;
    }
  }

  async #head(): Promise<RailHead> {
    const { head, finalized } = await this.#newest();
    return { block: head.number, finalizedBlock: finalized.number, finalizedSec: finalized.timestampSec };
  }

  async #isReachable(address: string): Promise<boolean> {
    if (address === ZERO || address === this.#token.address) return false;
    return !(await this.#token.isBlacklisted(address));
  }

  async #preflight(transfer: SignedTransfer, signature: string): Promise<PreflightFault | null> {
    const { node } = this.#options;
    const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = transfer;
    const token = this.#token;
    const { head } = await this.#newest();
    if (head.timestampSec <= validAfterSec || head.timestampSec >= validBeforeSec) return 'not_in_time';
    if (await token.isUsed(from, nonce, head.number)) return 'nonce_used';
    const stops = await Promise.all([token.isPaused(), token.isBlacklisted(from), token.isBlacklisted(to)]);
    if (stops.includes(true)) return 'blocked';
    const digest = transferDigest(await token.domain(), transfer);
    if (!(await token.isSignedBy(checkedHex(from), digest, signature))) return 'signature';
    if ((await token.balanceMicro(from)) < valueMicro) return 'insufficient_balance';
    try {
      await node.simulate({ from: this.#key.address, ...(await token.callFor(transfer, digest, signature)) });
      return null;
    } catch (error) {
      // The token accepts no signatures of contracts, or refuses for a reason that no view shows.
      if (isRevert(error)) return 'blocked';
      throw error;
    }
  }

  async #fee(): Promise<number> {
    const { node, mostFeeWei } = this.#options;
    const { baseFeeWei } = (await this.#newest()).head;
    const fee = BASE_FEES * baseFeeWei + this.#tips.usual(await node.priorityFeeWei());
    return Number(fee < mostFeeWei ? fee : mostFeeWei);
  }

  async #envelope({ accountNonce: nonce, fee, replaced, transfer, signature }: EnvelopeFields): Promise<Envelope> {
    const { chainId, mostFeeWei } = this.#options;
    const digest = transferDigest(await this.#token.domain(), transfer);
    const call: RelayCall = await this.#token.callFor(transfer, digest, signature);
    const tip = await this.#tip(replaced as TransactionSerializedEIP1559 | null);
    const maxFeePerGas = BigInt(fee) < mostFeeWei ? BigInt(fee) : mostFeeWei;
    const maxPriorityFeePerGas = tip < maxFeePerGas ? tip : maxFeePerGas;
    const fields = { chainId, nonce, ...call, gas: BigInt(call.gas), maxFeePerGas, maxPriorityFeePerGas };
    const { bytes: signed, hash: txHash } = await this.#key.sign(fields);
    const unsigned = JSON.stringify(fields, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    return { unsigned, signed, txHash };
  }

  /** Nodes require more of both prices before they replace a transaction. */
  async #tip(replaced: TransactionSerializedEIP1559 | null): Promise<bigint> {
    const usual = this.#tips.usual(await this.#options.node.priorityFeeWei());
    if (replaced === null) return usual;
    const before = parseTransaction(replaced).maxPriorityFeePerGas ?? 0n;
    const least = raised(before);
    return least > usual ? least : usual;
  }

  /** RELAY-1 */
  async #broadcast(signed: TransactionSerializedEIP1559): Promise<BroadcastResult> {
    if (!(await this.#isOwn(signed))) return 'refused';
    try {
      await this.#options.node.send(signed);
      return 'accepted';
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { message } = error;
      if (KNOWN.test(message)) return 'accepted';
      if (NONCE_TOO_LOW.test(message)) {
        // Some nodes refuse like this although they have put the transaction into a block themselves.
        const receipt = await this.#options.node.receipt(keccak256(signed));
        return receipt === null ? 'nonce_too_low' : 'accepted';
      }
      const isLow = this.#tips.refused(message, parseTransaction(signed).maxPriorityFeePerGas ?? 0n);
      return isLow || UNDERPRICED.test(message) ? 'underpriced' : 'refused';
    }
  }

  async #isOwn(signed: TransactionSerializedEIP1559): Promise<boolean> {
    const { chainId, usdc } = this.#options;
    try {
      const { to, chainId: signedFor } = parseTransaction(signed);
      const signer = await recoverTransactionAddress({ serializedTransaction: signed });
      return signer.toLowerCase() === this.#key.address && to?.toLowerCase() === usdc && signedFor === chainId;
    } catch {
      return false;
    }
  }

  /** RELAY-2 */
  async #transaction(txHash: Hex): Promise<RailTransaction | null> {
    const { node } = this.#options;
    const receipt = await node.receipt(txHash);
    const isThere = receipt !== null && (await node.block(receipt.blockNumber))?.hash === receipt.blockHash;
    if (!isThere) {
      const isKnown = receipt !== null || (await node.isKnown(txHash));
      return isKnown ? { txHash, status: 'pending', block: null, transfers: [], reason: null } : null;
    }
    const { blockNumber: block, isSuccess, logs } = receipt;
    if (!isSuccess) return { txHash, status: 'reverted', block, transfers: [], reason: null };
    const transfers = this.#token.transfersIn(logs);
    for (const { from, nonce } of transfers) if (nonce !== null) this.#remember(from, nonce, txHash);
    return { txHash, status: 'mined', block, transfers, reason: null };
  }

  /** RELAY-2, RELAY-3. The token says only whether a nonce is used; its events say how, and in which transaction. */
  async #authorization(from: string, nonce: string, notBefore: number): Promise<AuthorizationState> {
    const { node } = this.#options;
    const { head } = await this.#newest();
    if (head.number < notBefore) throw behind();
    if (!(await this.#token.isUsed(from, nonce, head.number))) return { state: 'unused' };
    const known = this.#known.get(`${from}:${nonce}`);
    const receipt = known === undefined ? null : await node.receipt(known);
    const event = receipt === null ? null : this.#eventIn(receipt, from, nonce);
    if (event !== null && (await node.block(receipt!.blockNumber))?.hash === receipt!.blockHash) {
      return { state: event, txHash: known!, block: receipt!.blockNumber };
    }
    const log = await this.#search(from, nonce, head.number);
    this.#remember(from, nonce, log.transactionHash);
    return { state: stateOf(log.topics[0]), txHash: log.transactionHash, block: log.blockNumber };
  }

  #eventIn({ logs, isSuccess }: Receipt, from: string, nonce: string): 'used' | 'cancelled' | null {
    const [, owner, word] = topicsOf(from, nonce);
    const found = logs.find(
      ({ address, topics: [event, ...rest] }) =>
        isSuccess && address === this.#token.address && EVENTS.includes(event) && rest[0] === owner && rest[1] === word,
    );
    return found === undefined ? null : stateOf(found.topics[0]);
  }

  /**
   * Searches from the newest block back, because a session is not old. If one look does not find it, the next look
   * continues.
   */
  async #search(from: string, nonce: string, head: number): Promise<PlacedLog> {
    const { node } = this.#options;
    const { address } = this.#token;
    const name = `${from}:${nonce}`;
    let toBlock = this.#searched.get(name) ?? head;
    this.#searched.delete(name);
    for (let searches = 0; searches < MOST_SEARCHES && toBlock >= Math.max(0, head - MOST_BLOCKS); searches++) {
      const fromBlock = Math.max(0, toBlock - this.#stretches.blocks + 1);
      const logs = await this.#stretches.ask({ address, topics: topicsOf(from, nonce) }, fromBlock, toBlock);
      if (logs === null) continue;
      const [log] = logs;
      if (log !== undefined) {
        if ((await node.block(log.blockNumber))?.hash !== log.blockHash) throw behind();
        return log;
      }
      toBlock = fromBlock - 1;
      if (searches === MOST_SEARCHES - 1) keep(this.#searched, name, toBlock);
    }
    throw new NodeUnreachable('the node does not find the event of a nonce that is used');
  }

  /** The newest and the final block; only one question for them is under way at a time. */
  #newest(): Promise<Heads> {
    const { nowMs, headsMs = HEADS_MS } = this.#options;
    const before = this.#heads;
    if (before !== null && nowMs() - before.askedMs < headsMs) return Promise.resolve(before);
    this.#asked ??= this.#askHeads().finally(() => {
      this.#asked = null;
    });
    return this.#asked;
  }

  /** A node that does not even have the block that another answer called final is behind. */
  async #askHeads(): Promise<Heads> {
    const { node, nowMs } = this.#options;
    // The domain shows that it is the right chain.
    await this.#token.domain();
    const askedMs = nowMs();
    const [head, finalized] = await Promise.all([node.block('latest'), node.block('finalized')]);
    if (head === null || finalized === null || finalized.number > head.number) throw behind();
    if (finalized.number < (this.#heads?.finalized.number ?? 0)) throw behind();
    this.#heads = { head, finalized, askedMs };
    return this.#heads;
  }

  get #key(): ChainKey {
    if (this.#options.key === null) throw new NodeUnreachable('RELAYER_KEY is not set');
    return this.#options.key;
  }

  #remember(from: string, nonce: string, txHash: Hex): void {
    keep(this.#known, `${from}:${nonce}`, txHash);
  }
}

/** If there are too many, the oldest entry is removed. */
function keep<V>(map: Map<string, V>, name: string, value: V): void {
  map.set(name, value);
  if (map.size > MOST_KNOWN) map.delete(map.keys().next().value!);
}

const EVENTS: readonly Hex[] = [AUTHORIZATION_USED, AUTHORIZATION_CANCELLED];

function topicsOf(from: string, nonce: string): [readonly Hex[], Hex, Hex] {
  return [EVENTS, `0x${from.slice(2).padStart(64, '0')}`, checkedHex(nonce)];
}

function stateOf(event: Hex): 'used' | 'cancelled' {
  return event === AUTHORIZATION_USED ? 'used' : 'cancelled';
}

function behind(): NodeUnreachable {
  return new NodeUnreachable('the node is behind');
}
