/**
 * Scans a placement: reads it in one pass from the bytes of a body into the record of its command. Parsing it
 * (JSON.parse, the schema and parsedOrders.ts) would make twenty texts and an object, only to get bytes in the end.
 * Owner: the thread that reads. The record holds the placement that was read last.
 *
 * Invariant:
 *   SCAN-1  A body that is scanned would pass if it were parsed, and become the same command. A body that would be
 *            refused then, or that is only written in another way, is parsed: so each refusal has one place.
 */
import { CLIENT_ORDER_ID_FORM } from '../../shared/api/fields.ts';
import * as codes from '../../shared/base/codes.ts';
import { ADDRESS_BYTES, bytesToUuid, tryParseUint256, UUID_BYTES } from '../../shared/base/hex.ts';
import type { OrderFieldForm } from '../../shared/base/orderFields.ts';
import * as commands from '../../shared/wire/commands.ts';
import { NO_ADDRESS, PLACED_FIELDS, SIGNATURE_BYTES } from '../../shared/wire/orderBody.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import {
  endOfDigits,
  endOfText,
  isQuoted,
  NOT_SCANNED,
  readHex,
  readUuid,
  skipSpace,
  startsWith,
} from './jsonBytes.ts';
import { Order, type OrderNames, type OrderRecords } from './order.ts';
import { TokenBytes } from './tokenTexts.ts';

const { PLACE } = commands.COMMAND;
const { GTD } = codes.TIME_IN_FORCE;
const CLIENT_ID = new RegExp(CLIENT_ORDER_ID_FORM);
/** A number with at most this many digits is always an exact integer. */
const SURE_DIGITS = 15;
const MOST_AMOUNT_DIGITS = 16;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Fields of these forms are rare and have rules of their own: they are only parsed. */
const UNREAD: ReadonlySet<OrderFieldForm> = new Set(['amountOrNone', 'group']);
const FIELDS = PLACED_FIELDS.filter(({ form }) => !UNREAD.has(form));
const NAMES = FIELDS.map(({ name }) => Buffer.from(name));
const MUST_HAVE = FIELDS.reduce((bits, { field }, index) => bits | (field.isOptional ? 0 : 1 << index), 0);

/** The forms as numbers: machine code then has one jump for all of them. */
const FORM = {
  market: 0,
  token: 1,
  uint256: 2,
  address: 3,
  noAddress: 4,
  signature: 5,
  integer: 6,
  integerOrText: 7,
  amount: 8,
  outcome: 9,
  name: 10,
  flag: 11,
  clientId: 12,
} as const satisfies { readonly [form in Exclude<OrderFieldForm, 'amountOrNone' | 'group'>]: number };
// By field. A value stands in words of the record, or is shifted into its kind.
const FORMS = Uint8Array.from(FIELDS, ({ form }) => FORM[form as keyof typeof FORM]);
const WORDS = Int32Array.from(FIELDS, ({ at }) => at);
const IS_WIDE = FIELDS.map(({ isWide }) => isWide);
const MOST = Float64Array.from(FIELDS, ({ field: { most = 0 } }) => most);
const SHIFTS = Uint8Array.from(FIELDS, ({ bits }) => bits?.[0] ?? 0);
/** The bits of the kind that say that the field is given. */
const GIVEN = Int32Array.from(FIELDS, ({ givenBit }) => (givenBit === undefined ? 0 : 1 << givenBit));
const WORDS_OF_NAMES = FIELDS.map(({ names = [] }) => names.map((name) => Buffer.from(name)));
const ZERO_ADDRESS = Buffer.from(NO_ADDRESS);
const FLAGS = ['false', 'true'].map((word) => Buffer.from(word));

export class OrderScanner implements OrderNames {
  clientId: string | undefined;
  tokenId = '';
  marketId = '';
  readonly groupName = undefined;
  readonly #words: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #records: OrderRecords;
  /** The word of the record that is read. */
  #at = 0;
  readonly #tokens = new TokenBytes();
  readonly #market = new Uint8Array(UUID_BYTES);
  readonly #marketBefore = new Uint8Array(UUID_BYTES);
  #idBefore = '';
  /**
   * By field: the field that followed it in the previous body. A program writes its members in the same order each
   * time.
   */
  readonly #following = new Uint8Array(1 + FIELDS.length);
  #kind = 0;
  /** The value that was read last. */
  #value = 0;

