/**
 * Follows the journals of all shards, and the catalogue, into read.db, so that queries about the past and lists never
 * reach a shard.
 * Owner: the projector thread, the only writer of read.db.
 *
 * Invariants:
 *   PROJECTOR-1  Rows and the cursor after them are one transaction: whatever ends the thread, the next one continues
 *                exactly there.
 *   PROJECTOR-2  read.db continues the journals as they are. If it does not (another version, or a journal that was set
 *                back), it is emptied and made again from the first record on, or from the state of the oldest snapshot
 *                where the first records were trimmed.
 *   PROJECTOR-3  A shard's progress is published after the commit, so a query that waited for it sees the rows.
 *   PROJECTOR-4  A journal is trimmed only up to what read.db has on the disk: a commit alone may be lost with the
 *                machine.
 *
 * After an error memory and file may differ, so it ends the thread; the next thread reads the file and continues.
 */
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { archiveFolder } from '../../shared/tables/orderArchive.ts';
import { ANY_EVENT, assertEvent, EVENT, typeOf } from '../../shared/wire/events.ts';
import { NOT_KNOWN, Progress } from '../../shared/wire/progress.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { ProjectorOptions } from '../../shared/wire/threads.ts';
import type { RecordVisitor } from '../journal/journalRecord.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalError, type JournalHead } from '../journal/row.ts';
import type { Keyed, ShardKey } from '../journal/shardKey.ts';
import { takeBack } from './archiveFiles.ts';
import type { CatalogSource } from './catalog.ts';
import type { ReadOpeningState } from './openingState.ts';
import type { ArchivePace } from './orderArchive.ts';
import type { RecordContext } from './orders.ts';
import type { OnDifference, PositionDifference } from './positions.ts';
import { clearReadDb, keepReplaced, makeDurable, openReadDb } from './readDb.ts';
import { ReadState } from './readState.ts';

/**
 * Records in one transaction. The more, the cheaper each is, so a projector that falls behind becomes faster. A query
 * that waits for the last of them is not delayed by that; one of another shard is, so there are fewer meanwhile.
 */
const MOST_RECORDS = 50_000;
const MOST_RECORDS_AWAITED = 12_000;
/**
 * Of those the records in memory at a time. One of the end of a market has 256 orders or holders: tens of kilobytes.
 */
const SLICE_RECORDS = 1000;
/** Words of events after which a transaction ends with its slice: what they change waits in memory, too. */
const MOST_WORDS = 2 ** 24;
/**
 * Records that may wait for a transaction while no query does. The more records, the fewer pages are written for each;
 * the fewer records, the shorter a query waits that comes at this moment: tens of milliseconds.
 */
export const BATCH_RECORDS = 4000;

const NOTHING = { sequence: 0 };

export class Projector {
  readonly progress: Progress;
  readonly #journalPaths: readonly string[];
  readonly #keys: readonly ShardKey[];
  readonly #db: Database.Database;
  readonly #generation: number;
  /** By shard; null until the shard has recovered and its journal was found to continue read.db. */
  readonly #readers: (JournalReader | null)[];
  readonly #catalog: CatalogSource | null;
  readonly #onDifference: OnDifference;
  readonly #readOpeningState: ReadOpeningState | null;
  readonly #onMadeAnew: (journalPath: string) => void;
  readonly #follow: (shard: number, reader: JournalReader, records: number) => void;
  readonly #visit: RecordVisitor;
  /** By shard: the last committed sequence at the step before. */
  readonly #committedBefore: number[];
  /** By shard: the record up to which read.db is being made anew, or has much to catch up on. */
  readonly #madeUpTo: number[];
  readonly #record: RecordContext = { shard: 0, shardSequence: 0, timeMs: 0 };
  #state: ReadState;
  #catalogHasMore = false;
  /** Of the events in the transaction so far. */
  #words = 0;

