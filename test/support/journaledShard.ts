/** A shard of a data directory as its thread leaves it: journal, mark and snapshots of busy markets. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { ShardFile } from '../../engine/admin/directory.ts';
import { markPath } from '../../engine/journal/file.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { Mark } from '../../engine/journal/mark.ts';
import { JournalReader } from '../../engine/journal/reader.ts';
import {
  crcOf,
  JOURNAL_RECORD,
  JOURNAL_ROW,
  JournalHead,
  OLD_JOURNAL_ROW,
  type Row,
  tagOf,
} from '../../engine/journal/row.ts';
import { RowReader } from '../../engine/journal/rowReader.ts';
import type { ShardKey } from '../../engine/journal/shardKey.ts';
import { listSnapshots, type SnapshotFile, saveSnapshot } from '../../engine/snapshot/snapshot.ts';
import { spillIfDue } from '../../engine/snapshot/spilling.ts';
import { MARKET_STATUS, MOVEMENT, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { crc32c } from '../../shared/base/crc32c.ts';
import { MAC_BYTES } from '../../shared/crypto/mac.ts';
import { withFee } from '../../shared/wire/commands.ts';
import { RecordBuffer, readSafe, writeSafe } from '../../shared/wire/record.ts';
import { send } from '../sim/command.ts';
import type { Extension } from './commandBodies.ts';
import { temporaryDirectory } from './directory.ts';
import { EngineRig } from './engineRig.ts';
import { TEST_KEY, writeTestKey } from './journalKey.ts';
import { seededRandom } from './random.ts';

const TICKS_PER_UNIT = [100, 1000, 10];
const FEE_MICRO = 25_000;
const FEES_BPS = [50, 60];

/** The event set that `convertSets` opens. */
export const SET = [3, 4, 5];

export class JournaledShard {
  readonly rig: EngineRig;
  readonly file: ShardFile;
  readonly #journal: Journal;
  readonly #random: () => number;
  readonly #batch: number;
  readonly #firstAccount: number;
  /** Extra fields of an order, by account and number of the order; they do not depend on random numbers. */
  extend: (account: number, order: number) => Extension = () => ({});
  #written = 0;
  #orders = 0;

  /**
   * In a directory of its own.
   * @param batch the records of a row
   * @param firstAccount of three that trade
   * @param rules that are in force; default: the first ones
   */
  constructor(seed = 11, batch = 1, firstAccount = 1, rules?: number) {
    this.rig = new EngineRig(rules === undefined ? {} : { rules });
    this.#batch = batch;
    this.#firstAccount = firstAccount;
    const directory = temporaryDirectory();
    const journalPath = join(directory, 'journal-0.db');
    this.file = { shard: 0, shards: 1, directory, journalPath, key: TEST_KEY };
    writeTestKey(directory);
    this.#random = seededRandom(seed);
    this.#journal = Journal.open({ journalPath, journalSync: 'normal', shard: 0, shards: 1, key: TEST_KEY });
    for (const [index, ticksPerUnit] of TICKS_PER_UNIT.entries()) this.rig.market(index, { ticksPerUnit });
    for (const account of [firstAccount, firstAccount + 1, firstAccount + 2]) {
      this.rig.fund(account, 1_000_000_000);
      for (const market of TICKS_PER_UNIT.keys()) this.rig.convert(account, market, 90_000_000);
    }
    this.commit();
  }

  get last(): number {
    return this.#journal.lastSequence;
  }