  /** @param records where the records of orders are written, one after the other */
  constructor(records: OrderRecords) {
    this.#records = records;
    this.#words = records.words;
    this.#bytes = records.bytes;
  }

  /** The order that was read last, as the one with this index of its body. */
  order(index: number): Order {
    return new Order(this.#records, index * PLACE.WORDS, this);
  }

  /**
   * Reads a placement that passes the schema and refuseCombination, as the one with this index of its body.
   * @returns the position after it, or NOT_SCANNED: parse the body.
   */
  readAt(json: Buffer, from: number, index: number): number {
    return json[from] === OPEN_BRACE ? this.readMembers(json, from, index) : NOT_SCANNED;
  }

  /** The same for the members after a position: that of the opening brace or, behind other members, of a comma. */
  readMembers(json: Buffer, from: number, index: number): number {
    this.#at = index * PLACE.WORDS;
    this.#words.fill(0, this.#at, this.#at + PLACE.WORDS);
    this.clientId = undefined;
    this.#kind = 0;
    let at = from;
    let seen = 0;
    let field = FIELDS.length;
    do {
      at = skipSpace(json, at + 1);
      field = this.#fieldAt(json, at, field);
      if (field < 0 || (seen & (1 << field)) !== 0) return NOT_SCANNED;
      seen |= 1 << field;
      at = skipSpace(json, at + NAMES[field].length + 2);
      if (json[at] !== COLON) return NOT_SCANNED;
      at = this.#readValue(field, json, skipSpace(json, at + 1));
      if (at < 0) return NOT_SCANNED;
      at = skipSpace(json, at);
    } while (json[at] === COMMA);
    if (json[at] !== CLOSE_BRACE || (seen & MUST_HAVE) !== MUST_HAVE || this.#isContradictory()) return NOT_SCANNED;
    this.#words[this.#at + PLACE.kind] = this.#kind;
    this.#nameMarket();
    return at + 1;
  }

  #isContradictory(): boolean {
    const kind = this.#kind >>> 0;
    const timeInForce = commands.kindTimeInForce(kind);
    const isPostOnly = (commands.kindBits(kind) & commands.PLACE_BIT_POST_ONLY) !== 0;
    const expirationAt = this.#at + PLACE.expirationSec;
    const expires = (this.#words[expirationAt] | this.#words[expirationAt + 1]) !== 0;
    return codes.isImmediate(timeInForce) ? isPostOnly : timeInForce === GTD && !expires;
  }

  /** Orders are often for the market of the order before. */
  #nameMarket(): void {
    let differences = this.#idBefore === '' ? 1 : 0;
    for (let i = 0; i < UUID_BYTES; i++) differences |= this.#market[i] ^ this.#marketBefore[i];
    if (differences !== 0) {
      this.#marketBefore.set(this.#market);
      this.#idBefore = bytesToUuid(this.#market);
    }
    this.marketId = this.#idBefore;
  }

  /** @returns the position after the value, or NOT_SCANNED. */
  #readValue(field: number, json: Buffer, at: number): number {
    const word = this.#at + WORDS[field];
    switch (FORMS[field]) {
      case FORM.market:
        return readUuid(json, at, this.#market);
      case FORM.token:
        return this.#readToken(json, at, word);
      case FORM.uint256:
        return this.#readUint256(json, at, word);
      case FORM.address:
        return readHex(json, at, ADDRESS_BYTES, this.#bytes, word * 4);
      case FORM.noAddress:
        return isQuoted(json, at, ZERO_ADDRESS) ? at + ZERO_ADDRESS.length + 2 : NOT_SCANNED;
      case FORM.signature:
        return readHex(json, at, SIGNATURE_BYTES, this.#bytes, word * 4);
      case FORM.integer: {
        const end = this.#readInteger(json, at, SURE_DIGITS);
        if (IS_WIDE[field]) writeSafe(this.#words, word, this.#value);
        else this.#words[word] = this.#value;
        return this.#value <= MOST[field] ? end : NOT_SCANNED;
      }
      case FORM.integerOrText:
        return json[at] === QUOTE
          ? this.#readQuoted(json, at, SURE_DIGITS, word)
          : this.#readSafe(json, at, SURE_DIGITS, word);
      case FORM.amount: {
        const end = this.#readQuoted(json, at, MOST_AMOUNT_DIGITS, word);
        return this.#value >= 1 && this.#value <= codes.MAX_ORDER_AMOUNT ? end : NOT_SCANNED;
      }
      case FORM.outcome: {
        const end = this.#readInteger(json, at, 1);
        this.#kind |= this.#value << SHIFTS[field];
        return this.#value <= codes.OUTCOME.NO ? end : NOT_SCANNED;
      }
      case FORM.name: {
        const end = this.#readName(json, at, WORDS_OF_NAMES[field]);
        this.#kind |= (this.#value << SHIFTS[field]) | GIVEN[field];
        return end;
      }
      case FORM.flag: {
        const end = this.#readFlag(json, at);
        this.#kind |= this.#value << SHIFTS[field];
        return end;
      }
      default:
        return this.#readClientId(json, at);
    }
  }

  /** @param before the previous field. @returns the field whose name is here, or NOT_SCANNED. */
  #fieldAt(json: Buffer, at: number, before: number): number {
    const likely = this.#following[before];
    if (isQuoted(json, at, NAMES[likely])) return likely;
    const field = fieldNamed(json, at);
    if (field >= 0) this.#following[before] = field;
    return field;
  }

  #readToken(json: Buffer, at: number, word: number): number {
    const end = endOfDigits(json, at + 1);
    if (json[at] !== QUOTE || json[end] !== QUOTE) return NOT_SCANNED;
    this.tokenId = json.toString('latin1', at + 1, end);
    return this.#tokens.write(this.tokenId, this.#bytes, word * 4) ? end + 1 : NOT_SCANNED;
  }

  #readUint256(json: Buffer, at: number, word: number): number {
    const end = endOfDigits(json, at + 1);
    if (json[at] !== QUOTE || json[end] !== QUOTE) return NOT_SCANNED;
    return tryParseUint256(json.toString('latin1', at + 1, end), this.#bytes, word * 4) ? end + 1 : NOT_SCANNED;
  }

  #readClientId(json: Buffer, at: number): number {
    const end = endOfText(json, at + 1);
    if (json[at] !== QUOTE || json[end] !== QUOTE) return NOT_SCANNED;
    this.clientId = json.toString('latin1', at + 1, end);
    return CLIENT_ID.test(this.clientId) ? end + 1 : NOT_SCANNED;
  }

  #readQuoted(json: Buffer, at: number, mostDigits: number, word: number): number {
    if (json[at] !== QUOTE) return NOT_SCANNED;
    const end = this.#readSafe(json, at + 1, mostDigits, word);
    return end >= 0 && json[end] === QUOTE ? end + 1 : NOT_SCANNED;
  }

