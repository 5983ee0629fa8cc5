/**
 * The open orders of one shard, as its events describe them: columns indexed by the shard's own slots, an index by
 * order hash, and one list per (account, market), oldest first.
 * Owner: the gateway thread. Units: lots and ticks of the order's own market and outcome. About 120 bytes an order.
 *
 * Signed amounts are not kept: a resting order is on the grid, so they are lots * ticksPerUnit tokens and
 * lots * limitTicks USDC.
 *
 * Invariants:
 *   ORDERVIEW-1  An order is listed (index and list) exactly while its state is RESTING or DORMANT.
 *   ORDERVIEW-2  Inside a list, orderSequence strictly increases from oldest to newest: the orders of a market were all
 *                accepted by one shard at a time, and a later one goes on above it (core/resharding.ts).
 *   ORDERVIEW-3  A slot's columns stay as they are after the order closed, until an ORDER event reuses the slot.
 *   ORDERVIEW-4  0 <= remainingLots <= quantityLots.
 *   ORDERVIEW-5  A listed order with a client order id is found by account and that id.
 *   ORDERVIEW-6  The listed orders of each pair and of each account are counted.
 */
import { assert } from '../../shared/base/assert.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { HASH_WORDS, OpenOrderIndex } from '../../shared/base/openOrderIndex.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { readClientId } from '../../shared/wire/clientId.ts';
import { kindOutcome, NO_GROUP } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { grown, NONE } from './growingColumn.ts';
import type { PairIndex } from './pairIndex.ts';

const FIRST_SLOTS = 64;

type OrderTag = { readonly clientId: string | null; readonly group: number };

export const ORDER_STATE = { INCOMING: 0, RESTING: 1, DORMANT: 2, CLOSED: 3 } as const;

export class OpenOrders {
  readonly shard: number;
  hash = new Uint32Array(FIRST_SLOTS * HASH_WORDS);
  /** Row of the (account, market) pair. */
  pair = new Uint32Array(FIRST_SLOTS);
  /** Side, outcome, time in force and bits, packed as in a PLACE command. */
  kind = new Uint32Array(FIRST_SLOTS);
  limitTicks = new Uint16Array(FIRST_SLOTS);
  state = new Uint8Array(FIRST_SLOTS);
  quantityLots = new Float64Array(FIRST_SLOTS);
  remainingLots = new Float64Array(FIRST_SLOTS);
  filledNotionalMicro = new Float64Array(FIRST_SLOTS);
  orderSequence = new Float64Array(FIRST_SLOTS);
  /** The orderSequence that decides the position in the queue: the order's own, unless an amend kept an older one. */
  priority = new Float64Array(FIRST_SLOTS);
  createdMs = new Float64Array(FIRST_SLOTS);
  /** The shard that accepted the order, plus one, because the id names that shard; 0: this shard. */
  origin = new Uint16Array(FIRST_SLOTS);
  /** Counts the visible changes of the slot's order, over all orders that the slot has had; never 0 for an order. */
  changes = new Uint32Array(FIRST_SLOTS);
  /** Neighbours in the queue of the order's level; bookViews.ts writes them. */
  queuePrevious = new Int32Array(FIRST_SLOTS);
  queueNext = new Int32Array(FIRST_SLOTS);
  readonly #pairs: PairIndex;
  readonly #index = new OpenOrderIndex();
  /** Neighbours in the list of the order's pair. */
  #listPrevious = new Int32Array(FIRST_SLOTS);
  #listNext = new Int32Array(FIRST_SLOTS);
  /** By pair: slot + 1 of its oldest and newest listed order, 0 when it has none. */
  #oldest = new Uint32Array(FIRST_SLOTS);
  #newest = new Uint32Array(FIRST_SLOTS);
  /** Number of listed orders, by pair, by account and by market. */
  #countOfPair = new Uint32Array(FIRST_SLOTS);
  #countOfAccount = new Uint32Array(FIRST_SLOTS);
  #countOfMarket = new Uint32Array(FIRST_SLOTS);
  /**
   * Open orders of a recovering shard that are not listed yet; a dormant order is stored as the complement of its slot.
   */
  #recovered: number[] = [];
  /** By slot, for the few orders that have one. */
  readonly #tags = new Map<number, OrderTag>();
  /** Slot by account and client order id (ORDERVIEW-5). */
  readonly #byClientId = new Map<string, number>();

  constructor(shard: number, pairs: PairIndex) {
    this.shard = shard;
    this.#pairs = pairs;
  }

  get count(): number {
    return this.#index.count;
  }

  /** The slot of the open order with this hash, or NONE. */
  find(key: Uint32Array, keyWord: number): number {
    return this.#index.find(this.hash, key, keyWord);
  }

  accountOf(slot: number): number {
    return this.#pairs.accounts[this.pair[slot]];
  }

  marketOf(slot: number): number {
    return this.#pairs.markets[this.pair[slot]];
  }

