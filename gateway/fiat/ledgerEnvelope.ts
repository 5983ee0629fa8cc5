/**
 * Transactions of the relayer on the ledger rail, as bytes. The sender is the exchange itself, so they need no
 * signature, only a proof that they are whole: they begin with the hash that identifies them on the rail.
 */
import { HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import type { Envelope, EnvelopeFields } from '../../shared/wire/railQuestions.ts';
import type { RailRow } from './railTransactionsStore.ts';

const HASH_CHARACTERS = 2 + 2 * HASH_BYTES;

/** The rail itself knows which transaction is replaced. */
type LedgerFields = Omit<EnvelopeFields, 'replaced'>;

export function makeEnvelope({ accountNonce, fee, transfer, signature }: LedgerFields): Envelope {
  const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = transfer;
  const fields = { accountNonce, fee, from, to, valueMicro, validAfterSec, validBeforeSec, nonce, signature };
  const unsigned = toHex(Buffer.from(JSON.stringify(fields)));
  const txHash = hashOf(unsigned);
  return { unsigned, signed: txHash + unsigned.slice(2), txHash };
}

/** Null if the bytes are damaged. */
export function parseEnvelope(signed: string): (LedgerFields & { readonly txHash: string }) | null {
  const txHash = signed.slice(0, HASH_CHARACTERS);
  const unsigned = `0x${signed.slice(HASH_CHARACTERS)}`;
  if (hashOf(unsigned) !== txHash) return null;
  const { accountNonce, fee, signature, ...transfer } = JSON.parse(Buffer.from(unsigned.slice(2), 'hex').toString());
  return { txHash, accountNonce, fee, signature, transfer };
}

/** Orders the relayer's transactions by account nonce, as blocks include them. */
export function inOrder(rows: Iterable<RailRow>): RailRow[] {
  return [...rows].sort((a, b) => (a.accountNonce ?? -1) - (b.accountNonce ?? -1));
}

function hashOf(unsigned: string): string {
  return toHex(keccak256(Buffer.from(unsigned.slice(2), 'hex')));
}
