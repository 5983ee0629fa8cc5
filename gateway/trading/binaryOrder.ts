/**
 * An order as a record of the binary entry (shared/wire/entry.ts): a PLACE, its long form or a REPLACE, as its client
 * has sent it. It is checked and copied into its command without becoming text; only an idempotency key, and a refusal
 * that names a value, read it as JSON.
 *
 * Invariant:
 *   BINARYORDER-1  `refuseForm` passes an order only if every word that the gateway or the shard fills in is zero, and
 *                  every other is in the range that the table of an order's fields gives it.
 */
import { CLIENT_ORDER_ID_FORM } from '../../shared/api/fields.ts';
import type { PlacementBody } from '../../shared/api/orders.ts';
import { MAX_ORDER_AMOUNT, OUTCOME, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import * as commands from '../../shared/wire/commands.ts';
import { CLIENT_ID_MAX_BYTES, kindBits } from '../../shared/wire/commands.ts';
import { CLIENT_BITS, ENTRY, PLACE_BIT_SELF_TRADE } from '../../shared/wire/entry.ts';
import { bodyOfRecord, clientIdOf, PLACED_FIELDS, type PlacedField } from '../../shared/wire/orderBody.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Invalid, Refusal } from '../base/refusal.ts';
import { FORMAT_WORDS } from '../http/expected.ts';
import type { Catalog } from '../markets/catalog.ts';
import { type AcceptedSink, Order, type OrderRecords } from './order.ts';
import { refuseCombination } from './orderRules.ts';
import type { TokenTexts } from './tokenTexts.ts';

const { PLACE, EXTENDED_PLACE } = ENTRY;
const CLIENT_ID = new RegExp(CLIENT_ORDER_ID_FORM);
/** The words that the shard fills in, and those of the extension that the gateway does. */
const HASH_WORDS = 8;
const MOST_HIGH_WORD = 0x1f_ffff;
const MOST_DEADLINE_MS = 99_999_999_999_999;
const SELF_TRADE_BITS = 3 << commands.PLACE_SELF_TRADE_SHIFT;

/** As the schema of JSON says it (http/expected.ts). */
const AMOUNT_WORDS = FORMAT_WORDS['amount'];
const CLIENT_ID_WORDS = `a text that matches ${CLIENT_ORDER_ID_FORM}`;

/** The fields whose numbers have a range. */
const NUMBERS = PLACED_FIELDS.filter(
  ({ form, isWide }) => isWide && ['integer', 'integerOrText', 'amount', 'amountOrNone'].includes(form),
);

/** The fields with an octet of the kind of their own. */
const IN_OCTETS = PLACED_FIELDS.filter(({ bits }) => bits?.[1] === 8).sort((a, b) => a.bits![0] - b.bits![0]);

/** The record of an order in its frame. */
export class BinaryOrder {
  readonly records: OrderRecords;
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** The word at which the record starts. */
  readonly at: number;
  readonly isExtended: boolean;

  constructor(records: OrderRecords, at: number, isExtended: boolean) {
    this.records = records;
    this.words = records.words;
    this.bytes = records.bytes;
    this.at = at;
    this.isExtended = isExtended;
  }

  get kind(): number {
    return this.words[this.at + PLACE.kind];
  }

  /** 0 for none. */
  get deadlineMs(): number {
    return this.isExtended ? readSafe(this.words, this.at + EXTENDED_PLACE.deadlineMs) : 0;
  }

  /** A UUID, or the empty string for none. */
  get idempotencyKey(): string {
    const key = this.at + EXTENDED_PLACE.key;
    if (!this.isExtended || isZero(this.words, key, key + 4)) return '';
    return bytesToUuid(this.bytes, key * 4);
  }

  /** The order, whose form has been checked. Its token determines the market. */
  order(tokens: TokenTexts, sink: AcceptedSink | null): Order {
    const names = {
      marketId: '',
      tokenId: tokens.of(this.words, this.bytes, this.at + PLACE.tokenId),
      clientId: this.isExtended ? clientIdOf(this) : undefined,
      groupName: undefined,
    };
    return new Order(this.records, this.at, names, this.#contradiction(names), this.isExtended, sink);
  }

  /** The body of the order, which has this key with it (RULES.md 8.21). */
  bodyOf({ tokenId, clientId }: Order, catalog: Pick<Catalog, 'byToken'>): PlacementBody {
    const marketId = catalog.byToken(tokenId)?.id ?? '';
    return this.#bodyWith({ marketId, tokenId, clientId });
  }

  /** Why the record is no order; null if it is one. */
  refuseForm(): Invalid | null {
    return this.#refuseReserved() ?? this.#refuseKind() ?? this.#refuseNumbers() ?? this.#refuseExtension();
  }

  /** An order that rests until it is cancelled has no fields that could contradict each other. */
  #contradiction(names: Parameters<typeof bodyOfRecord>[1]): Refusal | null {
    const { words, at } = this;
    const isPlain =
      commands.kindTimeInForce(this.kind) === TIME_IN_FORCE.GTC &&
      words[at + PLACE.minTakerNet] === 0 &&
      words[at + PLACE.minTakerNet + 1] === 0;
    return isPlain ? null : refuseCombination(this.#bodyWith(names));
  }

  #bodyWith(names: Parameters<typeof bodyOfRecord>[1]): PlacementBody {
    return bodyOfRecord(this, names) as PlacementBody;
  }

  #refuseReserved(): Invalid | null {
    const { words, at } = this;
    // The last of the 17 words of the signature has one byte of it.
    const isSignaturePadded = words[at + PLACE.signature + 16] > 0xff;
    if (!isZero(words, at + PLACE.hash, at + PLACE.hash + HASH_WORDS)) return reserved('hash');
    if (isSignaturePadded) return reserved('signature');
    return words[at + PLACE.grant] === 0 ? null : reserved('grant');
  }

  #refuseKind(): Invalid | null {
    const { kind } = this;
    for (const { name, form, bits, names } of IN_OCTETS) {
      const value = (kind >>> bits![0]) & 0xff;
      if (value > (form === 'outcome' ? OUTCOME.NO : names!.length - 1)) return invalid(name, 'enum', value);
    }
    const isMarked = (kindBits(kind) & commands.PLACE_BIT_EXTENDED) !== 0;
    const bits = kindBits(kind) & ~commands.PLACE_BIT_EXTENDED;
    if (isMarked !== this.isExtended || (bits & ~CLIENT_BITS) !== 0) return reserved('kind');
    const hasSelfTrade = (bits & PLACE_BIT_SELF_TRADE) !== 0;
    return (bits & SELF_TRADE_BITS) !== 0 && !hasSelfTrade ? reserved('kind') : null;
  }

  #refuseNumbers(): Invalid | null {
    for (const field of NUMBERS) {
      if (!isInRange(this.words, this.at + field.at, field)) return this.#refuseNumber(field);
    }
    return null;
  }

  #refuseNumber({ name, form, at, field: { most } }: PlacedField): Invalid {
    const [low, high] = [this.words[this.at + at], this.words[this.at + at + 1]];
    const expected = form === 'amount' ? AMOUNT_WORDS : `0 to ${most}, in Unix seconds`;
    if (form === 'integerOrText') return invalid(name, 'maximum');
    if (form === 'amountOrNone') return invalid(name, 'pattern');
    const details =
      form === 'integer'
        ? { field: name, rule: 'maximum', expected, value: low + high * 2 ** 32 }
        : { field: name, rule: 'format', expected, value: String((BigInt(high) << 32n) | BigInt(low)) };
    return { message: `invalid ${name}`, details };
  }

  #refuseExtension(): Invalid | null {
    const { words, at } = this;
    if (!this.isExtended) return null;
    if (!isZero(words, at + EXTENDED_PLACE.fingerprint, at + EXTENDED_PLACE.deadlineMs)) return reserved('fingerprint');
    if (!isSafeAt(words, at + EXTENDED_PLACE.deadlineMs) || this.deadlineMs > MOST_DEADLINE_MS) {
      return invalid('X-SVC-DEADLINE', 'format');
    }
    if (words[at + EXTENDED_PLACE.group] !== 0) return reserved('group');
    if (words[at + EXTENDED_PLACE.keyUse] !== 0) return reserved('keyUse');
    if (words[at + EXTENDED_PLACE.expectedLow] !== 0) return reserved('expectedLow');
    return this.#refuseClientId();
  }

  #refuseClientId(): Invalid | null {
    const { words, bytes, at } = this;
    const length = words[at + EXTENDED_PLACE.clientIdBytes];
    if (length > CLIENT_ID_MAX_BYTES)
      return {
        message: 'invalid client_order_id',
        details: { field: 'client_order_id', rule: 'pattern', expected: CLIENT_ID_WORDS },
      };
    const start = (at + EXTENDED_PLACE.clientId) * 4;
    for (let byte = start + length; byte < start + CLIENT_ID_MAX_BYTES; byte++) {
      if (bytes[byte] !== 0) return reserved('clientId');
    }
    if (length === 0) return null;
    const text = String.fromCharCode(...bytes.subarray(start, start + length));
    return CLIENT_ID.test(text)
      ? null
      : {
          message: 'invalid client_order_id',
          details: { field: 'client_order_id', rule: 'pattern', expected: CLIENT_ID_WORDS, value: text },
        };
  }
}

export function isZero(words: Uint32Array, from: number, to: number): boolean {
  let all = 0;
  for (let word = from; word < to; word++) all |= words[word];
  return all === 0;
}

/** A field that is not the client's to fill in. */
export function reserved(field: string): Invalid {
  return invalid(field, 'reserved');
}

function invalid(field: string, rule: string, value?: unknown): Invalid {
  return { message: `invalid ${field}`, details: value === undefined ? { field, rule } : { field, rule, value } };
}

function isSafeAt(words: Uint32Array, word: number): boolean {
  return words[word + 1] <= MOST_HIGH_WORD && readSafe(words, word) <= MAX_SAFE;
}

function isInRange(words: Uint32Array, word: number, { form, field: { most = MAX_SAFE } }: PlacedField): boolean {
  if (!isSafeAt(words, word)) return false;
  const number = readSafe(words, word);
  return form === 'amount' ? number >= 1 && number <= MAX_ORDER_AMOUNT : number <= most;
}
