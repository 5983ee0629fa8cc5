/**
 * Where the record of a PLACE or REPLACE has each signed field of its order, in the order of the signed words. The
 * taker is in no record: it is always the zero address.
 */
import { assert } from '../base/assert.ts';
import { ADDRESS_BYTES, UINT256_BYTES } from '../base/hex.ts';
import {
  camelCase,
  type OrderField,
  type OrderFieldForm,
  PLACEMENT_FIELDS,
  SIGNED_FIELDS,
} from '../base/orderFields.ts';
import { COMMAND } from './commands.ts';

export const SAFE_BYTES = 8;
const U32_BYTES = 4;
/** A field in the word `kind` is signed if it is the first octet of it. */
export const OCTET_BYTES = 1;
const BYTES_OF: { readonly [form in OrderFieldForm]?: number } = {
  address: ADDRESS_BYTES,
  token: UINT256_BYTES,
  uint256: UINT256_BYTES,
};

const fields: Readonly<Record<string, OrderField>> = PLACEMENT_FIELDS;
const DECLARED: Readonly<Record<string, { readonly form: string } | undefined>> = COMMAND.PLACE.DECLARATION.fields;

/** `at` is the word in the record; up to eight bytes are a number. */
export const SIGNED_PLACES = SIGNED_FIELDS.flatMap((signed) => {
  const { bits, word: recordName = camelCase(signed.json) } = fields[signed.json];
  if (signed.form === 'noAddress') return [];
  if (bits !== undefined) {
    assert(bits[0] === 0, 'ORDERBODY-1: what is signed of `kind` is its first octet');
    return [{ ...signed, recordName, at: COMMAND.PLACE.kind, size: OCTET_BYTES }];
  }
  const placed = COMMAND.PLACE.DECLARATION.decoded.find(({ name }) => name === recordName);
  assert(placed !== undefined, `ORDERBODY-1: ${recordName} stands in the record`);
  const numberBytes = DECLARED[recordName]?.form === 'safe' ? SAFE_BYTES : U32_BYTES;
  return [{ ...signed, recordName, at: placed.at / 4, size: BYTES_OF[signed.form] ?? numberBytes }];
});
