/**
 * Follows the journals of all shards into the work of settlement.
 *
 * Invariants:
 *   FOLLOWER-1  The rows derived from a stretch of a journal and the position after it are stored in one transaction,
 *               so every record is followed exactly once.
 *   FOLLOWER-2  Settlement follows a journal from its first record: a fill needs the signatures of both orders.
 *   FOLLOWER-3  Within a shard, work has the order of the journal.
 *   FOLLOWER-4  A market is requested on the chain with its first trade or first tokens. It is claimed for every
 *               account that had tokens of it, even if they pay nothing: with the last claim the chain pays out the
 *               rounding remainder.
 */

import { assert } from '../../shared/base/assert.ts';
import { isDecided, MOVEMENT } from '../../shared/base/codes.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { SETTLEMENT_REMEDY } from '../../shared/base/settlementRemedy.ts';
import type { Hex } from '../../shared/chain/node.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { ANY_COMMAND, COMMAND, feeIn, kindOutcome, NO_MARKET } from '../../shared/wire/commands.ts';
import { ANY_EVENT, assertEvent, EVENT, typeOf } from '../../shared/wire/events.ts';
import { NOT_KNOWN, type Progress } from '../../shared/wire/progress.ts';
import { hexAt, readSafe } from '../../shared/wire/record.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import type { DeployRows } from './deployRows.ts';
import type { MoneySide } from './moneySide.ts';
import type { Rotation } from './rotation.ts';
import { signedColumnsOf } from './signedColumns.ts';
import { KIND, type NewWork, type WorkRows } from './work.ts';

/** Records per transaction: few enough that the thread looks at the chain in between. */
const MOST_RECORDS = 5000;
const NO_TRADE = {
  maker_order: null,
  taker_order: null,
  yes_ticks: null,
  match_type: null,
  taker_account: null,
};
const WITH_SIGNATURE: readonly number[] = [COMMAND.PLACE.TYPE, COMMAND.REPLACE.TYPE];

type FollowerOptions = {
  readonly db: StoreDatabase;
  readonly work: WorkRows;
  readonly deploys: DeployRows;
  readonly rotation: Rotation;
  readonly money: MoneySide;
  readonly progress: Progress;
  readonly journalPaths: readonly string[];
  readonly keys: readonly ShardKey[];
  /** In a cluster: calls `derive` in the transaction of a record. */
  readonly follow?: (shard: number, sequence: number) => void;
};
type Followed = { sequence: number; chain_low: number; chain_high: number; exchange: Hex | null };

