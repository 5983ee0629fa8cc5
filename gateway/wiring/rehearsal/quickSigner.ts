/**
 * Signs orders within microseconds with a key that is no secret: the key is written here, and the nonces of its
 * signatures are 1, 2, 3 and so on, which gives the key away. It signs only for the accounts of a rehearsal, which are
 * thrown away with it. So a signature takes no operation on the curve, and a rehearsal spends its time on the code that
 * it rehearses.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { toHex } from '../../../shared/base/hex.ts';
import type { OrderDraft, SignedOrder } from '../../../shared/client/order.ts';
import { digestOfDraft } from '../../../shared/client/orderSigning.ts';
import { addressOf } from '../../../shared/client/privateKey.ts';
import { type OrderHasher, ZERO_ADDRESS } from '../../../shared/crypto/eip712.ts';

/** The nonces differ, because a batch with equal points is checked by other code. */
const NONCES = 64;
const V_OFFSET = 27n;
const WORD_BITS = 256n;
const WORD_DIGITS = 64;
const V_DIGITS = 2;

/** The point R of a nonce: its x, the parity of its y, and the inverse of the nonce. */
type Nonce = { readonly r: bigint; readonly parity: bigint; readonly inverse: bigint };

export class QuickSigner {
  readonly address: string;
  readonly #key: bigint;
  readonly #hasher: OrderHasher;
  readonly #nonces: readonly Nonce[];
  #count = 0;

  constructor(key: number, hasher: OrderHasher) {
    this.address = addressOf(`0x${key.toString(16).padStart(WORD_DIGITS, '0')}`);
    this.#key = BigInt(key);
    this.#hasher = hasher;
    this.#nonces = smallNonces();
  }

  /** Every order needs a salt of its own. */
  sign(draft: OrderDraft, salt = String(++this.#count)): SignedOrder {
    const digest = digestOfDraft(this.#hasher, draft, { salt, maker: this.address, signer: this.address });
    const signature = this.#signed(BigInt(toHex(digest)));
    const body = { ...draft, maker: this.address, signer: this.address, taker: ZERO_ADDRESS, salt, signature };
    return { body, orderHash: toHex(digest) };
  }

  #signed(digest: bigint): string {
    const { Fn } = secp256k1.Point;
    const { r, parity, inverse } = this.#nonces[this.#count % NONCES];
    const s = (inverse * (digest + r * this.#key)) % Fn.ORDER;
    // Of the two signatures of a nonce the one with the lower s counts; the other has the other parity.
    const isLow = 2n * s < Fn.ORDER;
    const v = V_OFFSET + (isLow ? parity : 1n - parity);
    const rs = (r << WORD_BITS) | (isLow ? s : Fn.ORDER - s);
    return `0x${rs.toString(16).padStart(2 * WORD_DIGITS, '0')}${v.toString(16).padStart(V_DIGITS, '0')}`;
  }
}

function smallNonces(): Nonce[] {
  const { BASE, Fn } = secp256k1.Point;
  const nonces: Nonce[] = [];
  for (let point = BASE; nonces.length < NONCES; point = point.add(BASE)) {
    const { x, y } = point.toAffine();
    nonces.push({ r: Fn.create(x), parity: y & 1n, inverse: Fn.inv(BigInt(nonces.length + 1)) });
  }
  return nonces;
}
