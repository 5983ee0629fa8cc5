/**
 * The crossing loop and the look-ahead that decides FOK, FAK, post-only and minimum net before anything changes.
 * Owner: the shard thread. Nothing here allocates per order or per fill.
 *
 * Rules kept here: best price first, at one price the earlier sequence first, both kinds of order in one queue
 * (RULES.md 2.1); execution at the resting order's price (2.1, 2.3); self-trade prevention by the incoming order's mode
 * (2.6); order groups that reach their maximum leave the book at that fill (7.9).
 */
import { assert } from '../shared/assert.ts';
import * as codes from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import { addSafe } from '../shared/int.ts';
import type { Digest } from './digest.ts';
import type { Emitter } from './emit.ts';
import type { ExpiryHeap } from './expiry.ts';
import type { Group, Groups } from './groups.ts';
import type { HashIndex } from './hashIndex.ts';
import type { Ledger } from './ledger.ts';
import { NO_TICK } from './levels.ts';
import type { Market } from './market.ts';
import type { Markets } from './markets.ts';
import * as rows from './orders.ts';
import { NONE, type Orders, PLACE_OF } from './orders.ts';
import { releaseReservation, settleParty } from './settle.ts';

// Own constants for speed: see emit.ts.
const { CLOSE_REASON, MATCH_TYPE, OUTCOME, SELF_TRADE, SIDE } = codes;
const { kindBits, kindOutcome, kindSide, NO_GROUP, PLACE_SELF_TRADE_SHIFT } = commands;
const { NUMBERS, WORDS } = rows;

