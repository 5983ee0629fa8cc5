/** A journal as a file: its rows and their records, its mark, and the content of a closed, killed or older one. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { Mark, readMark } from '../../../../engine/journal/mark.ts';
import { JournalHead, MOST_ROW_BYTES } from '../../../../engine/journal/row.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { RECORD_VERSION } from '../../../../shared/wire/version.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { asOldVersion } from '../../../support/journaledShard.ts';
import {
  appendRecord,
  crashImage,
  journalOf,
  journalOptions,
  replayed,
  rowsOf,
  THREE_RECORDS,
  tamper,
} from '../../../support/journalFiles.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

/** Byte of the second copy in a mark. */
const SECOND_COPY = 512;

describe('a journal', () => {
  it('gives back every record in order after it was closed and opened again', () => {
    const journal = Journal.open(journalOf(3));
    assert.equal(journal.lastSequence, 3);
    assert.deepEqual(replayed(journal), THREE_RECORDS);
    journal.close();
  });

  it('goes on where it stopped, over several openings', () => {
    const opened = journalOf(1);
    for (const sequence of [2, 3]) {
      const journal = Journal.open(opened);
      appendRecord(journal, sequence);
      journal.commit();
      journal.close();
    }
    const journal = Journal.open(opened);
    assert.deepEqual(replayed(journal), THREE_RECORDS);
    journal.close();
  });

  it('of nothing replays nothing', () => {
    const journal = Journal.open(journalOptions());
    assert.equal(journal.lastSequence, 0);
    assert.deepEqual(replayed(journal), []);
    journal.close();
  });

  it('has every committed record and no other after its process was killed', () => {
    const opened = journalOptions();
    const journal = Journal.open(opened);
    for (const sequence of [1, 2, 3]) appendRecord(journal, sequence);
    assert.equal(journal.isStaged, true);
    journal.commit();
    assert.equal(journal.isStaged, false);
    appendRecord(journal, 4);
    const survivor = Journal.open(crashImage(opened));
    assert.equal(survivor.lastSequence, 3);
    assert.deepEqual(replayed(survivor), THREE_RECORDS);
    survivor.close();
    journal.close();
  });

  it('drops staged records when it is closed', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    appendRecord(journal, 4);
    journal.close();
    const reopened = Journal.open(opened);
    assert.deepEqual(replayed(reopened), THREE_RECORDS);
    reopened.close();
  });

  it('takes only the next sequence', () => {
    const journal = Journal.open(journalOf(3));
    assert.throws(() => appendRecord(journal, 3), /JOURNAL-1/);
    assert.throws(() => appendRecord(journal, 5), /JOURNAL-1/);
    appendRecord(journal, 4);
    journal.commit();
    journal.close();
  });

  it('refuses everything after a failed statement', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    const intruder = new Database(opened.journalPath);
    intruder.exec("INSERT INTO journal VALUES (4, x'00')");
    intruder.close();
    appendRecord(journal, 4);
    assert.throws(() => journal.commit(), /sequence 4: UNIQUE/);
    assert.throws(() => appendRecord(journal, 5), /JOURNAL-3/);
    assert.throws(() => journal.commit(), /JOURNAL-3/);
    journal.close();
  });

  it('ROW-4: refuses a record of two commands before anything is written', () => {
    const journal = Journal.open(journalOptions());
    const records = new RecordBuffer(64);
    for (const type of [7, 8]) records.append(16, type);
    const row = new JournalRecord();
    row.sequence = 1;
    row.command.set(records.words, 0, 32);
    assert.throws(() => journal.append(row), /ROW-4/);
    appendRecord(journal, 1);
    journal.commit();
    assert.deepEqual(replayed(journal), THREE_RECORDS.slice(0, 1));
    journal.close();
  });

  it('JOURNAL-4: trims its oldest rows and never the last', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    assert.throws(() => journal.trim(3), /JOURNAL-4/);
    assert.equal(journal.trim(2), false);
    assert.equal(journal.firstSequence, 3);
    journal.close();
  });

  it('JOURNAL-4: keeps a row as long as one of its records is to be kept', () => {
    const opened = journalOf(7, 3);
    const journal = Journal.open(opened);
    assert.equal(journal.trim(2), false);
    assert.equal(journal.firstSequence, 1);
    assert.equal(journal.trim(5), false);
    assert.equal(journal.firstSequence, 4);
    journal.close();
    assert.deepEqual(rowsOf(opened), [6, 7]);
  });

  it('trims a limited number of records at a time', () => {
    const journal = Journal.open(journalOf(2010, 50));
    assert.equal(journal.trim(2000), true);
    assert.equal(journal.firstSequence, 1051);
    assert.equal(journal.trim(2000), false);
    assert.equal(journal.firstSequence, 2001);
    journal.close();
  });

  it('JOURNAL-2: has the records of a batch in one row, under its last sequence', () => {
    const opened = journalOf(8, 3);
    assert.deepEqual(rowsOf(opened), [3, 6, 8]);
    const journal = Journal.open(opened);
    assert.deepEqual(replayed(journal).slice(0, 3), THREE_RECORDS);
    assert.deepEqual(replayed(journal).slice(6), ['7@1000007 56+64', '8@1000008 64+72']);
    journal.close();
  });

  it('JOURNAL-2: has a batch that is too long for a row in several, all of them or none', () => {
    const opened = journalOptions();
    const journal = Journal.open(opened);
    // Record n is of 16 n bytes or so.
    const records = Math.ceil(Math.sqrt((3 * MOST_ROW_BYTES) / 8));
    for (let sequence = 1; sequence <= records; sequence++) appendRecord(journal, sequence);
    const killed = Journal.open(crashImage(opened));
    assert.equal(killed.lastSequence, 0);
    killed.close();
    journal.commit();
    const survivor = Journal.open(crashImage(opened));
    assert.equal(replayed(survivor).length, records);
    survivor.close();
    journal.close();
    const rows = rowsOf(opened);
    assert.deepEqual([rows.length, rows.at(-1)], [4, records]);
  });

  it('ROW-6: has a record that is longer than a row may be in a row of its own', () => {
    const opened = journalOptions();
    const journal = Journal.open(opened);
    appendRecord(journal, 1);
    const long = new JournalRecord();
    const words = new Uint32Array(MOST_ROW_BYTES >>> 1);
    [words[0], words[1]] = [words.byteLength, 2 | (RECORD_VERSION << 16)];
    long.sequence = 2;
    long.timeMs = 1_000_002;
    long.command.set(words, 0, words.byteLength);
    journal.append(long);
    appendRecord(journal, 3);
    journal.commit();
    assert.equal(journal.lastSequence, 3);
    journal.close();
    assert.deepEqual(rowsOf(opened), [1, 2, 3]);
  });

  it('belongs to one shard of a fixed number of shards', () => {
    const opened = journalOf(1);
    assert.throws(
      () => Journal.open({ ...opened, shards: 3, key: TEST_KEY }),
      /belongs to shard 0 of 2, not to shard 0 of 3/,
    );
    assert.throws(
      () => Journal.open({ ...opened, shard: 1, key: TEST_KEY }),
      /belongs to shard 0 of 2, not to shard 1 of 2/,
    );
  });

  it('of another layout is refused', () => {
    const opened = journalOf(1);
    tamper(opened, 'UPDATE meta SET layout_version = 99');
    assert.throws(() => Journal.open(opened), /layout version 99, expected 1/);
  });
});