/** The files are of different times, or a journal was trimmed before settlement began: only an operator can help. */
export class CannotFollow extends Error {
  override readonly name = 'CannotFollow';
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #readers: (JournalReader | null)[];
  readonly #heads: JournalHead[];
  /** By shard: the contract that orders are signed for, or null for the contract in the settings. */
  readonly #exchanges: (Hex | null)[];

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#readers = options.journalPaths.map(() => null);
    const find = prepared<[number], Followed>(options.db, 'SELECT * FROM followed WHERE shard = ?');
    const followed = options.journalPaths.map((_, shard) => find.get(shard));
    this.#heads = followed.map((at) => new JournalHead(at?.sequence ?? 0, at?.chain_low ?? 0, at?.chain_high ?? 0));
    this.#exchanges = followed.map((at) => at?.exchange ?? null);
  }

  /** The shard's last record whose consequences are stored durably. */
  followed(shard: number): number {
    return this.#heads[shard].sequence;
  }

  /**
   * Follows a stretch of every journal that has grown.
   * @returns true if there was any
   */
  step(): boolean {
    let hasMoved = false;
    for (let shard = 0; shard < this.#readers.length; shard++) {
      const committed = this.#options.progress.committed(shard);
      const head = this.#heads[shard];
      if (committed === NOT_KNOWN || committed <= head.sequence) continue;
      this.#follow(shard, Math.min(committed, head.sequence + MOST_RECORDS));
      hasMoved = true;
    }
    return hasMoved;
  }

  /**
   * Opens the journals of shards that have recovered.
   * @returns true once all journals are open
   */
  connect(): boolean {
    let isComplete = true;
    for (let shard = 0; shard < this.#readers.length; shard++) {
      if (this.#options.progress.committed(shard) === NOT_KNOWN) isComplete = false;
      else if (this.#readers[shard] === null) this.#connect(shard);
    }
    return isComplete;
  }

  /**
   * The contracts that orders are signed for now: several while a change of contract is on its way through the shards.
   */
  get exchanges(): Hex[] {
    return [...new Set(this.#exchanges.map((exchange) => exchange ?? this.#options.rotation.first))];
  }

  /** The number of each shard's current contract. */
  get exchangeNumbers(): number[] {
    return this.#exchanges.map((_, shard) => this.#numberOf(shard));
  }

  /** The number of committed records that are not followed yet. */
  get behind(): number {
    return this.#heads.reduce((total, { sequence }, shard) => {
      return total + Math.max(this.#options.progress.committed(shard) - sequence, 0);
    }, 0);
  }

  close(): void {
    for (const reader of this.#readers) reader?.close();
  }

  /** Keeps FOLLOWER-2. */
  #connect(shard: number): JournalReader {
    const path = this.#options.journalPaths[shard];
    const reader = new JournalReader(path, this.#options.keys[shard]);
    const { sequence } = this.#heads[shard];
    if (!reader.continues(this.#heads[shard])) {
      reader.close();
      throw new CannotFollow(
        `${path} does not go on after record ${sequence}, up to which settlement.db has followed it: ` +
          SETTLEMENT_REMEDY,
      );
    }
    this.#readers[shard] = reader;
    return reader;
  }

  /** Keeps FOLLOWER-1: position and contract change in memory only once they are durable. */
  #follow(shard: number, sequence: number): void {
    const { db, follow } = this.#options;
    const [head, exchange] = [this.#heads[shard], this.#exchanges[shard]];
    try {
      if (follow !== undefined) follow(shard, sequence);
      else db.transaction(() => this.derive(shard, sequence))();
    } catch (error) {
      this.#heads[shard] = head;
      this.#exchanges[shard] = exchange;
      this.#options.money.ledger.drop();
      throw error;
    }
  }

  /** Makes the rows derived from the journal up to the row with this record; called in the record's transaction. */
  derive(shard: number, sequence: number): void {
    const { db, money } = this.#options;
    const reader = this.#readers[shard] ?? this.#connect(shard);
    const before = this.#heads[shard];
    const head = new JournalHead(before.sequence, before.chainLow, before.chainHigh);
    reader.readFrom(head, sequence - before.sequence, (record) => this.#visit(shard, record));
    assert(head.sequence >= sequence, 'FOLLOWER-1: the journal has the record up to which it is followed');
    money.ledger.flush();
    const { chainLow, chainHigh } = head;
    const sql = 'INSERT OR REPLACE INTO followed VALUES (?, ?, ?, ?, ?)';
    prepared(db, sql).run(shard, head.sequence, chainLow, chainHigh, this.#exchanges[shard]);
    this.#heads[shard] = head;
  }

  #visit(shard: number, record: JournalRecord): void {
    const { events, sequence } = record;
    const { words } = events;
    let part = 0;
    for (let word = events.word; word < events.end; word += words[word] >>> 2) {
      assertEvent(words, word);
      part++;
      switch (typeOf(words[word + ANY_EVENT.type])) {
        case EVENT.ORDER.TYPE:
          this.#opened(shard, record, words[word + ANY_EVENT.slot]);
          break;
        case EVENT.FILL.TYPE:
          this.#filled(shard, record, words, word);
          break;
        case EVENT.CLOSED.TYPE:
          this.#closed(shard, words[word + ANY_EVENT.slot]);
          break;
        case EVENT.FUNDS.TYPE:
          this.#moved(shard, record, part, word);
          break;
        case EVENT.ACCOUNT.TYPE:
          this.#options.money.ledger.note(shard, words, word);
          this.#tokens(shard, sequence, part, words, word);
          break;
        case EVENT.MARKET.TYPE:
          this.#market(shard, sequence, words, word);
          break;
        case EVENT.UNWOUND.TYPE:
          this.#unwound(shard, record, readSafe(words, word + EVENT.UNWOUND.tradeSequence));
          break;
        case EVENT.CONTRACTS.TYPE:
          this.#exchanges[shard] = hexAt(words, word + EVENT.CONTRACTS.exchange, 20);
          this.#options.rotation.add(this.#exchanges[shard], record.timeMs);
          this.#options.money.rotate(this.#exchanges[shard]);
          break;
      }
    }
  }

  /** The command holds the fields of the order as they were signed. */
  #opened(shard: number, { command }: JournalRecord, slot: number): void {
    const { work } = this.#options;
    const { words, word } = command;
    const type = typeOf(words[word + ANY_COMMAND.type]);
    assert(WITH_SIGNATURE.includes(type), 'FOLLOWER-2: an order comes with its signature');
    const { PLACE } = COMMAND;
    work.setEscrow(words[word + ANY_COMMAND.account], hexAt(words, word + PLACE.makerAddress, 20));
    const before = work.openOrder(shard, slot);
    if (before !== null) work.closeOrder(before);
    work.addOrder({
      shard,
      slot,
      outcome: kindOutcome(words[word + PLACE.kind]),
      exchange: this.#exchanges[shard],
      hash: hexAt(words, word + PLACE.hash, 32),
      signature: hexAt(words, word + PLACE.signature, 65),
      ...signedColumnsOf(words, word),
    });
  }

  #filled(shard: number, { timeMs }: JournalRecord, words: Uint32Array, word: number): void {
    const { FILL } = EVENT;
    const { work } = this.#options;
    const maker = work.openOrder(shard, words[word + FILL.makerSlot]);
    const taker = work.openOrder(shard, words[word + FILL.takerSlot]);
    assert(maker !== null && taker !== null, 'FOLLOWER-2: a fill is of orders that were followed');
    this.#need(words[word + ANY_EVENT.market], this.#exchanges[shard]);
    work.add({
      kind: KIND.TRADE,
      exchange: this.#numberOf(shard),
      shard,
      sequence: readSafe(words, word + FILL.tradeSequence),
      part: 0,
      account: words[word + FILL.makerAccount],
      market: words[word + ANY_EVENT.market],
      amount: readSafe(words, word + FILL.lots),
      maker_order: maker,
      taker_order: taker,
      yes_ticks: words[word + FILL.yesTicks],
      match_type: words[word + FILL.matchType],
      taker_account: words[word + FILL.takerAccount],
      matched_ms: timeMs,
    });
  }

  /** The ledger has unwound a fill: the chain refuses it, or it is one of the chain that was taken over. */
  #unwound(shard: number, { command, timeMs }: JournalRecord, tradeSequence: number): void {
    const { money, work } = this.#options;
    work.setUnwound(shard, tradeSequence, timeMs);
    money.followed(hexAt(command.words, command.word + COMMAND.UNWIND.reference, 32), false);
  }

  #closed(shard: number, slot: number): void {
    const order = this.#options.work.openOrder(shard, slot);
    if (order !== null) this.#options.work.closeOrder(order);
  }

  /** A movement that happened on the chain first is not made there again. */
  #moved(shard: number, { command, events: { words }, sequence }: JournalRecord, part: number, word: number): void {
    const { money, work } = this.#options;
    const [movement, reference] = [words[word + EVENT.FUNDS.movement], hexAt(words, word + EVENT.FUNDS.reference, 32)];
    const [account, market] = [words[word + ANY_EVENT.account], words[word + ANY_EVENT.market]];
    const amount = readSafe(words, word + EVENT.FUNDS.amount);
    // The movement's work includes the fee; the event before this one has made that work.
    if (movement === MOVEMENT.FEE) return;
    const isOfFunds = typeOf(command.words[command.word + ANY_COMMAND.type]) === COMMAND.FUNDS.TYPE;
    const isOfSets = isOfFunds && command.words[command.word + ANY_COMMAND.market] !== NO_MARKET;
    const exchange = this.#numberOf(shard);
    const row = { shard, sequence, part, account, market, amount, exchange, ...NO_TRADE };
    if (movement === MOVEMENT.SPLIT && isOfSets) return;
    if (movement === MOVEMENT.DEPOSIT || work.isMirrored(reference)) {
      const paidAs = money.followed(reference, isOfSets);
      if (paidAs !== null) work.add({ ...row, kind: KIND.CLAIM, ...paidAs, amount: 0 });
      return;
    }
    // The work of a claim follows from the event that removes the tokens.
    if (movement === MOVEMENT.CLAIM) money.ledgerClaimed(account, market, amount, `${shard}:${sequence}:${part}`);
    else {
      const fee_micro = feeIn(command.words[command.word + ANY_COMMAND.flags]);
      const kind = money.isRelease(reference) ? KIND.RELEASE : KIND_OF.get(movement)!;
      work.add({ ...row, kind, fee_micro });
    }
  }

  /** A market that the chain does not know and will not know needs no resolution there. */
  #market(shard: number, sequence: number, words: Uint32Array, word: number): void {
    const { MARKET } = EVENT;
    const { work, deploys } = this.#options;
    const market = words[word + ANY_EVENT.market];
    assert(market !== NO_MARKET, 'follower: a market has a number');
    work.setMarket(market, hexAt(words, word + MARKET.uuid, 16), words[word + MARKET.ticksPerUnit]);
    // A decision takes effect only when the last order is closed, possibly some records after its command.
    if (!isDecided(words[word + MARKET.status]) || work.market(market).payout_yes_ppm !== null) return;
    const amount = words[word + MARKET.payoutYesPpm];
    work.decideMarket(market, amount);
    if (!deploys.has(market)) return;
    const exchange = this.#numberOf(shard);
    work.add({ kind: KIND.RESOLUTION, exchange, shard, sequence, part: 0, account: 0, market, amount, ...NO_TRADE });
  }

  /** Keeps FOLLOWER-4. */
  #tokens(shard: number, sequence: number, part: number, words: Uint32Array, word: number): void {
    const { ACCOUNT } = EVENT;
    const { work } = this.#options;
    const [account, market] = [words[word + ANY_EVENT.account], words[word + ANY_EVENT.market]];
    if (market === NO_MARKET) return;
    const tokens = [ACCOUNT.yesAvailable, ACCOUNT.yesReserved, ACCOUNT.noAvailable, ACCOUNT.noReserved];
    const hasTokens = tokens.some((at) => words[word + at] !== 0 || words[word + at + 1] !== 0);
    if (hasTokens) {
      if (work.addHolder(market, account)) this.#need(market, this.#exchanges[shard]);
    } else if (work.removeHolder(market, account) && work.market(market).payout_yes_ppm !== null) {
      const exchange = this.#options.rotation.numberOfClaim(market, this.#numberOf(shard));
      if (exchange === null) return;
      work.add({ kind: KIND.CLAIM, exchange, shard, sequence, part, account, market, amount: 0, ...NO_TRADE });
    }
  }

  #numberOf(shard: number): number {
    return this.#options.rotation.numberOf(this.#exchanges[shard]);
  }

  #need(market: number, exchange: Hex | null): void {
    const { deploys, work } = this.#options;
    deploys.want(market, work.market(market).uuid, exchange ?? this.#options.rotation.first, true);
  }
}

const KIND_OF = new Map<number, NewWork['kind']>([
  [MOVEMENT.SPLIT, KIND.SPLIT],
  [MOVEMENT.MERGE, KIND.MERGE],
  [MOVEMENT.WITHDRAWAL, KIND.WITHDRAWAL],
]);