  /** Eight words, which are the column itself. */
  hashOf(slot: number): Uint32Array {
    return this.hash.subarray(slot * HASH_WORDS, (slot + 1) * HASH_WORDS);
  }

  /** The id of an order, also of one that has just closed (ORDERVIEW-3). */
  orderId(slot: number): string {
    return timeOrderedId(this.createdMs[slot], this.idShard(slot), ID_KIND.ORDER, this.orderSequence[slot]);
  }

  /** The shard that the id of the order names. */
  idShard(slot: number): number {
    return this.origin[slot] === 0 ? this.shard : this.origin[slot] - 1;
  }

  /** Copies an ORDER or ORDER_STATE event into the columns; the order is not listed yet. */
  write(slot: number, words: Uint32Array, word: number): void {
    this.#fit(slot + 1);
    assert(!isListed(this.state[slot]), 'ORDERVIEW-1: a slot is reused only after its order has closed');
    for (let i = 0; i < HASH_WORDS; i++) this.hash[slot * HASH_WORDS + i] = words[word + EVENT.ORDER.hash + i];
    this.pair[slot] = this.#pairs.rowOf(words[word + ANY_EVENT.account], words[word + ANY_EVENT.market]);
    this.kind[slot] = words[word + EVENT.ORDER.kind];
    this.limitTicks[slot] = words[word + EVENT.ORDER.limitTicks];
    this.state[slot] = ORDER_STATE.INCOMING;
    this.quantityLots[slot] = readSafe(words, word + EVENT.ORDER.quantityLots);
    this.remainingLots[slot] = readSafe(words, word + EVENT.ORDER.remainingLots);
    this.filledNotionalMicro[slot] = readSafe(words, word + EVENT.ORDER.filledNotionalMicro);
    this.orderSequence[slot] = readSafe(words, word + EVENT.ORDER.sequence);
    this.priority[slot] = this.orderSequence[slot];
    this.createdMs[slot] = readSafe(words, word + EVENT.ORDER.createdMs);
    // An ORDER has 0 there.
    this.origin[slot] = words[word + EVENT.ORDER_STATE.origin];
    this.changes[slot]++;
    if (this.#tags.size > 0) this.#tags.delete(slot);
    assert(this.remainingLots[slot] <= this.quantityLots[slot], 'ORDERVIEW-4: no more lots remain than were ordered');
  }

  /** Copies the ORDER_TAG event that follows the order's own event. */
  tag(words: Uint32Array, word: number): void {
    const slot = words[word + ANY_EVENT.slot];
    this.priority[slot] = readSafe(words, word + EVENT.ORDER_TAG.priority);
    this.changes[slot]++;
    this.#tags.set(slot, { clientId: readClientId(words, word), group: words[word + EVENT.ORDER_TAG.group] });
  }

  /** The client order id of an order, also of one that has just closed (ORDERVIEW-3); null when it has none. */
  clientIdOf(slot: number): string | null {
    return this.#tags.get(slot)?.clientId ?? null;
  }

  /** The index of the order's group, or NO_GROUP. */
  groupOf(slot: number): number {
    return this.#tags.get(slot)?.group ?? NO_GROUP;
  }

  /** The slot of the account's open order with this client order id, or NONE. */
  findByClientId(account: number, clientId: string): number {
    return this.#byClientId.get(`${account} ${clientId}`) ?? NONE;
  }

  /** Lists an order that is now open, as the newest of its account in its market. */
  list(slot: number, state: typeof ORDER_STATE.RESTING | typeof ORDER_STATE.DORMANT): void {
    assert(!isListed(this.state[slot]), 'ORDERVIEW-1: an order is listed once');
    this.state[slot] = state;
    this.#index.insert(this.hash, slot);
    const clientId = this.clientIdOf(slot);
    if (clientId !== null) this.#byClientId.set(`${this.accountOf(slot)} ${clientId}`, slot);
    const pair = this.pair[slot];
    const account = this.accountOf(slot);
    if (pair >= this.#oldest.length) this.#fitPairs(pair + 1);
    if (account >= this.#countOfAccount.length) this.#countOfAccount = grown(this.#countOfAccount, account + 1);
    const market = this.#pairs.markets[pair];
    if (market >= this.#countOfMarket.length) this.#countOfMarket = grown(this.#countOfMarket, market + 1);
    this.#countOfPair[pair]++;
    this.#countOfAccount[account]++;
    this.#countOfMarket[market]++;
    const previous = this.#newest[pair] - 1;
    this.#listPrevious[slot] = previous;
    this.#listNext[slot] = NONE;
    this.#newest[pair] = slot + 1;
    if (previous === NONE) {
      this.#oldest[pair] = slot + 1;
      return;
    }
    assert(
      this.orderSequence[previous] < this.orderSequence[slot],
      'ORDERVIEW-2: the newest order has the last sequence',
    );
    this.#listNext[previous] = slot;
  }

  /** Recovery: adds an open order. A shard sends orders book by book; they are listed later, in order of placement. */
  addRecovered(slot: number, isDormant: boolean): void {
    this.#recovered.push(isDormant ? ~slot : slot);
  }

  /** Recovery: removes and returns all added orders by orderSequence; the complement of a slot is a dormant order. */
  removeRecovered(): number[] {
    const recovered = this.#recovered;
    this.#recovered = [];
    const sequenceOf = (entry: number): number => this.orderSequence[entry < 0 ? ~entry : entry];
    return recovered.sort((a, b) => sequenceOf(a) - sequenceOf(b));
  }

  close(slot: number): void {
    if (isListed(this.state[slot])) this.#unlist(slot);
    this.state[slot] = ORDER_STATE.CLOSED;
  }

  fill(slot: number, lots: number, remainingLots: number, yesTicks: number, ticksPerUnit: number): void {
    assert(this.remainingLots[slot] - lots === remainingLots, 'ORDERVIEW-4: a fill reduces the remaining lots');
    const ticks = ownTicks(kindOutcome(this.kind[slot]), yesTicks, ticksPerUnit);
    this.remainingLots[slot] = remainingLots;
    this.filledNotionalMicro[slot] += lots * ticks;
    this.changes[slot]++;
  }

  /** The number of open orders of an account in this shard. */
  countOf(account: number): number {
    return account < this.#countOfAccount.length ? this.#countOfAccount[account] : 0;
  }

  /** The number of open orders in a market of this shard, the dormant ones too. */
  countOfMarket(market: number): number {
    return market < this.#countOfMarket.length ? this.#countOfMarket[market] : 0;
  }

  /** The number of open orders of a pair, which may be NONE. */
  countOfPair(pair: number): number {
    return pair !== NONE && pair < this.#countOfPair.length ? this.#countOfPair[pair] : 0;
  }

  /** The slots of the pair's open orders, oldest first, that were placed after the one with this sequence. */
  openAfter(pair: number, sequence: number, limit: number): number[] {
    const slots: number[] = [];
    const oldest = pair < this.#oldest.length ? this.#oldest[pair] - 1 : NONE;
    for (let slot = oldest; slot !== NONE && slots.length < limit; slot = this.#listNext[slot]) {
      if (this.orderSequence[slot] > sequence) slots.push(slot);
    }
    return slots;
  }

  #unlist(slot: number): void {
    this.#index.remove(this.hash, slot);
    const clientId = this.clientIdOf(slot);
    if (clientId !== null) this.#forgetClientId(`${this.accountOf(slot)} ${clientId}`, slot);
    const pair = this.pair[slot];
    this.#countOfPair[pair]--;
    this.#countOfAccount[this.accountOf(slot)]--;
    this.#countOfMarket[this.marketOf(slot)]--;
    const previous = this.#listPrevious[slot];
    const next = this.#listNext[slot];
    if (previous === NONE) this.#oldest[pair] = next + 1;
    else this.#listNext[previous] = next;
    if (next === NONE) this.#newest[pair] = previous + 1;
    else this.#listPrevious[next] = previous;
  }

  /**
   * Only the gateway prevents a client order id from being used twice, and it forgets the ids in flight when it
   * restarts. Two open orders may then have the same id; the one that closes must not remove the other.
   */
  #forgetClientId(key: string, slot: number): void {
    if (this.#byClientId.get(key) === slot) this.#byClientId.delete(key);
  }

  #fitPairs(pairs: number): void {
    this.#oldest = grown(this.#oldest, pairs);
    this.#newest = grown(this.#newest, pairs);
    this.#countOfPair = grown(this.#countOfPair, pairs);
  }

  #fit(slots: number): void {
    if (slots <= this.state.length) return;
    this.hash = grown(this.hash, slots * HASH_WORDS);
    this.pair = grown(this.pair, slots);
    this.kind = grown(this.kind, slots);
    this.limitTicks = grown(this.limitTicks, slots);
    this.state = grown(this.state, slots);
    this.quantityLots = grown(this.quantityLots, slots);
    this.remainingLots = grown(this.remainingLots, slots);
    this.filledNotionalMicro = grown(this.filledNotionalMicro, slots);
    this.orderSequence = grown(this.orderSequence, slots);
    this.priority = grown(this.priority, slots);
    this.createdMs = grown(this.createdMs, slots);
    this.origin = grown(this.origin, slots);
    this.changes = grown(this.changes, slots);
    this.queuePrevious = grown(this.queuePrevious, slots);
    this.queueNext = grown(this.queueNext, slots);
    this.#listPrevious = grown(this.#listPrevious, slots);
    this.#listNext = grown(this.#listNext, slots);
  }
}

function isListed(state: number): boolean {
  return state === ORDER_STATE.RESTING || state === ORDER_STATE.DORMANT;
}
