/**
 * The fields of an order as clients write them, each declared once: its name in JSON, the form and range of its values,
 * where it stands in the record of its command, and where among the words that are signed. From this table follow the
 * schema of a placement (shared/api/orders.ts), what reads and writes the record as JSON (shared/wire/orderBody.ts),
 * the reader of the gateway's hot path (gateway/trading/orderScanner.ts), the checks of a record that a client has
 * sent (gateway/trading/binaryOrder.ts), the EIP-712 type with its hasher (shared/crypto/eip712.ts), and the signed
 * order on its way to the contract (engine/settlement/signedColumns.ts, shared/chain/exchangeAbi.ts). The kernel and
 * the contract have the signed words once more: test/unit/shared/crypto/orderLayout.test.ts compares them.
 *
 * Invariants:
 *   ORDERFIELDS-1  The fields stand in the order in which a body is validated: required ones first, of both kinds those
 *                  last that the error table ranks after the others (RULES.md 6).
 *   ORDERFIELDS-2  The numbers of `text` are the order of the members in RULES.md 8.21, without a gap. A field without
 *                  one is not in records of clients.
 *   ORDERFIELDS-3  The numbers of `signed` are 1, 2, 3 …: word 0 of what is signed is the hash of the type.
 */
import { MAX_EXPIRATION_SEC, SELF_TRADE_NAMES, SIDE_NAMES, type Side, TIME_IN_FORCE_NAMES } from './codes.ts';

/** The forms of values: each has one schema, one reader and one writer. */
export type OrderFieldForm =
  | 'market'
  /** A token of the market: an integer of 256 bits as a text of digits. */
  | 'token'
  | 'uint256'
  | 'address'
  /** The zero address: signed, and in no record. */
  | 'noAddress'
  | 'signature'
  /** An integer from 0 to `most`. */
  | 'integer'
  /** A safe integer, as a number or as a text of digits. */
  | 'integerOrText'
  /** 1 to 10^15 as a text of digits. */
  | 'amount'
  /** 0 to 10^15 as a text of digits; 0 is the same as none. */
  | 'amountOrNone'
  | 'outcome'
  /** One of `names`, whose index is the value; the first where the field is left out. */
  | 'name'
  | 'flag'
  | 'clientId'
  | 'group';

export type OrderField = {
  readonly form: OrderFieldForm;
  readonly isOptional?: true;
  /** ORDERFIELDS-2. */
  readonly text?: number;
  /** The field of a PLACE record (shared/wire/commands.ts) that has the value, unless its name is that in JSON. */
  readonly word?: string;
  /** Where the value stands in the word `kind` of the record: its first bit, and how many it has. */
  readonly bits?: readonly [first: number, count: number];
  /** The bit of `kind` that says that the field is given, where leaving it out is not the same as its first name. */
  readonly givenBit?: number;
  readonly most?: number;
  readonly names?: readonly string[];
  /** ORDERFIELDS-3. */
  readonly signed?: number;
};

const MAX_UINT32 = 0xffff_ffff;