/** What `match` answers when nothing stopped the order. */
export const GOES_ON = -1;

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
  readonly #groups: Groups;
  readonly #digest: Digest;
  readonly #emit: Emitter;

  constructor(
    orders: Orders,
    ledger: Ledger,
    hashes: HashIndex,
    expiry: ExpiryHeap,
    markets: Markets,
    groups: Groups,
    digest: Digest,
    emit: Emitter,
  ) {
    this.#orders = orders;
    this.#ledger = ledger;
    this.#hashes = hashes;
    this.#expiry = expiry;
    this.#markets = markets;
    this.#groups = groups;
    this.#digest = digest;
    this.#emit = emit;
  }

  /**
   * How many of `wantedLots` an order could fill right now and for how much, in its own outcome's USDC. Levels are
   * added up whole; single orders have to be looked at only for self-trade prevention, and where there are order
   * groups, because one that trips takes its other orders away and stops an incoming order of its own.
   */
  lookAhead(
    market: Market,
    account: number,
    kind: number,
    group: number,
    isBid: number,
    yesTicks: number,
    wantedLots: number,
  ): void {
    const levels = market.book.opposite(isBid);
    const isYes = kindOutcome(kind) === OUTCOME.YES;
    const mode = selfTradeMode(kind);
    const groups = this.#groups;
    const walks = mode !== SELF_TRADE.NONE || groups.count > 0;
    if (walks) groups.beginProbe();
    let lots = 0;
    let notional = 0;
    let tick = levels.bestTick;
    while (lots < wantedLots && tick !== NO_TICK && (isBid === 1 ? tick <= yesTicks : tick >= yesTicks)) {
      const ownTicks = isYes ? tick : market.ticksPerUnit - tick;
      let here = levels.totalLots[tick]!;
      let stop = false;
      if (walks) {
        here = 0;
        for (let slot = levels.head[tick]!; slot !== NONE; slot = this.#orders.next[slot << WORDS]!) {
          if (mode !== SELF_TRADE.NONE && this.#orders.account[slot << WORDS] === account) {
            if (mode === SELF_TRADE.CANCEL_OLDEST) continue;
            stop = true;
            break;
          }
          const makerGroup = this.#orders.groupOf(slot);
          if (makerGroup !== NO_GROUP && groups.wouldTrip(makerGroup)) continue;
          const taken = Math.min(this.#orders.remainingLots[slot << NUMBERS]!, wantedLots - lots - here);
          here += taken;
          if (makerGroup !== NO_GROUP) groups.tryFill(makerGroup, taken * market.ticksPerUnit);
          if (group !== NO_GROUP) {
            groups.tryFill(group, taken * market.ticksPerUnit);
            stop = groups.wouldTrip(group);
          }
          if (stop || lots + here >= wantedLots) break;
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
   * Matches the incoming order until it is filled, nothing crosses, or something stops it.
   * @returns GOES_ON, or the reason for which what is left of it has to be closed.
   */
  match(market: Market, taker: number): number {
    const orders = this.#orders;
    const isBid = orders.isBid[taker << WORDS]!;
    const limit = orders.yesTicks[taker << WORDS]!;
    const account = orders.account[taker << WORDS]!;
    const mode = selfTradeMode(orders.kind[taker << WORDS]!);
    const group = orders.groupOf(taker);
    const levels = market.book.opposite(isBid);
    while (orders.remainingLots[taker << NUMBERS]! > 0) {
      const tick = levels.bestTick;
      if (tick === NO_TICK || (isBid === 1 ? tick > limit : tick < limit)) return GOES_ON;
      const maker = levels.head[tick]!;
      assert(maker !== NONE, 'L1: an occupied level has a queue');
      if (mode !== SELF_TRADE.NONE && orders.account[maker << WORDS] === account) {
        if (mode !== SELF_TRADE.CANCEL_NEWEST) this.close(market, maker, CLOSE_REASON.SELF_TRADE);
        if (mode !== SELF_TRADE.CANCEL_OLDEST) return CLOSE_REASON.SELF_TRADE;
        continue;
      }
      const makerGroup = orders.groupOf(maker);
      const lots = this.#fill(market, maker, taker, tick);
      if (makerGroup === NO_GROUP && group === NO_GROUP) continue;
      this.#countFill(makerGroup, group, taker, lots * market.ticksPerUnit);
      if (group !== NO_GROUP && this.#groups.must(group).isTripped) return CLOSE_REASON.GROUP_LIMIT;
    }
    return GOES_ON;
  }

  /** Every open order of the group leaves, oldest first, but for the incoming one: its command closes that. */
  trip(group: Group, incoming: number): void {
    const orders = this.#orders;
    this.#groups.touch(group);
    group.isTripped = true;
    let slot = orders.firstOf(group.account);
    while (slot !== NONE) {
      const after = orders.accountNext[slot << WORDS]!;
      if (slot !== incoming && orders.groupOf(slot) === group.index) {
        const market = this.#markets.get(orders.market[slot << WORDS]!);
        assert(market !== undefined, 'O1: the market of an open order is known');
        this.close(market, slot, CLOSE_REASON.GROUP_LIMIT);
      }
      slot = after;
    }
  }

  /**
   * Ends an order for ever: out of its queue, reservation released, hash closed, row freed, CLOSED emitted. Public
   * (with a market sequence) when it was visible in the book and did not leave by being filled.
   */
  close(market: Market, slot: number, reason: number): void {
    const orders = this.#orders;
    const place = orders.place[slot << WORDS]!;
    const isPublic = place === PLACE_OF.RESTING && reason !== CLOSE_REASON.FILLED;
    if (place !== PLACE_OF.INCOMING) market.book.remove(slot);
    this.#emit.closed(slot, isPublic ? ++market.sequence : 0, reason);
    releaseReservation(orders, this.#ledger, slot, market.ticksPerUnit);
    this.#expiry.remove(slot);
    this.#digest.noteOrder(slot);
    this.#hashes.close(orders.hashEntry[slot << WORDS]!, slot);
    orders.free(slot);
    market.openOrders--;
  }

  /**
   * Both sides count, twice where they are of one group, before either group trips: what is counted does not depend on
   * which comes first.
   */
  #countFill(makerGroup: number, takerGroup: number, taker: number, atomic: number): void {
    for (const index of [makerGroup, takerGroup]) {
      if (index === NO_GROUP) continue;
      const group = this.#groups.must(index);
      this.#groups.touch(group);
      group.roll(this.#groups.nowMs);
      group.window.add(this.#groups.nowMs, atomic);
    }
    for (const index of [makerGroup, takerGroup]) {
      if (index === NO_GROUP) continue;
      const group = this.#groups.must(index);
      if (group.isTripped || !group.isFull) continue;
      this.trip(group, taker);
      group.isNews = true;
    }
  }

  /** @returns the lots. */
  #fill(market: Market, maker: number, taker: number, tick: number): number {
    const orders = this.#orders;
    const ticksPerUnit = market.ticksPerUnit;
    const lots = Math.min(orders.remainingLots[maker << NUMBERS]!, orders.remainingLots[taker << NUMBERS]!);
    const makerKind = orders.kind[maker << WORDS]!;
    const takerKind = orders.kind[taker << WORDS]!;
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

    market.book.own(orders.isBid[maker << WORDS]!).reduce(tick, lots);
    const sequence = market.sequence + 1;
    market.sequence += 2; // the trade frame and the maker's delta
    this.#emit.fill(maker, taker, sequence, matchType, tick, lots, ++this.tradeSequence, makerFee, takerFee);
    if (orders.remainingLots[maker << NUMBERS] === 0) this.close(market, maker, CLOSE_REASON.FILLED);
    else this.#digest.noteOrder(maker);
    return lots;
  }
}
