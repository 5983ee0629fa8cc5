/**
 * Distributes what some shards know over another number of shards (engine/admin/README.md): each market, with its
 * orders, tokens and collateral, goes to its new shard. Nothing here reads or writes a file.
 *
 * Invariants:
 *   RESHARD-1  Together the new states have what the old ones had: every order, token and micro-USDC once.
 *   RESHARD-2  Each new state alone keeps the invariants of a shard (invariants.ts).
 *   RESHARD-3  What refuses a repeat is where the repeat can arrive: a hash whose market is not known, a reference of a
 *              payment, a tombstone and a floor of nonces are in every new state.
 *   RESHARD-4  An order keeps its id, which names the shard that accepted it, and its place in its queue.
 *
 * The USDC of an account is one number for all shards, so its parts may lie anywhere (money/ledger.ts). A shard but the
 * first gets what its open orders reserve, taken from the account's part of it, and as many deposits as its markets
 * have collateral. The first shard gets the rest.
 */
import { assert } from '../../shared/base/assert.ts';
import { SIDE } from '../../shared/base/codes.ts';
import { addSafe } from '../../shared/base/int.ts';
import { kindSide } from '../../shared/wire/commands.ts';
import { type EventSet, Market } from '../book/market.ts';
import type { Group } from '../book/orderGroups.ts';
import { DOUBLE_SHIFT, SLOT_STATE, WORD_AT, WORD_SHIFT } from '../book/orders.ts';
import { FOR_EVER, marketIn } from '../book/retention.ts';
import { LINE_WORDS } from '../book/signedLines.ts';
import { CLIENT_ID_WORDS, NO_TAG } from '../book/tags.ts';
import type { ShardState } from './state.ts';
import { MOST_TOMBSTONES, MOST_TOMBSTONES_OF_ACCOUNT } from './tombstones.ts';

/** Of a row of an order: what belongs to the pool that it lies in. */
const OF_THE_POOL: ReadonlySet<number> = new Set([
  WORD_AT.NEXT,
  WORD_AT.PREVIOUS,
  WORD_AT.ACCOUNT_NEXT,
  WORD_AT.ACCOUNT_PREVIOUS,
  WORD_AT.HEAP_INDEX,
  WORD_AT.TAG,
  WORD_AT.ORIGIN,
]);

/** The shards are between two steps of something that all of them do: only a start finishes that. */
export class UnfinishedError extends Error {
  override readonly name = 'UnfinishedError';
}

type Resharding = {
  /** The states of all old shards, by shard. */
  readonly from: readonly ShardState[];
  /** New states, by shard. */
  readonly into: readonly ShardState[];
  /** The new shard of a market; the same for all markets of a set. */
  readonly shardOf: (market: Market) => number;
  /** The latest time of the old shards. */
  readonly nowMs: number;
  /** Called for each hash in memory of which nothing says the market, as `HashIndex.visitKept` shows it. */
  readonly onUnplaced: (words: Uint32Array, entry: number) => void;
};

/** Fills the new states; `finishResharding` completes them. @returns the new shard of each market, by its index. */
export function distribute({ from, into, shardOf, nowMs, onUnplaced }: Resharding): ReadonlyMap<number, number> {
  requireFinished(from);
  const placed = new Map<number, number>();
  for (const old of from) {
    for (const market of old.markets.all()) {
      const shard = shardOf(market);
      assert(!placed.has(market.index), 'RESHARD-1: a market is of one shard');
      placed.set(market.index, shard);
      into[shard].markets.add(copyOf(market, into[shard]));
    }
  }
  for (const { markets } of from) for (const set of markets.sets.all()) copySet(set, into, placed);
  for (const fresh of into) shareWhatAllKnow(from, fresh, nowMs);
  for (const old of from) moveTokens(old, into, placed);
  moveOrders(from, into, placed);
  moveHashes(from, into, placed, onUnplaced);
  moveMoney(from, into);
  for (const fresh of into) for (const market of fresh.markets.all()) fresh.markets.transitions.plan(market);
  keepEndings(from, into, placed);
  return placed;
}

/** Throws if the shards differ in what each of them does once it is asked to. */
function requireFinished(from: readonly ShardState[]): void {
  const [first, ...others] = from;
  const groups = groupsOf(first);
  const floors = floorsOf(first);
  for (const other of others) {
    if (other.contracts.facts().join() !== first.contracts.facts().join())
      throw new UnfinishedError('a change of contracts has reached some shards only');
    if (other.stages.ofShard !== first.stages.ofShard)
      throw new UnfinishedError('a step of reopening has reached some shards only');
    if (groupsOf(other) !== groups)
      throw new UnfinishedError('an order group has tripped or was changed in some shards only');
    if (floorsOf(other) !== floors) throw new UnfinishedError('a floor of nonces was raised in some shards only');
  }
}

