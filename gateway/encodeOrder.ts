/**
 * From a placement body to the PLACE command that a shard reads (shared/commands.ts). The schema judges each field by
 * itself, the encoder what only several fields together, the catalogue or the caller's wallets can tell; everything
 * that depends on the state of a book or an account is left to the shard.
 */

import { assert } from '../shared/assert.ts';
import {
  MAX_ORDER_AMOUNT,
  OUTCOME,
  type Outcome,
  SELF_TRADE_NAMES,
  SIDE,
  SIDE_NAMES,
  TIME_IN_FORCE,
  TIME_IN_FORCE_NAMES,
} from '../shared/codes.ts';
import {
  CMD_BODY,
  COMMAND,
  COMMAND_BYTES,
  EXT_DEADLINE_MS,
  EXT_FINGERPRINT,
  EXT_GROUP,
  EXT_KEY,
  EXT_ROUTE_ROW,
  EXTENDED_PLACE_BYTES,
  NO_GROUP,
  PLACE_BIT_AUTHORIZED,
  PLACE_BIT_CLIENT_ID_TAKEN,
  PLACE_BIT_EXTENDED,
  PLACE_BIT_POST_ONLY,
  PLACE_EXPIRATION_SEC,
  PLACE_FEE_BPS,
  PLACE_KIND,
  PLACE_MAKER,
  PLACE_MAKER_AMOUNT,
  PLACE_MIN_TAKER_NET,
  PLACE_NONCE,
  PLACE_SALT,
  PLACE_SELF_TRADE_SHIFT,
  PLACE_SIGNATURE,
  PLACE_SIGNER,
  PLACE_TAKER_AMOUNT,
  PLACE_TOKEN_ID,
  packKind,
} from '../shared/commands.ts';
import { ERRORS } from '../shared/errors.ts';
import { ADDRESS_BYTES, tryParseHex, tryParseUint256 } from '../shared/hex.ts';
import { MAX_SAFE } from '../shared/int.ts';
import { writeSafe } from '../shared/record.ts';
import { writeClientId } from '../shared/tag.ts';
import type { ApiKey } from './auth/apiKeys.ts';
import type { Accounts } from './control/accounts.ts';
import type { Catalog, MarketEntry } from './control/catalog.ts';
import type { CommandKey } from './engineClient.ts';
import type { Refusal } from './respond.ts';
import type { JsonSchema } from './route.ts';

const SIGNATURE_BYTES = 65;
const MAX_UINT32 = 0xffff_ffff;
const ADDRESS: JsonSchema = { type: 'string', format: 'address' };
/** RULES.md 7.7 and 7.9. The name of a group is also a segment of a path: no character that a path would encode. */
export const CLIENT_ORDER_ID_FORM = '^[ -~]{1,64}$';
export const GROUP_NAME_FORM = '^[A-Za-z0-9._~-]{1,64}$';
const UINT256: JsonSchema = { type: 'string', format: 'uint256' };

/**
 * Properties are judged in this order, required ones first: fields without a message of their own, then those that the
 * error table ranks behind them (RULES.md 6).
 */
export const PLACEMENT_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: [
    'market_id',
    'token_id',
    'maker',
    'signer',
    'taker',
    'salt',
    'nonce',
    'fee_rate_bps',
    'signature',
    'outcome_index',
    'side',
    'maker_amount',
    'taker_amount',
  ],
  properties: {
    market_id: { type: 'string', format: 'uuid' },
    token_id: UINT256,
    maker: ADDRESS,
    signer: ADDRESS,
    // Directed orders are not supported: only the zero address.
    taker: { type: 'string', pattern: '^0x0{40}$' },
    salt: UINT256,
    // Text as well: clients that sign it as a 256-bit number tend to send what they signed.
    nonce: {
      anyOf: [
        { type: 'integer', minimum: 0, maximum: MAX_SAFE },
        { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,15})$' },
      ],
    },
    expiration: { type: 'integer', minimum: 0, maximum: MAX_SAFE },
    fee_rate_bps: { type: 'integer', minimum: 0, maximum: MAX_UINT32 },
    signature: { type: 'string' },
    outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO] },
    post_only: { type: 'boolean' },
    min_taker_net: { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,15})$' },
    self_trade_prevention: { type: 'string', enum: SELF_TRADE_NAMES },
    side: { type: 'string', enum: SIDE_NAMES },
    maker_amount: { type: 'string', format: 'amount' },
    taker_amount: { type: 'string', format: 'amount' },
    time_in_force: { type: 'string', enum: TIME_IN_FORCE_NAMES },
    client_order_id: { type: 'string', pattern: CLIENT_ORDER_ID_FORM },
    order_group: { type: 'string', pattern: GROUP_NAME_FORM },
  },
};

