/** Signed buys of one token for half a USDC each, for benches that write commands into a shard themselves. */
import { assert } from '../shared/base/assert.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/base/hex.ts';
import type { OrderSigner } from '../shared/client/orderSigner.ts';

const SIGNATURE_BYTES = 65;
export const TOKENS = 1_000_000;
export const USDC = 500_000;

export type SignedOrder = { readonly salt: number; readonly maker: Uint8Array; readonly signature: Uint8Array };

export function signOrder(signer: OrderSigner, salt: number): SignedOrder {
  const draft = {
    market_id: '',
    token_id: '7',
    side: 'BUY',
    maker_amount: String(USDC),
    taker_amount: String(TOKENS),
    nonce: 0,
    fee_rate_bps: 0,
    outcome_index: 0,
  } as const;
  const { body } = signer.sign(draft, { salt: String(salt) });
  return { salt, maker: bytesOf(signer.address, ADDRESS_BYTES), signature: bytesOf(body.signature, SIGNATURE_BYTES) };
}

export function bytesOf(hex: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  assert(tryParseHex(hex, length, bytes, 0), 'bench: hex of the stated length');
  return bytes;
}