  /** Orders of every kind, cancels, expiries, fees that move, sets split and merged, money in and out. */
  trade(commands: number): void {
    for (let i = 0; i < commands; i++) {
      const market = this.#below(TICKS_PER_UNIT.length);
      const account = this.#firstAccount + this.#below(3);
      const die = this.#below(100);
      if (die < 4) this.rig.patch(market, { feeBps: FEES_BPS[this.#below(2)] });
      else if (die < 8) this.rig.cancelMany(account, market, this.#below(3));
      else if (die < 11) this.rig.convert(account, market, 1_000_000, withFee(MOVEMENT.MERGE, (i % 3) * FEE_MICRO));
      else if (die < 14) this.#move(account);
      else this.#place(account, market);
      this.rig.nowMs += 500;
    }
    this.commit();
  }

  /** Conversions of an event set in both directions; its rules are in force. */
  convertSets(commands: number): void {
    const [first = 0] = SET;
    for (const [ordinal, market] of SET.entries())
      this.rig.market(market, { set: { first, ordinal, members: SET.length } });
    for (let i = 0; i < commands; i++) {
      const account = this.#firstAccount + this.#below(3);
      const chosen = SET.flatMap((_, ordinal) => (this.#below(2) === 0 ? [ordinal] : []));
      const conversion = { account, chosen, amount: 1 + this.#below(900_000), isToUsdc: this.#below(2) === 0 };
      const command = { kind: 'convertSet', market: first, ...conversion } as const;
      this.rig.run((ring) => send(ring, 1, this.rig.nowMs, command, (market) => market));
      this.rig.convert(account, SET[this.#below(SET.length)]!, 1 + this.#below(700_000));
      this.rig.nowMs += 500;
    }
    this.commit();
  }

  #move(account: number): void {
    const micro = 1 + this.#below(5_000_000);
    const isOut = this.#below(2) === MOVEMENT.WITHDRAWAL;
    this.rig.fund(account, micro, isOut ? withFee(MOVEMENT.WITHDRAWAL, FEE_MICRO) : MOVEMENT.DEPOSIT);
  }

  /** Decides and pays the markets: one by a split vote, one cancelled, both settled; the third is left open. */
  decideMarkets(): void {
    this.rig.resolve(0, 333_333);
    this.rig.claim(2, 0);
    this.rig.settle(0);
    this.rig.resolve(1, 500_000, MARKET_STATUS.CANCELLED);
    this.rig.claim(1, 1);
    this.rig.claim(3, 1);
    this.commit();
  }

  /** Writes the records that the engine has journaled since the last call. */
  commit(): void {
    const { rows } = this.rig.journal;
    while (this.#written < rows.length) {
      this.#journal.append(rows[this.#written++]!);
      if (this.#written % this.#batch === 0) this.#journal.commit();
    }
    this.#journal.commit();
  }

  get head(): JournalHead {
    return this.#journal.head;
  }

  /** @param spills true: what was accepted is in runs that the snapshot names */
  snapshot(spills = false): SnapshotFile {
    const { engine } = this.rig.recovered();
    const place = { directory: this.file.directory, shard: 0, mac: TEST_KEY.snapshots };
    if (spills) spillIfDue(place, engine.state.hashes, engine.sequence, 1, () => undefined);
    return saveSnapshot(
      this.file.directory,
      0,
      { state: engine.state, nowMs: engine.nowMs, head: this.#journal.head },
      TEST_KEY,
    );
  }

  get snapshots(): SnapshotFile[] {
    return listSnapshots(this.file.directory, 0);
  }

  trim(sequence: number): void {
    while (this.#journal.trim(sequence));
  }

  /** The thread has ended. */
  close(): void {
    this.#journal.close();
  }

  /** All records, of which a repair must keep every one. */
  records(): string[] {
    const reader = new JournalReader(this.file.journalPath, TEST_KEY);
    const { firstSequence, lastSequence } = reader.facts();
    const head = firstSequence === 1 ? new JournalHead(0, 0, 0) : reader.headBefore(firstSequence);
    const seen: string[] = [];
    reader.readFrom(head, lastSequence, ({ sequence, timeMs, command, events }) => {
      const bytes = Buffer.from(command.words.buffer, command.word * 4, command.bytes + events.bytes);
      seen.push(`${sequence} ${timeMs} ${bytes.toString('base64')}`);
    });
    reader.close();
    return seen;
  }

  /** A flipped bit in the row of a record, where SQLite itself sees nothing wrong. */
  damageRecord(sequence: number): void {
    const db = new Database(this.file.journalPath);
    const row = db
      .prepare<[number], Row>('SELECT sequence, bytes FROM journal WHERE sequence >= ? ORDER BY sequence LIMIT 1')
      .get(sequence);
    assert.ok(row !== undefined, `record ${sequence} is there`);
    row.bytes[60] ^= 4;
    db.prepare('UPDATE journal SET bytes = ? WHERE sequence = ?').run(row.bytes, row.sequence);
    db.close();
  }

  run(sql: string): void {
    const db = new Database(this.file.journalPath);
    db.exec(sql);
    db.close();
  }

  get markPath(): string {
    return markPath(this.file.journalPath);
  }

  #place(account: number, market: number): void {
    const ticksPerUnit = TICKS_PER_UNIT[market];
    const known = this.rig.engine.state.markets.peek(market);
    assert.ok(known !== undefined, 'the market is open');
    const timeInForce = this.#below(4);
    const side = this.#below(2);
    const lots = (1_000_000 / ticksPerUnit) * (1 + this.#below(4));
    const ticks = Math.max(1, (ticksPerUnit / 10) * (4 + this.#below(3)) - this.#below(3));
    const isImmediate = timeInForce === TIME_IN_FORCE.FOK || timeInForce === TIME_IN_FORCE.FAK;
    // An order that never rests may be signed for any ratio.
    const odd = isImmediate ? this.#below(ticksPerUnit) : 0;
    const amounts = [lots * ticks + odd, lots * ticksPerUnit + odd] as const;
    this.rig.place({
      ...this.extend(account, ++this.#orders),
      account,
      market,
      side,
      outcome: this.#below(2),
      makerAmount: amounts[side],
      takerAmount: amounts[1 - side],
      timeInForce,
      feeBps: this.#below(10) === 0 ? FEES_BPS[this.#below(2)] : known.feeBps,
      selfTrade: this.#below(4),
      expirationSec: timeInForce === TIME_IN_FORCE.GTD ? Math.floor(this.rig.nowMs / 1000) + 1 + this.#below(30) : 0,
    });
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

export function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] ^= 1 << (at % 8);
  writeFileSync(path, bytes);
}

/** Changes an element of the last part of a snapshot: its checksum notices that. */
export function damageSnapshot(path: string): void {
  flipByte(path, readFileSync(path).length - MAC_BYTES - 4);
}

/**
 * Gives the rows from `first` on the form of version 2, with good checksums, chain values and tags. Each must hold one
 * record.
 */
export function asOldVersion({ journalPath, key }: Pick<ShardFile, 'journalPath' | 'key'>, first: number): void {
  const db = new Database(journalPath);
  const rows = db
    .prepare<[number], Row>('SELECT sequence, bytes FROM journal WHERE sequence >= ? ORDER BY sequence')
    .all(first);
  const update = db.prepare('UPDATE journal SET bytes = ? WHERE sequence = ?');
  const head = new RowReader(journalPath, key.unchecked()).headBefore(rows[0]!, first);
  for (const row of rows) {
    const bytes = oldRow(row, head, key);
    head.advance(crcOf(bytes), row.sequence);
    update.run(bytes, row.sequence);
  }
  db.close();
  const mark = new Mark(markPath(journalPath), 0);
  mark.advance(head);
  mark.advance(head);
  mark.close();
}

function oldRow({ sequence, bytes }: Row, before: JournalHead, key: ShardKey): Uint8Array {
  const from = new Uint32Array(new Uint8Array(bytes).buffer);
  assert.equal(readSafe(from, JOURNAL_ROW.firstSequence), sequence, 'a row of one record');
  const record = JOURNAL_ROW.WORDS;
  const content = from.subarray(record + JOURNAL_RECORD.WORDS);
  const old = new RecordBuffer(OLD_JOURNAL_ROW.BYTES + content.length * 4);
  const word = old.append(OLD_JOURNAL_ROW.BYTES, 2);
  old.appendRecords(content, 0, content.byteLength);
  const { words } = old;
  writeSafe(words, OLD_JOURNAL_ROW.shardSequence, sequence);
  writeSafe(words, OLD_JOURNAL_ROW.timeMs, readSafe(from, record + JOURNAL_RECORD.timeMs));
  words[OLD_JOURNAL_ROW.commandBytes] = from[record + JOURNAL_RECORD.commandBytes];
  words[OLD_JOURNAL_ROW.eventBytes] = from[record + JOURNAL_RECORD.eventBytes];
  words[OLD_JOURNAL_ROW.chainLow] = before.chainLow;
  words[OLD_JOURNAL_ROW.chainHigh] = before.chainHigh;
  words[word + OLD_JOURNAL_ROW.crc] = 0;
  words.set(tagOf(key, old), OLD_JOURNAL_ROW.tag);
  words[OLD_JOURNAL_ROW.crc] = crc32c(old, OLD_JOURNAL_ROW.version * 4, old.lengthBytes);
  return old.bytes.slice(0, old.lengthBytes);
}
