/** A verifier thread's side of shared tables: leaves one after the other, of random signers. Runs as a worker. */
import { isMainThread, workerData } from 'node:worker_threads';
import { SharedTables } from '../../engine/verify/sharedTables.ts';
import { ADDRESS_BYTES } from '../../shared/base/hex.ts';
import { SIGNER_TABLE_WORDS } from '../../shared/wire/tableLayout.ts';
import { Random } from './random.ts';

export type TableWriting = {
  memory: SharedArrayBuffer;
  signers: number;
  /** 0 … VERSIONS - 1: every element of a table is its signer times VERSIONS, plus this. */
  version: number;
  tables: number;
  seed: number;
};

export const VERSIONS = 2;

export function addressOf(signer: number): Uint8Array {
  const address = new Uint8Array(ADDRESS_BYTES).fill(0x11);
  new DataView(address.buffer).setUint32(ADDRESS_BYTES - 4, signer);
  return address;
}

if (!isMainThread) {
  const { memory, signers, version, tables, seed } = workerData as TableWriting;
  const shared = new SharedTables(memory);
  const random = new Random(seed);
  const table = new BigUint64Array(SIGNER_TABLE_WORDS / 2);
  for (let i = 0; i < tables; i++) {
    const signer = random.below(signers);
    shared.publish(addressOf(signer), 0, table.fill(BigInt(signer * VERSIONS + version)));
  }
}