  #readSafe(json: Buffer, at: number, mostDigits: number, word: number): number {
    const end = this.#readInteger(json, at, mostDigits);
    writeSafe(this.#words, word, this.#value);
    return end;
  }

  /** Reads digits without a leading zero. */
  #readInteger(json: Buffer, at: number, mostDigits: number): number {
    const end = endOfDigits(json, at);
    const isWellFormed = end > at && end - at <= mostDigits && (json[at] !== ZERO || end === at + 1);
    this.#value = 0;
    if (!isWellFormed) return NOT_SCANNED;
    for (let index = at; index < end; index++) this.#value = this.#value * 10 + json[index] - ZERO;
    return end;
  }

  /** Reads one of these texts; its index is the value. */
  #readName(json: Buffer, at: number, names: readonly Uint8Array[]): number {
    for (let index = 0; index < names.length; index++) {
      if (!isQuoted(json, at, names[index])) continue;
      this.#value = index;
      return at + names[index].length + 2;
    }
    return NOT_SCANNED;
  }

  #readFlag(json: Buffer, at: number): number {
    this.#value = startsWith(json, at, FLAGS[1]) ? 1 : 0;
    return startsWith(json, at, FLAGS[this.#value]) ? at + FLAGS[this.#value].length : NOT_SCANNED;
  }
}

/**
 * A function of its own: a function with a closure allocates the captured variables at each call, even if the closure
 * is not made.
 */
function fieldNamed(json: Buffer, at: number): number {
  return NAMES.findIndex((name) => isQuoted(json, at, name));
}
