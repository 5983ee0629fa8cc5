import { createHash } from 'node:crypto';

/** The name of a deposit or withdrawal in its shard: 32 bytes that stand for (account, kind, reference). */
export function referenceHash(account: number, kind: number, reference: string): Uint8Array {
  return createHash('sha256').update(`${account}|${kind}|${reference}`).digest();
}
