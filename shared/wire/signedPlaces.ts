/**
 * Where the record of a PLACE or REPLACE has each signed field of its order, in the order of the signed words. The
 * taker is in no record: it is always the zero address.
 */
import { assert } from '../base/assert.ts';
import { ADDRESS_BYTES, UINT256_BYTES } from '../base/hex.ts';
import { camelCase, type OrderFieldForm, SIGNED_FIELDS } from '../base/orderFields.ts';
import { COMMAND } from './commands.ts';
import { PLACED_FIELDS } from './orderBody.ts';

export const SAFE_BYTES = 8;
const U32_BYTES = 4;
/** A field in the word `kind` is signed if it is the first octet of it. */
export const OCTET_BYTES = 1;
const BYTES_OF: { readonly [form in OrderFieldForm]?: number } = {
  address: ADDRESS_BYTES,
  token: UINT256_BYTES,
  uint256: UINT256_BYTES,
};

/** `at` is the word in the record; up to eight bytes are a number. */
export const SIGNED_PLACES = SIGNED_FIELDS.flatMap((signed) => {
  const { form, at, isWide, bits, field } = PLACED_FIELDS.find(({ name }) => name === signed.json)!;
  if (form === 'noAddress') return [];
  assert(bits === undefined || bits[0] === 0, 'ORDERBODY-1: what is signed of `kind` is its first octet');
  const recordName = field.word ?? camelCase(signed.json);
  if (bits !== undefined) return [{ ...signed, recordName, at: COMMAND.PLACE.kind, size: OCTET_BYTES }];
  return [{ ...signed, recordName, at, size: BYTES_OF[form] ?? (isWide ? SAFE_BYTES : U32_BYTES) }];
});
