/**
 * Refusals of an order that comes too late. One that may have been accepted before and is forgotten by now
 * (book/retention.ts) has the start of its hash in the reply, with which its sender asks history (RULES.md 2.13).
 * Live only. Owner: the shard thread.
 */
import { isDecided, MARKET_STATUS, STAGE } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import * as commands from '../../shared/wire/commands.ts';
import { hashStartIn, WRONGLY_SIGNED } from '../../shared/wire/hashStart.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { OrderChecks } from '../verify/orderChecks.ts';
import type { Admitted } from './admitted.ts';
import { onlyShrinks } from './stages.ts';
import type { ShardState } from './state.ts';

const { ANY_COMMAND, COMMAND, EXTENDED_PLACE, kindBits } = commands;
const { PLACE_BIT_AUTHORIZED, PLACE_BIT_CLIENT_ID_TAKEN, PLACE_BIT_EXTENDED } = commands;
const { PLACE } = COMMAND;

/** @returns OK, or the first refusal that depends on what has happened since the order was signed. */
export function refuseLate(
  state: ShardState,
  arrivedMs: number,
  words: Uint32Array,
  word: number,
  admitted: Admitted,
): number {
  const bits = kindBits(words[word + PLACE.kind]);
  if (state.tombstones.has(words, word)) return E.ORDER_TOMBSTONED;
  if ((bits & PLACE_BIT_EXTENDED) !== 0) {
    const deadlineMs = readSafe(words, word + EXTENDED_PLACE.deadlineMs);
    if (deadlineMs !== 0 && deadlineMs < arrivedMs) return E.DEADLINE_PASSED;
  }
  if ((bits & PLACE_BIT_CLIENT_ID_TAKEN) !== 0) return E.DUPLICATE_CLIENT_ORDER_ID;
  const market = state.markets.get(words[word + ANY_COMMAND.market]);
  if (market === undefined) return E.MARKET_NOT_FOUND;
  if (market.status !== MARKET_STATUS.ACTIVE) return E.MARKET_NOT_ACTIVE;
  if (market.stage === STAGE.CANCEL_ONLY && !onlyShrinks(state, market, words, word, admitted))
    return E.CANCEL_ONLY_PHASE;
  return hasExpired(words, word) ? E.ORDER_EXPIRED : OK;
}

/** An order whose signature or signer is wrong names nothing. That its signature was wrong is said (RULES.md 5.8). */
export function nameForgotten(
  { markets }: ShardState,
  checks: OrderChecks,
  words: Uint32Array,
  bytes: Uint8Array,
  word: number,
  admitted: Admitted,
): void {
  const market = markets.get(words[word + ANY_COMMAND.market]);
  const isOver = market !== undefined && isDecided(market.status);
  if (isOver || hasExpired(words, word)) nameOrder(checks, words, bytes, word, admitted);
}

/** Leaves the start of the order's hash in the reply, if it is rightly signed and from one who may send it. */
export function nameOrder(
  checks: OrderChecks,
  words: Uint32Array,
  bytes: Uint8Array,
  word: number,
  admitted: Admitted,
): void {
  const isAuthorized = (kindBits(words[word + PLACE.kind]) & PLACE_BIT_AUTHORIZED) !== 0;
  if (!isAuthorized) return;
  const isSigned = checks.isSigned(words, bytes, word);
  const named = isSigned ? hashStartIn(bytes, (word + PLACE.hash) * 4) : WRONGLY_SIGNED;
  [admitted.detailA, admitted.detailB, admitted.detailC] = named;
}

function hasExpired(words: Uint32Array, word: number): boolean {
  const expirationSec = readSafe(words, word + PLACE.expirationSec);
  return expirationSec !== 0 && expirationSec * 1000 <= readSafe(words, word + ANY_COMMAND.timeMs);
}
