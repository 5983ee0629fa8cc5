/**
 * The signature by which a wallet sends the USDC of an off-ramp (EIP-3009, RULES.md 16.12). A wallet shows what it
 * signs to a person; a private key cannot, so what the exchange offers is compared here with what the caller wants.
 */
import type { FiatTransfer } from '../api/fiat.ts';
import { HASH_BYTES, tryParseHex } from '../base/hex.ts';
import { type TransferAuthorization, transferDigest } from '../crypto/eip3009.ts';
import type { TypedDataAccount } from './accountSigner.ts';
import { addressOf, privateKeyBytes, signDigest } from './privateKey.ts';

/** A private key, an account of viem, or anything that signs the data of `eth_signTypedData_v4`. */
export type TransferWallet = string | TypedDataAccount;

/** @throws Error where there is nothing to sign, or where it would not be this wallet's USDC. */
export async function signTransfer(transfer: FiatTransfer, wallet: TransferWallet): Promise<string> {
  const { typed_data, authorization, can_submit, message } = transfer;
  if (typed_data === null || authorization === null || !can_submit) throw new Error(`nothing to sign now: ${message}`);
  const digest = transferDigest(typed_data.domain, transferOf(typed_data.message));
  if (digest !== authorization.digest) throw new Error('the digest is not that of the transfer: nothing is signed');
  const address = typeof wallet === 'string' ? addressOf(wallet) : wallet.address;
  if (typed_data.message.from.toLowerCase() !== address.toLowerCase()) {
    throw new Error(`the transfer is from ${typed_data.message.from}, and this wallet is ${address}`);
  }
  if (typeof wallet !== 'string') return wallet.signTypedData(typed_data);
  const bytes = new Uint8Array(HASH_BYTES);
  tryParseHex(digest, HASH_BYTES, bytes, 0);
  return signDigest(bytes, privateKeyBytes(wallet));
}

type Message = NonNullable<FiatTransfer['typed_data']>['message'];

function transferOf({ from, to, value, validAfter, validBefore, nonce }: Message): TransferAuthorization {
  const [valueMicro, validAfterSec, validBeforeSec] = [Number(value), Number(validAfter), Number(validBefore)];
  return { from, to, valueMicro, validAfterSec, validBeforeSec, nonce };
}
