/**
 * Projection of what the gateway may still have to tell the accounts: the private frames of each journal record, made
 * of its events. The gateway tells of events as they pass and keeps what it told in a log of its own; what it had not
 * come to when its process or the shard's thread died, it takes from here.
 * Owner: the projector thread.
 *
 * Invariants:
 *   H1  From the record `start` of a shard on, a record that says something to an account has one row, whose frames are
 *       those the gateway makes of the same events, in the same order and without their user_sequence.
 *   H2  `start` passes a record only when the gateway's log has everything before it for good (Progress.told), so log
 *       and rows together always have everything.
 */
import type Database from 'better-sqlite3';
import {
  PRIVATE_RECORD_WORDS,
  PRV_ACCOUNT,
  type RecordPlace,
  ROLE,
  writeClosed,
  writeFill,
  writePlaced,
} from '../../shared/privateRecord.ts';
import type { OpenOrder, RecordContext } from './orders.ts';

const FIRST_FRAMES = 64;

export class PrivateTail {
  readonly #insert: Database.Statement<[number, number, Uint8Array]>;
  readonly #forget: Database.Statement<[number, number]>;
  readonly #saveStart: Database.Statement<[number, number]>;
  readonly #readStart: Database.Statement<[number], number>;
  #shard = 0;
  #start = 1;
  /** The record whose frames are being collected. */
  #shardSequence = 0;
  #frames = 0;
  #words = new Uint32Array(FIRST_FRAMES * PRIVATE_RECORD_WORDS);
  readonly #place: { words: Uint32Array; word: number } = { words: this.#words, word: 0 };

  constructor(db: Database.Database) {
    this.#insert = db.prepare('INSERT INTO private_tail VALUES (?, ?, ?)');
    this.#forget = db.prepare('DELETE FROM private_tail WHERE shard = ? AND shard_sequence < ?');
    this.#saveStart = db.prepare('INSERT OR REPLACE INTO private_tail_starts VALUES (?, ?)');
    this.#readStart = db
      .prepare<[number], number>('SELECT shard_sequence FROM private_tail_starts WHERE shard = ?')
      .pluck();
  }

  /** At the start of a batch of one shard. H2. */
  begin(shard: number, told: number): void {
    this.#shard = shard;
    this.#shardSequence = 0;
    this.#frames = 0;
    this.#start = this.#readStart.get(shard) ?? 1;
    if (told <= this.#start) return;
    this.#forget.run(shard, told);
    this.#saveStart.run(shard, told);
    this.#start = told;
  }

  placed(order: OpenOrder, record: RecordContext): void {
    if (this.#isTold(record)) return;
    writePlaced(this.#append(order, record), record, order);
  }

  filled(maker: OpenOrder, taker: OpenOrder, words: Uint32Array, word: number, record: RecordContext): void {
    if (this.#isTold(record)) return;
    writeFill(this.#append(maker, record), record, maker, ROLE.MAKER, words, word);
    writeFill(this.#append(taker, record), record, taker, ROLE.TAKER, words, word);
  }

  closed(order: OpenOrder, words: Uint32Array, word: number, record: RecordContext): void {
    if (this.#isTold(record)) return;
    writeClosed(this.#append(order, record), record, order, words, word);
  }

  /** At the end of a batch, and behind the last frame of each record. */
  flush(): void {
    if (this.#frames === 0) return;
    const bytes = new Uint8Array(this.#words.buffer, 0, this.#frames * PRIVATE_RECORD_WORDS * 4);
    this.#insert.run(this.#shard, this.#shardSequence, bytes);
    this.#frames = 0;
  }

  #isTold({ shardSequence }: RecordContext): boolean {
    return shardSequence < this.#start;
  }

  #append({ account }: OpenOrder, { shardSequence }: RecordContext): RecordPlace {
    if (shardSequence !== this.#shardSequence) this.flush();
    this.#shardSequence = shardSequence;
    const word = this.#frames++ * PRIVATE_RECORD_WORDS;
    if (word === this.#words.length) {
      const larger = new Uint32Array(2 * word);
      larger.set(this.#words);
      this.#words = larger;
    }
    this.#words.fill(0, word, word + PRIVATE_RECORD_WORDS);
    this.#words[word + PRV_ACCOUNT] = account;
    this.#place.words = this.#words;
    this.#place.word = word;
    return this.#place;
  }
}
