/**
 * The order of a record as the body of its route, with its members in the order of RULES.md 8.21. A key in a record is
 * bound to this body, and a client compares it with the body that it was asked to send.
 */
import { type Outcome, SELF_TRADE_NAMES, SIDE_NAMES, TIME_IN_FORCE_NAMES } from '../base/codes.ts';
import { ADDRESS_BYTES, toHex, uint256ToDecimal } from '../base/hex.ts';
import { readText } from './clientId.ts';
import * as commands from './commands.ts';
import { kindBits } from './commands.ts';
import { ENTRY, PLACE_BIT_SELF_TRADE } from './entry.ts';
import { readSafe } from './record.ts';

const { PLACE, EXTENDED_PLACE } = ENTRY;
const SIGNATURE_BYTES = 65;
const NO_ADDRESS = `0x${'0'.repeat(2 * ADDRESS_BYTES)}`;

/** A PLACE, its long form or a REPLACE. */
type PlaceRecord = {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  /** The word at which it starts. */
  readonly at: number;
  readonly isExtended: boolean;
};

/** Names that a record has only as bytes, or not at all. */
type Names = { readonly marketId: string; readonly tokenId: string };

export function clientIdOf({ words, at, isExtended }: PlaceRecord): string | undefined {
  const length = isExtended ? words[at + EXTENDED_PLACE.clientIdBytes] : 0;
  return length === 0 ? undefined : readText(words, at + EXTENDED_PLACE.clientId, length);
}

export function bodyOfRecord(record: PlaceRecord, { marketId, tokenId }: Names) {
  const { words, bytes, at } = record;
  const kind = words[at + PLACE.kind];
  const bits = kindBits(kind);
  const minTakerNet = readSafe(words, at + PLACE.minTakerNet);
  const selfTrade = SELF_TRADE_NAMES[(bits >>> commands.PLACE_SELF_TRADE_SHIFT) & 3];
  const clientId = clientIdOf(record);
  const bytesOf = (field: number, length: number): string => toHex(bytes, (at + field) * 4, length);
  return {
    market_id: marketId,
    token_id: tokenId,
    side: SIDE_NAMES[commands.kindSide(kind)],
    maker_amount: String(readSafe(words, at + PLACE.makerAmount)),
    taker_amount: String(readSafe(words, at + PLACE.takerAmount)),
    nonce: readSafe(words, at + PLACE.nonce),
    expiration: readSafe(words, at + PLACE.expirationSec),
    fee_rate_bps: words[at + PLACE.feeBps],
    outcome_index: commands.kindOutcome(kind) as Outcome,
    time_in_force: TIME_IN_FORCE_NAMES[commands.kindTimeInForce(kind)],
    post_only: (bits & commands.PLACE_BIT_POST_ONLY) !== 0,
    ...(minTakerNet === 0 ? {} : { min_taker_net: String(minTakerNet) }),
    ...((bits & PLACE_BIT_SELF_TRADE) === 0 ? {} : { self_trade_prevention: selfTrade }),
    ...(clientId === undefined ? {} : { client_order_id: clientId }),
    maker: bytesOf(PLACE.makerAddress, ADDRESS_BYTES),
    signer: bytesOf(PLACE.signerAddress, ADDRESS_BYTES),
    taker: NO_ADDRESS,
    salt: uint256ToDecimal(bytes, (at + PLACE.salt) * 4),
    signature: bytesOf(PLACE.signature, SIGNATURE_BYTES),
  };
}