function groupsOf({ groups }: ShardState): string {
  const rows = groups
    .all()
    .map(({ index, account, windowSec, maxAtomic, isTripped }) =>
      [index, account, windowSec, maxAtomic, isTripped].join(':'),
    );
  return rows.sort().join();
}

function floorsOf({ nonceFloors }: ShardState): string {
  const rows = [...nonceFloors.all()].map(({ account, wallet, floor }) => [account, ...wallet, floor].join(':'));
  return rows.sort().join();
}

function copyOf(market: Market, { orders }: ShardState): Market {
  const { index, uuid, ticksPerUnit, minOrderAtomic, status, feeBps, startMs, endMs } = market;
  const copy = new Market(orders, index, uuid.slice(), ticksPerUnit, minOrderAtomic, status, feeBps, startMs, endMs);
  copy.stage = market.stage;
  copy.collateralMicro = market.collateralMicro;
  copy.sequence = market.sequence;
  copy.lastFillMicros = market.lastFillMicros;
  copy.openOrders = market.openOrders;
  copy.isClosed = market.isClosed;
  copy.isClosing = market.isClosing;
  copy.decision = market.decision;
  copy.decisionYesPpm = market.decisionYesPpm;
  copy.payoutYesPpm = market.payoutYesPpm;
  copy.resolvedMs = market.resolvedMs;
  copy.settledMs = market.settledMs;
  copy.roundingPpm = market.roundingPpm;
  return copy;
}

/** A set whose markets are not all open yet is copied as far as it is. */
function copySet(set: EventSet, into: readonly ShardState[], placed: ReadonlyMap<number, number>): void {
  const members = set.members.filter((market) => market !== undefined);
  const shard = newShardOf(placed, members[0].index);
  const { markets } = into[shard];
  for (const { index, setOrdinal } of members) {
    assert(newShardOf(placed, index) === shard, 'RESHARD-1: the markets of a set stay together');
    markets.sets.join(markets.get(index)!, set.first, setOrdinal, set.size);
  }
  markets.sets.get(set.first)!.excessMicro = set.excessMicro;
}

/** RESHARD-3, and the numbers that go on above those of every old shard. */
function shareWhatAllKnow(from: readonly ShardState[], into: ShardState, nowMs: number): void {
  const [first] = from;
  const { contracts, groups, hashes, matcher, nonceFloors, references, stages } = into;
  contracts.chainId = first.contracts.chainId;
  contracts.exchange = first.contracts.exchange.slice();
  stages.ofShard = first.stages.ofShard;
  for (const { account, wallet, floor } of first.nonceFloors.all()) nonceFloors.raise(account, wallet, 0, floor);
  for (const group of first.groups.all()) {
    const copy = groups.make(group.account, group.index);
    copy.windowSec = group.windowSec;
    copy.maxAtomic = group.maxAtomic;
    copy.isTripped = group.isTripped;
    fillWindow(copy, fullestOf(from, group));
    groups.dirty.add(copy);
  }
  for (const old of from) {
    into.orderSequence = Math.max(into.orderSequence, old.orderSequence);
    matcher.tradeSequence = Math.max(matcher.tradeSequence, old.matcher.tradeSequence);
    into.floor = Math.max(into.floor, old.floor);
    into.useRules(Math.max(into.rules, old.rules));
    old.references.visit((words, word, account) => {
      if (!references.has(words, word)) references.insert(words, word, account, FOR_EVER, FOR_EVER);
    });
  }
  shareTombstones(from, into, nowMs);
  // The earliest: an order may still be open that expired by the time of another shard.
  hashes.retention.reach(Math.min(...from.map((old) => old.hashes.retention.hour)));
}

/**
 * A group counts the fills of each shard by themselves. Of those of the old shards every new one gets the most, so that
 * nothing is forgotten where a shard is divided, and no group trips because two became one.
 */
function fullestOf(from: readonly ShardState[], { account, index }: Group): Group['window'] {
  const windows = from.map(({ groups }) => groups.find(account, index)!.window);
  return windows.reduce((most, window) => (window.sumAtomic > most.sumAtomic ? window : most));
}