/** A body that the schema has passed. */
export type Placement = {
  readonly market_id: string;
  readonly token_id: string;
  readonly maker: string;
  readonly signer: string;
  readonly taker: string;
  readonly salt: string;
  readonly nonce: number | string;
  readonly expiration?: number;
  readonly fee_rate_bps: number;
  readonly signature: string;
  readonly outcome_index: Outcome;
  readonly post_only?: boolean;
  readonly min_taker_net?: string;
  readonly self_trade_prevention?: (typeof SELF_TRADE_NAMES)[number];
  readonly side: (typeof SIDE_NAMES)[number];
  readonly maker_amount: string;
  readonly taker_amount: string;
  readonly time_in_force?: (typeof TIME_IN_FORCE_NAMES)[number];
  readonly client_order_id?: string;
  readonly order_group?: string;
};

/** What a placement carries beside its body; given at all, even empty, the record is extended, as for a REPLACE. */
export type PlacementExtras = {
  /** Unix milliseconds after which the order is not wanted any more. */
  readonly deadlineMs?: number;
  /** Index of the order group. */
  readonly group?: number;
  /** Another order of the account that is open, or on its way, has the client order id of the body. */
  readonly isClientIdTaken?: boolean;
  /** Idempotency key: four words each, and the route (EXT_ROUTE) and row of a batch on which it was used. */
  readonly key?: CommandKey & { readonly route: number; readonly row: number };
};

/** Whose placement it is, and what the key does about self-trades unless the order says otherwise. */
export type Placer = Pick<ApiKey, 'accountIndex' | 'selfTradePrevention'>;

export class OrderEncoder {
  /** The command of the last order that was encoded; header and hash are left to whoever sends it. */
  record: Uint32Array;
  readonly #plain = new Uint32Array(EXTENDED_PLACE_BYTES / 4).subarray(0, COMMAND_BYTES[COMMAND.PLACE] / 4);
  readonly #extended = new Uint32Array(this.#plain.buffer);
  readonly #bytes = new Uint8Array(this.#plain.buffer);
  readonly #catalog: Pick<Catalog, 'byId'>;
  readonly #accounts: Pick<Accounts, 'ownerOf' | 'maySign'>;

  constructor(catalog: Pick<Catalog, 'byId'>, accounts: Pick<Accounts, 'ownerOf' | 'maySign'>) {
    this.#catalog = catalog;
    this.#accounts = accounts;
    this.record = this.#plain;
  }

  /** The market that the order in `record` is for, or why there is none. */
  tryEncode(body: Placement, placer: Placer, extras?: PlacementExtras): MarketEntry | Refusal {
    const refusal = refuseCombination(body);
    if (refusal !== null) return refusal;
    const market = this.#catalog.byId(body.market_id.toLowerCase());
    if (market === undefined) return { row: ERRORS.MARKET_NOT_FOUND };
    const tokenId = body.outcome_index === OUTCOME.YES ? market.yesTokenId : market.noTokenId;
    // Both are canonical decimals, so equal numbers are equal texts.
    if (body.token_id !== tokenId) {
      return invalid('token_id does not match outcome_index', 'token_id', 'match', body.token_id);
    }
    const isExtended = body.client_order_id !== undefined || extras !== undefined;
    this.record = isExtended ? this.#extended : this.#plain;
    this.#write(body, placer);
    if (isExtended) this.#extend(body, extras ?? {});
    return market;
  }

