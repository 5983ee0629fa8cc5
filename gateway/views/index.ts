/**
 * Everything the gateway knows of the shards, kept up from their events alone: books, open orders, accounts, markets.
 * Public reads and an account's reads of its open orders are answered from here without leaving the thread.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   V1  The events of a shard are applied in ring order, each once, before the reply that follows them is handed on:
 *       whoever has an answer in hand sees its effects here.
 *   V2  Between two records the views are whole; nobody reads them inside one.
 *   V3  From `begin` on a shard tells everything anew. What was known of its orders and USDC stays to be read until it
 *       is READY and then gives way in one step; markets and tokens it tells as they stand, and may at once.
 *       In the meantime the sums over everything (`ledger`) may not close.
 */
import { assert, unreachable } from '../../shared/assert.ts';
import * as ev from '../../shared/events.ts';
import { ADDRESS_BYTES, toHex } from '../../shared/hex.ts';
import { readSafe } from '../../shared/record.ts';
import { AccountViews, ShardFunds } from './accounts.ts';
import { Books } from './books.ts';
import { NONE } from './columns.ts';
import { GroupViews } from './groups.ts';
import { type LedgerTotals, ledgerTotals } from './ledger.ts';
import { MarketViews } from './markets.ts';
import { OpenOrders, ORDER_STATE } from './orders.ts';
import { Outcome } from './outcome.ts';
import { PairIndex } from './pairIndex.ts';

/** What orders are signed for. */
export type ContractsView = { readonly chainId: number; readonly exchangeAddress: string };

/** Whoever follows the shards' events through the views: told in ring order, when the views hold what is told. */
export type ViewsListener = {
  /** An event has been applied, and none behind it. */
  applied(shard: number, words: Uint32Array, word: number): void;
  /** A shard has told everything anew, up to this record of its journal. */
  recovered(shard: number, shardSequence: number): void;
  /** A batch of events is through, and the replies among them have been handed on. */
  flush(): void;
};

/** What a shard that recovers has told so far (V3). */
type Retold = { readonly orders: OpenOrders; readonly funds: ShardFunds };

export class Views {
  readonly pairs = new PairIndex();
  /** By shard. */
  readonly orders: OpenOrders[];
  /** By shard: what the record now passing did to its order. */
  readonly outcomes: Outcome[];
  readonly books = new Books();
  readonly markets = new MarketViews();
  readonly groups = new GroupViews();
  /** By shard: for which contracts orders are signed since they were changed; null before. */
  readonly contracts: (ContractsView | null)[];
  readonly accounts: AccountViews;
  listener: ViewsListener | null = null;
  /** By shard; null while its events tell what changes. */
  readonly #retold: (Retold | null)[];

  constructor(shards: number) {
    this.orders = Array.from({ length: shards }, (_, shard) => new OpenOrders(shard, this.pairs));
    this.outcomes = Array.from({ length: shards }, () => new Outcome());
    this.accounts = new AccountViews(shards, this.pairs);
    this.contracts = this.orders.map(() => null);
    this.#retold = this.orders.map(() => null);
  }

  /** Every shard has told how it stands. */
  get isWhole(): boolean {
    return this.#retold.every((retold) => retold === null);
  }

  /** The account's open order with this client order id; null when there is none. */
  findByClientId(account: number, clientId: string): { orders: OpenOrders; slot: number } | null {
    for (const orders of this.orders) {
      const slot = orders.findByClientId(account, clientId);
      if (slot !== NONE) return { orders, slot };
    }
    return null;
  }

  ledger(): LedgerTotals {
    return ledgerTotals(this.accounts, this.markets);
  }

  /** Applies one event; REPLY and READY are not state and belong to the engine link. */
  apply(shard: number, words: Uint32Array, word: number): void {
    this.#apply(shard, words, word);
    this.listener?.applied(shard, words, word);
  }

