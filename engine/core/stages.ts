/**
 * The stages through which a market opens again after a halt (RULES.md 9.70): the command that steps one market, or all
 * of the shard, and the one kind of order that a cancel-only market accepts. Owner: the shard thread.
 *
 * Invariants:
 *   REOPENING-1  A market trades only in the stage OPEN.
 *   REOPENING-2  A market that is opened begins in the stage of the shard, or in a stricter one.
 */
import * as codes from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import * as commands from '../../shared/wire/commands.ts';
import type { Market } from '../book/market.ts';
import { DOUBLE_SHIFT, NONE, SLOT_STATE, WORD_SHIFT } from '../book/orders.ts';
import { type Admitted, fillTerms, replacedSlot } from './admitted.ts';
import type { ShardState } from './state.ts';

const { isDecided, STAGE, stageAfter } = codes;
const { ANY_COMMAND, ANY_STAGE, COMMAND, NO_MARKET, REPLACE_MODE, kindOutcome, kindSide } = commands;
const { PLACE, REPLACE } = COMMAND;

/** A step names the stage that its operator has seen, so that two operators cannot take two steps at once. */
export function refuseStage({ markets, stages }: ShardState, words: Uint32Array, word: number): number {
  const to = words[word + COMMAND.STAGE.stage];
  const from = words[word + COMMAND.STAGE.from];
  if (to > STAGE.CANCEL_ONLY || (from > STAGE.CANCEL_ONLY && from !== ANY_STAGE)) return E.VALIDATION_ERROR;
  const index = words[word + ANY_COMMAND.market];
  const market = index === NO_MARKET ? undefined : markets.get(index);
  if (index !== NO_MARKET && market === undefined) return E.MARKET_NOT_FOUND;
  if (market !== undefined && isDecided(market.status)) return E.INVALID_TRANSITION;
  const stage = market === undefined ? stages.ofShard : market.stage;
  const mayStep = from === ANY_STAGE ? stage <= to : stage === from || stage === to;
  return mayStep ? OK : E.OTHER_STAGE;
}

/** @returns the number of markets whose stage has changed. A repeat changes nothing, and causes no event. */
export function stepStage({ emit, markets, stages }: ShardState, words: Uint32Array, word: number): number {
  const to = words[word + COMMAND.STAGE.stage];
  const given = words[word + COMMAND.STAGE.from];
  const from = given === ANY_STAGE ? STAGE.OPEN : given;
  const index = words[word + ANY_COMMAND.market];
  if (index !== NO_MARKET) {
    const market = markets.get(index)!;
    if (market.stage === to) return 0;
    market.stage = to;
    markets.touch(market);
    return 1;
  }
  let moved = 0;
  for (const { index: each, stage } of markets.all()) {
    if (stageAfter(stage, from, to) === stage) continue;
    markets.get(each)!.stage = to; // the digest includes it anew
    moved++;
  }
  const before = stages.ofShard;
  stages.ofShard = stageAfter(before, from, to);
  // One event for any number of markets: its readers move theirs by the same rule.
  if (moved > 0 || stages.ofShard !== before) emit.stage(to, from);
  return moved;
}

/**
 * True for an amend that keeps its queue position (RULES.md 7.10): like a cancel, it only gives up quantity. All other
 * checks of an order still follow.
 */
export function onlyShrinks(
  state: ShardState,
  market: Market,
  words: Uint32Array,
  word: number,
  admitted: Admitted,
): boolean {
  if ((words[word + ANY_COMMAND.type] & 0xffff) !== REPLACE.TYPE) return false;
  if (words[word + ANY_COMMAND.flags] !== REPLACE_MODE.AMEND) return false;
  const { orders } = state;
  const old = replacedSlot(state, words, word);
  if (old === NONE || orders.state[old << WORD_SHIFT] !== SLOT_STATE.RESTING) return false;
  if (orders.market[old << WORD_SHIFT] !== market.index) return false;
  const [was, is] = [orders.kind[old << WORD_SHIFT], words[word + PLACE.kind]];
  if (kindSide(was) !== kindSide(is) || kindOutcome(was) !== kindOutcome(is)) return false;
  if (fillTerms(market, words, word, admitted) !== OK) return false;
  const isSamePrice = admitted.limitTicks === orders.limitTicks[old << WORD_SHIFT];
  return isSamePrice && admitted.quantityLots <= orders.remainingLots[old << DOUBLE_SHIFT];
}
