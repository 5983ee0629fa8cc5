/**
 * The views: the state of all shards, as their events describe it: books, open orders, accounts, markets, groups.
 * Reads of books, open orders and balances are answered from here without leaving the thread.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   VIEWS-1  The events of a shard are applied in ring order, each once, before the reply that follows them is handled:
 *            a client that has its answer sees the effects of its command here.
 *   VIEWS-2  The views are consistent between two records, and are read only then.
 *   VIEWS-3  From `recovering` on, a shard sends its whole state again. Its old orders and USDC stay readable until it
 *            is READY and are then replaced in one step; markets and tokens are overwritten as they come. In the
 *            meantime the sums of `ledger` may not balance.
 */
import { assert, unreachable } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, toHex } from '../../shared/base/hex.ts';
import { ANY_EVENT, assertEvent, EVENT, typeOf } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { AccountViews, ShardFunds } from './accountViews.ts';
import { Books } from './bookViews.ts';
import { GroupViews } from './groupViews.ts';
import { NONE } from './growingColumn.ts';
import { LedgerCopy } from './ledgerView.ts';
import { MarketViews } from './marketViews.ts';
import { NonceFloorViews } from './nonceFloorViews.ts';
import { OpenOrders, ORDER_STATE } from './orderViews.ts';
import { PairIndex } from './pairIndex.ts';
import { RecordResult } from './recordResult.ts';

/** The contract that orders are signed for. */
type ContractsView = { readonly chainId: number; readonly exchangeAddress: string };

/** A follower of the shards' events, called for each one when it has been applied to the views. */
export type ViewsFollower = {
  /** An event was applied to the views; later events were not. */
  applied(shard: number, record: RecordResult, words: Uint32Array, word: number): void;
  /** The views hold everything that a shard has recovered, up to this record of its journal. */
  recovered(shard: number, shardSequence: number): void;
  /** A batch of events has been applied, and the replies among them have been handled. */
  flush(): void;
};

/** The orders and funds that a recovering shard has sent, until they replace the old ones (VIEWS-3). */
type Recovery = { readonly orders: OpenOrders; readonly funds: ShardFunds };

export class Views {
  readonly pairs = new PairIndex();
  /** By shard. */
  readonly orders: OpenOrders[];
  readonly books = new Books();
  readonly markets: MarketViews;
  readonly groups = new GroupViews();
  readonly nonceFloors = new NonceFloorViews();
  /** By shard: the contracts that orders are signed for; null while they are those of the start. */
  readonly contracts: (ContractsView | null)[];
  readonly accounts: AccountViews;
  /** By shard: shardSequence at its last READY. Everything acknowledged before has this sequence or a lower one. */
  readonly #recoveredSequences: Float64Array;
  /** By shard: the last record whose events have all been applied. Only shards of a cluster report it. */
  readonly #shownSequences: Float64Array;
  /** By shard: shardSequence of the last record that changed the status or the times of a market, in this process. */
  readonly #marketSequences: Float64Array;
  /** By shard: the effects of the current record on the order it placed. */
  readonly #results: RecordResult[];
  /** By shard; null once it is READY. */
  readonly #recoveries: (Recovery | null)[];

  constructor(shards: number) {
    this.orders = Array.from({ length: shards }, (_, shard) => new OpenOrders(shard, this.pairs));
    this.markets = new MarketViews(shards);
    this.#results = Array.from({ length: shards }, () => new RecordResult());
    this.accounts = new AccountViews(shards, this.pairs);
    this.contracts = this.orders.map(() => null);
    this.#recoveredSequences = new Float64Array(shards);
    this.#shownSequences = new Float64Array(shards);
    this.#marketSequences = new Float64Array(shards);
    this.#recoveries = this.orders.map(() => null);
  }

  /** Every shard is READY. */
  get isWhole(): boolean {
    return this.#recoveries.every((recovery) => recovery === null);
  }

  /** The account's open order with this client order id; null when there is none. */
  findByClientId(account: number, clientId: string): { orders: OpenOrders; slot: number } | null {
    for (const orders of this.orders) {
      const slot = orders.findByClientId(account, clientId);
      if (slot !== NONE) return { orders, slot };
    }
    return null;
  }

  /** A copy of all balances at this moment, to be added up later. */
  ledger(): LedgerCopy {
    return new LedgerCopy(this.accounts, this.markets);
  }

