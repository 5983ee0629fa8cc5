/**
 * Walks a whole shard and asserts every invariant the files name by letter: recomputed from nothing, never incremented.
 * For tests, the simulator and the audit; too slow for every command of a live shard.
 */
import { assert } from '../shared/assert.ts';
import { isDecided, SIDE } from '../shared/codes.ts';
import { kindOutcome, kindSide, NO_GROUP } from '../shared/commands.ts';
import { PPM } from '../shared/payout.ts';
import { Digest } from './digest.ts';
import type { Levels } from './levels.ts';
import { NO_TICK } from './levels.ts';
import type { Market } from './market.ts';
import { NONE, NUMBERS, PLACE_OF, WORDS } from './orders.ts';
import type { ShardState } from './state.ts';
import { NO_TAG } from './tags.ts';

export function checkShard(state: ShardState): void {
  let open = 0;
  for (const market of state.markets.all()) open += checkMarket(state, market);
  assert(open === state.orders.openCount, 'O1: every open row is in exactly one queue');
  checkTags(state);
  checkGroups(state);
  checkAccounts(state);
  checkMoney(state);
  checkGross(state);
  checkDigest(state);
}

function checkMarket(state: ShardState, market: Market): number {
  const { book } = market;
  const resting = checkLevels(state, market, book.bids, 1) + checkLevels(state, market, book.asks, 0);
  const { bestTick: bid } = book.bids;
  const { bestTick: ask } = book.asks;
  assert(bid === NO_TICK || ask === NO_TICK || bid < ask, 'K1: the book is not crossed');

  let dormant = 0;
  let before = NONE;
  for (let slot = book.dormantHead; slot !== NONE; slot = state.orders.next[slot << WORDS]!) {
    assert(state.orders.place[slot << WORDS] === PLACE_OF.DORMANT, 'O1: a row of the dormant list is dormant');
    assert(
      before === NONE || state.orders.priorityOf(before) < state.orders.priorityOf(slot),
      'K2: dormant by priority',
    );
    assert(state.orders.previous[slot << WORDS] === before, 'K2: the dormant list is linked both ways');
    assert(state.orders.feeBps[slot << WORDS] !== market.feeBps, 'K2: a dormant order is signed under another fee');
    checkOrder(state, market, slot);
    before = slot;
    dormant++;
  }
  assert(book.dormantTail === before, 'K2: the dormant list ends at its tail');
  assert(market.openOrders === resting + dormant, 'O1: a market counts its open orders');
  return resting + dormant;
}

function checkLevels(state: ShardState, market: Market, levels: Levels, isBid: number): number {
  const { orders } = state;
  let total = 0;
  let best = NO_TICK;
  for (let tick = 0; tick < market.ticksPerUnit; tick++) {
    let lots = 0;
    let count = 0;
    let before = NONE;
    for (let slot = levels.head[tick]!; slot !== NONE; slot = orders.next[slot << WORDS]!) {
      assert(orders.place[slot << WORDS] === PLACE_OF.RESTING, 'O1: a row in a level rests');
      assert(
        orders.yesTicks[slot << WORDS] === tick && orders.isBid[slot << WORDS] === isBid,
        'O1: a row is in its own level',
      );
      assert(orders.feeBps[slot << WORDS] === market.feeBps, 'K2: a resting order is signed under the canonical fee');
      assert(orders.previous[slot << WORDS] === before, 'L3: a queue is linked both ways');
      assert(before === NONE || orders.priorityOf(before) < orders.priorityOf(slot), 'L3: a queue is in time order');
      checkOrder(state, market, slot);
      lots += orders.remainingLots[slot << NUMBERS]!;
      count++;
      before = slot;
    }
    assert(levels.tail[tick] === before, 'L3: a queue ends at its tail');
    assert(levels.totalLots[tick] === lots && levels.count[tick] === count, 'L2: a level is the sum of its queue');
    assert(levels.isOccupied(tick) === count > 0, 'L1: the bit says whether the queue is empty');
    if (count > 0 && (best === NO_TICK || isBid === 1)) best = tick;
    total += count;
  }
  assert(levels.bestTick === best, 'L4: the best tick is the best set bit');
  return total;
}

