/**
 * The addresses from which a valid signature has come: they may use the connections that are kept in reserve. Each
 * account has space for the few addresses that it used last, so one account with many addresses cannot use up the
 * reserve.
 * Owner: the gateway thread.
 */

/** An account, or the administrator. */
type Signer = string | number;

const ADDRESSES_PER_SIGNER = 8;
/** While there is space for everyone, a busy key is checked this often. */
const SAMPLE_MS = 100;

export class SignedAddresses {
  /** By signer, the most recently used address last. There are as many entries as accounts with keys. */
  readonly #bySigner = new Map<Signer, string[]>();
  /** The number of signers of each address. */
  readonly #signers = new Map<string, number>();
  readonly #lookedAtMs = new Map<string, number>();

  has(address: string): boolean {
    return this.#signers.has(address);
  }

  /** True if it is time to note the address of this key again; finding out an address is not free. */
  isDue(keyId: string, nowMs: number): boolean {
    if (nowMs - (this.#lookedAtMs.get(keyId) ?? Number.NEGATIVE_INFINITY) < SAMPLE_MS) return false;
    this.#lookedAtMs.set(keyId, nowMs);
    return true;
  }

  note(signer: Signer, address: string): void {
    let addresses = this.#bySigner.get(signer);
    if (addresses === undefined) {
      addresses = [];
      this.#bySigner.set(signer, addresses);
    }
    const at = addresses.indexOf(address);
    if (at >= 0) addresses.splice(at, 1);
    else this.#signers.set(address, (this.#signers.get(address) ?? 0) + 1);
    addresses.push(address);
    if (addresses.length > ADDRESSES_PER_SIGNER) this.#forget(addresses.shift()!);
  }

  #forget(address: string): void {
    const others = this.#signers.get(address)! - 1;
    if (others === 0) this.#signers.delete(address);
    else this.#signers.set(address, others);
  }
}
