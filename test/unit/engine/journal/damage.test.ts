/** Damage to a journal, a bit or a row at a time: it is named by its record, and no replay goes past it. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { type JournalOptions, markPath } from '../../../../engine/journal/file.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { Mark } from '../../../../engine/journal/mark.ts';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JOURNAL_ROW, JournalHead } from '../../../../engine/journal/row.ts';
import { RowReader } from '../../../../engine/journal/rowReader.ts';
import { crc32c } from '../../../../shared/base/crc32c.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { RECORD_VERSION } from '../../../../shared/wire/version.ts';
import { asOldVersion } from '../../../support/journaledShard.ts';
import { appendRecord, journalOf, journalOptions, tamper } from '../../../support/journalFiles.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

describe('damage to a journal', () => {
  function assertReplayFails(opened: JournalOptions, expected: RegExp): void {
    const journal = Journal.open(opened);
    assert.throws(() => journal.replay(new JournalHead(0, 0, 0), () => {}), expected);
    journal.close();
  }

  for (const version of [3, 2]) {
    it(`of any one bit of a row of version ${version} is named with its first sequence`, () => {
      const opened = version === 3 ? journalOf(5, 2) : journalOf(3);
      if (version !== 3) asOldVersion({ ...opened, key: TEST_KEY }, 1);
      const [first, last] = version === 3 ? [3, 4] : [2, 2];
      const journal = Journal.open(opened);
      const db = new Database(opened.journalPath);
      const good = db.prepare('SELECT bytes FROM journal WHERE sequence = ?').pluck().get(last) as Buffer;
      const write = db.prepare('UPDATE journal SET bytes = ? WHERE sequence = ?');
      for (let bit = 0; bit < good.length * 8; bit++) {
        const bad = Buffer.from(good);
        bad[bit >>> 3] ^= 1 << (bit & 7);
        write.run(bad, last);
        const expected = new RegExp(`sequence ${first}: `);
        assert.throws(() => journal.replay(new JournalHead(0, 0, 0), () => {}), expected, `bit ${bit}`);
      }
      db.close();
      journal.close();
    });
  }

  it('that claims other records than a row has is named, though its checksum is right', () => {
    // The last row, so that the chain does not show it.
    const claims = { first: [JOURNAL_ROW.firstSequence, 3], last: [JOURNAL_ROW.lastSequence, 6] } as const;
    for (const [name, [field, value]] of Object.entries(claims)) {
      const opened = journalOf(5, 3);
      const key = TEST_KEY.unchecked();
      const db = new Database(opened.journalPath);
      const bytes = db.prepare('SELECT bytes FROM journal WHERE sequence = 5').pluck().get() as Buffer;
      const words = new Uint32Array(new Uint8Array(bytes).buffer);
      words[field] = value;
      const memory = { words, bytes: new Uint8Array(words.buffer) };
      words[JOURNAL_ROW.crc] = crc32c(memory, JOURNAL_ROW.version * 4, words.byteLength);
      db.prepare('UPDATE journal SET bytes = ? WHERE sequence = 5').run(memory.bytes);
      db.close();
      const head = new JournalHead(0, 0, 0);
      const reader = new JournalReader(opened.journalPath, key);
      reader.readFrom(head, 3, () => {});
      const reason = name === 'first' ? /sequence 4: in the middle of the row of 3 to 5/ : /bytes of another row/;
      assert.throws(() => reader.readFrom(head, 3, () => {}), reason);
      reader.close();
    }
  });

  it('that a mark or control.db shows, though it names a record in the middle of a row, is noticed', () => {
    const opened = journalOf(6, 3);
    const replay = (journal: Journal) => journal.replay(new JournalHead(0, 0, 0), () => {});
    const known = Journal.open({ ...opened, knownHead: { sequence: 2, chainLow: 0, chainHigh: 0 } });
    assert.throws(() => replay(known), /sequence 2: not what control.db says was written/);
    known.close();
    writeFileSync(markPath(opened.journalPath), '');
    const mark = new Mark(markPath(opened.journalPath), 0);
    mark.advance(new JournalHead(5, 1, 1));
    mark.close();
    const marked = Journal.open(opened);
    assert.throws(() => replay(marked), /sequence 5: not what its mark says was written/);
    marked.close();
  });

  it('that took a row out is named as a gap', () => {
    const opened = journalOf(3);
    tamper(opened, 'DELETE FROM journal WHERE sequence = 2');
    assertReplayFails(opened, /sequence 2: missing, the next record is 3/);
  });

  it('that took the first row is named as a gap', () => {
    const opened = journalOf(3);
    tamper(opened, 'DELETE FROM journal WHERE sequence = 1');
    assertReplayFails(opened, /sequence 1: missing/);
  });

  it('that cut a row is named', () => {
    const opened = journalOf(3);
    tamper(opened, 'UPDATE journal SET bytes = substr(bytes, 1, 24) WHERE sequence = 2');
    assertReplayFails(opened, /sequence 2: cut short/);
  });

  it('that gave the bytes of a row another type is named', () => {
    const reader = new RowReader('journal-0.db', TEST_KEY);
    for (const bytes of [null, 7, 'text']) {
      const row = { sequence: 1, bytes: bytes as never };
      assert.throws(() => reader.load(row, new JournalHead(0, 0, 0)), /journal-0.db: sequence 1: holds no bytes/);
    }
  });

  it('that put one row in the place of another is named', () => {
    const opened = journalOf(3);
    tamper(opened, 'UPDATE journal SET bytes = (SELECT bytes FROM journal WHERE sequence = 1) WHERE sequence = 2');
    assertReplayFails(opened, /sequence 2: bytes of another row/);
  });

  it('of the last row stops the opening', () => {
    const opened = journalOf(3);
    tamper(opened, 'UPDATE journal SET bytes = zeroblob(80) WHERE sequence = 3');
    assert.throws(() => Journal.open(opened), /sequence 3: checksum mismatch/);
  });

  it('that joined two histories is found by the chain', () => {
    const opened = journalOf(3);
    const other = journalOptions();
    const journal = Journal.open(other);
    appendRecord(journal, 1);
    journal.commit();
    const records = new RecordBuffer(64);
    records.append(8, RECORD_VERSION << 16);
    const row = new JournalRecord();
    row.sequence = 2;
    row.timeMs = 42;
    row.command.set(records.words, 0, 8);
    row.events.set(records.words, 0, 8);
    journal.append(row);
    journal.commit();
    journal.close();
    tamper(
      opened,
      `ATTACH '${other.journalPath}' AS other;
       UPDATE journal SET bytes = (SELECT bytes FROM other.journal WHERE sequence = 2) WHERE sequence = 2`,
    );
    assertReplayFails(opened, /sequence 3: does not follow the row before it/);
  });

  it('of a page of the log whose records are in the file already changes nothing in the file', () => {
    const opened = journalOf(2);
    const journal = Journal.open(opened);
    for (let sequence = 3; sequence <= 60; sequence++) {
      appendRecord(journal, sequence);
      journal.commit();
    }
    const writer = new Database(opened.journalPath);
    writer.pragma('wal_checkpoint(PASSIVE)');
    // As after a crash of the machine: no connection is closed.
    const copy = journalOptions();
    for (const suffix of ['', '-wal']) copyFileSync(opened.journalPath + suffix, copy.journalPath + suffix);
    copyFileSync(markPath(opened.journalPath), markPath(copy.journalPath));
    for (const each of [writer, journal]) each.close();
    const log = readFileSync(`${copy.journalPath}-wal`);
    const middle = Math.floor(log.length / 2);
    log[middle] = log[middle]! ^ 1;
    writeFileSync(`${copy.journalPath}-wal`, log);
    const before = readFileSync(copy.journalPath);
    assert.throws(() => Journal.open(copy), /sequence \d+: missing, the mark says that 60 was written/);
    assert.ok(readFileSync(copy.journalPath).equals(before), 'the file is as it was');
    assert.ok(readFileSync(`${copy.journalPath}-wal`).equals(log), 'and so is the log');
  });
});