  /**
   * @param catalog null: the catalogue is not followed, and nothing is listed
   * @param onDifference called where the read model was wrong (POSITIONROWS-1); by default that is an error
   * @param readOpeningState null: no journal was trimmed
   * @param onMadeAnew called with the journal that read.db does not go on with (PROJECTOR-2)
   */
  constructor(
    options: Keyed<ProjectorOptions>,
    catalog: CatalogSource | null = null,
    onDifference: OnDifference = endOnDifference,
    readOpeningState: ReadOpeningState | null = null,
    onMadeAnew: (journalPath: string) => void = () => {},
  ) {
    this.#onMadeAnew = onMadeAnew;
    this.#onDifference = onDifference;
    this.#readOpeningState = readOpeningState;
    this.progress = new Progress(options.progress);
    assert(this.progress.shards === options.journalPaths.length, 'projector: one journal per shard');
    this.#journalPaths = options.journalPaths;
    this.#keys = options.keys;
    this.#db = openReadDb(options.readDbPath, readOpeningState !== null);
    this.#readers = options.journalPaths.map(() => null);
    this.#committedBefore = options.journalPaths.map(() => 0);
    this.#madeUpTo = options.journalPaths.map(() => 0);
    this.#state = new ReadState(this.#db, options.journalPaths.length, onDifference);
    this.#catalog = catalog;
    this.#takeBackProgress(this.#state.heads);
    this.#askForCatalog();
    // From now on queries open this file.
    this.#generation = this.progress.startGeneration();
    this.#visit = ({ sequence, timeMs, command, events }) => {
      this.#record.shardSequence = sequence;
      this.#record.timeMs = timeMs;
      const { fundMovements, keys } = this.#state;
      this.#words += events.end - events.word;
      keys.startRecord(command.words, command.word);
      fundMovements.startRecord(command.words, command.word);
      this.#apply(events.words, events.word, events.end);
      keys.endRecord(this.#record);
    };
    const follow = this.#db.transaction((shard: number, reader: JournalReader, records: number) => {
      const { cursors, heads, privateTail } = this.#state;
      this.#record.shard = shard;
      const end = heads[shard].sequence + records;
      privateTail.startBatch(shard, this.progress.logged(shard));
      this.#words = 0;
      while (heads[shard].sequence < end && this.#words < MOST_WORDS) {
        const slice = Math.min(SLICE_RECORDS, end - heads[shard].sequence);
        const found = reader.readFrom(heads[shard], slice, this.#visit);
        assert(found >= slice, 'PROJECTOR-2: a journal holds every record that its shard has committed');
      }
      this.#state.flush(shard);
      cursors.save(shard, heads[shard], this.#record.timeMs);
    });
    this.#follow = follow.immediate;
  }

