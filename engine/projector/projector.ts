/**
 * Follows the journals of all shards into read.db, so that questions about the past never reach a shard.
 * Owner: the projector thread, the only writer of read.db.
 *
 * Invariants:
 *   T1  Rows and the cursor behind them are one transaction: whatever ends the thread, the next start goes on exactly
 *       there.
 *   T2  read.db continues the journals as they are. If it does not (another version, or a journal that was set back),
 *       everything in it is made again from the first record on.
 *   T3  A shard's progress is announced after the commit, so a query that waited for it sees the rows.
 *
 * An error leaves memory and file apart from each other, so it ends the thread; a new one reads the file and goes on.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/assert.ts';
import {
  EV_MARKET,
  EV_SLOT,
  EV_TYPE,
  EVENT,
  EVENT_VERSION,
  FILL_LOTS,
  FILL_MAKER_REMAINING_LOTS,
  FILL_TAKER_REMAINING_LOTS,
  FILL_TAKER_SLOT,
  FILL_YES_TICKS,
  typeOf,
  versionOf,
} from '../../shared/events.ts';
import { mulSafe } from '../../shared/int.ts';
import { ownTicks } from '../../shared/orderMath.ts';
import { NOT_KNOWN, Progress } from '../../shared/progress.ts';
import { readSafe } from '../../shared/record.ts';
import type { ProjectorOptions } from '../../shared/threads.ts';
import { JournalReader } from '../journalReader.ts';
import { JournalError, type JournalHead, type JournalVisitor } from '../journalRow.ts';
import { KeyProjection } from './keys.ts';
import { MarketProjection } from './markets.ts';
import { OrderProjection, type RecordContext } from './orders.ts';
import { PrivateTail } from './privateTail.ts';
import { Cursors, clearReadDb, openReadDb } from './readDb.ts';
import { TradeProjection } from './trades.ts';

/**
 * Rows in one transaction, and how many may wait for one while nobody waits for them: the more of them, the fewer pages
 * are written for each; few enough that a reader who comes then waits for tens of milliseconds.
 */
export const BATCH_ROWS = 4000;

export class Projector {
  readonly progress: Progress;
  readonly #journalPaths: readonly string[];
  readonly #db: Database.Database;
  /** By shard; null until the shard has recovered and its journal was found to continue read.db. */
  readonly #readers: (JournalReader | null)[];
  readonly #follow: (shard: number, reader: JournalReader, rows: number) => void;
  readonly #visit: JournalVisitor;
  /** By shard: what was committed at the step before. */
  readonly #seen: number[];
  readonly #record: RecordContext = { shard: 0, shardSequence: 0, timeMs: 0 };
  #state: ReadState;