  #write(body: Placement, placer: Placer): void {
    const { record } = this;
    const bytes = this.#bytes;
    record.fill(0, CMD_BODY);
    const isEncoded =
      tryParseUint256(body.salt, bytes, PLACE_SALT * 4) &&
      tryParseUint256(body.token_id, bytes, PLACE_TOKEN_ID * 4) &&
      tryParseHex(body.maker, ADDRESS_BYTES, bytes, PLACE_MAKER * 4) &&
      tryParseHex(body.signer, ADDRESS_BYTES, bytes, PLACE_SIGNER * 4);
    assert(isEncoded, 'encode: the schema passes only what can be encoded');
    // A malformed signature travels as zeros, which no key ever signs: so the shard refuses it in its turn, behind a
    // duplicate or a closed market.
    if (!tryParseHex(body.signature, SIGNATURE_BYTES, bytes, PLACE_SIGNATURE * 4)) {
      bytes.fill(0, PLACE_SIGNATURE * 4, PLACE_SIGNATURE * 4 + SIGNATURE_BYTES);
    }
    const timeInForce = TIME_IN_FORCE[body.time_in_force ?? 'GTC'];
    record[PLACE_KIND] = packKind(SIDE[body.side], body.outcome_index, timeInForce, this.#bits(body, placer));
    writeSafe(record, PLACE_MAKER_AMOUNT, Number(body.maker_amount));
    writeSafe(record, PLACE_TAKER_AMOUNT, Number(body.taker_amount));
    writeSafe(record, PLACE_EXPIRATION_SEC, body.expiration ?? 0);
    writeSafe(record, PLACE_NONCE, Number(body.nonce));
    record[PLACE_FEE_BPS] = body.fee_rate_bps;
    writeSafe(record, PLACE_MIN_TAKER_NET, Number(body.min_taker_net ?? 0));
  }

  /** Behind `#write`, which leaves the extension zero. */
  #extend(body: Placement, extras: PlacementExtras): void {
    const { record } = this;
    let bits = PLACE_BIT_EXTENDED;
    if (extras.isClientIdTaken === true) bits |= PLACE_BIT_CLIENT_ID_TAKEN;
    record[PLACE_KIND]! |= packKind(0, 0, 0, bits);
    writeSafe(record, EXT_DEADLINE_MS, extras.deadlineMs ?? 0);
    record[EXT_GROUP] = extras.group ?? NO_GROUP;
    if (extras.key !== undefined) {
      record.set(extras.key.words, EXT_KEY);
      record.set(extras.key.fingerprint, EXT_FINGERPRINT);
      record[EXT_ROUTE_ROW] = extras.key.route | (extras.key.row << 8);
    }
    if (body.client_order_id !== undefined) writeClientId(record, 0, body.client_order_id);
  }

  #bits(body: Placement, placer: Placer): number {
    const selfTrade =
      body.self_trade_prevention === undefined
        ? placer.selfTradePrevention
        : SELF_TRADE_NAMES.indexOf(body.self_trade_prevention);
    let bits = selfTrade << PLACE_SELF_TRADE_SHIFT;
    if (body.post_only === true) bits |= PLACE_BIT_POST_ONLY;
    if (this.#isAuthorized(body, placer)) bits |= PLACE_BIT_AUTHORIZED;
    return bits;
  }

  #isAuthorized(body: Placement, placer: Placer): boolean {
    const maker = body.maker.toLowerCase();
    if (this.#accounts.ownerOf(maker) !== placer.accountIndex) return false;
    return this.#accounts.maySign(maker, body.signer.toLowerCase());
  }
}

/** What is wrong with fields that are well-formed one by one. */
function refuseCombination(body: Placement): Refusal | null {
  if (Number(body.nonce) > MAX_SAFE) return invalid('invalid nonce', 'nonce', 'maximum', body.nonce);
  const minTakerNet = Number(body.min_taker_net ?? 0);
  if (minTakerNet > MAX_ORDER_AMOUNT) {
    return invalid('invalid min_taker_net', 'min_taker_net', 'maximum', body.min_taker_net);
  }
  const isImmediate = body.time_in_force === 'FOK' || body.time_in_force === 'FAK';
  if (isImmediate && body.post_only === true) {
    return invalid('post_only cannot be combined with FOK or FAK', 'post_only', 'combination', true);
  }
  if (!isImmediate && minTakerNet !== 0) {
    return invalid('min_taker_net is for FOK and FAK orders', 'min_taker_net', 'combination', body.min_taker_net);
  }
  if (body.time_in_force === 'GTD' && (body.expiration ?? 0) === 0) {
    return { row: ERRORS.GTD_NEEDS_EXPIRATION, options: { details: { field: 'expiration', rule: 'required' } } };
  }
  return null;
}

function invalid(message: string, field: string, rule: string, value: unknown): Refusal {
  return { row: ERRORS.VALIDATION_ERROR, options: { message, details: { field, rule, value } } };
}