/** What holds for every open order, wherever it waits. */
function checkOrder(state: ShardState, market: Market, slot: number): void {
  const { orders, hashes } = state;
  assert(orders.market[slot << WORDS] === market.index, 'O1: a row is in its own market');
  const remaining = orders.remainingLots[slot << NUMBERS]!;
  assert(remaining > 0 && remaining <= orders.quantityLots[slot << NUMBERS]!, 'O3: an open order has something left');
  assert(hashes.find(orders.hash, orders.hashOffset(slot)), 'O2: an open order is in the hash index');
  assert(hashes.foundSlot === slot, 'O2: the hash index leads to the row');
  assert(hashes.foundEntry === orders.hashEntry[slot << WORDS], 'O2: the row leads to its entry in the hash index');
  const expires = orders.expirationSec[slot << NUMBERS] !== 0;
  assert(expires === (orders.heapIndex[slot << WORDS] !== NONE), 'X1: an order that expires is in the heap');
}

/** Which order has which tag row (T1). */
function checkTags({ orders }: ShardState): void {
  const { tags } = orders;
  const taken = new Set<number>();
  for (let slot = 0; slot < orders.capacity; slot++) {
    if (orders.place[slot << WORDS] === PLACE_OF.FREE || orders.tag[slot << WORDS] === NO_TAG) continue;
    const tag = orders.tag[slot << WORDS]!;
    assert(!taken.has(tag), 'T1: a tag row belongs to one order');
    taken.add(tag);
    const priority = tags.priority[tag]!;
    assert(priority <= orders.sequence[slot << NUMBERS]!, 'T1: no priority is newer than its order');
    const says =
      tags.clientIdBytes[tag]! > 0 || tags.group[tag] !== NO_GROUP || priority !== orders.sequence[slot << NUMBERS];
    assert(says, 'T1: a tag row says something');
  }
  assert(taken.size === tags.count, 'T1: every tag row given away belongs to an open order');
}

/** Q1, Q2 (groups.ts) and the windows. */
function checkGroups({ groups, orders }: ShardState): void {
  for (const group of groups.all()) {
    group.window.check();
    assert(group.isTripped || !group.isFull, 'Q1: a full group has tripped');
  }
  for (let slot = 0; slot < orders.capacity; slot++) {
    if (orders.place[slot << WORDS] === PLACE_OF.FREE || orders.groupOf(slot) === NO_GROUP) continue;
    const group = groups.of(orders.account[slot << WORDS]!, orders.groupOf(slot));
    assert(group !== undefined, 'Q2: an open order is in a group of its account');
    assert(!group.isTripped, 'Q1: a tripped group has no open order');
  }
}

/** Account lists, and what their orders reserve (M2, P1). */
function checkAccounts(state: ShardState): void {
  const { orders, ledger } = state;
  let listed = 0;
  for (let account = 0; account < Math.max(ledger.accountCapacity, orders.accountHead.length); account++) {
    let reservedMicro = 0;
    const reservedTokens = new Map<string, number>();
    let before = NONE;
    for (let slot = orders.firstOf(account); slot !== NONE; slot = orders.accountNext[slot << WORDS]!) {
      assert(
        orders.account[slot << WORDS] === account && orders.accountPrevious[slot << WORDS] === before,
        'O2: account lists are sound',
      );
      const kind = orders.kind[slot << WORDS]!;
      const market = state.markets.peek(orders.market[slot << WORDS]!);
      assert(market !== undefined, 'O1: an open order has a market');
      const lots = orders.remainingLots[slot << NUMBERS]!;
      if (kindSide(kind) === SIDE.BUY) reservedMicro += lots * orders.limitTicks[slot << WORDS]!;
      else {
        const key = `${market.index}/${kindOutcome(kind)}`;
        reservedTokens.set(key, (reservedTokens.get(key) ?? 0) + lots * market.ticksPerUnit);
      }
      before = slot;
      listed++;
    }
    assert(ledger.reservedOf(account) === reservedMicro, 'M2: reserved USDC is what open orders hold');
    for (const market of state.markets.all()) {
      for (const outcome of [0, 1]) {
        const expected = reservedTokens.get(`${market.index}/${outcome}`) ?? 0;
        assert(ledger.reservedTokens(account, market.index, outcome) === expected, 'P1: reserved tokens');
      }
    }
  }
  assert(listed === orders.openCount, 'O2: every open order is in its account list');
}

