/**
 * Encodes a placement body as the PLACE command that a shard reads (shared/wire/commands.ts). The body has passed its
 * schema and the rules of orderRules.ts, so every field can be encoded.
 */

import type { PlacementBody } from '../../shared/api/orders.ts';
import { assert } from '../../shared/base/assert.ts';
import { SELF_TRADE_NAMES, SIDE, TIME_IN_FORCE, UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import { ADDRESS_BYTES, tryParseHex, tryParseUint256 } from '../../shared/base/hex.ts';
import { youngOf } from '../../shared/wire/ages.ts';
import { writeClientId } from '../../shared/wire/clientId.ts';
import {
  ANY_COMMAND,
  COMMAND,
  EXTENDED_PLACE,
  kindBits,
  NO_GROUP,
  PLACE_BIT_AUTHORIZED,
  PLACE_BIT_CLIENT_ID_TAKEN,
  PLACE_BIT_EXTENDED,
  PLACE_BIT_POST_ONLY,
  PLACE_SELF_TRADE_SHIFT,
  packKind,
} from '../../shared/wire/commands.ts';
import { CLIENT_BITS, ENTRY, PLACE_BIT_SELF_TRADE } from '../../shared/wire/entry.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { FIRST_VERSION } from '../../shared/wire/version.ts';
import type { Accounts } from '../account/accounts.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import type { CommandKey } from '../shardlink/client.ts';
import { TokenBytes } from './tokenTexts.ts';
import { WalletTexts } from './walletTexts.ts';

const SIGNATURE_BYTES = 65;
/** The words of a PLACE that records of clients do not have. */
const YOUNG = youngOf(COMMAND.PLACE, FIRST_VERSION);
assert(
  YOUNG.every(({ at }) => at >= ENTRY.PLACE.WORDS),
  'ENTRY-1: younger fields of a PLACE stand behind those that clients send',
);
/**
 * Fields of a placement besides its body. If this is given, even empty, the record is extended, as a REPLACE needs it.
 */
export type PlacementExtras = {
  /** Unix milliseconds after which the order must not be placed. */
  readonly deadlineMs?: number;
  /** Index of the order group. */
  readonly group?: number;
  /** True if another open or pending order of the account has the body's client order id. */
  readonly isClientIdTaken?: boolean;
  /** For a replacement: the required remainder of the old order (RULES.md 7.15). */
  readonly expectedRemaining?: number | undefined;
  /** The idempotency key with its fingerprint, and the route (EXT_ROUTE) and row of a batch on which it was used. */
  readonly key?: (CommandKey & { readonly route: number; readonly row: number }) | undefined;
};

/** The account that places, and its default self-trade prevention, which an order may override. */
export type Placer = Pick<AccountPrincipal, 'accountIndex' | 'selfTradePrevention'>;

/** A PLACE or its long form that a client has sent, whose form has been checked (binaryOrder.ts). */
type PlaceRecord = {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** The word at which it starts. */
  readonly at: number;
  readonly kind: number;
  readonly isExtended: boolean;
  readonly clientId: string | undefined;
};

export class OrderEncoder {
  readonly #plain = new Uint32Array(EXTENDED_PLACE.BYTES / 4).subarray(0, COMMAND.PLACE.BYTES / 4);
  readonly #extended = new Uint32Array(this.#plain.buffer);
  readonly #bytes = new Uint8Array(this.#plain.buffer);
  readonly #accounts: Pick<Accounts, 'grantOf'>;
  readonly #wallets = new WalletTexts();
  readonly #tokens = new TokenBytes();

  constructor(accounts: Pick<Accounts, 'grantOf'>) {
    this.#accounts = accounts;
  }

  /**
   * @param moreBits facts about the order that the sender has found out (PLACE_BIT_*)
   * @returns the command, valid until the next one is encoded; header and hash are left to the sender
   */
  encode(body: PlacementBody, placer: Placer, extras?: PlacementExtras, moreBits = 0): Uint32Array {
    const isExtended = body.client_order_id !== undefined || extras !== undefined;
    const record = isExtended ? this.#extended : this.#plain;
    this.#write(record, body, placer, moreBits);
    if (isExtended) this.#extendWith(record, body.client_order_id, extras ?? {});
    return record;
  }

  /** Encodes an order that came as a record, whose form has been checked. */
  encodeRecord(order: PlaceRecord, placer: Placer, extras?: PlacementExtras, moreBits = 0): Uint32Array {
    const record = order.isExtended || extras !== undefined ? this.#extended : this.#plain;
    const { words, at, kind } = order;
    for (let word = ANY_COMMAND.WORDS; word < ENTRY.PLACE.WORDS; word++) record[word] = words[at + word];
    for (const { at: young, absent } of YOUNG) record[young] = absent;
    const grant = this.#wallets.grantOf(this.#accounts, placer.accountIndex, words, order.bytes, at);
    let bits = kindBits(kind) & CLIENT_BITS;
    if ((bits & PLACE_BIT_SELF_TRADE) === 0) bits |= placer.selfTradePrevention << PLACE_SELF_TRADE_SHIFT;
    bits = (bits & ~PLACE_BIT_SELF_TRADE) | moreBits;
    if (grant !== UNKNOWN_GRANT) bits |= PLACE_BIT_AUTHORIZED;
    record[COMMAND.PLACE.kind] = (kind & 0xff_ffff) | (bits << 24);
    record[COMMAND.PLACE.grant] = grant;
    if (record === this.#extended) {
      record.fill(0, COMMAND.PLACE.WORDS);
      this.#extendWith(record, order.clientId, extras ?? {});
    }
    return record;
  }

  #write(record: Uint32Array, body: PlacementBody, placer: Placer, moreBits: number): void {
    const bytes = this.#bytes;
    record.fill(0, ANY_COMMAND.WORDS);
    const isEncoded =
      tryParseUint256(body.salt, bytes, COMMAND.PLACE.salt * 4) &&
      this.#tokens.write(body.token_id, bytes, COMMAND.PLACE.tokenId * 4) &&
      tryParseHex(body.maker, ADDRESS_BYTES, bytes, COMMAND.PLACE.makerAddress * 4) &&
      tryParseHex(body.signer, ADDRESS_BYTES, bytes, COMMAND.PLACE.signerAddress * 4);
    assert(isEncoded, 'encode: the schema passes only what can be encoded');
    // A malformed signature is sent as zeros, which no key ever signs: so the shard refuses it in the order of
    // precedence, after a duplicate or a closed market.
    if (!tryParseHex(body.signature, SIGNATURE_BYTES, bytes, COMMAND.PLACE.signature * 4)) {
      bytes.fill(0, COMMAND.PLACE.signature * 4, COMMAND.PLACE.signature * 4 + SIGNATURE_BYTES);
    }
    const timeInForce = TIME_IN_FORCE[body.time_in_force ?? 'GTC'];
    const grant = this.#wallets.grantOf(this.#accounts, placer.accountIndex, record, bytes, 0);
    const bits = bitsOf(body, placer, grant) | moreBits;
    record[COMMAND.PLACE.kind] = packKind(SIDE[body.side], body.outcome_index, timeInForce, bits);
    writeSafe(record, COMMAND.PLACE.makerAmount, Number(body.maker_amount));
    writeSafe(record, COMMAND.PLACE.takerAmount, Number(body.taker_amount));
    writeSafe(record, COMMAND.PLACE.expirationSec, body.expiration ?? 0);
    writeSafe(record, COMMAND.PLACE.nonce, Number(body.nonce));
    record[COMMAND.PLACE.feeBps] = body.fee_rate_bps;
    record[COMMAND.PLACE.grant] = grant;
    writeSafe(record, COMMAND.PLACE.minTakerNet, Number(body.min_taker_net ?? 0));
  }

  /** The extension is zero before. */
  #extendWith(record: Uint32Array, clientId: string | undefined, extras: PlacementExtras): void {
    let bits = PLACE_BIT_EXTENDED;
    if (extras.isClientIdTaken === true) bits |= PLACE_BIT_CLIENT_ID_TAKEN;
    record[COMMAND.PLACE.kind] |= packKind(0, 0, 0, bits);
    writeSafe(record, EXTENDED_PLACE.deadlineMs, extras.deadlineMs ?? 0);
    record[EXTENDED_PLACE.group] = extras.group ?? NO_GROUP;
    if (extras.key !== undefined) {
      record.set(extras.key.key, EXTENDED_PLACE.key);
      record.set(extras.key.fingerprint, EXTENDED_PLACE.fingerprint);
      record[EXTENDED_PLACE.keyUse] = extras.key.route | (extras.key.row << 8);
    }
    record[EXTENDED_PLACE.expectedLow] = (extras.expectedRemaining ?? 0) % 2 ** 32;
    if (clientId !== undefined) writeClientId(record, 0, clientId);
  }
}

function bitsOf(body: PlacementBody, placer: Placer, grant: number): number {
  const selfTrade =
    body.self_trade_prevention === undefined
      ? placer.selfTradePrevention
      : SELF_TRADE_NAMES.indexOf(body.self_trade_prevention);
  let bits = selfTrade << PLACE_SELF_TRADE_SHIFT;
  if (body.post_only === true) bits |= PLACE_BIT_POST_ONLY;
  if (grant !== UNKNOWN_GRANT) bits |= PLACE_BIT_AUTHORIZED;
  return bits;
}
