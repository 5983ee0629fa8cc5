/**
 * Nonces of messages that wallets sign (RULES.md 15.10). A nonce's MAC covers its purpose and time of issue, so nonces
 * need not be stored before they are used: a flood of requests for nonces uses no memory. Only a nonce that came back
 * with a valid signature is remembered, until it expires.
 *
 *   second of issue (4) | random (12) | MAC over both and the purpose (16), in hex
 *
 * Owner: the gateway thread; the key is made at the start of the process, so a restart voids all issued nonces.
 *
 * Invariants:
 *   WALLETNONCES-1  A nonce is used once, within NONCE_SEC of its issue.
 *   WALLETNONCES-2  At most MAX_USED are remembered. At the bound all issued nonces become void at once, so that none
 *                   can be used twice.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** A nonce is bound to all of this: one for an address, page, chain or account is useless for another. */
export type NoncePurpose = {
  /** 0x and 40 lowercase hex digits. */
  readonly address: string;
  readonly domain: string;
  readonly chainId: number;
  /** The account that is changed; 0 for a sign-in. */
  readonly account: number;
  /** The change with all its parameters; empty for a sign-in. */
  readonly act: string;
};

export const NONCE_SEC = 300;
const RANDOM_BYTES = 12;
const HEAD_BYTES = 4 + RANDOM_BYTES;
const MAC_BYTES = 16;
const FORM = new RegExp(`^[0-9a-f]{${2 * (HEAD_BYTES + MAC_BYTES)}}$`);
const MAX_USED = 100_000;

export class WalletNonces {
  readonly #maxUsed: number;
  #key = randomBytes(32);
  /** The second of issue by nonce, in the order in which they were used. */
  readonly #used = new Map<string, number>();

  constructor(maxUsed = MAX_USED) {
    this.#maxUsed = maxUsed;
  }

  issue(purpose: NoncePurpose, nowMs: number): string {
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(Math.floor(nowMs / 1000));
    randomBytes(RANDOM_BYTES).copy(head, 4);
    return Buffer.concat([head, this.#macOf(head, purpose)]).toString('hex');
  }

  /** A nonce is good if it was issued for this purpose, and neither used nor too old. */
  stateOf(nonce: string, purpose: NoncePurpose, nowMs: number): 'good' | 'used' | 'unknown' {
    if (!FORM.test(nonce)) return 'unknown';
    const bytes = Buffer.from(nonce, 'hex');
    const head = bytes.subarray(0, HEAD_BYTES);
    if (!timingSafeEqual(bytes.subarray(HEAD_BYTES), this.#macOf(head, purpose))) return 'unknown';
    if (isOld(head.readUInt32BE(), nowMs)) return 'unknown';
    return this.#used.has(nonce) ? 'used' : 'good';
  }

  /** The nonce is good, and came with a right signature. */
  use(nonce: string, nowMs: number): void {
    this.#dropOld(nowMs);
    if (this.#used.size >= this.#maxUsed) {
      this.#key = randomBytes(32);
      this.#used.clear();
    }
    this.#used.set(nonce, Number.parseInt(nonce.slice(0, 8), 16));
  }

  #macOf(head: Buffer, { address, domain, chainId, account, act }: NoncePurpose): Buffer {
    const purpose = JSON.stringify([address, domain, chainId, account, act]);
    return createHmac('sha256', this.#key).update(head).update(purpose).digest().subarray(0, MAC_BYTES);
  }

  #dropOld(nowMs: number): void {
    for (const [nonce, issuedSec] of this.#used) {
      if (!isOld(issuedSec, nowMs)) return;
      this.#used.delete(nonce);
    }
  }
}

function isOld(issuedSec: number, nowMs: number): boolean {
  return nowMs >= (issuedSec + NONCE_SEC) * 1000;
}
