/**
 * The crossing loop and the look-ahead that decides FOK, FAK, post-only and minimum net before anything changes.
 * Owner: the shard thread. Nothing here allocates per order or per fill.
 *
 * Rules kept here: best price first, at one price the earlier sequence first, both kinds of order in one queue
 * (RULES.md 2.1); execution at the resting order's price (2.1, 2.3); self-trade prevention by the incoming order's mode
 * (2.6).
 */
import { assert } from '../shared/assert.ts';
import * as codes from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import { addSafe } from '../shared/int.ts';
import type { Digest } from './digest.ts';
import type { Emitter } from './emit.ts';
import type { ExpiryHeap } from './expiry.ts';
import type { HashIndex } from './hashIndex.ts';
import type { Ledger } from './ledger.ts';
import { NO_TICK } from './levels.ts';
import type { Market } from './market.ts';
import type { Markets } from './markets.ts';
import { NONE, type Orders, PLACE_OF } from './orders.ts';
import { releaseReservation, settleParty } from './settle.ts';

// Own constants for speed: see emit.ts.
const { CLOSE_REASON, MATCH_TYPE, OUTCOME, SELF_TRADE, SIDE } = codes;
const { kindBits, kindOutcome, kindSide, PLACE_SELF_TRADE_SHIFT } = commands;

export const selfTradeMode = (kind: number): number => (kindBits(kind) >>> PLACE_SELF_TRADE_SHIFT) & 3;

export class Matcher {
  /** Counts every trade of this shard; part of trade ids. */
  tradeSequence = 0;
  /** Results of the last `lookAhead`. */
  reachableLots = 0;
  reachableNotionalMicro = 0;

  readonly #orders: Orders;
  readonly #ledger: Ledger;
  readonly #hashes: HashIndex;
  readonly #expiry: ExpiryHeap;
  readonly #markets: Markets;
  readonly #digest: Digest;
  readonly #emit: Emitter;

  constructor(
    orders: Orders,
    ledger: Ledger,
    hashes: HashIndex,
    expiry: ExpiryHeap,
    markets: Markets,
    digest: Digest,
    emit: Emitter,
  ) {
    this.#orders = orders;
    this.#ledger = ledger;
    this.#hashes = hashes;
    this.#expiry = expiry;
    this.#markets = markets;
    this.#digest = digest;
    this.#emit = emit;
  }

  /**
   * How many of `wantedLots` an order could fill right now and for how much, in its own outcome's USDC. Levels are
   * added up whole; only an order with self-trade prevention has to look at single orders.
   */
  lookAhead(market: Market, account: number, kind: number, isBid: number, yesTicks: number, wantedLots: number): void {
    const levels = market.book.opposite(isBid);
    const isYes = kindOutcome(kind) === OUTCOME.YES;
    const mode = selfTradeMode(kind);
    let lots = 0;
    let notional = 0;
    let tick = levels.bestTick;
    while (lots < wantedLots && tick !== NO_TICK && (isBid === 1 ? tick <= yesTicks : tick >= yesTicks)) {
      const ownTicks = isYes ? tick : market.ticksPerUnit - tick;
      let here = levels.totalLots[tick]!;
      let stop = false;
      if (mode !== SELF_TRADE.NONE) {
        here = 0;
        for (let slot = levels.head[tick]!; slot !== NONE; slot = this.#orders.next[slot]!) {
          if (this.#orders.account[slot] !== account) here += this.#orders.remainingLots[slot]!;
          else if (mode !== SELF_TRADE.CANCEL_OLDEST) {
            stop = true;
            break;
          }
          if (lots + here >= wantedLots) break;
        }
      }
      const taken = Math.min(here, wantedLots - lots);
      lots += taken;
      notional += taken * ownTicks;
      if (stop) break;
      tick = levels.worseThan(tick);
    }
    this.reachableLots = lots;
    this.reachableNotionalMicro = notional;
  }

  /**
   * Matches the incoming order until it is filled, nothing crosses, or self-trade prevention stops it.
   * @returns false when self-trade prevention cancelled what is left of it.
   */
  match(market: Market, taker: number): boolean {
    const orders = this.#orders;
    const isBid = orders.isBid[taker]!;
    const limit = orders.yesTicks[taker]!;
    const account = orders.account[taker]!;
    const mode = selfTradeMode(orders.kind[taker]!);
    const levels = market.book.opposite(isBid);
    while (orders.remainingLots[taker]! > 0) {
      const tick = levels.bestTick;
      if (tick === NO_TICK || (isBid === 1 ? tick > limit : tick < limit)) return true;
      const maker = levels.head[tick]!;
      assert(maker !== NONE, 'L1: an occupied level has a queue');
      if (mode !== SELF_TRADE.NONE && orders.account[maker] === account) {
        if (mode !== SELF_TRADE.CANCEL_NEWEST) this.close(market, maker, CLOSE_REASON.SELF_TRADE);
        if (mode !== SELF_TRADE.CANCEL_OLDEST) return false;
        continue;
      }
      this.#fill(market, maker, taker, tick);
    }
    return true;
  }

  /**
   * Ends an order for ever: out of its queue, reservation released, hash closed, row freed, CLOSED emitted. Public
   * (with a market sequence) when it was visible in the book and did not leave by being filled.
   */
  close(market: Market, slot: number, reason: number): void {
    const orders = this.#orders;
    const place = orders.place[slot]!;
    const isPublic = place === PLACE_OF.RESTING && reason !== CLOSE_REASON.FILLED;
    if (place !== PLACE_OF.INCOMING) market.book.remove(slot);
    this.#emit.closed(slot, isPublic ? ++market.sequence : 0, reason);
    releaseReservation(orders, this.#ledger, slot, market.ticksPerUnit);
    this.#expiry.remove(slot);
    this.#digest.orderClosed(slot);
    this.#hashes.close(orders.hash, orders.hashOffset(slot));
    orders.free(slot);
    market.openOrders--;
  }

  #fill(market: Market, maker: number, taker: number, tick: number): void {
    const orders = this.#orders;
    const ticksPerUnit = market.ticksPerUnit;
    const lots = Math.min(orders.remainingLots[maker]!, orders.remainingLots[taker]!);
    const makerKind = orders.kind[maker]!;
    const takerKind = orders.kind[taker]!;
    const makerIsBuy = kindSide(makerKind) === SIDE.BUY;
    const sameSide = kindSide(makerKind) === kindSide(takerKind);
    assert(
      sameSide !== (kindOutcome(makerKind) === kindOutcome(takerKind)),
      'K1: only a buy and a sell of one outcome, or two of a kind of both, can meet',
    );
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

    market.book.own(orders.isBid[maker]!).reduce(tick, lots);
    const sequence = market.sequence + 1;
    market.sequence += 2; // the trade frame and the maker's delta
    this.#emit.fill(maker, taker, sequence, matchType, tick, lots, ++this.tradeSequence, makerFee, takerFee);
    if (orders.remainingLots[maker] === 0) this.close(market, maker, CLOSE_REASON.FILLED);
    else this.#digest.order(maker);
  }
}
