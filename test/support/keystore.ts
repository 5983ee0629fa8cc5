/** An encrypted keystore, as wallets write it. */
import { createCipheriv, scryptSync } from 'node:crypto';
import { toHex } from '../../shared/base/hex.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';

/** Version 3 of the keystore. */
export function keystoreOf(secret: string, password: string): string {
  const [salt, iv] = [Buffer.alloc(32, 7), Buffer.alloc(16, 9)];
  const derived = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(secret.slice(2), 'hex')), cipher.final()]);
  const mac = toHex(keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext]))).slice(2);
  const kdfparams = { n: 1024, r: 8, p: 1, dklen: 32, salt: salt.toString('hex') };
  const cipherparams = { iv: iv.toString('hex') };
  const crypto = {
    cipher: 'aes-128-ctr',
    ciphertext: ciphertext.toString('hex'),
    cipherparams,
    kdf: 'scrypt',
    kdfparams,
    mac,
  };
  return JSON.stringify({ version: 3, id: 'test', crypto });
}
