/**
 * Projection of the private frames that the gateway may still have to send, made from the events of each journal
 * record. The gateway makes the same frames from the events as they pass, and keeps them in a log of its own. Frames
 * that it did not reach before its process or the shard's thread ended are read from here.
 * Owner: the projector thread.
 *
 * Invariants:
 *   TAIL-1  From the record `start` of a shard on, a record with a message for an account has one row. Its frames are
 *           those the gateway makes of the same events, in the same order and without their user_sequence.
 *   TAIL-2  `start` passes a record only when everything before it is durable in the gateway's log (Progress.logged),
 *           so log and rows together are always complete.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { PRIVATE_TAIL, PRIVATE_TAIL_STARTS } from '../../shared/tables/privateTail.ts';
import { insert, type NewRowOf } from '../../shared/tables/table.ts';
import { writeClosed, writeFill, writePlaced } from '../../shared/wire/privateProjection.ts';
import { PRIVATE_FRAME, type RecordView, ROLE } from '../../shared/wire/privateRecord.ts';
import type { OpenOrder } from './orderPool.ts';
import type { RecordContext } from './orders.ts';
import { ROWS_PER_RUN, RowInserter } from './rowInserter.ts';

const FIRST_FRAMES = 64;
const FRAME_BYTES = PRIVATE_FRAME.WORDS * 4;

export class PrivateTail {
  readonly #insert: RowInserter<typeof PRIVATE_TAIL>;
  readonly #delete: Database.Statement<[number, number]>;
  readonly #saveStart: Database.Statement<[NewRowOf<typeof PRIVATE_TAIL_STARTS>]>;
  readonly #readStart: Database.Statement<[number], number>;
  #shard = 0;
  #start = 1;
  /** The record whose frames are being collected. */
  #shardSequence = 0;
  #frames = 0;
  /** Rows that wait to be written: their frames are in the same memory, before those of the record. */
  #waiting = 0;
  /** The first frame of the record there. */
  #first = 0;
  #words = new Uint32Array(FIRST_FRAMES * PRIVATE_FRAME.WORDS);
  readonly #record: { words: Uint32Array; word: number } = { words: this.#words, word: 0 };

  constructor(db: Database.Database) {
    this.#insert = new RowInserter(db, PRIVATE_TAIL);
    this.#delete = db.prepare('DELETE FROM private_tail WHERE shard = ? AND shard_sequence < ?');
    this.#saveStart = db.prepare(insert(PRIVATE_TAIL_STARTS, 'OR REPLACE'));
    this.#readStart = db
      .prepare<[number], number>('SELECT shard_sequence FROM private_tail_starts WHERE shard = ?')
      .pluck();
  }

  /** Deletes the rows that the gateway has in its log. @param logged the shard's cell of Progress (TAIL-2). */
  startBatch(shard: number, logged: number): void {
    this.#shard = shard;
    this.#shardSequence = 0;
    this.#frames = 0;
    this.#start = this.#readStart.get(shard) ?? 1;
    if (logged <= this.#start) return;
    this.#delete.run(shard, logged);
    this.#saveStart.run({ shard, shard_sequence: logged });
    this.#start = logged;
  }

  /** The frames of records up to this one cannot be made any more. */
  startAfter(shard: number, shardSequence: number): void {
    this.#saveStart.run({ shard, shard_sequence: shardSequence + 1 });
  }

  placed(order: OpenOrder, record: RecordContext): void {
    if (this.#isLogged(record)) return;
    writePlaced(this.#append(order, record), record, order);
  }

  filled(
    maker: OpenOrder,
    taker: OpenOrder,
    afterMicros: number,
    words: Uint32Array,
    word: number,
    record: RecordContext,
  ): void {
    if (this.#isLogged(record)) return;
    writeFill(this.#append(maker, record), record, maker, ROLE.MAKER, afterMicros, words, word);
    writeFill(this.#append(taker, record), record, taker, ROLE.TAKER, afterMicros, words, word);
  }

  closed(order: OpenOrder, words: Uint32Array, word: number, record: RecordContext): void {
    if (this.#isLogged(record)) return;
    writeClosed(this.#append(order, record), record, order, words, word);
  }

  /** At the end of a batch. */
  flush(): void {
    this.#endRecord();
    this.#insert.flush();
    this.#waiting = 0;
    this.#first = 0;
  }

  /** Adds the row of the record whose frames were collected. */
  #endRecord(): void {
    if (this.#frames === 0) return;
    assert(this.#shardSequence >= this.#start, 'TAIL-2: only records that are not logged have a row');
    const frames = new Uint8Array(this.#words.buffer, this.#first * FRAME_BYTES, this.#frames * FRAME_BYTES);
    this.#insert.add({ shard: this.#shard, shard_sequence: this.#shardSequence, frames });
    this.#waiting = (this.#waiting + 1) % ROWS_PER_RUN;
    this.#first = this.#waiting === 0 ? 0 : this.#first + this.#frames;
    this.#frames = 0;
  }

  /** True if the gateway has the frames of the record in its log. */
  #isLogged({ shardSequence }: RecordContext): boolean {
    return shardSequence < this.#start;
  }

  #append({ account }: OpenOrder, { shardSequence }: RecordContext): RecordView {
    assert(shardSequence >= this.#shardSequence, 'TAIL-1: the records of a batch come in order');
    if (shardSequence !== this.#shardSequence) this.#endRecord();
    this.#shardSequence = shardSequence;
    const word = (this.#first + this.#frames++) * PRIVATE_FRAME.WORDS;
    if (word === this.#words.length) {
      const larger = new Uint32Array(2 * word);
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words.fill(0, word, word + PRIVATE_FRAME.WORDS);
    this.#words[word + PRIVATE_FRAME.account] = account;
    this.#record.words = this.#words;
    this.#record.word = word;
    return this.#record;
  }
}