function checkMoney(state: ShardState): void {
  const { ledger, markets, totals } = state;
  let sum = 0n;
  for (let account = 0; account < ledger.accountCapacity; account++) {
    sum += BigInt(ledger.netMicro[account]!) + BigInt(ledger.reservedMicro[account]!);
  }
  const supply = new Map<number, [bigint, bigint]>();
  const { positions } = ledger;
  for (let row = 0; row < positions.count; row++) {
    const of = supply.get(positions.market[row]!) ?? [0n, 0n];
    for (const outcome of [0, 1] as const) {
      const cell = row * 2 + outcome;
      of[outcome] += BigInt(positions.available[cell]!) + BigInt(positions.reserved[cell]!);
    }
    supply.set(positions.market[row]!, of);
  }
  for (const market of markets.all()) {
    const [yes, no] = supply.get(market.index) ?? [0n, 0n];
    checkCollateral(market, yes, no);
    sum += BigInt(market.collateralMicro);
  }
  const expected = BigInt(totals.depositedMicro) - BigInt(totals.withdrawnMicro);
  assert(sum === expected, 'M1: all USDC is accounted for');
}

/** R1 (gross.ts). */
function checkGross({ gross, ledger }: ShardState): void {
  if (gross === null) return;
  let sum = 0n;
  const add = (signed: Float64Array, reserved: Float64Array, count: number): void => {
    for (let i = 0; i < count; i++) sum += BigInt(Math.abs(signed[i]!)) + BigInt(reserved[i]!);
  };
  add(ledger.netMicro, ledger.reservedMicro, ledger.accountCapacity);
  add(ledger.positions.available, ledger.positions.reserved, ledger.positions.count * 2);
  assert(BigInt(gross.total) === sum, 'R1: the total is the sum of its parts');
}

function checkCollateral(market: Market, yes: bigint, no: bigint): void {
  const collateral = BigInt(market.collateralMicro);
  const payoutYes = BigInt(market.payoutYesPpm);
  const rounding = BigInt(market.roundingPpm);
  assert(isDecided(market.status) === market.resolvedMs > 0, 'G2: a market is decided at some time');
  if (!isDecided(market.status)) {
    assert(yes === collateral && no === collateral, 'G1: as many Yes as No tokens as collateral');
    assert(payoutYes === 0n && rounding === 0n && market.settledMs === 0, 'G1: nothing is paid before the decision');
    return;
  }
  assert(market.openOrders === 0, 'G2: a decided market has no open order');
  assert(payoutYes <= BigInt(PPM), 'G2: a set pays one USDC');
  const worth = yes * payoutYes + no * (BigInt(PPM) - payoutYes);
  assert(collateral * BigInt(PPM) === worth + rounding, 'G2: the collateral is what the tokens left are worth');
  if (market.settledMs === 0) return;
  assert(yes === 0n && no === 0n && collateral === 0n && rounding === 0n, 'G3: a settled market has paid everybody');
}

/** The running digest equals one made from nothing (D1). */
function checkDigest(state: ShardState): void {
  const { orders, ledger } = state;
  const fresh = new Digest(orders, ledger);
  for (let slot = 0; slot < orders.capacity; slot++)
    if (orders.place[slot << WORDS] !== PLACE_OF.FREE) fresh.order(slot);
  for (let account = 0; account < ledger.accountCapacity; account++) fresh.account(account);
  for (let row = 0; row < ledger.positions.count; row++) fresh.position(row);
  for (const index of [state.hashes, state.references]) {
    index.visit((words, word, account) => fresh.hashAccepted(words, word, account));
  }
  for (const market of state.markets.all()) fresh.market(market);
  for (const group of state.groups.all()) fresh.group(group);
  state.tombstones.visit((account, hash, untilMs) => fresh.tombstone(account, hash, untilMs, 1));
  const sealed = new Uint32Array(2);
  state.sealedDigest(sealed, 0);
  assert(state.digest.low === fresh.low && state.digest.high === fresh.high, 'D1: the running digest is the digest');
}
