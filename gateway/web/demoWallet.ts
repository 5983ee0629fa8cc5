/**
 * A wallet for visitors of a demo who have none: its key is made and kept by this browser. It holds play money only, so
 * a key that any script of the page could read is good enough; it is no way to keep money.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { toHex } from '../../shared/base/hex.ts';
import { addressOf, OrderSigner } from '../../shared/client/order.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import type { Wallet } from './wallet.ts';

const KEPT = 'demo-key';
const V_OFFSET = 27;
const SIGNATURE_BYTES = 65;

export function openWallet(): Wallet {
  const privateKey = localStorage.getItem(KEPT) ?? newKey();
  return {
    kind: 'demo',
    address: addressOf(privateKey),
    signMessage: async (text) => personalSignature(text, privateKey),
    signOrder: async (draft, domain) => new OrderSigner(privateKey, domain).sign(draft).body,
  };
}

function newKey(): string {
  const key = toHex(secp256k1.utils.randomSecretKey());
  localStorage.setItem(KEPT, key);
  return key;
}

/** EIP-191: the length is that of the text in bytes. */
function personalSignature(text: string, privateKey: string): string {
  const encoder = new TextEncoder();
  const message = encoder.encode(text);
  const prefix = encoder.encode(`\x19Ethereum Signed Message:\n${message.length}`);
  const digest = keccak256(new Uint8Array([...prefix, ...message]));
  const key = Uint8Array.from(privateKey.slice(2).match(/../g)!, (pair) => Number.parseInt(pair, 16));
  const recoverable = secp256k1.sign(digest, key, { prehash: false, lowS: true, format: 'recovered' });
  const signature = new Uint8Array(SIGNATURE_BYTES);
  signature.set(recoverable.subarray(1));
  signature[SIGNATURE_BYTES - 1] = V_OFFSET + recoverable[0];
  return toHex(signature);
}
