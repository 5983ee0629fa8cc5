/**
 * The matching loop: an incoming order trades with the resting orders of the other side. Owner: the shard thread.
 * Nothing here allocates per order or per fill.
 *
 * Rules kept here: best price first, then the earlier priority, with both kinds of order in one queue (RULES.md 2.1);
 * execution at the resting order's price (2.1, 2.3); self-trade prevention by the incoming order's mode (2.6); an order
 * stops when its group trips (7.9, groupLimits.ts).
 *
 * Invariants:
 *   MATCHER-1  The two orders of a fill are a buy and a sell of one outcome, or two buys or two sells of both outcomes.
 *   MATCHER-2  The maker of a fill rests, the taker is the incoming order, and the price honours both limits.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { MICROS_PER_MS } from '../../shared/base/fillTimes.ts';
import { addSafe } from '../../shared/base/int.ts';
import * as commands from '../../shared/wire/commands.ts';
import { NO_TICK } from '../book/levels.ts';
import type { Market } from '../book/market.ts';
import type { Markets } from '../book/markets.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import type { Ledger } from '../money/ledger.ts';
import { settleParty } from '../money/settle.ts';
import type { Digest } from '../output/digest.ts';
import type { EventWriter } from '../output/emit.ts';
import type { Closing } from './closing.ts';
import type { GroupLimits } from './groupLimits.ts';
import { selfTradeMode } from './orderCommand.ts';

const { CLOSE_REASON, MATCH_TYPE, OUTCOME, SELF_TRADE, SIDE, STAGE } = codes;
const { kindOutcome, kindSide, NO_GROUP } = commands;
const { DOUBLE_AT, DOUBLE_SHIFT, NONE, SLOT_STATE, WORD_AT, WORD_SHIFT } = rows;

/** The result of `match` if nothing stopped the order: it is filled, or nothing crosses any more. */
export const NOT_STOPPED = -1;

export class Matcher {
  /** Counts every trade of this shard; part of trade ids. */
  tradeSequence = 0;

  readonly #orders: Orders;
  readonly #ledger: Ledger;
  readonly #markets: Markets;
  readonly #closing: Closing;
  readonly #groupLimits: GroupLimits;
  readonly #digest: Digest;
  readonly #emit: EventWriter;

  constructor(
    orders: Orders,
    ledger: Ledger,
    markets: Markets,
    closing: Closing,
    groupLimits: GroupLimits,
    digest: Digest,
    emit: EventWriter,
  ) {
    this.#orders = orders;
    this.#ledger = ledger;
    this.#markets = markets;
    this.#closing = closing;
    this.#groupLimits = groupLimits;
    this.#digest = digest;
    this.#emit = emit;
  }

  /**
   * Matches the incoming order until it is filled, nothing crosses, or something stops it.
   * @returns NOT_STOPPED, or the reason to close its remainder
   */
  match(market: Market, taker: number): number {
    const orders = this.#orders;
    const isBid = orders.isBid[taker << WORD_SHIFT];
    const limit = orders.yesTicks[taker << WORD_SHIFT];
    const account = orders.account[taker << WORD_SHIFT];
    const mode = selfTradeMode(orders.kind[taker << WORD_SHIFT]);
    const group = orders.groupOf(taker);
    const levels = market.book.opposite(isBid);
    while (orders.remainingLots[taker << DOUBLE_SHIFT] > 0) {
      const tick = levels.bestTick;
      if (tick === NO_TICK || (isBid === 1 ? tick > limit : tick < limit)) return NOT_STOPPED;
      const maker = levels.head[tick];
      assert(maker !== NONE, 'LEVELS-1: an occupied level has a queue');
      if (mode !== SELF_TRADE.NONE && orders.account[maker << WORD_SHIFT] === account) {
        if (mode !== SELF_TRADE.CANCEL_NEWEST) this.#closing.close(market, maker, CLOSE_REASON.SELF_TRADE);
        if (mode !== SELF_TRADE.CANCEL_OLDEST) return CLOSE_REASON.SELF_TRADE;
        continue;
      }
      const makerGroup = orders.groupOf(maker);
      const lots = this.#fill(market, maker, taker, tick);
      if (makerGroup === NO_GROUP && group === NO_GROUP) continue;
      const isTripped = this.#groupLimits.countFill(makerGroup, group, taker, lots * market.ticksPerUnit);
      if (isTripped) return CLOSE_REASON.GROUP_LIMIT;
    }
    return NOT_STOPPED;
  }