  #apply(shard: number, words: Uint32Array, word: number): void {
    assert(
      ev.versionOf(words[word + ev.EV_TYPE]!) === ev.EVENT_VERSION,
      'views: shard and gateway speak one event version',
    );
    const outcome = this.outcomes[shard]!;
    switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
      case ev.EVENT.RECORD:
        outcome.begin(words, word);
        break;
      case ev.EVENT.ORDER:
        outcome.order(words, word);
        this.orders[shard]!.write(words[word + ev.EV_SLOT]!, words, word);
        break;
      case ev.EVENT.ORDER_STATE:
        this.#noteOrder(shard, words, word);
        break;
      case ev.EVENT.ORDER_TAG:
        (this.#retold[shard]?.orders ?? this.orders[shard]!).tag(words, word);
        break;
      case ev.EVENT.REST:
        this.#applyRest(shard, words, word);
        break;
      case ev.EVENT.FILL:
        outcome.fill(words, word);
        this.#applyFill(shard, words, word);
        break;
      case ev.EVENT.CLOSED:
        outcome.closed(words, word);
        this.#applyClosed(shard, words, word);
        break;
      case ev.EVENT.DORMANT:
        this.#applyDormant(shard, words, word);
        break;
      case ev.EVENT.WOKEN:
        this.#applyWoken(shard, words, word);
        break;
      case ev.EVENT.ACCOUNT:
        this.accounts.applyAccount(this.#funds(shard), outcome.shardSequence, words, word);
        break;
      case ev.EVENT.MARKET:
        this.markets.apply(shard, words, word);
        break;
      case ev.EVENT.FUNDS:
        this.accounts.applyFunds(this.#funds(shard), words, word);
        break;
      case ev.EVENT.GROUP:
        this.groups.apply(shard, this.#retold[shard] === null ? outcome.timeMs : 0, words, word);
        break;
      case ev.EVENT.CONTRACTS:
        this.contracts[shard] = readContracts(words, word);
        break;
      case ev.EVENT.TOMBSTONE:
        break; // the reply says it
      case ev.EVENT.DIGEST:
        break; // a seal for replays
      default:
        unreachable('views: an event of unknown type');
    }
  }

  /** The shard is recovering: it will tell all it has, then it is READY. */
  begin(shard: number): void {
    this.#retold[shard] = { orders: new OpenOrders(shard, this.pairs), funds: new ShardFunds() };
    this.outcomes[shard] = new Outcome();
    this.groups.begin(shard);
  }

  /**
   * A shard has told all it recovered, up to this record of its journal: its open orders take their places, in the
   * order they once came.
   */
  recovered(shard: number, shardSequence: number): void {
    const { orders, funds } = this.#mustRetell(shard);
    this.#retold[shard] = null;
    this.orders[shard] = orders;
    this.accounts.shards[shard] = funds;
    for (const market of this.markets.ofShard(shard)) {
      this.books.drop(market);
      this.markets.catchUp(market);
    }
    for (const entry of orders.takeNoted()) {
      if (entry < 0) {
        orders.list(~entry, ORDER_STATE.DORMANT);
      } else {
        orders.list(entry, ORDER_STATE.RESTING);
        this.#insert(orders, entry, orders.marketOf(entry));
      }
    }
    this.listener?.recovered(shard, shardSequence);
  }

  #mustRetell(shard: number): Retold {
    const retold = this.#retold[shard];
    assert(retold != null, 'V3: only a shard that recovers tells what it has');
    return retold;
  }

  #funds(shard: number): ShardFunds {
    return this.#retold[shard]?.funds ?? this.accounts.shards[shard]!;
  }

  #noteOrder(shard: number, words: Uint32Array, word: number): void {
    const { orders } = this.#mustRetell(shard);
    const slot = words[word + ev.EV_SLOT]!;
    orders.write(slot, words, word);
    orders.note(slot, words[word + ev.ORDER_DORMANT] === 1);
  }

  #applyRest(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard]!;
    const slot = words[word + ev.EV_SLOT]!;
    assert(
      orders.remainingLots[slot] === readSafe(words, word + ev.REST_REMAINING_LOTS),
      'O4: what rests is what remains',
    );
    orders.list(slot, ORDER_STATE.RESTING);
    this.#insert(orders, slot, words[word + ev.EV_MARKET]!);
    this.#advance(words, word);
  }

  #applyFill(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard]!;
    const market = words[word + ev.EV_MARKET]!;
    const ticksPerUnit = this.markets.ticksPerUnit(market);
    const makerSlot = words[word + ev.EV_SLOT]!;
    const takerSlot = words[word + ev.FILL_TAKER_SLOT]!;
    const yesTicks = words[word + ev.FILL_YES_TICKS]!;
    const lots = readSafe(words, word + ev.FILL_LOTS);
    const makerRemainingLots = readSafe(words, word + ev.FILL_MAKER_REMAINING_LOTS);
    // A maker that is filled leaves with its fill: the CLOSED behind it is not public and must change nothing.
    if (makerRemainingLots === 0) this.#remove(orders, makerSlot);
    else this.books.open(market, ticksPerUnit).reduce(orders, makerSlot, lots);
    orders.fill(makerSlot, lots, makerRemainingLots, yesTicks, ticksPerUnit);
    if (makerRemainingLots === 0) orders.close(makerSlot);
    orders.fill(takerSlot, lots, readSafe(words, word + ev.FILL_TAKER_REMAINING_LOTS), yesTicks, ticksPerUnit);
    // The trade frame has this number, the maker's delta the next.
    this.markets.advance(market, readSafe(words, word + ev.EV_MARKET_SEQUENCE) + 1);
  }

  #applyClosed(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard]!;
    const slot = words[word + ev.EV_SLOT]!;
    assert(
      orders.remainingLots[slot] === readSafe(words, word + ev.CLOSED_REMAINING_LOTS),
      'O4: what is left is what remains',
    );
    if (orders.state[slot] === ORDER_STATE.RESTING) this.#remove(orders, slot);
    orders.close(slot);
    this.#advance(words, word);
  }

  #applyDormant(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard]!;
    const slot = words[word + ev.EV_SLOT]!;
    assert(orders.state[slot] === ORDER_STATE.RESTING, 'K4: only a resting order falls asleep');
    this.#remove(orders, slot);
    orders.state[slot] = ORDER_STATE.DORMANT;
    this.#advance(words, word);
  }

  #applyWoken(shard: number, words: Uint32Array, word: number): void {
    const orders = this.orders[shard]!;
    const slot = words[word + ev.EV_SLOT]!;
    assert(orders.state[slot] === ORDER_STATE.DORMANT, 'K4: only a dormant order wakes');
    orders.state[slot] = ORDER_STATE.RESTING;
    this.#insert(orders, slot, words[word + ev.EV_MARKET]!);
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
    this.markets.advance(words[word + ev.EV_MARKET]!, readSafe(words, word + ev.EV_MARKET_SEQUENCE));
  }
}

function readContracts(words: Uint32Array, word: number): ContractsView {
  const at = words.byteOffset + (word + ev.CONTRACTS_EV_EXCHANGE) * 4;
  return {
    chainId: readSafe(words, word + ev.CONTRACTS_EV_CHAIN_ID),
    exchangeAddress: toHex(new Uint8Array(words.buffer, at, ADDRESS_BYTES)),
  };
}
