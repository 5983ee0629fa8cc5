/** Bodies of commands, written after a header by their sender: an engine of a test, a flow, the simulator. */
import { OUTCOME, SIDE, STAGE, TIME_IN_FORCE, UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import { writeClientId } from '../../shared/wire/clientId.ts';
import {
  COMMAND,
  EXTENDED_PLACE,
  NO_GROUP,
  PLACE_BIT_AUTHORIZED,
  PLACE_BIT_CLIENT_ID_TAKEN,
  PLACE_BIT_EXTENDED,
  PLACE_BIT_POST_ONLY,
  PLACE_BIT_TOO_MANY_OPEN,
  PLACE_SELF_TRADE_SHIFT,
  packKind,
  UNCHANGED,
} from '../../shared/wire/commands.ts';
import { writeSafe } from '../../shared/wire/record.ts';

export type MarketTerms = {
  ticksPerUnit: number;
  feeBps: number;
  status: number;
  startMs: number;
  endMs: number;
  minOrderAtomic: number;
  /** Default: open. */
  stage?: number | undefined;
  /** Its place in its event set, which its first market names. */
  set?: { readonly first: number; readonly ordinal: number; readonly members: number } | undefined;
};

export type MarketPatch = { status?: number | undefined; feeBps?: number | undefined; startMs: number; endMs: number };

/** The fields that only an extended command has. */
export type Extension = {
  clientId?: string | undefined;
  clientIdTaken?: boolean;
  group?: number | undefined;
  deadlineMs?: number;
};

export type PlacementFields = Extension & {
  salt: number;
  makerAmount: number;
  takerAmount: number;
  feeBps: number;
  side?: number;
  outcome?: number;
  timeInForce?: number;
  postOnly?: boolean;
  tooManyOpen?: boolean;
  selfTrade?: number;
  expirationSec?: number;
  minTakerNet?: number;
  /** Default: true. */
  authorized?: boolean;
  grant?: number;
  nonce?: number;
  /** The first word of the maker's address. */
  wallet?: number;
};

const { PLACE, MARKET_OPEN, MARKET_PATCH } = COMMAND;

/** The amounts of a limit order: a buyer gives USDC and receives tokens, a seller the reverse. */
export function amountsOf(
  side: number,
  lots: number,
  ticks: number,
  ticksPerUnit = 100,
): { makerAmount: number; takerAmount: number } {
  const [usdc, tokens] = [lots * ticks, lots * ticksPerUnit];
  return side === SIDE.BUY ? { makerAmount: usdc, takerAmount: tokens } : { makerAmount: tokens, takerAmount: usdc };
}

export function writeMarketOpen(words: Uint32Array, word: number, index: number, terms: MarketTerms): void {
  words[word + MARKET_OPEN.uuid] = index + 1;
  words[word + MARKET_OPEN.ticksPerUnit] = terms.ticksPerUnit;
  words[word + MARKET_OPEN.feeBps] = terms.feeBps;
  writeSafe(words, word + MARKET_OPEN.minOrderAtomic, terms.minOrderAtomic);
  writeSafe(words, word + MARKET_OPEN.startMs, terms.startMs);
  writeSafe(words, word + MARKET_OPEN.endMs, terms.endMs);
  words[word + MARKET_OPEN.status] = terms.status;
  words[word + MARKET_OPEN.stage] = terms.stage ?? STAGE.OPEN;
  if (terms.set === undefined) return;
  words[word + MARKET_OPEN.set] = terms.set.first + 1;
  words[word + MARKET_OPEN.place] = terms.set.ordinal | (terms.set.members << 8);
}

export function writeMarketPatch(words: Uint32Array, word: number, patch: MarketPatch): void {
  words[word + MARKET_PATCH.status] = patch.status ?? UNCHANGED;
  words[word + MARKET_PATCH.feeBps] = patch.feeBps ?? UNCHANGED;
  writeSafe(words, word + MARKET_PATCH.startMs, patch.startMs);
  writeSafe(words, word + MARKET_PATCH.endMs, patch.endMs);
}

export function writePlacement(words: Uint32Array, word: number, fields: PlacementFields, isExtended: boolean): void {
  const bits =
    (fields.postOnly ? PLACE_BIT_POST_ONLY : 0) |
    ((fields.authorized ?? true) ? PLACE_BIT_AUTHORIZED : 0) |
    (fields.clientIdTaken ? PLACE_BIT_CLIENT_ID_TAKEN : 0) |
    (fields.tooManyOpen ? PLACE_BIT_TOO_MANY_OPEN : 0) |
    (isExtended ? PLACE_BIT_EXTENDED : 0) |
    ((fields.selfTrade ?? 0) << PLACE_SELF_TRADE_SHIFT);
  const { side = SIDE.BUY, outcome = OUTCOME.YES, timeInForce = TIME_IN_FORCE.GTC } = fields;
  words[word + PLACE.salt] = fields.salt;
  words[word + PLACE.kind] = packKind(side, outcome, timeInForce, bits);
  writeSafe(words, word + PLACE.makerAmount, fields.makerAmount);
  writeSafe(words, word + PLACE.takerAmount, fields.takerAmount);
  writeSafe(words, word + PLACE.expirationSec, fields.expirationSec ?? 0);
  words[word + PLACE.feeBps] = fields.feeBps;
  words[word + PLACE.grant] = fields.grant ?? UNKNOWN_GRANT;
  writeSafe(words, word + PLACE.nonce, fields.nonce ?? 0);
  words[word + PLACE.makerAddress] = fields.wallet ?? 0;
  writeSafe(words, word + PLACE.minTakerNet, fields.minTakerNet ?? 0);
  if (isExtended) writeExtension(words, word, fields);
}

export function isExtended({ clientId, clientIdTaken, group, deadlineMs }: Extension): boolean {
  return [clientId, clientIdTaken, group, deadlineMs].some((field) => field !== undefined);
}

function writeExtension(words: Uint32Array, word: number, { clientId, group, deadlineMs }: Extension): void {
  writeSafe(words, word + EXTENDED_PLACE.deadlineMs, deadlineMs ?? 0);
  words[word + EXTENDED_PLACE.group] = group ?? NO_GROUP;
  if (clientId !== undefined) writeClientId(words, word, clientId);
}
