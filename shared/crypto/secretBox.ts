/**
 * Secrets at rest: AES-256-GCM under the master key. The owner's name is authenticated along with the secret, so a row
 * copied to another key in the database does not open there.
 *
 *   version (1) | nonce (12) | tag (16) | ciphertext
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

export function sealSecret(masterKey: Uint8Array, owner: string, secret: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, masterKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData(owner));
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]);
}

/** Throws if the master key differs, or if the box was changed or belongs to another owner. */
export function openSecret(masterKey: Uint8Array, owner: string, box: Uint8Array): Buffer {
  if (box.length < HEADER_BYTES || box[0] !== VERSION) throw new Error('secretBox: not a sealed secret');
  const nonce = box.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, masterKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData(owner));
  decipher.setAuthTag(box.subarray(1 + NONCE_BYTES, HEADER_BYTES));
  return Buffer.concat([decipher.update(box.subarray(HEADER_BYTES)), decipher.final()]);
}

function associatedData(owner: string): Buffer {
  return Buffer.from(`v${VERSION}:${owner}`);
}
