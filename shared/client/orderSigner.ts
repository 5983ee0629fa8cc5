/** Signs orders with a private key. Signatures are deterministic: the same draft and salt give the same order. */
import { toHex } from '../base/hex.ts';
import { type Eip712Domain, hasherFor, type OrderHasher, ZERO_ADDRESS } from '../crypto/eip712.ts';
import { type Keccak256, keccak256 } from '../crypto/keccak.ts';
import { draftOrder, type OrderDraft, type OrderIntent, type SignedOrder, type SigningOptions } from './order.ts';
import { digestOfDraft, isSameDomain, type OrderSigning, partiesOf, randomSalt } from './orderSigning.ts';
import { addressOf, privateKeyBytes, signDigest } from './privateKey.ts';

/** Signs orders with one private key, for one signing domain at a time. One signer serves any number of orders. */
export class OrderSigner implements OrderSigning {
  readonly address: string;
  readonly #privateKey: Uint8Array;
  readonly #keccak: Keccak256;
  #domain: Eip712Domain;
  #hasher: OrderHasher;

  constructor(privateKey: string, domain: Eip712Domain, keccak: Keccak256 = keccak256) {
    this.#privateKey = privateKeyBytes(privateKey);
    this.address = addressOf(privateKey);
    this.#keccak = keccak;
    this.#domain = domain;
    this.#hasher = hasherFor(domain, keccak);
  }

  /** Changes the domain of later signatures. @returns whether it differs from the one before. */
  useDomain(domain: Eip712Domain): boolean {
    if (isSameDomain(domain, this.#domain)) return false;
    this.#domain = domain;
    this.#hasher = hasherFor(domain, this.#keccak);
    return true;
  }

  sign(draft: OrderDraft, options: SigningOptions = {}): SignedOrder {
    const salt = options.salt ?? randomSalt();
    const parties = partiesOf(this.address, options);
    const digest = digestOfDraft(this.#hasher, draft, { salt, ...parties });
    const signature = signDigest(digest, this.#privateKey);
    const body = { ...draft, ...parties, taker: ZERO_ADDRESS, salt, signature };
    return { body, orderHash: toHex(digest) };
  }
}

/** Signs one order in one call; OrderSigner is for many. */
export function signOrder(
  { privateKey, maker, salt, ...intent }: OrderIntent & SigningOptions & { privateKey: string },
  domain: Eip712Domain,
): SignedOrder {
  return new OrderSigner(privateKey, domain).sign(draftOrder(intent), { maker, salt });
}
