/**
 * A key that signs transactions: from 32 bytes in hex, or from an encrypted JSON keystore of version 3 (scrypt and
 * AES-128-CTR, as wallets write it). The secret stays inside the object and is in no error.
 */
import { createDecipheriv, scryptSync, timingSafeEqual } from 'node:crypto';
import { keccak256 as keccakOf } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { keccak256 } from '../crypto/keccak.ts';
import type { Hex } from './node.ts';

/** A transaction of EIP-1559. */
type Unsigned = {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
};
type Signed = { readonly bytes: Hex; readonly hash: Hex };

export type ChainKey = { readonly address: Hex; sign(transaction: Unsigned): Promise<Signed> };

/** Memory that the derivation of a keystore's key may take: that of the strongest that wallets write. */
const MOST_SCRYPT_BYTES = 2 ** 29;
const REFUSED = 'the keystore cannot be opened: it is malformed, or the password is another one';

export function chainKey(secret: string): ChainKey {
  if (!/^0x[0-9a-fA-F]{64}$/.test(secret)) throw new Error('a key is 0x and 64 hex digits');
  const account = privateKeyToAccount(secret as Hex);
  return {
    address: account.address.toLowerCase() as Hex,
    sign: async (transaction) => {
      const bytes = await account.signTransaction({ type: 'eip1559', value: 0n, ...transaction });
      return { bytes, hash: keccakOf(bytes) };
    },
  };
}

/** @param keystore the text of the file. */
export function chainKeyFromKeystore(keystore: string, password: string): ChainKey {
  let secret: Buffer;
  try {
    secret = decrypt(JSON.parse(keystore), password);
  } catch {
    throw new Error(REFUSED);
  }
  return chainKey(`0x${secret.toString('hex')}`);
}

type Keystore = {
  readonly version: 3;
  readonly crypto: {
    readonly cipher: string;
    readonly ciphertext: string;
    readonly cipherparams: { readonly iv: string };
    readonly kdf: string;
    readonly kdfparams: Readonly<Record<'n' | 'r' | 'p' | 'dklen', number> & { salt: string }>;
    readonly mac: string;
  };
};

function decrypt({ version, crypto }: Keystore, password: string): Buffer {
  const { cipher, ciphertext, cipherparams, kdf, kdfparams, mac } = crypto;
  if (version !== 3 || cipher !== 'aes-128-ctr' || kdf !== 'scrypt' || kdfparams.dklen !== 32) throw new Error(REFUSED);
  const { n: N, r, p, salt } = kdfparams;
  const options = { N, r, p, maxmem: MOST_SCRYPT_BYTES };
  const derived = scryptSync(password, Buffer.from(salt, 'hex'), kdfparams.dklen, options);
  const encrypted = Buffer.from(ciphertext, 'hex');
  const tag = keccak256(Buffer.concat([derived.subarray(16, 32), encrypted]));
  if (!timingSafeEqual(tag, Buffer.from(mac, 'hex'))) throw new Error(REFUSED);
  const decipher = createDecipheriv(cipher, derived.subarray(0, 16), Buffer.from(cipherparams.iv, 'hex'));
  return Buffer.concat([decipher.update(encrypted), decipher.final()]);
}
