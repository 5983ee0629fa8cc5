/**
 * Signs orders with an account that signs typed data by itself: a viem account, a hardware wallet, or a key in a vault.
 * This code never sees the private key.
 */
import { toHex } from '../base/hex.ts';
import { checksumAddress } from '../crypto/checksumAddress.ts';
import { type Eip712Domain, hasherFor, type OrderHasher, ZERO_ADDRESS } from '../crypto/eip712.ts';
import type { OrderDraft, SignedOrder, SigningOptions } from './order.ts';
import {
  digestOfDraft,
  isSameDomain,
  type OrderSigning,
  partiesOf,
  randomSalt,
  type TypedOrder,
  typedOrder,
} from './orderSigning.ts';

/** Wallets show this and sign it (EIP-712): an order, or a transfer of USDC. */
export type TypedData = {
  readonly domain: Readonly<Record<string, unknown>>;
  readonly types: Readonly<Record<string, unknown>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
};

/** A viem account fits, and so does anything that signs the data of `eth_signTypedData_v4`. */
export type TypedDataAccount = {
  readonly address: string;
  signTypedData(data: TypedData): Promise<string>;
};

/** r, s and v: 65 bytes. */
const SIGNATURE_FORM = /^0x[0-9a-fA-F]{130}$/;

export class AccountSigner implements OrderSigning {
  readonly address: string;
  readonly #sign: (data: TypedOrder) => Promise<string>;
  #domain: Eip712Domain;
  #hasher: OrderHasher;

  constructor(account: TypedDataAccount, domain: Eip712Domain) {
    this.address = checksumAddress(account.address.toLowerCase());
    this.#sign = (data) => account.signTypedData(data);
    this.#domain = domain;
    this.#hasher = hasherFor(domain);
  }

  useDomain(domain: Eip712Domain): boolean {
    if (isSameDomain(domain, this.#domain)) return false;
    this.#domain = domain;
    this.#hasher = hasherFor(domain);
    return true;
  }

  /** Rejects with the account's error, or if the result is not a key's signature (65 bytes). */
  async sign(draft: OrderDraft, options: SigningOptions = {}): Promise<SignedOrder> {
    const signers = { salt: options.salt ?? randomSalt(), ...partiesOf(this.address, options) };
    const unsigned = { ...draft, ...signers, taker: ZERO_ADDRESS };
    const orderHash = toHex(digestOfDraft(this.#hasher, draft, signers));
    const signature = await this.#sign(typedOrder(unsigned, this.#domain));
    if (!SIGNATURE_FORM.test(signature)) throw new Error('the account did not give a signature of 65 bytes');
    return { body: { ...unsigned, signature }, orderHash };
  }
}
