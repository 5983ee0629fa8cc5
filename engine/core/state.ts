/**
 * Everything one shard knows, in one place: admission.ts reads it and apply.ts changes it. It is a pure function of the
 * journal: no clock, no randomness, nothing from outside but the commands.
 * Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { isDecided, STAGE } from '../../shared/base/codes.ts';
import { OpenOrderIndex } from '../../shared/base/openOrderIndex.ts';
import type { Balances } from '../../shared/wire/balances.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { AcceptedHashes } from '../book/acceptedHashes.ts';
import { Contracts } from '../book/contracts.ts';
import { HashIndex } from '../book/hashIndex.ts';
import { Markets, STAGES_VERSION } from '../book/markets.ts';
import { NonceFloors } from '../book/nonceFloors.ts';
import { Groups } from '../book/orderGroups.ts';
import { DOUBLE_SHIFT, NONE, Orders, SLOT_STATE, WORD_SHIFT } from '../book/orders.ts';
import { persistOrders } from '../book/packedOrders.ts';
import { LINE_WORDS } from '../book/signedLines.ts';
import { Ledger } from '../money/ledger.ts';
import { Digest } from '../output/digest.ts';
import { EventWriter } from '../output/emit.ts';
import { Closing } from './closing.ts';
import { ExactBound } from './exactBound.ts';
import { ExpiryHeap } from './expiry.ts';
import { GroupLimits } from './groupLimits.ts';
import { Matcher } from './matcher.ts';
import { RULES_BEFORE } from './rules.ts';
import { Tombstones } from './tombstones.ts';

/** The first version of snapshots with a floor. */
const FLOOR_VERSION = 10;
/** The first version of snapshots with nonce floors. */
const NONCE_FLOORS_VERSION = 12;
/** The first one with the rules in force. */
const RULES_VERSION = 13;
/** The first one with the orders ever accepted as numbers; in older ones every hash is there to be counted. */
const ACCEPTED_VERSION = 14;
/** The counters that go into every digest. */
const COUNTERS = 6;
const NO_FACTS: readonly number[] = [];

export class ShardState {
  readonly orders = new Orders();
  /** The slots of resting and dormant orders by their hashes. */
  readonly openOrders = new OpenOrderIndex(LINE_WORDS);
  /** Hashes of orders that were accepted and could be sent again. */
  readonly hashes = new AcceptedHashes();
  /** Reference hashes of deposits and withdrawals: each is applied once, for ever. */
  readonly references = new HashIndex();
  readonly markets = new Markets();
  readonly groups = new Groups();
  readonly contracts = new Contracts();
  readonly nonceFloors = new NonceFloors();
  /** The stage in which new markets of the shard begin: the target of the last step of all markets. */
  readonly stages: { ofShard: number } = { ofShard: STAGE.OPEN };
  readonly totals = { depositedMicro: 0, withdrawnMicro: 0 };
  readonly expiry: ExpiryHeap;
  readonly ledger: Ledger;
  readonly digest: Digest;
  readonly emit: EventWriter;
  readonly closing: Closing;
  readonly groupLimits: GroupLimits;
  readonly matcher: Matcher;
  readonly tombstones: Tombstones;
  /** Null while collateral is checked: covered orders bound every sum by themselves. */
  readonly exactBound: ExactBound | null;
  /**
   * All earlier numbers are at most this, and all later ones are above it (core/raising.ts). 0 for a shard that was
   * never raised.
   */
  floor = 0;
  /** The version of the rules in force (rules.ts). */
  rules = RULES_BEFORE;
  /** Sequence of the last accepted order. Later orders have larger ones, which is time priority. */
  orderSequence = 0;
  readonly #counters = new Float64Array(COUNTERS);
  /** Of the rules in force, for the digest; those of before are in none. */
  #factsOfRules = NO_FACTS;

  constructor(balances: Balances, collateralCheck: boolean) {
    this.ledger = new Ledger(balances, collateralCheck);
    this.exactBound = collateralCheck ? null : new ExactBound(this.ledger, balances.shards);
    this.expiry = new ExpiryHeap(this.orders);
    this.digest = new Digest(this.orders, this.ledger);
    this.emit = new EventWriter(new RecordBuffer(1 << 20), this.orders, this.ledger);
    this.tombstones = new Tombstones(this.digest);
    const { digest, emit, expiry, groups, ledger, markets, openOrders, orders } = this;
    this.closing = new Closing(orders, ledger, openOrders, expiry, digest, emit);
    this.groupLimits = new GroupLimits(orders, markets, groups, this.closing);
    this.matcher = new Matcher(orders, ledger, markets, this.closing, this.groupLimits, digest, emit);
  }

  /** Open orders are found in memory, so that their cancels wait for no disk. */
  wasAccepted(words: Uint32Array, word: number): boolean {
    return this.openOrders.find(this.orders.signed.words, words, word) !== NONE || this.hashes.has(words, word);
  }

  useRules(rules: number): void {
    this.rules = rules;
    this.#factsOfRules = rules === RULES_BEFORE ? NO_FACTS : [rules];
  }