function fillWindow({ window }: Group, of: Group['window']): void {
  for (let entry = 0; entry < of.count; entry++) window.add(of.timesMs[entry], of.atomic[entry]);
}

function shareTombstones(from: readonly ShardState[], { tombstones }: ShardState, nowMs: number): void {
  type Tombstone = { readonly account: number; readonly hash: Uint32Array; readonly untilMs: number };
  const latest = new Map<string, Tombstone>();
  for (const old of from) {
    old.tombstones.visit((account, hash, untilMs) => {
      if (untilMs <= nowMs) return;
      const key = `${account} ${hash.join()}`;
      if ((latest.get(key)?.untilMs ?? 0) < untilMs) latest.set(key, { account, hash, untilMs });
    });
  }
  const ofAccount = new Map<number, number>();
  for (const { account } of latest.values()) ofAccount.set(account, (ofAccount.get(account) ?? 0) + 1);
  if (latest.size > MOST_TOMBSTONES || Math.max(0, ...ofAccount.values()) > MOST_TOMBSTONES_OF_ACCOUNT)
    throw new UnfinishedError('together the shards have more tombstones than one may have; they end within a minute');
  const entries = [...latest.values()].sort((a, b) => a.untilMs - b.untilMs);
  for (const { account, hash, untilMs } of entries) tombstones.restore(account, hash, untilMs);
}

/** The holders of a market keep their order, because they are paid in it. */
function moveTokens(old: ShardState, into: readonly ShardState[], placed: ReadonlyMap<number, number>): void {
  const { pairs, available, reserved, count } = old.ledger.positions;
  for (let row = 0; row < count; row++) {
    const { positions } = into[newShardOf(placed, pairs.markets[row])].ledger;
    const to = positions.rowOf(pairs.accounts[row], pairs.markets[row]);
    for (const outcome of [0, 1]) {
      positions.available[to * 2 + outcome] = available[row * 2 + outcome];
      positions.reserved[to * 2 + outcome] = reserved[row * 2 + outcome];
    }
  }
  for (const { index, isSettling, cursor } of old.markets.all()) {
    if (!isSettling) continue;
    const { ledger, markets } = into[newShardOf(placed, index)];
    markets.get(index)!.cursor = ledger.positions.find(pairs.accounts[cursor], index);
  }
}

/** RESHARD-4. In each new pool an account's orders are in the order of their numbers. */
function moveOrders(
  from: readonly ShardState[],
  into: readonly ShardState[],
  placed: ReadonlyMap<number, number>,
): void {
  const open: { readonly shard: number; readonly slot: number; readonly sequence: number }[] = [];
  for (const [shard, { orders }] of from.entries()) {
    for (let slot = 0; slot < orders.capacity; slot++) {
      if (orders.state[slot << WORD_SHIFT] === SLOT_STATE.FREE) continue;
      open.push({ shard, slot, sequence: orders.sequence[slot << DOUBLE_SHIFT] });
    }
  }
  open.sort((a, b) => a.sequence - b.sequence);
  for (const { shard, slot } of open) {
    const market = from[shard].orders.market[slot << WORD_SHIFT];
    const to = newShardOf(placed, market);
    moveOrder(from[shard], shard, slot, into[to], to);
  }
}

function moveOrder(from: ShardState, shard: number, slot: number, into: ShardState, to: number): void {
  const { orders } = from;
  const fresh = into.orders.allocate(orders.account[slot << WORD_SHIFT]);
  for (let word = 0; word < 1 << WORD_SHIFT; word++) {
    if (OF_THE_POOL.has(word)) continue;
    into.orders.words[(fresh << WORD_SHIFT) | word] = orders.words[(slot << WORD_SHIFT) | word];
  }
  const line = orders.signed.hashOffset(slot);
  into.orders.signed.words.set(
    orders.signed.words.subarray(line, line + LINE_WORDS),
    into.orders.signed.hashOffset(fresh),
  );
  const origin = orders.origin[slot << WORD_SHIFT] || shard + 1;
  into.orders.origin[fresh << WORD_SHIFT] = origin === to + 1 ? 0 : origin;
  const tag = orders.tag[slot << WORD_SHIFT];
  if (tag === NO_TAG) return;
  const { tags } = into.orders;
  const row = tags.allocate();
  tags.setClientId(row, orders.tags.clientId, tag * CLIENT_ID_WORDS, orders.tags.clientIdBytes[tag]);
  tags.group[row] = orders.tags.group[tag];
  tags.priority[row] = orders.tags.priority[tag];
  into.orders.tag[fresh << WORD_SHIFT] = row;
}

