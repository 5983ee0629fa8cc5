/**
 * Proofs that a person has the key of a wallet (RULES.md 15.10): makes the message for signing, and checks the signed
 * message. Owner: the gateway thread.
 *
 * Invariants:
 *   PROOFS-1  A message is accepted only for a page of the exchange, its chain and the account that it was made for,
 *             and only once.
 */
import { ERRORS } from '../../shared/base/errors.ts';
import { toHex } from '../../shared/base/hex.ts';
import { isSignedBy, textDigest } from '../../shared/crypto/walletSignature.ts';
import type { Refusal } from '../base/refusal.ts';
import { hasWrongChecksum, parseMessage, type SignInMessage, writeMessage } from './signInMessage.ts';
import { NONCE_SEC, type NoncePurpose, WalletNonces } from './walletNonces.ts';

/** Wallets' clocks may differ from ours. */
const MAX_SKEW_MS = 60_000;

type WalletProofsOptions = {
  /** Chain id of the contract that orders are signed for. */
  readonly chainId: () => number;
  /** The origin of the exchange. */
  readonly publicUrl: () => string;
  /** True for the origin of a page of the exchange. */
  readonly isOwnPage: (origin: string) => boolean;
  readonly nonces?: WalletNonces;
  /** Asks a wallet that is a contract (EIP-1271). It rejects if there is no answer. */
  readonly isSignedByContract?: (address: string, digest: string, signature: string) => Promise<boolean>;
};

type OfferedMessage = { readonly nonce: string; readonly message: string; readonly expiresMs: number };

/** The act that a signature agrees to (NoncePurpose); `statement` is its text for the person. */
export type WalletPurpose = Pick<NoncePurpose, 'account' | 'act'> & { readonly statement: string };

export class WalletProofs {
  readonly #options: WalletProofsOptions;
  readonly #nonces: WalletNonces;

  constructor(options: WalletProofsOptions) {
    this.#options = options;
    this.#nonces = options.nonces ?? new WalletNonces();
  }

  /**
   * @param address in lower case
   * @param origin of the page that asks; an unknown or missing origin is replaced by our own
   */
  offer(address: string, origin: string, { account, act, statement }: WalletPurpose, nowMs: number): OfferedMessage {
    const { chainId, publicUrl, isOwnPage } = this.#options;
    const uri = isOwnPage(origin) ? origin : publicUrl();
    const purpose = { address, domain: new URL(uri).host, chainId: chainId(), account, act };
    const nonce = this.#nonces.issue(purpose, nowMs);
    const expiresMs = (Math.floor(nowMs / 1000) + NONCE_SEC) * 1000;
    const times = { issuedMs: nowMs, expiresMs, notBeforeMs: null };
    const message = writeMessage({ ...purpose, statement, uri, nonce, ...times });
    return { nonce, message, expiresMs };
  }

  /** The wallet that has signed, in lower case, or the reason why the message is refused. */
  check(text: string, signature: string, purpose: WalletPurpose, nowMs: number): string | Refusal {
    const open = this.#open(text, purpose, nowMs);
    if ('row' in open) return open;
    if (!isSignedBy(open.address, text, signature)) return NOT_SIGNED;
    return this.#use(open, nowMs);
  }

  /** Like `check`, but also accepts a wallet that is a contract. */
  async checkAnyWallet(
    text: string,
    signature: string,
    purpose: WalletPurpose,
    nowMs: number,
  ): Promise<string | Refusal> {
    const { isSignedByContract = async () => false } = this.#options;
    const open = this.#open(text, purpose, nowMs);
    if ('row' in open) return open;
    if (isSignedBy(open.address, text, signature)) return this.#use(open, nowMs);
    try {
      if (!(await isSignedByContract(open.address, toHex(textDigest(text)), signature))) return NOT_SIGNED;
    } catch {
      return { row: ERRORS.PROVIDER_UNAVAILABLE, message: 'the chain does not answer' };
    }
    // PROOFS-1: the message may have been used meanwhile.
    const still = this.#open(text, purpose, nowMs);
    if ('row' in still) return still;
    return this.#use(still, nowMs);
  }

  #use({ nonce, address }: SignInMessage, nowMs: number): string {
    this.#nonces.use(nonce, nowMs);
    return address;
  }

  /** The message, if it counts once it is signed. */
  #open(text: string, { account, act, statement }: WalletPurpose, nowMs: number): SignInMessage | Refusal {
    const message = parseMessage(text);
    if (message === null) return refused(hasWrongChecksum(text) ? 'checksum' : 'form');
    const fault = this.#faultOf(message, nowMs);
    if (fault !== null) return refused(fault);
    // The person must have been shown the change; a page may word its sign-in freely.
    if (act !== '' && message.statement !== statement) return refused('statement');
    const { address, domain, chainId, nonce } = message;
    const purpose: NoncePurpose = { address, domain, chainId, account, act };
    const state = this.#nonces.stateOf(nonce, purpose, nowMs);
    if (state === 'good') return message;
    return { row: state === 'used' ? ERRORS.NONCE_USED : ERRORS.INVALID_NONCE, details: { step: 'nonce' } };
  }

  /** The first rule that the message breaks; null for none. */
  #faultOf({ domain, uri, chainId, issuedMs, expiresMs, notBeforeMs }: SignInMessage, nowMs: number): string | null {
    if (!URL.canParse(uri) || !this.#isOwn(new URL(uri))) return 'uri';
    if (new URL(uri).host !== domain) return 'domain';
    if (chainId !== this.#options.chainId()) return 'chain_id';
    if (issuedMs > nowMs + MAX_SKEW_MS || issuedMs <= nowMs - NONCE_SEC * 1000 - MAX_SKEW_MS) return 'issued_at';
    if (expiresMs !== null && expiresMs <= nowMs) return 'expiration_time';
    if (notBeforeMs !== null && notBeforeMs > nowMs + MAX_SKEW_MS) return 'not_before';
    return null;
  }

  #isOwn({ origin }: URL): boolean {
    return origin === this.#options.publicUrl() || this.#options.isOwnPage(origin);
  }
}

const NOT_SIGNED: Refusal = { row: ERRORS.INVALID_HMAC_SIGNATURE, details: { step: 'signature' } };

function refused(rule: string): Refusal {
  return { row: ERRORS.VALIDATION_ERROR, message: 'invalid message', details: { field: 'message', rule } };
}
