/**
 * The addresses from which a valid signature has come: they may use the connections that are kept in reserve. Each
 * account has space for the few addresses that it used last, so one account with many addresses cannot use up the
 * reserve. Of very many accounts those that signed last have one.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SIGNEDADDRESSES-1  At most `mostSigners` accounts and keys have an entry; the account that signed longest ago goes.
 */

/** An account, or the administrator. */
type Signer = string | number;

const ADDRESSES_PER_SIGNER = 8;
/** Some 500 bytes each. */
const MOST_SIGNERS = 250_000;
/** While there is space for everyone, a busy key is checked this often. */
const SAMPLE_MS = 100;

export class SignedAddresses {
  readonly #mostSigners: number;
  /** By signer, the one that signed last as the last; of each the most recently used address last. */
  readonly #bySigner = new Map<Signer, string[]>();
  /** The number of signers of each address. */
  readonly #signers = new Map<string, number>();
  readonly #lookedAtMs = new Map<string, number>();

  constructor(mostSigners = MOST_SIGNERS) {
    this.#mostSigners = mostSigners;
  }

  has(address: string): boolean {
    return this.#signers.has(address);
  }

  /** True if it is time to note the address of this key again; finding out an address is not free. */
  isDue(keyId: string, nowMs: number): boolean {
    if (nowMs - (this.#lookedAtMs.get(keyId) ?? Number.NEGATIVE_INFINITY) < SAMPLE_MS) return false;
    // A key that is looked at once more costs little.
    if (this.#lookedAtMs.size >= this.#mostSigners) this.#lookedAtMs.clear();
    this.#lookedAtMs.set(keyId, nowMs);
    return true;
  }

  note(signer: Signer, address: string): void {
    const addresses = this.#bySigner.get(signer) ?? [];
    this.#bySigner.delete(signer);
    if (this.#bySigner.size >= this.#mostSigners) this.#forgetOldest();
    this.#bySigner.set(signer, addresses);
    const at = addresses.indexOf(address);
    if (at >= 0) addresses.splice(at, 1);
    else this.#signers.set(address, (this.#signers.get(address) ?? 0) + 1);
    addresses.push(address);
    if (addresses.length > ADDRESSES_PER_SIGNER) this.#forget(addresses.shift()!);
  }

  #forgetOldest(): void {
    const [[signer, addresses]] = this.#bySigner;
    this.#bySigner.delete(signer);
    for (const address of addresses) this.#forget(address);
  }

  #forget(address: string): void {
    const others = this.#signers.get(address)! - 1;
    if (others === 0) this.#signers.delete(address);
    else this.#signers.set(address, others);
  }
}
