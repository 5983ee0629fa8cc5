/** The refusals of changes of a market and of its end. A part of admission.ts, bound by the rules stated there. */
import { isDecided, MARKET_STATUS } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ANY_COMMAND, COMMAND, UNCHANGED } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { mayDecide, mayMove, maySettle } from '../book/market.ts';
import { refuseElimination, refuseMemberPatch, refuseMemberSettling } from './eventSetRefusals.ts';
import { claimableMicro } from './resolution.ts';
import type { ShardState } from './state.ts';

const { MARKET_PATCH, RESOLVE, SETTLE } = COMMAND;

export function refuseMarketPatch(state: ShardState, words: Uint32Array, word: number): number {
  const market = state.markets.get(words[word + ANY_COMMAND.market]);
  if (market === undefined) return E.MARKET_NOT_FOUND;
  const ofMember = refuseMemberPatch(market, words, word);
  if (ofMember !== OK) return ofMember;
  const status = words[word + MARKET_PATCH.status];
  if (status !== UNCHANGED && !mayMove(market.status, status)) return E.INVALID_TRANSITION;
  // A market past its end would be closed again by the next command, or never if it was closed before.
  const isOver = readSafe(words, word + MARKET_PATCH.endMs) <= readSafe(words, word + ANY_COMMAND.timeMs);
  if (status !== MARKET_STATUS.ACTIVE) return OK;
  if (isOver) return E.INVALID_TRANSITION;
  return market.isClosing ? E.ENGINE_BUSY : OK; // a moment later its orders are closed
}

export function refuseMarketEnd(state: ShardState, type: number, words: Uint32Array, word: number): number {
  const market = state.markets.get(words[word + ANY_COMMAND.market]);
  if (market === undefined) return E.MARKET_NOT_FOUND;
  const { set } = market;
  switch (type) {
    case RESOLVE.TYPE:
      if (set !== null) return refuseElimination(set, market, words, word);
      return mayDecide(market, words[word + RESOLVE.status]) ? OK : E.INVALID_TRANSITION;
    case SETTLE.TYPE:
      if (set !== null) return refuseMemberSettling(set, market);
      return maySettle(market) ? OK : E.INVALID_TRANSITION;
    default:
      if (!isDecided(market.status)) return E.INVALID_TRANSITION;
      return claimableMicro(state, market, words[word + ANY_COMMAND.account]) > 0 ? OK : E.NOTHING_TO_CLAIM;
  }
}
