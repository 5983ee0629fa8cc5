/**
 * The keys with which the exchange signs access tokens (RULES.md 15.2): P-256, the private part sealed under the master
 * key. The name of a key is the thumbprint of its public part (RFC 7638).
 */
import { createPrivateKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { openSecret, sealSecret } from './secretBox.ts';

/** A row of the table `session_keys`. */
export type SessionKeyRow = {
  readonly kid: string;
  readonly public_jwk: string;
  /** Null: the key is only used to verify. */
  readonly sealed_private: Buffer | null;
  readonly created_ms: number;
};

export function makeSessionKey(masterKey: Uint8Array, nowMs: number): SessionKeyRow {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  // The members of a thumbprint, in their prescribed order.
  const members = JSON.stringify({ crv, kty, x, y });
  const kid = hash('sha256', members, 'base64url');
  const der = privateKey.export({ format: 'der', type: 'pkcs8' });
  return { kid, public_jwk: members, sealed_private: sealSecret(masterKey, ownerOf(kid), der), created_ms: nowMs };
}

export function openSessionKey(masterKey: Uint8Array, kid: string, sealed: Uint8Array): KeyObject {
  return createPrivateKey({ key: openSecret(masterKey, ownerOf(kid), sealed), format: 'der', type: 'pkcs8' });
}

function ownerOf(kid: string): string {
  return `session key ${kid}`;
}