  /**
   * Follows every journal that has grown by one batch, up to its last record if `isAwaited`. Otherwise the newest
   * records are left to the next step, unless they are too many: by then their private frames may be durable in the
   * gateway's log and need not be written here (TAIL-2).
   * @param mayWrite false: the disk is nearly full, and nothing is followed
   * @returns whether any record was followed.
   */
  step(isAwaited: boolean, mayWrite = true): boolean {
    let hasMoved = mayWrite && this.#followCatalog();
    for (let shard = 0; shard < this.#readers.length; shard++) {
      const committed = this.progress.committed(shard);
      if (committed === NOT_KNOWN) continue;
      const reader = this.#readers[shard] ?? this.#connect(shard);
      const due = Math.max(this.progress.logged(shard), this.#committedBefore[shard], committed - BATCH_RECORDS);
      this.#committedBefore[shard] = committed;
      const records = (isAwaited ? committed : Math.min(due, committed)) - this.#state.heads[shard].sequence;
      if (records <= 0 || !mayWrite) continue;
      this.#follow(shard, reader, Math.min(records, isAwaited ? MOST_RECORDS_AWAITED : MOST_RECORDS));
      assert(this.#state.heads[shard].sequence <= committed, 'PROJECTOR-3: only committed records are followed');
      this.progress.setProjected(shard, this.#state.heads[shard].sequence);
      hasMoved = true;
    }
    this.progress.setBeingMade(this.#state.heads.some(({ sequence }, shard) => sequence < this.#madeUpTo[shard]));
    this.#keepWhatIsTrimmed();
    return (mayWrite && this.#listVolumes(!hasMoved)) || hasMoved;
  }

  /**
   * Takes a step of the archive, unless read.db has much to follow.
   * @returns false if there is nothing to archive at present
   */
  archive(pace: ArchivePace): boolean {
    const followsAll = this.#readers.every((reader) => reader !== null) && this.behind() <= BATCH_RECORDS;
    return followsAll && this.#state.archive.step(this.#state.cursors.latestMs(), pace);
  }

  /** The catalogue's volumes follow the markets' when there is time. @returns whether there are more to follow. */
  #listVolumes(isIdle: boolean): boolean {
    const { catalog } = this.#state;
    if (!catalog.areVolumesDue(isIdle)) return false;
    return this.#db.transaction(() => catalog.listVolumes()).immediate();
  }

  /** Keeps PROJECTOR-4. */
  #keepWhatIsTrimmed(): void {
    const { progress } = this;
    let isAwaited = false;
    for (let shard = 0; shard < this.#readers.length; shard++) isAwaited ||= progress.isTrimAwaited(shard);
    if (!isAwaited) return;
    makeDurable(this.#db);
    for (let shard = 0; shard < this.#readers.length; shard++) {
      if (this.#readers[shard] !== null) progress.setKept(shard, this.#state.heads[shard].sequence);
    }
  }

  /** The number of committed records that are not followed yet, of the shard with the most. */
  behind(): number {
    let most = 0;
    for (const [shard, { sequence }] of this.#state.heads.entries()) {
      most = Math.max(most, this.progress.committed(shard) - sequence);
    }
    return most;
  }

  /** True if a query has found read.db damaged. */
  get isDoubted(): boolean {
    return this.progress.isDoubted(this.#generation);
  }

  /** True while the gateway is about to send more of the catalogue. */
  get isReadingCatalog(): boolean {
    return this.#catalogHasMore;
  }

  close(): void {
    for (const reader of this.#readers) reader?.close();
    this.#state.archive.close();
    this.#db.close();
  }

  /** Keeps PROJECTOR-2. A shard that has recovered opened its journal, so the file is there. */
  #connect(shard: number): JournalReader {
    const reader = new JournalReader(this.#journalPaths[shard], this.#keys[shard]);
    const { progress } = this;
    if (!reader.continues(this.#state.heads[shard])) {
      const first = reader.facts().firstSequence;
      if (this.#state.heads[shard].sequence > 0) {
        this.#onMadeAnew(this.#journalPaths[shard]);
        this.#rebuild();
      }
      if (first > 1) this.#open(shard, first);
    }
    this.#readers[shard] = reader;
    // Another file, or one that lost its end with the machine, may be in the place of the one that was made durable.
    progress.setKept(shard, 0);
    progress.setHistoryFromMs(this.#state.historyStarts.latestMs());
    const { sequence } = this.#state.heads[shard];
    const committed = progress.committed(shard);
    if (committed - sequence > BATCH_RECORDS) this.#madeUpTo[shard] = committed;
    if (sequence < this.#madeUpTo[shard]) progress.setBeingMade(true);
    progress.setProjected(shard, sequence);
    return reader;
  }

  #rebuild(): void {
    if (this.#readOpeningState !== null) keepReplaced(this.#db);
    this.#takeBackProgress(this.#state.heads.map(() => NOTHING));
    this.progress.setCatalogRevision(0);
    clearReadDb(this.#db);
    this.#state = new ReadState(this.#db, this.#readers.length, this.#onDifference);
    assert(
      this.#state.heads.every(({ sequence }) => sequence === 0),
      'PROJECTOR-2: an emptied read.db follows the journals from their start',
    );
    for (const [shard, reader] of this.#readers.entries()) {
      // Connected again, for its own journal may have been trimmed.
      reader?.close();
      this.#readers[shard] = null;
    }
    this.#askForCatalog();
  }

  /**
   * Keeps PROJECTOR-3 and -4 before another file, or an emptied one, takes the place of the one that was followed: some
   * shards are connected only when thousands of records of others are in it.
   */
  #takeBackProgress(heads: readonly Pick<JournalHead, 'sequence'>[]): void {
    for (const [shard, { sequence }] of heads.entries()) {
      this.progress.setKept(shard, 0);
      if (this.progress.projected(shard) <= sequence) continue;
      this.#madeUpTo[shard] = this.progress.projected(shard);
      this.progress.setBeingMade(true);
      this.progress.setProjected(shard, sequence);
    }
  }

  /** The history of a shard begins with the state of a snapshot. */
  #open(shard: number, first: number): void {
    const path = this.#journalPaths[shard];
    if (this.#readOpeningState === null) {
      throw new JournalError(`journal ${path}: was trimmed and starts at ${first}, read.db has to begin with a state`);
    }
    const { head, timeMs, lastTrade, apply } = this.#readOpeningState(dirname(path), shard, this.#keys[shard], first);
    this.#db
      .transaction(() => {
        const record = { shard, shardSequence: head.sequence, timeMs };
        apply(this.#state, record);
        this.#state.fundMovements.startAfter(shard, lastTrade);
        const archived = { shard, sequence: head.sequence, shards: this.#readers.length };
        takeBack(archiveFolder(this.#db.name), archived, (order) => this.#state.orders.takeBack(order));
        this.#state.flush(shard);
        this.#state.privateTail.startAfter(shard, head.sequence);
        this.#state.historyStarts.save(record);
        this.#state.cursors.save(shard, head, timeMs);
      })
      .immediate();
    this.#state.heads[shard] = head;
  }

  #askForCatalog(): void {
    const { revision } = this.#state.catalog;
    this.progress.setCatalogRevision(revision);
    this.#catalog?.ask({ after: revision });
  }

  /** Applies the page of the catalogue that has come, if there is one, and asks for the next. */
  #followCatalog(): boolean {
    const page = this.#catalog?.receive() ?? null;
    if (page === null) return false;
    this.#db.transaction(() => this.#state.catalog.apply(page)).immediate();
    this.#catalogHasMore = page.hasMore;
    this.#askForCatalog();
    return true;
  }

  #apply(words: Uint32Array, start: number, end: number): void {
    const { markets, stats } = this.#state;
    for (let word = start; word < end; word += words[word] >>> 2) {
      assertEvent(words, word);
      switch (typeOf(words[word + ANY_EVENT.type])) {
        case EVENT.ORDER.TYPE:
          this.#applyOrder(words, word, end);
          break;
        case EVENT.FILL.TYPE:
          this.#applyFill(words, word);
          break;
        case EVENT.CLOSED.TYPE:
          this.#applyClosed(words, word);
          break;
        case EVENT.MARKET.TYPE:
          markets.apply(words, word, this.#record.timeMs);
          stats.market(words, word, this.#record);
          break;
        case EVENT.ACCOUNT.TYPE:
          stats.has(words, word, this.#record);
          break;
        case EVENT.FUNDS.TYPE:
        case EVENT.UNWOUND.TYPE:
        case EVENT.SET_CONVERTED.TYPE:
        case EVENT.SET.TYPE:
          stats.moved(words, word, this.#record);
          break;
        // An ORDER_TAG is read with its ORDER. All other events change only what the gateway's views answer.
      }
    }
  }

  /** Reads the ORDER_TAG after the event, too, if there is one: the private frame of the order needs its content. */
  #applyOrder(words: Uint32Array, word: number, end: number): void {
    const { keys, markets, orders, privateTail } = this.#state;
    const ticksPerUnit = markets.ticksPerUnit(words[word + ANY_EVENT.market]);
    const order = orders.place(words, word, ticksPerUnit, this.#record);
    keys.placed(order, words, word);
    const next = word + (words[word] >>> 2);
    if (next < end && typeOf(words[next + ANY_EVENT.type]) === EVENT.ORDER_TAG.TYPE) {
      orders.tag(order, words, next);
      keys.tagged(words, next);
    }
    privateTail.placed(order, this.#record);
  }

  #applyClosed(words: Uint32Array, word: number): void {
    const { archive, keys, orders, privateTail } = this.#state;
    const order = orders.close(words, word, this.#record);
    archive.closed(order, this.#record);
    privateTail.closed(order, words, word, this.#record);
    keys.closed(order);
  }

  #applyFill(words: Uint32Array, word: number): void {
    const { catalog, fundMovements, markets, orders, privateTail, stats, trades } = this.#state;
    const record = this.#record;
    const maker = orders.at(record.shard, words[word + ANY_EVENT.slot]);
    const taker = orders.at(record.shard, words[word + EVENT.FILL.takerSlot]);
    const market = words[word + ANY_EVENT.market];
    const ticksPerUnit = markets.ticksPerUnit(market);
    const yesTicks = words[word + EVENT.FILL.yesTicks];
    const lots = readSafe(words, word + EVENT.FILL.lots);
    const makerRemaining = readSafe(words, word + EVENT.FILL.makerRemainingLots);
    const takerRemaining = readSafe(words, word + EVENT.FILL.takerRemainingLots);
    assert(maker !== taker && maker.market === taker.market, 'projector: a fill is of two orders of one market');
    const takerTicks = ownTicks(taker.outcome, yesTicks, ticksPerUnit);
    orders.fill(maker, lots, makerRemaining, ownTicks(maker.outcome, yesTicks, ticksPerUnit), record);
    orders.fill(taker, lots, takerRemaining, takerTicks, record);
    const afterMicros = stats.afterMicros(market, record);
    trades.add(words, word, maker, taker, afterMicros, record);
    fundMovements.traded(words, word, record);
    const volumeMicro = stats.filled(words, word, maker, taker, afterMicros, record);
    markets.addVolume(market, volumeMicro);
    catalog.traded(market, volumeMicro, record.timeMs);
    privateTail.filled(maker, taker, afterMicros, words, word, record);
  }
}

function endOnDifference(difference: PositionDifference): never {
  throw new Error(`POSITIONROWS-1: the engine has another quantity: ${JSON.stringify(difference)}`);
}
