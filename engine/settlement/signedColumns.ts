/**
 * The signed fields of an order on their way to the chain: from the record of its command into the columns of
 * settlement.db, and from there into the struct that the contract takes. All of it follows from the table of an order's
 * fields (shared/base/orderFields.ts).
 */
import { assert } from '../../shared/base/assert.ts';
import type { ChainOrder } from '../../shared/chain/exchangeAbi.ts';
import type { Hex } from '../../shared/chain/node.ts';
import { ZERO_ADDRESS } from '../../shared/crypto/eip712.ts';
import { hexAt, readSafe } from '../../shared/wire/record.ts';
import { OCTET_BYTES, SAFE_BYTES, SIGNED_PLACES } from '../../shared/wire/signedPlaces.ts';

type Value = Hex | number;
/** By the names of the columns: a hex text for what has more than eight bytes. */
export type SignedColumns = { readonly [column: string]: Value | null };

/** The column of an address has its name in JSON, that of any other field the name of the word that has it. */
const COLUMNS = SIGNED_PLACES.map((place) => ({
  ...place,
  column: place.form === 'address' ? place.json : snakeCase(place.recordName),
}));
export const SIGNED_COLUMN_NAMES: readonly string[] = COLUMNS.map(({ column }) => column);

export function signedColumnsOf(words: Uint32Array, word: number): Record<string, Value> {
  const row: Record<string, Value> = {};
  for (const { column, at, size } of COLUMNS) {
    const from = word + at;
    if (size > SAFE_BYTES) row[column] = hexAt(words, from, size);
    else if (size === SAFE_BYTES) row[column] = readSafe(words, from);
    else row[column] = size === OCTET_BYTES ? words[from] & 0xff : words[from];
  }
  return row;
}

export function structOf(row: SignedColumns): ChainOrder['order'] {
  const values = COLUMNS.map(({ name, type, column }) => {
    const value = row[column];
    assert(value !== null, 'signedColumns: every signed field has a value');
    return [name, type === 'uint256' ? BigInt(value) : value];
  });
  return { ...Object.fromEntries(values), taker: ZERO_ADDRESS };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