function moveHashes(
  from: readonly ShardState[],
  into: readonly ShardState[],
  placed: ReadonlyMap<number, number>,
  onUnplaced: Resharding['onUnplaced'],
): void {
  for (const { hashes } of from) {
    hashes.visitKept((words, entry) => {
      const shard = placed.get(marketIn(words[entry + 4], words[entry + 5]));
      if (shard === undefined) onUnplaced(words, entry);
      else into[shard].hashes.insertKept(words, entry);
    });
  }
}

/** The first shard gets what the others do not need. */
function moveMoney(from: readonly ShardState[], into: readonly ShardState[]): void {
  const [first, ...others] = into;
  const accounts = Math.max(...from.map(({ ledger }) => ledger.accountCapacity));
  const reserved = into.map((state) => reservedIn(state, accounts));
  for (let account = 0; account < accounts; account++) {
    let netMicro = 0;
    for (const { ledger } of from)
      if (account < ledger.accountCapacity) netMicro = addSafe(netMicro, ledger.netMicro[account]);
    for (const [index, { ledger }] of others.entries()) {
      const micro = reserved[index + 1][account];
      if (micro === 0) continue;
      ledger.give(account, -micro, micro);
      netMicro = addSafe(netMicro, micro);
    }
    if (netMicro !== 0 || reserved[0][account] !== 0) first.ledger.give(account, netMicro, reserved[0][account]);
  }
  for (const { totals } of from) {
    first.totals.depositedMicro = addSafe(first.totals.depositedMicro, totals.depositedMicro);
    first.totals.withdrawnMicro = addSafe(first.totals.withdrawnMicro, totals.withdrawnMicro);
  }
  for (const { markets, totals } of others) {
    for (const { collateralMicro } of markets.all())
      totals.depositedMicro = addSafe(totals.depositedMicro, collateralMicro);
    for (const { excessMicro } of markets.sets.all())
      totals.depositedMicro = addSafe(totals.depositedMicro, excessMicro);
    first.totals.depositedMicro = addSafe(first.totals.depositedMicro, -totals.depositedMicro);
  }
  assert(first.totals.depositedMicro >= 0, 'RESHARD-2: there is no more collateral than was deposited');
}

/** LEDGER-2: by account, what open BUY orders hold. */
function reservedIn({ orders }: ShardState, accounts: number): Float64Array {
  const micro = new Float64Array(accounts);
  for (let slot = 0; slot < orders.capacity; slot++) {
    const row = slot << WORD_SHIFT;
    if (orders.state[row] === SLOT_STATE.FREE || kindSide(orders.kind[row]) !== SIDE.BUY) continue;
    const held = orders.remainingLots[slot << DOUBLE_SHIFT] * orders.limitTicks[row];
    micro[orders.account[row]] = addSafe(micro[orders.account[row]], held);
  }
  return micro;
}

/** Markets that are being ended take turns as in their old shards. */
function keepEndings(
  from: readonly ShardState[],
  into: readonly ShardState[],
  placed: ReadonlyMap<number, number>,
): void {
  for (const { markets } of from) {
    for (const index of markets.endings.facts()) {
      const fresh = into[newShardOf(placed, index)].markets;
      fresh.endings.add(fresh.get(index)!);
    }
  }
}

/**
 * Derives what follows from the rest, once runs have the hashes of which nothing says the market. Hashes that are in no
 * memory are in the sum of the first shard alone: nothing says where they were.
 */
export function finishResharding({ from, into }: Pick<Resharding, 'from' | 'into'>): void {
  const [first, ...others] = into;
  for (const fresh of others) fresh.rebuild();
  const { accepted } = first.digest;
  for (const { digest } of from) addTo(accepted, digest.accepted, 1);
  for (const { digest } of others) addTo(accepted, digest.accepted, -1);
  assert(accepted.count >= 0, 'RESHARD-1: no shard has accepted what none had');
  first.rebuild();
}

type Accepted = ShardState['digest']['accepted'];

function addTo(sum: Accepted, { count, low, high }: Accepted, sign: 1 | -1): void {
  sum.count += sign * count;
  sum.low = (sum.low + sign * low) | 0;
  sum.high = (sum.high + sign * high) | 0;
}

function newShardOf(placed: ReadonlyMap<number, number>, market: number): number {
  const shard = placed.get(market);
  assert(shard !== undefined, 'RESHARD-1: whatever is of a market follows it');
  return shard;
}