  /** Fills the two orders against each other at the maker's price. @returns the lots. */
  #fill(market: Market, maker: number, taker: number, tick: number): number {
    assert(market.stage === STAGE.OPEN, 'REOPENING-1: a market trades in the stage OPEN only');
    const orders = this.#orders;
    const { doubles, words } = orders;
    const makerRow = maker << WORD_SHIFT;
    const takerRow = taker << WORD_SHIFT;
    const ticksPerUnit = market.ticksPerUnit;
    const makerLots = doubles[(maker << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS];
    const lots = Math.min(makerLots, doubles[(taker << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS]);
    const makerKind = words[makerRow | WORD_AT.KIND];
    const takerKind = words[takerRow | WORD_AT.KIND];
    const makerIsBuy = kindSide(makerKind) === SIDE.BUY;
    const sameSide = kindSide(makerKind) === kindSide(takerKind);
    assert(
      sameSide !== (kindOutcome(makerKind) === kindOutcome(takerKind)),
      'MATCHER-1: only a buy and a sell of one outcome, or two of a kind of both, can meet',
    );
    assert(words[makerRow | WORD_AT.STATE] === SLOT_STATE.RESTING, 'MATCHER-2: the maker of a fill rests');
    assert(words[takerRow | WORD_AT.STATE] === SLOT_STATE.INCOMING, 'MATCHER-2: the taker of a fill is incoming');
    assert(words[makerRow | WORD_AT.FEE_BPS] === market.feeBps, 'BOOK-2: an order in a queue has the canonical fee');
    const matchType = !sameSide ? MATCH_TYPE.STANDARD : makerIsBuy ? MATCH_TYPE.MINT : MATCH_TYPE.MERGE;

    const makerTicks = kindOutcome(makerKind) === OUTCOME.YES ? tick : ticksPerUnit - tick;
    const takerTicks = kindOutcome(takerKind) === OUTCOME.YES ? tick : ticksPerUnit - tick;
    const makerFee = settleParty(orders, this.#ledger, maker, lots, makerTicks, ticksPerUnit);
    const takerFee = settleParty(orders, this.#ledger, taker, lots, takerTicks, ticksPerUnit);
    if (matchType !== MATCH_TYPE.STANDARD) {
      const set = lots * ticksPerUnit;
      market.collateralMicro = addSafe(market.collateralMicro, matchType === MATCH_TYPE.MINT ? set : -set);
      this.#markets.touch(market);
    }

    market.book.own(words[makerRow | WORD_AT.IS_BID]).reduce(tick, lots);
    const sequence = market.sequence + 1;
    market.sequence += 2; // the trade frame and the maker's delta
    // The taker was created by the record of this fill. The time is read in place, because a call could allocate an
    // object for it.
    const recordMicros = doubles[(taker << DOUBLE_SHIFT) | DOUBLE_AT.CREATED_MS] * MICROS_PER_MS;
    market.lastFillMicros = Math.max(recordMicros, market.lastFillMicros + 1);
    this.#emit.fill(maker, taker, sequence, matchType, tick, lots, ++this.tradeSequence, makerFee, takerFee);
    if (makerLots === lots) this.#closing.close(market, maker, CLOSE_REASON.FILLED);
    else this.#digest.markOrder(maker);
    return lots;
  }
}