  /** Writes the digest of everything, counters included, as two words. */
  writeDigest(into: Uint32Array, word: number): void {
    const { contracts, digest, groups, markets, matcher, references, stages, totals } = this;
    digest.catchUp();
    for (let i = 0; i < markets.dirtyCount; i++) digest.market(markets.dirty[i]);
    markets.clearDirty();
    if (groups.dirty.size > 0) {
      for (const group of groups.dirty) digest.group(group);
      groups.dirty.clear(); // an empty set, too, would be made anew
    }
    const counters = this.#counters;
    counters[0] = this.orderSequence;
    counters[1] = matcher.tradeSequence;
    counters[2] = digest.accepted.count;
    counters[3] = references.size;
    counters[4] = totals.depositedMicro;
    counters[5] = totals.withdrawnMicro;
    const { endings } = markets;
    // For the stage OPEN nothing is added to the digest, as in journals older than stages.
    const stage = stages.ofShard === STAGE.OPEN ? NO_FACTS : [stages.ofShard];
    const floor = this.floor === 0 ? NO_FACTS : [this.floor];
    const isPlain = !contracts.haveChanged && endings.isEmpty && stages.ofShard === STAGE.OPEN && this.floor === 0;
    const ofRules = this.#factsOfRules;
    const facts = isPlain ? ofRules : [...contracts.facts(), ...endings.facts(), ...stage, ...floor, ...ofRules];
    digest.write(counters, facts, into, word);
  }

  /**
   * Writes or reads everything that a snapshot holds (snapshot.ts). After reading, `rebuild` derives the other parts.
   */
  persist(io: SnapshotIo): void {
    this.orderSequence = io.number(this.orderSequence);
    this.matcher.tradeSequence = io.number(this.matcher.tradeSequence);
    this.totals.depositedMicro = io.number(this.totals.depositedMicro);
    this.totals.withdrawnMicro = io.number(this.totals.withdrawnMicro);
    persistOrders(io, this.orders);
    this.hashes.persist(io);
    this.references.persist(io);
    this.ledger.persist(io);
    this.markets.persist(io, this.orders);
    this.groups.persist(io);
    this.contracts.persist(io);
    this.tombstones.persist(io);
    if (io.version >= STAGES_VERSION) this.stages.ofShard = io.number(this.stages.ofShard);
    if (io.version >= FLOOR_VERSION) this.floor = io.number(this.floor);
    if (io.version >= NONCE_FLOORS_VERSION) this.nonceFloors.persist(io);
    if (io.version >= RULES_VERSION) this.useRules(io.number(this.rules));
    if (io.version >= ACCEPTED_VERSION) this.digest.persistAccepted(io);
  }

  /** Derives queues, expiry heap, index of open orders and digest from what was read. Orders keep their slots. */
  rebuild(): void {
    const { orders, digest, ledger, expiry, openOrders } = this;
    openOrders.clear();
    const open: number[] = [];
    for (let slot = 0; slot < orders.capacity; slot++)
      if (orders.state[slot << WORD_SHIFT] !== SLOT_STATE.FREE) open.push(slot);
    open.sort((a, b) => orders.priorityOf(a) - orders.priorityOf(b));
    assert(open.length === orders.openCount, 'ORDERS-1: the pool counts its open orders');
    for (const slot of open) {
      const market = this.markets.get(orders.market[slot << WORD_SHIFT]);
      assert(market !== undefined, 'ORDERS-1: an open order has a market');
      const isDormant = orders.state[slot << WORD_SHIFT] === SLOT_STATE.DORMANT;
      assert(orders.sequence[slot << DOUBLE_SHIFT] <= this.orderSequence, 'ORDERS-2: no order is newer than the last');
      orders.state[slot << WORD_SHIFT] = SLOT_STATE.INCOMING;
      if (isDormant) market.book.addDormant(slot);
      else market.book.rest(slot);
      orders.heapIndex[slot << WORD_SHIFT] = NONE;
      if (orders.expirationSec[slot << DOUBLE_SHIFT] !== 0) expiry.add(slot);
      this.#requireRemembered(slot);
      openOrders.insert(orders.signed.words, slot);
      digest.order(slot);
    }
    for (const { index, status } of this.markets.all()) if (isDecided(status)) this.hashes.retention.decide(index);
    for (let account = 0; account < ledger.accountCapacity; account++) digest.account(account);
    for (let row = 0; row < ledger.positions.count; row++) digest.position(row);
    this.exactBound?.rebuild();
    if (digest.accepted.count > 0) digest.addAccepted(digest.accepted);
    else this.hashes.visit((words, word, account) => digest.hashAccepted(words, word, account));
    this.references.visit((words, word, account) => digest.reference(words, word, account));
    for (const { account, wallet, floor } of this.nonceFloors.all()) digest.nonceFloor(account, wallet, 0, floor, 1);
  }

  #requireRemembered(slot: number): void {
    const { hashes, openOrders, orders } = this;
    const { words } = orders.signed;
    const at = orders.signed.hashOffset(slot);
    const isOwn = hashes.mayBeOf(orders.account[slot << WORD_SHIFT], words, at);
    assert(isOwn, 'ORDERS-2: the hash of an open order is remembered, with its account');
    assert(openOrders.find(words, words, at) === NONE, 'ORDERS-2: no two open orders have one hash');
  }
}