  /** Applies one event; REPLY and READY are not state and belong to the shard link. */
  apply(shard: number, words: Uint32Array, word: number): void {
    assertEvent(words, word);
    const result = this.#results[shard];
    switch (typeOf(words[word + ANY_EVENT.type])) {
      case EVENT.RECORD.TYPE:
        result.start(words, word);
        break;
      case EVENT.ORDER.TYPE:
        result.order(words, word);
        this.orders[shard].write(words[word + ANY_EVENT.slot], words, word);
        break;
      case EVENT.ORDER_STATE.TYPE:
        this.#recoverOrder(shard, words, word);
        break;
      case EVENT.ORDER_TAG.TYPE:
        (this.#recoveries[shard]?.orders ?? this.orders[shard]).tag(words, word);
        break;
      case EVENT.REST.TYPE:
        this.#applyRest(shard, words, word);
        break;
      case EVENT.FILL.TYPE:
        result.fill(words, word);
        this.markets.filled(words[word + ANY_EVENT.market], result.timeMs);
        this.#applyFill(shard, words, word);
        break;
      case EVENT.CLOSED.TYPE:
        result.closed(words, word);
        this.#applyClosed(shard, words, word);
        break;
      case EVENT.DORMANT.TYPE:
        this.#applyDormant(shard, words, word);
        break;
      case EVENT.WOKEN.TYPE:
        this.#applyWoken(shard, words, word);
        break;
      case EVENT.ACCOUNT.TYPE:
        this.accounts.applyAccount(this.#funds(shard), result.shardSequence, words, word);
        break;
      case EVENT.MARKET.TYPE:
        this.#applyMarket(shard, words, word);
        break;
      case EVENT.LAST_FILL.TYPE:
      case EVENT.SET.TYPE:
      case EVENT.STAGE.TYPE:
      case EVENT.RAISED.TYPE:
        this.#applyToMarkets(shard, words, word);
        break;
      case EVENT.FUNDS.TYPE:
        this.accounts.applyFunds(this.#funds(shard), words, word);
        break;
      case EVENT.GROUP.TYPE:
        this.groups.apply(shard, this.#recoveries[shard] === null ? result.timeMs : 0, words, word);
        break;
      case EVENT.CONTRACTS.TYPE:
        this.contracts[shard] = readContracts(words, word);
        break;
      case EVENT.NONCE_FLOOR.TYPE:
        this.nonceFloors.apply(words, word);
        break;
      case EVENT.TOMBSTONE.TYPE: // the reply carries it
      case EVENT.UNWOUND.TYPE: // the balances come with it
      case EVENT.SET_CONVERTED.TYPE: // likewise
      case EVENT.DIGEST.TYPE: // for replays only
        break;
      case EVENT.PUBLISHED.TYPE:
        this.#shownSequences[shard] = readSafe(words, word + EVENT.PUBLISHED.shardSequence);
        break;
      default:
        unreachable('views: an event of unknown type');
    }
  }

  /** Applies an event that is about markets but is not the MARKET event of one. */
  #applyToMarkets(shard: number, words: Uint32Array, word: number): void {
    switch (typeOf(words[word + ANY_EVENT.type])) {
      case EVENT.LAST_FILL.TYPE:
        return this.markets.recoverFill(words, word);
      case EVENT.SET.TYPE:
        return this.markets.setExcess(words, word);
      case EVENT.STAGE.TYPE:
        return this.markets.step(shard, words, word);
      default:
        return this.markets.raise(shard, readSafe(words, word + EVENT.RAISED.floor));
    }
  }

  /** The shard is recovering: it will send its whole state, and then be READY. */
  recovering(shard: number): void {
    this.#recoveries[shard] = { orders: new OpenOrders(shard, this.pairs), funds: new ShardFunds() };
    this.#results[shard] = new RecordResult();
    this.groups.recovering(shard);
    this.markets.recovering(shard);
  }

  /**
   * The shard has recovered up to this record of its journal and has sent its whole state: its open orders are inserted
   * into lists and books in the order in which they were placed.
   */
  recovered(shard: number, shardSequence: number): void {
    const { orders, funds } = this.#mustRecover(shard);
    this.#recoveries[shard] = null;
    this.#recoveredSequences[shard] = shardSequence;
    this.orders[shard] = orders;
    this.accounts.shards[shard] = funds;
    this.markets.recovered(shard);
    for (const market of this.markets.ofShard(shard)) {
      this.books.drop(market);
      this.markets.catchUp(market);
    }
    for (const entry of orders.removeRecovered()) {
      if (entry < 0) {
        orders.list(~entry, ORDER_STATE.DORMANT);
      } else {
        orders.list(entry, ORDER_STATE.RESTING);
        this.#insert(orders, entry, orders.marketOf(entry));
      }
    }
  }

  /**
   * The last record of a shard that may have been acknowledged to this account, in this process or before a restart: a
   * read model that has followed the journal up to it contains all the account's acknowledged writes.
   */
  lastAcknowledged(account: number, shard: number): number {
    return Math.max(this.#recoveredSequences[shard], this.accounts.lastSequence(account, shard));
  }

  /**
   * The last record of a shard that may have changed the status or times of a market: lists wait for it in the same
   * way.
   */
  lastMarketChange(shard: number): number {
    return Math.max(this.#recoveredSequences[shard], this.#marketSequences[shard]);
  }

  /** The last record of the shard that the views show; 0 before it has recovered for the first time. */
  appliedSequence(shard: number): number {
    return Math.max(this.#recoveredSequences[shard], this.#results[shard].shardSequence);
  }

  /** In a cluster: the last record of the shard that the views show completely, with all earlier ones. */
  shownSequence(shard: number): number {
    return Math.max(this.#recoveredSequences[shard], this.#shownSequences[shard]);
  }

  /** The result of the record whose events were applied last: valid until its reply has been handled. */
  resultOf(shard: number): RecordResult {
    return this.#results[shard];
  }

  /** The reply to a shard's record was handled. A refusal that follows has no record, and must not see this result. */
  replied(shard: number): void {
    this.#results[shard].clear();
  }

  #applyMarket(shard: number, words: Uint32Array, word: number): void {
    const { listChanges } = this.markets;
    this.markets.apply(shard, this.#recoveries[shard] !== null, words, word);
    if (this.markets.listChanges !== listChanges) this.#marketSequences[shard] = this.#results[shard].shardSequence;
  }

  #mustRecover(shard: number): Recovery {
    const recovery = this.#recoveries[shard];
    assert(recovery != null, 'VIEWS-3: only a recovering shard sends its whole state');
    return recovery;
  }

  #funds(shard: number): ShardFunds {
    return this.#recoveries[shard]?.funds ?? this.accounts.shards[shard];
  }

  #recoverOrder(shard: number, words: Uint32Array, word: number): void {
    const { orders } = this.#mustRecover(shard);
    const slot = words[word + ANY_EVENT.slot];
    orders.write(slot, words, word);
    orders.addRecovered(slot, words[word + EVENT.ORDER.isDormant] === 1);
  }

  #applyRest(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard];
    const slot = words[word + ANY_EVENT.slot];
    assert(
      orders.remainingLots[slot] === readSafe(words, word + EVENT.REST.remainingLots),
      'ORDERVIEW-4: an order rests with all its remaining lots',
    );
    orders.list(slot, ORDER_STATE.RESTING);
    this.#insert(orders, slot, words[word + ANY_EVENT.market]);
    this.#advance(words, word);
  }

  #applyFill(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard];
    const market = words[word + ANY_EVENT.market];
    const ticksPerUnit = this.markets.ticksPerUnit(market);
    const makerSlot = words[word + EVENT.FILL.makerSlot];
    const takerSlot = words[word + EVENT.FILL.takerSlot];
    const yesTicks = words[word + EVENT.FILL.yesTicks];
    const lots = readSafe(words, word + EVENT.FILL.lots);
    const makerRemainingLots = readSafe(words, word + EVENT.FILL.makerRemainingLots);
    // A filled maker leaves its queue with the fill; the CLOSED event that follows is not public and must change
    // nothing.
    if (makerRemainingLots === 0) this.#remove(orders, makerSlot);
    else this.books.open(market, ticksPerUnit).reduce(orders, makerSlot, lots);
    orders.fill(makerSlot, lots, makerRemainingLots, yesTicks, ticksPerUnit);
    if (makerRemainingLots === 0) orders.close(makerSlot);
    orders.fill(takerSlot, lots, readSafe(words, word + EVENT.FILL.takerRemainingLots), yesTicks, ticksPerUnit);
    // The trade frame has this sequence, the delta of the maker's level the next one.
    this.markets.advance(market, readSafe(words, word + ANY_EVENT.marketSequence) + 1);
  }

  #applyClosed(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard];
    const slot = words[word + ANY_EVENT.slot];
    assert(
      orders.remainingLots[slot] === readSafe(words, word + EVENT.CLOSED.remainingLots),
      'ORDERVIEW-4: a closed order has the same remaining lots in the shard',
    );
    if (orders.state[slot] === ORDER_STATE.RESTING) this.#remove(orders, slot);
    orders.close(slot);
    this.#advance(words, word);
  }

  #applyDormant(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard];
    const slot = words[word + ANY_EVENT.slot];
    assert(orders.state[slot] === ORDER_STATE.RESTING, 'BOOKVIEW-4: only a resting order becomes dormant');
    this.#remove(orders, slot);
    orders.state[slot] = ORDER_STATE.DORMANT;
    this.#advance(words, word);
  }

