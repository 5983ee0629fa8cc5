/**
 * Transactions of the relayer on the ledger rail, as bytes. The sender is the exchange itself, so they need no proof of
 * who sent them, only one that they are whole: the hash by which the rail knows them comes first.
 */
import { HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import type { Envelope, EnvelopeFields } from '../../shared/wire/railQuestions.ts';
import type { RailRow } from './railTransactionsStore.ts';

const HASH_CHARACTERS = 2 + 2 * HASH_BYTES;

/** The rail sees itself what a transaction replaces. */
type LedgerFields = Omit<EnvelopeFields, 'replaced'>;

export function makeEnvelope({ accountNonce, fee, transfer, signature }: LedgerFields): Envelope {
  const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = transfer;
  const fields = { accountNonce, fee, from, to, valueMicro, validAfterSec, validBeforeSec, nonce, signature };
  const unsigned = toHex(Buffer.from(JSON.stringify(fields)));
  const txHash = hashOf(unsigned);
  return { unsigned, signed: txHash + unsigned.slice(2), txHash };
}

/** Null: the bytes are not whole. */
export function parseEnvelope(signed: string): (LedgerFields & { readonly txHash: string }) | null {
  const txHash = signed.slice(0, HASH_CHARACTERS);
  const unsigned = `0x${signed.slice(HASH_CHARACTERS)}`;
  if (hashOf(unsigned) !== txHash) return null;
  const { accountNonce, fee, signature, ...transfer } = JSON.parse(Buffer.from(unsigned.slice(2), 'hex').toString());
  return { txHash, accountNonce, fee, signature, transfer };
}

/** Those of the relayer by their account nonce, which blocks take one after the other. */
export function inOrder(rows: Iterable<RailRow>): RailRow[] {
  return [...rows].sort((a, b) => (a.accountNonce ?? -1) - (b.accountNonce ?? -1));
}

function hashOf(unsigned: string): string {
  return toHex(keccak256(Buffer.from(unsigned.slice(2), 'hex')));
}
