/**
 * Signs the orders of traders as the client's signer does, byte for byte, but by libsecp256k1, in a sixth of the time.
 * Both derive the nonce of a signature from key and digest (RFC 6979).
 */
import { toHex } from '../../shared/base/hex.ts';
import type { OrderDraft, SignedOrder, SigningOptions } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import {
  digestOfDraft,
  isSameDomain,
  type OrderSigning,
  partiesOf,
  randomSalt,
} from '../../shared/client/orderSigning.ts';
import { privateKeyBytes } from '../../shared/client/privateKey.ts';
import { type Eip712Domain, hasherFor, type OrderHasher, ZERO_ADDRESS } from '../../shared/crypto/eip712.ts';
import { loadSecp256k1 } from './secp256k1.ts';

const V_OFFSET = 27;

/** A signer that answers at once. */
export type QuickOrderSigning = Pick<OrderSigner, keyof OrderSigning>;

type Library = ReturnType<typeof loadSecp256k1>;

class TraderSigner implements QuickOrderSigning {
  readonly address: string;
  readonly #library: Library;
  readonly #privateKey: Uint8Array;
  #domain: Eip712Domain;
  #hasher: OrderHasher;

  constructor(library: Library, address: string, privateKey: string, domain: Eip712Domain) {
    this.#library = library;
    this.address = address;
    this.#privateKey = privateKeyBytes(privateKey);
    this.#domain = domain;
    this.#hasher = hasherFor(domain);
  }

  useDomain(domain: Eip712Domain): boolean {
    if (isSameDomain(domain, this.#domain)) return false;
    this.#domain = domain;
    this.#hasher = hasherFor(domain);
    return true;
  }

  sign(draft: OrderDraft, options: SigningOptions = {}): SignedOrder {
    const salt = options.salt ?? randomSalt();
    const parties = partiesOf(this.address, options);
    const digest = digestOfDraft(this.#hasher, draft, { salt, ...parties });
    const { signature, recid } = this.#library.ecdsaSign(digest, this.#privateKey);
    const signed = toHex(Uint8Array.of(...signature, V_OFFSET + recid));
    return { body: { ...draft, ...parties, taker: ZERO_ADDRESS, salt, signature: signed }, orderHash: toHex(digest) };
  }
}

const library = loaded();

/** Where the library has no binary, the client's own signer. */
export function traderSigner(privateKey: string, domain: Eip712Domain): QuickOrderSigning {
  const signer = new OrderSigner(privateKey, domain);
  return library === null ? signer : new TraderSigner(library, signer.address, privateKey, domain);
}

function loaded(): Library | null {
  try {
    return loadSecp256k1();
  } catch {
    return null;
  }
}
