/**
 * Encrypted JSON keystores of version 3, as wallets write them (scrypt and AES-128-CTR). No error contains a part of
 * the secret or of the password.
 */
import { createDecipheriv, scryptSync, timingSafeEqual } from 'node:crypto';
import { keccak256 } from './keccak.ts';

/** The memory that the derivation of a keystore's key may take: enough for the strongest that wallets write. */
const MOST_SCRYPT_BYTES = 2 ** 29;
const REFUSED = 'the keystore cannot be opened: it is malformed, or the password is another one';

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

/** @param keystore the content of the file. @returns the secret key: 0x and 64 hex digits. */
export function openKeystore(keystore: string, password: string): string {
  try {
    return `0x${decrypt(JSON.parse(keystore), password).toString('hex')}`;
  } catch {
    throw new Error(REFUSED);
  }
}

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
