/**
 * Reads a usual placement in one pass from the bytes of a body into the record of its command. The normal way
 * (JSON.parse, the schema and the encoder) would make twenty texts and an object, only to get bytes in the end.
 * Owner: the thread that reads. The record holds the placement that was read last.
 *
 * Invariant:
 *   USUAL-1  A body that is read here would pass the normal way too, and become the same command. A body that would be
 *            refused there, or only looks unusual, is left to it: so each refusal has one place.
 */
import { CLIENT_ORDER_ID_FORM } from '../../shared/api/fields.ts';
import { PLACEMENT, type PlacementBody } from '../../shared/api/orders.ts';
import * as codes from '../../shared/base/codes.ts';
import { ADDRESS_BYTES, bytesToUuid, tryParseUint256, UUID_BYTES } from '../../shared/base/hex.ts';
import * as commands from '../../shared/wire/commands.ts';
import { PLACE_BIT_SELF_TRADE } from '../../shared/wire/entry.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { endOfDigits, endOfText, isQuoted, readHex, readUuid, skipSpace, startsWith, UNUSUAL } from './jsonBytes.ts';
import { TokenBytes } from './tokenTexts.ts';

const { PLACE } = commands.COMMAND;
const { GTD } = codes.TIME_IN_FORCE;
const CLIENT_ID = new RegExp(CLIENT_ORDER_ID_FORM);
const SIGNATURE_BYTES = 65;
const MAX_UINT32 = 0xffff_ffff;
/** A number with at most this many digits is always an exact integer. */
const SURE_DIGITS = 15;
const MOST_AMOUNT_DIGITS = 16;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** These fields are rare and have rules of their own: only the normal way reads them. */
const UNREAD: ReadonlySet<string> = new Set(['min_taker_net', 'order_group']);
type Field = Exclude<keyof PlacementBody, 'min_taker_net' | 'order_group'>;
const FIELDS = (Object.keys(PLACEMENT.properties) as Field[]).filter((name) => !UNREAD.has(name));
const NAMES = FIELDS.map((name) => Buffer.from(name));
const MUST_HAVE = PLACEMENT.required.reduce((bits, name) => bits | (1 << FIELDS.indexOf(name)), 0);
const SIDES = codes.SIDE_NAMES.map((name) => Buffer.from(name));
const TIMES_IN_FORCE = codes.TIME_IN_FORCE_NAMES.map((name) => Buffer.from(name));
const SELF_TRADES = codes.SELF_TRADE_NAMES.map((name) => Buffer.from(name));
const NO_ADDRESS = Buffer.from(`0x${'0'.repeat(2 * ADDRESS_BYTES)}`);
const FLAGS = ['false', 'true'].map((word) => Buffer.from(word));

export class UsualPlacements {
  readonly words = new Uint32Array(PLACE.WORDS);
  readonly at = 0;
  clientId: string | undefined;
  tokenId = '';
  marketId = '';
  readonly #bytes = new Uint8Array(this.words.buffer);
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
  #hasExpiration = false;
  /** The value that was read last. */
  #value = 0;

  /**
   * Reads a placement that passes the schema and refuseCombination.
   * @returns the position after it, or UNUSUAL: parse it normally.
   */
  readAt(json: Buffer, from: number): number {
    return json[from] === OPEN_BRACE ? this.readMembers(json, from) : UNUSUAL;
  }