describe('a high-water mark', () => {
  it('MARK-1: is read from its older copy where the newer one is torn', () => {
    const path = join(temporaryDirectory(), 'torn.mark');
    const mark = new Mark(path, 0);
    for (const sequence of [1, 2]) mark.advance(new JournalHead(sequence, 3, -4));
    mark.close();
    assert.equal(readMark(path, 0)?.sequence, 2);
    const bytes = readFileSync(path);
    // Sequence 2 went into the second copy.
    bytes[SECOND_COPY + 9] ^= 1;
    writeFileSync(path, bytes);
    assert.deepEqual(readMark(path, 0), new JournalHead(1, 3, -4));
    assert.equal(readMark(path, 1), null, 'of another shard');
  });

  it('MARK-3: never moves back', () => {
    const path = join(temporaryDirectory(), 'back.mark');
    const mark = new Mark(path, 0);
    mark.advance(new JournalHead(5, 0, 0));
    assert.throws(() => mark.advance(new JournalHead(4, 0, 0)), /MARK-3/);
    mark.close();
    const again = new Mark(path, 0);
    assert.equal(again.read()?.sequence, 5);
    assert.throws(() => again.advance(new JournalHead(4, 0, 0)), /MARK-3/);
    again.close();
  });
});

describe('a journal that an older version wrote', () => {
  it('goes on after rows of version 2, and both kinds are read', () => {
    const opened = journalOf(3);
    asOldVersion({ ...opened, key: TEST_KEY }, 1);
    const journal = Journal.open(opened);
    assert.deepEqual(replayed(journal), THREE_RECORDS);
    for (const sequence of [4, 5]) appendRecord(journal, sequence);
    journal.commit();
    journal.close();
    assert.deepEqual(rowsOf(opened), [1, 2, 3, 5]);
    const reopened = Journal.open(opened);
    assert.deepEqual(replayed(reopened), [...THREE_RECORDS, '4@1000004 32+40', '5@1000005 40+48']);
    assert.equal(reopened.trim(4), false);
    assert.equal(reopened.firstSequence, 4);
    reopened.close();
  });
});
