/**
 * An order of JSON as the PLACE record of a client (entry.ts), and a record as JSON, with its members in the order of
 * RULES.md 8.21. A key in a record is bound to this body, and a client compares it with the body that it was asked to
 * send. Both follow from the table of an order's fields (shared/base/orderFields.ts). What the gateway reads in its hot
 * path takes another way to the same record (gateway/trading/orderScanner.ts).
 *
 * Invariant:
 *   ORDERBODY-1  Every field of the table stands in words of the record, and no bit of `kind` is of two fields.
 */
import { ADDRESS_BYTES, toHex, tryParseHex, tryParseUint256, uint256ToDecimal } from '../base/hex.ts';
import { camelCase, ORDER_FIELD_LIST, type OrderField } from '../base/orderFields.ts';
import { ENTRY } from './entry.ts';
import { type RecordMemory, readSafe, writeSafe } from './record.ts';
import { readText } from './texts.ts';

const { PLACE, EXTENDED_PLACE } = ENTRY;
export const SIGNATURE_BYTES = 65;
export const NO_ADDRESS = `0x${'0'.repeat(2 * ADDRESS_BYTES)}`;

/** A field and where the record has it. */
export type PlacedField = Pick<OrderField, 'form'> & {
  readonly name: string;
  /** The word; -1 if the record has none, or has the value in `kind`. */
  readonly at: number;
  /** True for a number of two words. */
  readonly isWide: boolean;
  readonly bits: OrderField['bits'] | undefined;
  readonly givenBit: number | undefined;
  readonly names: OrderField['names'] | undefined;
  readonly field: OrderField;
};

const DECLARED: Readonly<Record<string, { readonly form: string } | undefined>> = PLACE.DECLARATION.fields;

/** In the order of their validation. All have the same members, so that loops over them have one machine code. */
export const PLACED_FIELDS = ORDER_FIELD_LIST.map(([name, field]): PlacedField => {
  const word = field.word ?? camelCase(name);
  const at = PLACE.DECLARATION.decoded.find((declared) => declared.name === word)?.at ?? -4;
  const { form, bits, givenBit, names } = field;
  return { name, form, at: at / 4, isWide: DECLARED[word]?.form === 'safe', bits, givenBit, names, field };
});

/** In the order of RULES.md 8.21. */
const IN_TEXT = PLACED_FIELDS.filter(({ field: { text } }) => text !== undefined).sort(
  (a, b) => a.field.text! - b.field.text!,
);
const IN_RECORD = PLACED_FIELDS.filter(({ at, bits }) => at >= 0 || bits !== undefined);

/** A PLACE, its long form or a REPLACE. */
type PlaceRecord = RecordMemory & {
  /** The word at which it starts. */
  readonly at: number;
};

/** The names that a record has only as bytes, or not at all. */
type Names = { readonly marketId: string; readonly tokenId: string; readonly clientId: string | undefined };

/** The client order id of an extended record. */
export function clientIdOf({ words, at }: PlaceRecord): string | undefined {
  const length = words[at + EXTENDED_PLACE.clientIdBytes];
  return length === 0 ? undefined : readText(words, at + EXTENDED_PLACE.clientId, length);
}

/** The body of a record: a member that it does not have is left out. */
export function bodyOfRecord(record: PlaceRecord, names: Names): Readonly<Record<string, unknown>> {
  const body: Record<string, unknown> = {};
  for (const field of IN_TEXT) {
    const value = valueIn(record, field, names);
    if (value !== undefined) body[field.name] = value;
  }
  return body;
}

function valueIn({ words, bytes, at: start }: PlaceRecord, field: PlacedField, names: Names): unknown {
  if (field.bits !== undefined) return valueOfBits(words[start + PLACE.kind], field);
  const at = start + field.at;
  switch (field.form) {
    case 'market':
      return names.marketId;
    case 'token':
      return names.tokenId;
    case 'clientId':
      return names.clientId;
    case 'uint256':
      return uint256ToDecimal(bytes, at * 4);
    case 'address':
      return toHex(bytes, at * 4, ADDRESS_BYTES);
    case 'noAddress':
      return NO_ADDRESS;
    case 'signature':
      return toHex(bytes, at * 4, SIGNATURE_BYTES);
    default: {
      const number = field.isWide ? readSafe(words, at) : words[at];
      if (field.form === 'amountOrNone' && number === 0) return undefined;
      return field.form.startsWith('amount') ? String(number) : number;
    }
  }
}

function valueOfBits(kind: number, { form, bits, givenBit, names }: PlacedField): unknown {
  if (givenBit !== undefined && ((kind >>> givenBit) & 1) === 0) return undefined;
  const [first, count] = bits!;
  const value = (kind >>> first) & (2 ** count - 1);
  if (form === 'name') return names![value];
  return form === 'flag' ? value === 1 : value;
}

type WriteToken = (text: string, out: Uint8Array, offset: number) => boolean;
/** An order of JSON, whose members are checked as they are written. */
type Body = Readonly<Record<string, unknown>>;

/**
 * Writes the fields of a body into a record whose words are zero.
 * @returns the name of the first field that is malformed, or null
 */
export function writeBody(record: PlaceRecord, body: Body, writeToken: WriteToken = tryParseUint256): string | null {
  let kind = 0;
  for (const field of IN_RECORD) {
    const value = body[field.name];
    if (field.bits !== undefined) kind |= bitsOfValue(field, value);
    else if (!tryWrite(record, field, value, writeToken)) return field.name;
  }
  record.words[record.at + PLACE.kind] = kind;
  return null;
}

function tryWrite(
  { words, bytes, at: start }: PlaceRecord,
  field: PlacedField,
  value: unknown,
  writeToken: WriteToken,
) {
  const at = start + field.at;
  switch (field.form) {
    case 'token':
    case 'uint256':
      return (field.form === 'token' ? writeToken : tryParseUint256)(textOf(value), bytes, at * 4);
    case 'address':
      return tryParseHex(textOf(value), ADDRESS_BYTES, bytes, at * 4);
    case 'signature':
      // A malformed signature is written as zeros, which no key ever signs: so the shard refuses it in the order of
      // precedence, after a duplicate or a closed market.
      if (!tryParseHex(textOf(value), SIGNATURE_BYTES, bytes, at * 4)) bytes.fill(0, at * 4, at * 4 + SIGNATURE_BYTES);
      return true;
    default:
      if (field.isWide) writeSafe(words, at, Number(value ?? 0));
      else words[at] = Number(value ?? 0);
      return true;
  }
}

/** Any other value is malformed where a text is to be. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function bitsOfValue({ form, bits, givenBit, names }: PlacedField, value: unknown): number {
  if (value === undefined || value === null) return 0;
  const number = form === 'name' ? names!.indexOf(textOf(value)) : Number(value);
  return (number << bits![0]) | (givenBit === undefined ? 0 : 1 << givenBit);
}