  /** The same for the members after a position: that of the opening brace or, behind other members, of a comma. */
  readMembers(json: Buffer, from: number): number {
    this.words.fill(0);
    this.clientId = undefined;
    this.#kind = 0;
    this.#hasExpiration = false;
    let at = from;
    let seen = 0;
    let field = FIELDS.length;
    do {
      at = skipSpace(json, at + 1);
      field = this.#fieldAt(json, at, field);
      if (field < 0 || (seen & (1 << field)) !== 0) return UNUSUAL;
      seen |= 1 << field;
      at = skipSpace(json, at + NAMES[field].length + 2);
      if (json[at] !== COLON) return UNUSUAL;
      at = this.#readValue(FIELDS[field], json, skipSpace(json, at + 1));
      if (at < 0) return UNUSUAL;
      at = skipSpace(json, at);
    } while (json[at] === COMMA);
    if (json[at] !== CLOSE_BRACE || (seen & MUST_HAVE) !== MUST_HAVE || this.#isContradictory()) return UNUSUAL;
    this.words[PLACE.kind] = this.#kind;
    this.#nameMarket();
    return at + 1;
  }

  #isContradictory(): boolean {
    const kind = this.#kind >>> 0;
    const timeInForce = commands.kindTimeInForce(kind);
    const isPostOnly = (commands.kindBits(kind) & commands.PLACE_BIT_POST_ONLY) !== 0;
    return codes.isImmediate(timeInForce) ? isPostOnly : timeInForce === GTD && !this.#hasExpiration;
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

  /** @returns the position after the value, or UNUSUAL. */
  #readValue(field: Field, json: Buffer, at: number): number {
    switch (field) {
      case 'market_id':
        return readUuid(json, at, this.#market);
      case 'token_id':
        return this.#readToken(json, at);
      case 'maker':
        return readHex(json, at, ADDRESS_BYTES, this.#bytes, PLACE.makerAddress * 4);
      case 'signer':
        return readHex(json, at, ADDRESS_BYTES, this.#bytes, PLACE.signerAddress * 4);
      case 'taker':
        return isQuoted(json, at, NO_ADDRESS) ? at + NO_ADDRESS.length + 2 : UNUSUAL;
      case 'salt':
        return this.#readSalt(json, at);
      case 'nonce':
        return json[at] === QUOTE
          ? this.#readQuoted(json, at, SURE_DIGITS, PLACE.nonce)
          : this.#readSafe(json, at, SURE_DIGITS, PLACE.nonce);
      case 'expiration': {
        const end = this.#readSafe(json, at, SURE_DIGITS, PLACE.expirationSec);
        this.#hasExpiration = this.#value > 0;
        return this.#value <= codes.MAX_EXPIRATION_SEC ? end : UNUSUAL;
      }
      case 'fee_rate_bps': {
        const end = this.#readInteger(json, at, SURE_DIGITS);
        this.words[PLACE.feeBps] = this.#value;
        return this.#value <= MAX_UINT32 ? end : UNUSUAL;
      }
      case 'signature':
        return readHex(json, at, SIGNATURE_BYTES, this.#bytes, PLACE.signature * 4);
      case 'outcome_index': {
        const end = this.#readInteger(json, at, 1);
        this.#kind |= commands.packKind(0, this.#value, 0, 0);
        return this.#value <= codes.OUTCOME.NO ? end : UNUSUAL;
      }
      case 'side': {
        const end = this.#readName(json, at, SIDES);
        this.#kind |= commands.packKind(this.#value, 0, 0, 0);
        return end;
      }
      case 'maker_amount':
        return this.#readAmount(json, at, PLACE.makerAmount);
      case 'taker_amount':
        return this.#readAmount(json, at, PLACE.takerAmount);
      case 'time_in_force': {
        const end = this.#readName(json, at, TIMES_IN_FORCE);
        this.#kind |= commands.packKind(0, 0, this.#value, 0);
        return end;
      }
      case 'post_only': {
        const end = this.#readFlag(json, at);
        if (this.#value === 1) this.#kind |= commands.packKind(0, 0, 0, commands.PLACE_BIT_POST_ONLY);
        return end;
      }
      case 'self_trade_prevention': {
        const end = this.#readName(json, at, SELF_TRADES);
        const bits = (this.#value << commands.PLACE_SELF_TRADE_SHIFT) | PLACE_BIT_SELF_TRADE;
        this.#kind |= commands.packKind(0, 0, 0, bits);
        return end;
      }
      case 'client_order_id':
        return this.#readClientId(json, at);
    }
  }

  /** @param before the previous field. @returns the field whose name is here, or UNUSUAL. */
  #fieldAt(json: Buffer, at: number, before: number): number {
    const likely = this.#following[before];
    if (isQuoted(json, at, NAMES[likely])) return likely;
    const field = fieldNamed(json, at);
    if (field >= 0) this.#following[before] = field;
    return field;
  }

  #readToken(json: Buffer, at: number): number {
    const end = endOfDigits(json, at + 1);
    if (json[at] !== QUOTE || json[end] !== QUOTE) return UNUSUAL;
    this.tokenId = json.toString('latin1', at + 1, end);
    return this.#tokens.write(this.tokenId, this.#bytes, PLACE.tokenId * 4) ? end + 1 : UNUSUAL;
  }

  #readSalt(json: Buffer, at: number): number {
    const end = endOfDigits(json, at + 1);
    if (json[at] !== QUOTE || json[end] !== QUOTE) return UNUSUAL;
    return tryParseUint256(json.toString('latin1', at + 1, end), this.#bytes, PLACE.salt * 4) ? end + 1 : UNUSUAL;
  }

  #readClientId(json: Buffer, at: number): number {
    const end = endOfText(json, at + 1);
    if (json[at] !== QUOTE || json[end] !== QUOTE) return UNUSUAL;
    this.clientId = json.toString('latin1', at + 1, end);
    return CLIENT_ID.test(this.clientId) ? end + 1 : UNUSUAL;
  }

  #readAmount(json: Buffer, at: number, word: number): number {
    const end = this.#readQuoted(json, at, MOST_AMOUNT_DIGITS, word);
    return this.#value >= 1 && this.#value <= codes.MAX_ORDER_AMOUNT ? end : UNUSUAL;
  }

  #readQuoted(json: Buffer, at: number, mostDigits: number, word: number): number {
    if (json[at] !== QUOTE) return UNUSUAL;
    const end = this.#readSafe(json, at + 1, mostDigits, word);
    return end >= 0 && json[end] === QUOTE ? end + 1 : UNUSUAL;
  }

  #readSafe(json: Buffer, at: number, mostDigits: number, word: number): number {
    const end = this.#readInteger(json, at, mostDigits);
    writeSafe(this.words, word, this.#value);
    return end;
  }

  /** Reads digits without a leading zero. */
  #readInteger(json: Buffer, at: number, mostDigits: number): number {
    const end = endOfDigits(json, at);
    const isWellFormed = end > at && end - at <= mostDigits && (json[at] !== ZERO || end === at + 1);
    this.#value = 0;
    if (!isWellFormed) return UNUSUAL;
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
    return UNUSUAL;
  }

  #readFlag(json: Buffer, at: number): number {
    this.#value = startsWith(json, at, FLAGS[1]) ? 1 : 0;
    return startsWith(json, at, FLAGS[this.#value]) ? at + FLAGS[this.#value].length : UNUSUAL;
  }
}

/**
 * A function of its own: a function with a closure allocates the captured variables at each call, even if the closure
 * is not made.
 */
function fieldNamed(json: Buffer, at: number): number {
  return NAMES.findIndex((name) => isQuoted(json, at, name));
}
