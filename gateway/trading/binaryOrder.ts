/**
 * An order as a record of the binary entry (shared/wire/entry.ts): a PLACE, its long form or a REPLACE, as its client
 * has sent it. A usual order is checked and copied into its command without becoming text; rare cases, such as a
 * refusal that names a value, read it as JSON.
 *
 * Invariants:
 *   BINARYORDER-1  `refuseForm` passes an order only if every word that the gateway or the shard fills in is zero, and
 *                  every other is in the range that the schema of JSON gives it.
 *   BINARYORDER-2  The words belong to the order for as long as it lives: nothing overwrites them.
 */
import { CLIENT_ORDER_ID_FORM } from '../../shared/api/fields.ts';
import type { PlacementBody } from '../../shared/api/orders.ts';
import {
  isImmediate,
  MAX_EXPIRATION_SEC,
  MAX_ORDER_AMOUNT,
  OUTCOME,
  SIDE,
  type Side,
  TIME_IN_FORCE,
} from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import * as commands from '../../shared/wire/commands.ts';
import { CLIENT_ID_MAX_BYTES, kindBits } from '../../shared/wire/commands.ts';
import { CLIENT_BITS, ENTRY, PLACE_BIT_SELF_TRADE } from '../../shared/wire/entry.ts';
import { bodyOfRecord, clientIdOf } from '../../shared/wire/entryBody.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Invalid, Refusal } from '../base/refusal.ts';
import { FORMAT_WORDS } from '../http/expected.ts';
import type { Catalog, MarketEntry } from '../markets/catalog.ts';
import type { OrderEncoder, PlacementExtras, Placer } from './encodeOrder.ts';
import { refuseCombination, refuseToken } from './orderRules.ts';
import type { AcceptedSink, OrderTerms } from './orderTerms.ts';
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
const EXPIRATION_WORDS = `0 to ${MAX_EXPIRATION_SEC}, in Unix seconds`;

export class BinaryOrder implements OrderTerms {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** The word at which the record starts. */
  readonly at: number;
  readonly isExtended: boolean;
  readonly sink: AcceptedSink | null;
  readonly #tokens: TokenTexts;
  #market: MarketEntry | undefined;
  #body: PlacementBody | null = null;

  constructor(
    words: Uint32Array,
    bytes: Uint8Array,
    at: number,
    isExtended: boolean,
    tokens: TokenTexts,
    sink: AcceptedSink | null,
  ) {
    this.words = words;
    this.bytes = bytes;
    this.at = at;
    this.isExtended = isExtended;
    this.#tokens = tokens;
    this.sink = sink;
  }

  get kind(): number {
    return this.words[this.at + PLACE.kind];
  }

  get side(): Side {
    return commands.kindSide(this.kind) as Side;
  }

  get isImmediate(): boolean {
    return isImmediate(commands.kindTimeInForce(this.kind));
  }

  get makerAmount(): number {
    return readSafe(this.words, this.at + PLACE.makerAmount);
  }

  get takerAmount(): number {
    return readSafe(this.words, this.at + PLACE.takerAmount);
  }

  get clientId(): string | undefined {
    return clientIdOf(this);
  }

  /** A record has no room for a group's name. */
  get groupName(): undefined {
    return undefined;
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

  get body(): PlacementBody {
    this.#body ??= bodyOfRecord(this, { marketId: this.#market?.id ?? '', tokenId: this.#tokenId });
    return this.#body;
  }

  /** BINARYORDER-1. Null, or what is wrong with the record. */
  refuseForm(): Invalid | null {
    return this.#refuseReserved() ?? this.#refuseKind() ?? this.#refuseNumbers() ?? this.#refuseExtension();
  }

  /** A usual order rests, so it has no fields that could contradict each other. */
  refuseCombination(): Refusal | null {
    const { words, at } = this;
    const isPlain =
      commands.kindTimeInForce(this.kind) === TIME_IN_FORCE.GTC &&
      words[at + PLACE.minTakerNet] === 0 &&
      words[at + PLACE.minTakerNet + 1] === 0;
    return isPlain ? null : refuseCombination(this.body);
  }

  /** The token determines the market; that its outcome matches the one in `kind` is checked as for any order. */
  marketIn(catalog: Pick<Catalog, 'byToken'>): MarketEntry | undefined {
    this.#market = catalog.byToken(this.#tokenId);
    return this.#market;
  }

  refuseToken(market: MarketEntry): Refusal | null {
    const isYes = commands.kindOutcome(this.kind) === OUTCOME.YES;
    if (this.#tokenId === (isYes ? market.yesTokenId : market.noTokenId)) return null;
    return refuseToken(this.body, market);
  }

  encode(encoder: OrderEncoder, placer: Placer, extras: PlacementExtras | undefined, moreBits: number): Uint32Array {
    return encoder.encodeRecord(this, placer, extras, moreBits);
  }

  get #tokenId(): string {
    return this.#tokens.of(this.words, this.bytes, this.at + PLACE.tokenId);
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
    const isMarked = (kindBits(kind) & commands.PLACE_BIT_EXTENDED) !== 0;
    const bits = kindBits(kind) & ~commands.PLACE_BIT_EXTENDED;
    if (commands.kindSide(kind) > SIDE.SELL) return invalid('side', 'enum', commands.kindSide(kind));
    if (commands.kindOutcome(kind) > OUTCOME.NO) return invalid('outcome_index', 'enum', commands.kindOutcome(kind));
    const timeInForce = commands.kindTimeInForce(kind);
    if (timeInForce > TIME_IN_FORCE.FAK) return invalid('time_in_force', 'enum', timeInForce);
    if (isMarked !== this.isExtended || (bits & ~CLIENT_BITS) !== 0) return reserved('kind');
    const hasSelfTrade = (bits & PLACE_BIT_SELF_TRADE) !== 0;
    return (bits & SELF_TRADE_BITS) !== 0 && !hasSelfTrade ? reserved('kind') : null;
  }

  #refuseNumbers(): Invalid | null {
    const { words, at } = this;
    if (!isSafeAt(words, at + PLACE.nonce)) return invalid('nonce', 'maximum');
    const expirationSec = words[at + PLACE.expirationSec] + words[at + PLACE.expirationSec + 1] * 2 ** 32;
    if (expirationSec > MAX_EXPIRATION_SEC) {
      const details = { field: 'expiration', rule: 'maximum', expected: EXPIRATION_WORDS, value: expirationSec };
      return { message: 'invalid expiration', details };
    }
    if (!isSafeAt(words, at + PLACE.minTakerNet)) return invalid('min_taker_net', 'pattern');
    return (
      this.#refuseAmount('maker_amount', PLACE.makerAmount) ?? this.#refuseAmount('taker_amount', PLACE.takerAmount)
    );
  }

  #refuseAmount(field: string, word: number): Invalid | null {
    const { words, at } = this;
    if (isAmountAt(words, at + word)) return null;
    const value = (BigInt(words[at + word + 1]) << 32n) | BigInt(words[at + word]);
    return {
      message: `invalid ${field}`,
      details: { field, rule: 'format', expected: AMOUNT_WORDS, value: String(value) },
    };
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

function isAmountAt(words: Uint32Array, word: number): boolean {
  if (!isSafeAt(words, word)) return false;
  const amount = readSafe(words, word);
  return amount >= 1 && amount <= MAX_ORDER_AMOUNT;
}
