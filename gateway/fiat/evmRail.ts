/**
 * The rail on a chain: USDC as it is there (RULES.md 16.46). All knowledge of the chain comes from the settlement
 * thread (shared/chain/relay.ts), which also has the relayer's key; account nonces and bytes are rows of
 * control.db, which shared/chain/relayer.ts writes here.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   EVMRAIL-1  If the thread does not answer, the rail is down (RAIL-3).
 *   EVMRAIL-2  A nonce is never reported as unused as of a block below an already reported finalized block, even if the
 *              thread that reported it has ended.
 *   EVMRAIL-3  A session's USDC is never in the exchange's books: it moves between wallets.
 */
import { errorMessage } from '../../shared/base/thrown.ts';
import { isFinal } from '../../shared/chain/depth.ts';
import { raisedUpTo } from '../../shared/chain/fees.ts';
import { Relayer } from '../../shared/chain/relayer.ts';
import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import { type TransferAuthorization, transferIn } from '../../shared/crypto/eip3009.ts';
import type {
  AuthorizationState,
  BroadcastResult,
  Envelope,
  EnvelopeFields,
  PreflightFault,
  RailHead,
  RailQuestions,
  RailTransaction,
} from '../../shared/wire/railQuestions.ts';
import { type Payer, type PayerOffice, RailDown, type RelayRail } from './rail.ts';

type Asks = {
  ask<N extends keyof RailQuestions>(name: N, ask: RailQuestions[N]['ask']): Promise<RailQuestions[N]['answer']>;
};

type EvmRailOptions = {
  /** To the settlement thread; it rejects when there is no answer. */
  readonly link: Asks;
  /** False for the wallet of an account that may not withdraw. */
  readonly mayPay: (address: string) => boolean;
  /** The most that the relayer pays for a unit of gas. */
  readonly mostFeeWei: number;
  readonly lookPauseMs?: number;
};

/** About a block of most chains. */
const LOOK_PAUSE_MS = 2000;

export class EvmRail implements RelayRail {
  readonly name = 'evm';
  readonly takesBlocksBack = true;
  readonly lookPauseMs: number;
  readonly #options: EvmRailOptions;
  #domain: Eip712Domain | null = null;
  /** The highest finalized block reported so far. */
  #finalizedBlock = 0;

  constructor(options: EvmRailOptions) {
    this.#options = options;
    this.lookPauseMs = options.lookPauseMs ?? LOOK_PAUSE_MS;
  }

  /** Asked only once: a token's domain never changes. */
  async domain(): Promise<Eip712Domain> {
    this.#domain ??= await this.#ask('railDomain', {});
    return this.#domain;
  }

  isReachable(address: string): Promise<boolean> {
    return this.#ask('railReachable', { address });
  }

  balanceMicro(address: string): Promise<number> {
    return this.#ask('railBalance', { address });
  }

  isSignedBy(address: string, digest: string, signature: string): Promise<boolean> {
    return this.#ask('railSigned', { address, digest, signature });
  }

  async preflight(transfer: TransferAuthorization, signature: string): Promise<PreflightFault | null> {
    if (!this.#options.mayPay(transfer.from)) return 'blocked';
    return this.#ask('railPreflight', { transfer: transferIn(transfer), signature });
  }

  async head(): Promise<RailHead> {
    const head = await this.#ask('railHead', {});
    this.#finalizedBlock = Math.max(this.#finalizedBlock, head.finalizedBlock);
    return head;
  }

  sender(): Promise<string> {
    return this.#ask('railSender', {});
  }

  accountNonce(): Promise<number> {
    return this.#ask('railNonce', {});
  }

  fee(): Promise<number> {
    return this.#ask('railFee', {});
  }

  bumpedFee(fee: number): number | null {
    return raisedUpTo(fee, this.#options.mostFeeWei);
  }

  envelope({ transfer, ...fields }: EnvelopeFields): Promise<Envelope> {
    return this.#ask('railEnvelope', { transfer: transferIn(transfer), ...fields });
  }

  broadcast(signed: string): Promise<BroadcastResult> {
    return this.#ask('railBroadcast', { signed });
  }

  transaction(txHash: string): Promise<RailTransaction | null> {
    return this.#ask('railTransaction', { txHash });
  }

  authorization(from: string, nonce: string): Promise<AuthorizationState> {
    return this.#ask('railAuthorization', { from, nonce, notBefore: this.#finalizedBlock });
  }

  /** EVMRAIL-3: the USDC already belongs to the owner; it enters the books by a deposit that the owner signs. */
  async creditDeposit(txHash: string, wallet: string): Promise<number | null> {
    const [transaction, head] = [await this.transaction(txHash), await this.head()];
    if (transaction?.status !== 'mined' || !isFinal(transaction.block!, head)) return null;
    const arrived = transaction.transfers.filter(({ to }) => to === wallet);
    return arrived.length === 0 ? null : arrived.reduce((sum, { valueMicro }) => sum + valueMicro, 0);
  }

  payer(office: PayerOffice): Payer {
    return new Relayer({ ...office, rail: this });
  }

  /** EVMRAIL-1 */
  async #ask<N extends keyof RailQuestions>(
    name: N,
    ask: RailQuestions[N]['ask'],
  ): Promise<RailQuestions[N]['answer']> {
    const { link } = this.#options;
    try {
      return await link.ask(name, ask);
    } catch (error) {
      throw new RailDown(errorMessage(error));
    }
  }
}
