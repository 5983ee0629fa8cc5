/**
 * A wallet for visitors of a demo who have none: this browser makes its key and keeps it. It holds only play money, so
 * a key that any script of the page could read is good enough; it is no way to keep real money.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { toHex } from '../../../shared/base/hex.ts';
import { signTransfer } from '../../../shared/client/fiatSigning.ts';
import { OrderSigner } from '../../../shared/client/orderSigner.ts';
import { addressOf, signText } from '../../../shared/client/privateKey.ts';
import { read, write } from './storage.ts';
import type { Wallet } from './wallet.ts';

const KEPT = 'demo-key';

export function openWallet(): Wallet {
  const privateKey = read(KEPT) ?? newKey();
  return {
    kind: 'demo',
    address: addressOf(privateKey),
    signMessage: async (text) => signText(text, privateKey),
    signOrder: async (draft, domain) => new OrderSigner(privateKey, domain).sign(draft).body,
    signTransfer: (transfer) => signTransfer(transfer, privateKey),
  };
}

function newKey(): string {
  const key = toHex(secp256k1.utils.randomSecretKey());
  write(KEPT, key);
  return key;
}