export const PLACEMENT_FIELDS = {
  market_id: { form: 'market', text: 1 },
  token_id: {
    form: 'token',
    text: 2,
    signed: 5,
  },
  maker: {
    form: 'address',
    text: 15,
    word: 'makerAddress',
    signed: 2,
  },
  signer: {
    form: 'address',
    text: 16,
    word: 'signerAddress',
    signed: 3,
  },
  // Directed orders are not supported.
  taker: {
    form: 'noAddress',
    text: 17,
    signed: 4,
  },
  salt: {
    form: 'uint256',
    text: 18,
    signed: 1,
  },
  // A text is accepted as well: clients that sign the nonce as a 256-bit number tend to send it in that form.
  nonce: {
    form: 'integerOrText',
    text: 6,
    signed: 9,
  },
  expiration: {
    form: 'integer',
    isOptional: true,
    most: MAX_EXPIRATION_SEC,
    text: 7,
    word: 'expirationSec',
    signed: 8,
  },
  fee_rate_bps: {
    form: 'integer',
    most: MAX_UINT32,
    text: 8,
    word: 'feeBps',
    signed: 10,
  },
  signature: {
    form: 'signature',
    text: 19,
  },
  outcome_index: { form: 'outcome', text: 9, bits: [8, 8] },
  post_only: { form: 'flag', isOptional: true, text: 11, bits: [24, 1] },
  min_taker_net: {
    form: 'amountOrNone',
    isOptional: true,
    text: 12,
    signed: 11,
  },
  self_trade_prevention: {
    form: 'name',
    isOptional: true,
    names: SELF_TRADE_NAMES,
    text: 13,
    bits: [26, 2],
    givenBit: 31,
  },
  side: {
    form: 'name',
    names: SIDE_NAMES,
    text: 3,
    bits: [0, 8],
    signed: 12,
  },
  maker_amount: {
    form: 'amount',
    text: 4,
    signed: 6,
  },
  taker_amount: {
    form: 'amount',
    text: 5,
    signed: 7,
  },
  time_in_force: {
    form: 'name',
    isOptional: true,
    names: TIME_IN_FORCE_NAMES,
    text: 10,
    bits: [16, 8],
  },
  client_order_id: { form: 'clientId', isOptional: true, text: 14 },
  order_group: { form: 'group', isOptional: true },
} as const satisfies Readonly<Record<string, OrderField>>;

export const ORDER_FIELD_LIST = Object.entries<OrderField>(PLACEMENT_FIELDS);

/** The name in records and in the signed type: makerAmount of maker_amount. */
export function camelCase(json: string): string {
  return json.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The signed fields in the order of their words. `key`: the name among SignedValues. */
export const SIGNED_FIELDS = ORDER_FIELD_LIST.flatMap(([json, { signed, form, isOptional }]) => {
  if (signed === undefined) return [];
  const type = form === 'name' ? 'uint8' : /ddress/.test(form) ? 'address' : 'uint256';
  const name = camelCase(json);
  return [{ json, form, isOptional, word: signed, type, name, key: name === 'expiration' ? 'expirationSec' : name }];
}).sort((a, b) => a.word - b.word);

type Fields = typeof PLACEMENT_FIELDS;
type JsonName = keyof Fields;
type CamelCase<Json extends string> = Json extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Json;
type SignedAt<Word> = { [Json in JsonName]: Fields[Json] extends { signed: Word } ? Json : never }[JsonName];
type TypeOf<Json extends JsonName> = Fields[Json]['form'] extends 'name'
  ? 'uint8'
  : Fields[Json]['form'] extends 'address' | 'noAddress'
    ? 'address'
    : 'uint256';
/** At compile time, from the word on that `Before` has as many members as: 'uint256 salt; address maker; …' */
type MembersFrom<Before extends readonly 0[]> = [SignedAt<Before['length']>] extends [never]
  ? ''
  : `${TypeOf<SignedAt<Before['length']>>} ${CamelCase<SignedAt<Before['length']>>}; ${MembersFrom<[...Before, 0]>}`;

/** The struct of a signed order as contracts declare it. Its type is its text, which gives the values their types. */
export const ORDER_STRUCT = `struct Order { ${SIGNED_FIELDS.map(({ type, name }) => `${type} ${name}; `).join(
  '',
)}}` as `struct Order { ${MembersFrom<[0]>}}`;

type SignedJson = { [Json in JsonName]: Fields[Json] extends { signed: number } ? Json : never }[JsonName];
type SignedValue = {
  [Json in Exclude<SignedJson, 'taker' | 'side'>]: {
    key: Json extends 'expiration' ? 'expirationSec' : CamelCase<Json>;
    value: Fields[Json]['form'] extends 'token' | 'uint256' | 'address' ? string : number;
  };
}[Exclude<SignedJson, 'taker' | 'side'>];
/** The values of the signed fields in wire terms, by their names in the type; the taker is always the zero address. */
export type SignedValues = { [Key in SignedValue['key']]: Extract<SignedValue, { key: Key }>['value'] } & {
  side: Side;
};