  #applyWoken(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard];
    const slot = words[word + ANY_EVENT.slot];
    assert(orders.state[slot] === ORDER_STATE.DORMANT, 'BOOKVIEW-4: only a dormant order wakes');
    orders.state[slot] = ORDER_STATE.RESTING;
    this.#insert(orders, slot, words[word + ANY_EVENT.market]);
    this.#advance(words, word);
  }

  #insert(orders: OpenOrders, slot: number, market: number): void {
    this.books.open(market, this.markets.ticksPerUnit(market)).insert(orders, slot);
  }

  #remove(orders: OpenOrders, slot: number): void {
    const market = orders.marketOf(slot);
    this.books.open(market, this.markets.ticksPerUnit(market)).remove(orders, slot);
  }

  #advance(words: Uint32Array, word: number): void {
    this.markets.advance(words[word + ANY_EVENT.market], readSafe(words, word + ANY_EVENT.marketSequence));
  }
}

function readContracts(words: Uint32Array, word: number): ContractsView {
  const at = words.byteOffset + (word + EVENT.CONTRACTS.exchange) * 4;
  return {
    chainId: readSafe(words, word + EVENT.CONTRACTS.chainId),
    exchangeAddress: toHex(new Uint8Array(words.buffer, at, ADDRESS_BYTES)),
  };
}