  constructor(options: ProjectorOptions) {
    this.progress = new Progress(options.progress);
    assert(this.progress.shards === options.journalPaths.length, 'projector: one journal per shard');
    this.#journalPaths = options.journalPaths;
    this.#db = openReadDb(options.readDbPath);
    this.#readers = options.journalPaths.map(() => null);
    this.#seen = options.journalPaths.map(() => 0);
    this.#state = new ReadState(this.#db, options.journalPaths.length);
    this.#visit = (shardSequence, timeMs, words, commandWord, _commandBytes, eventWord, eventBytes) => {
      this.#record.shardSequence = shardSequence;
      this.#record.timeMs = timeMs;
      const { keys } = this.#state;
      keys.begin(words, commandWord);
      this.#apply(words, eventWord, eventWord + (eventBytes >>> 2));
      keys.end(this.#record);
    };
    const follow = this.#db.transaction((shard: number, reader: JournalReader, rows: number) => {
      const { heads, keys, markets, orders, cursors, privateTail } = this.#state;
      this.#record.shard = shard;
      privateTail.begin(shard, this.progress.told(shard));
      const found = reader.readFrom(heads[shard]!, rows, this.#visit);
      assert(found === rows, 'projector: a journal holds what its shard has committed');
      orders.flush();
      markets.flush();
      privateTail.flush();
      keys.flush();
      cursors.save(shard, heads[shard]!);
    });
    this.#follow = follow.immediate;
  }

  /**
   * Takes one batch of every journal that has grown, up to the last record if `isAwaited`. Otherwise those the gateway
   * has not told for good yet are left to the next step, unless they are too many: told records need no private frames
   * here (H2), and what was not told by the next step is taken with its frames.
   * @returns whether any was taken.
   */
  step(isAwaited: boolean): boolean {
    let hasMoved = false;
    for (let shard = 0; shard < this.#readers.length; shard++) {
      const committed = this.progress.committed(shard);
      if (committed === NOT_KNOWN) continue;
      const reader = this.#readers[shard] ?? this.#connect(shard);
      const due = Math.max(this.progress.told(shard), this.#seen[shard]!, committed - BATCH_ROWS);
      this.#seen[shard] = committed;
      const rows = (isAwaited ? committed : Math.min(due, committed)) - this.#state.heads[shard]!.sequence;
      if (rows <= 0) continue;
      this.#follow(shard, reader, Math.min(rows, BATCH_ROWS));
      this.progress.setProjected(shard, this.#state.heads[shard]!.sequence);
      hasMoved = true;
    }
    return hasMoved;
  }

  /** Committed records that are not followed, of the shard that has most of them. */
  behind(): number {
    let most = 0;
    for (const [shard, { sequence }] of this.#state.heads.entries()) {
      most = Math.max(most, this.progress.committed(shard) - sequence);
    }
    return most;
  }

  close(): void {
    for (const reader of this.#readers) reader?.close();
    this.#db.close();
  }

  /** T2. A shard that has recovered opened its journal, so the file is there. */
  #connect(shard: number): JournalReader {
    const reader = new JournalReader(this.#journalPaths[shard]!);
    if (!reader.continues(this.#state.heads[shard]!)) {
      const first = reader.facts().firstSequence;
      if (first > 1) {
        reader.close();
        const { sequence } = this.#state.heads[shard]!;
        throw new JournalError(
          `read.db stands at ${sequence} of shard ${shard}, whose journal was trimmed and starts at ${first}: ` +
            'put a backup of read.db in its place',
        );
      }
      this.#rebuild();
    }
    this.#readers[shard] = reader;
    this.progress.setProjected(shard, this.#state.heads[shard]!.sequence);
    return reader;
  }

  #rebuild(): void {
    clearReadDb(this.#db);
    this.#state = new ReadState(this.#db, this.#readers.length);
    for (const [shard, reader] of this.#readers.entries()) if (reader !== null) this.progress.setProjected(shard, 0);
  }

  #apply(words: Uint32Array, start: number, end: number): void {
    const { markets } = this.#state;
    for (let word = start; word < end; word += words[word]! >>> 2) {
      assert(
        versionOf(words[word + EV_TYPE]!) === EVENT_VERSION,
        'projector: journal and reader speak one event version',
      );
      switch (typeOf(words[word + EV_TYPE]!)) {
        case EVENT.ORDER:
          this.#applyOrder(words, word, end);
          break;
        case EVENT.FILL:
          this.#applyFill(words, word);
          break;
        case EVENT.CLOSED:
          this.#applyClosed(words, word);
          break;
        case EVENT.MARKET:
          markets.apply(words, word);
          break;
        // An ORDER_TAG is taken with its ORDER. The rest is about the present (balances, places in the book), which the
        // gateway's views answer.
      }
    }
  }

  /** With the ORDER_TAG behind it, if it has one: what is told of the order has what the tag says. */
  #applyOrder(words: Uint32Array, word: number, end: number): void {
    const { keys, markets, orders, privateTail } = this.#state;
    const ticksPerUnit = markets.ticksPerUnit(words[word + EV_MARKET]!);
    const order = orders.place(words, word, ticksPerUnit, this.#record);
    keys.placed(order, words, word);
    const behind = word + (words[word]! >>> 2);
    if (behind < end && typeOf(words[behind + EV_TYPE]!) === EVENT.ORDER_TAG) {
      orders.tag(order, words, behind);
      keys.tagged(words, behind);
    }
    privateTail.placed(order, this.#record);
  }

  #applyClosed(words: Uint32Array, word: number): void {
    const { keys, orders, privateTail } = this.#state;
    const order = orders.close(words, word, this.#record);
    privateTail.closed(order, words, word, this.#record);
    keys.closed(order);
  }

  #applyFill(words: Uint32Array, word: number): void {
    const { markets, orders, privateTail, trades } = this.#state;
    const record = this.#record;
    const maker = orders.at(record.shard, words[word + EV_SLOT]!);
    const taker = orders.at(record.shard, words[word + FILL_TAKER_SLOT]!);
    const market = words[word + EV_MARKET]!;
    const ticksPerUnit = markets.ticksPerUnit(market);
    const yesTicks = words[word + FILL_YES_TICKS]!;
    const lots = readSafe(words, word + FILL_LOTS);
    const makerRemaining = readSafe(words, word + FILL_MAKER_REMAINING_LOTS);
    const takerRemaining = readSafe(words, word + FILL_TAKER_REMAINING_LOTS);
    const takerTicks = ownTicks(taker.outcome, yesTicks, ticksPerUnit);
    orders.fill(maker, lots, makerRemaining, ownTicks(maker.outcome, yesTicks, ticksPerUnit), record);
    orders.fill(taker, lots, takerRemaining, takerTicks, record);
    markets.addVolume(market, mulSafe(lots, takerTicks));
    trades.add(words, word, maker, taker, record);
    privateTail.filled(maker, taker, words, word, record);
  }
}

/** What the projector holds in memory of read.db; made again when read.db is. */
class ReadState {
  readonly cursors: Cursors;
  readonly heads: readonly JournalHead[];
  readonly keys: KeyProjection;
  readonly markets: MarketProjection;
  readonly orders: OrderProjection;
  readonly trades: TradeProjection;
  readonly privateTail: PrivateTail;

  constructor(db: Database.Database, shards: number) {
    this.cursors = new Cursors(db);
    this.heads = Array.from({ length: shards }, (_, shard) => this.cursors.load(shard));
    this.keys = new KeyProjection(db);
    this.markets = new MarketProjection(db);
    this.orders = new OrderProjection(db, shards);
    this.trades = new TradeProjection(db);
    this.privateTail = new PrivateTail(db);
  }
}
