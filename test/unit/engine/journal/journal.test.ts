import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { type JournalOptions, markPath } from '../../../../engine/journal/file.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { Mark, readMark } from '../../../../engine/journal/mark.ts';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JOURNAL_ROW, JournalHead, MOST_ROW_BYTES } from '../../../../engine/journal/row.ts';
import { RowReader } from '../../../../engine/journal/rowReader.ts';
import { crc32c } from '../../../../shared/base/crc32c.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { asOldVersion } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const folder = temporaryDirectory();

/** Byte of the second copy in a mark. */
const SECOND_COPY = 512;
let files = 0;

function options(changes: Partial<JournalOptions> = {}): JournalOptions {
  const journalPath = join(folder, `journal-${files++}.db`);
  return { journalPath, journalSync: 'full', shard: 0, shards: 2, key: TEST_KEY, ...changes };
}

/** Record n has n command pairs and one pair more of events, so every record has other lengths than its neighbours. */
function append(journal: Journal, sequence: number): void {
  const records = new RecordBuffer(64);
  records.append(16, 7);
  const command = records.append(8 * sequence, sequence);
  const events = records.append(8 * (sequence + 1), 100 + sequence);
  const { words } = records;
  const record = new JournalRecord();
  record.sequence = sequence;
  record.timeMs = 1_000_000 + sequence;
  record.command.set(words, command, 8 * sequence);
  record.events.set(words, events, 8 * (sequence + 1));
  journal.append(record);
}

/** A journal of so many records in rows of one each, or of `batch`. */
function journalOf(records: number, batch = 1): JournalOptions {
  const opened = options();
  const journal = Journal.open(opened);
  for (let sequence = 1; sequence <= records; sequence++) {
    append(journal, sequence);
    if (sequence % batch === 0) journal.commit();
  }
  journal.commit();
  journal.close();
  return opened;
}

function rowsOf({ journalPath }: JournalOptions): number[] {
  const db = new Database(journalPath, { readonly: true });
  const sequences = db.prepare<[], number>('SELECT sequence FROM journal ORDER BY sequence').pluck().all();
  db.close();
  return sequences;
}

function replayed(journal: Journal): string[] {
  const seen: string[] = [];
  journal.replay(new JournalHead(0, 0, 0), ({ sequence, timeMs, command, events }) => {
    assert.deepEqual(firstWords(command), [command.bytes, sequence]);
    assert.deepEqual(firstWords(events), [events.bytes, 100 + sequence]);
    seen.push(`${sequence}@${timeMs} ${command.bytes}+${events.bytes}`);
  });
  return seen;
}

function firstWords({ words, word }: JournalRecord['command']): number[] {
  return [words[word], words[word + 1]];
}

const THREE_RECORDS = ['1@1000001 8+16', '2@1000002 16+24', '3@1000003 24+32'];

function tamper(opened: JournalOptions, sql: string): void {
  const db = new Database(opened.journalPath);
  db.exec(sql);
  db.close();
}

/** The files of a killed process: the database and its write-ahead log as they are, without the shared index. */
function crashImage(opened: JournalOptions): JournalOptions {
  const image = options({ shard: opened.shard, shards: opened.shards });
  copyFileSync(opened.journalPath, image.journalPath);
  copyFileSync(`${opened.journalPath}-wal`, `${image.journalPath}-wal`);
  copyFileSync(markPath(opened.journalPath), markPath(image.journalPath));
  return image;
}

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
      append(journal, sequence);
      journal.commit();
      journal.close();
    }
    const journal = Journal.open(opened);
    assert.deepEqual(replayed(journal), THREE_RECORDS);
    journal.close();
  });

  it('of nothing replays nothing', () => {
    const journal = Journal.open(options());
    assert.equal(journal.lastSequence, 0);
    assert.deepEqual(replayed(journal), []);
    journal.close();
  });

  it('has every committed record and no other after its process was killed', () => {
    const opened = options();
    const journal = Journal.open(opened);
    for (const sequence of [1, 2, 3]) append(journal, sequence);
    assert.equal(journal.isStaged, true);
    journal.commit();
    assert.equal(journal.isStaged, false);
    append(journal, 4);
    const survivor = Journal.open(crashImage(opened));
    assert.equal(survivor.lastSequence, 3);
    assert.deepEqual(replayed(survivor), THREE_RECORDS);
    survivor.close();
    journal.close();
  });

  it('drops what was staged when it is closed', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    append(journal, 4);
    journal.close();
    const reopened = Journal.open(opened);
    assert.deepEqual(replayed(reopened), THREE_RECORDS);
    reopened.close();
  });

  it('takes only the next sequence', () => {
    const journal = Journal.open(journalOf(3));
    assert.throws(() => append(journal, 3), /JOURNAL-1/);
    assert.throws(() => append(journal, 5), /JOURNAL-1/);
    append(journal, 4);
    journal.commit();
    journal.close();
  });

  it('refuses everything after a failed statement', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    const intruder = new Database(opened.journalPath);
    intruder.exec("INSERT INTO journal VALUES (4, x'00')");
    intruder.close();
    append(journal, 4);
    assert.throws(() => journal.commit(), /sequence 4: UNIQUE/);
    assert.throws(() => append(journal, 5), /JOURNAL-3/);
    assert.throws(() => journal.commit(), /JOURNAL-3/);
    journal.close();
  });

  it('ROW-4: refuses a record of two commands before anything is written', () => {
    const journal = Journal.open(options());
    const records = new RecordBuffer(64);
    for (const type of [7, 8]) records.append(16, type);
    const row = new JournalRecord();
    row.sequence = 1;
    row.command.set(records.words, 0, 32);
    assert.throws(() => journal.append(row), /ROW-4/);
    append(journal, 1);
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
    const opened = options();
    const journal = Journal.open(opened);
    // Record n is of 16 n bytes or so.
    const records = Math.ceil(Math.sqrt((3 * MOST_ROW_BYTES) / 8));
    for (let sequence = 1; sequence <= records; sequence++) append(journal, sequence);
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
    const opened = options();
    const journal = Journal.open(opened);
    append(journal, 1);
    const long = new JournalRecord();
    const words = new Uint32Array(MOST_ROW_BYTES >>> 1);
    [words[0], words[1]] = [words.byteLength, 2];
    long.sequence = 2;
    long.timeMs = 1_000_002;
    long.command.set(words, 0, words.byteLength);
    journal.append(long);
    append(journal, 3);
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
    const path = join(folder, `torn-${files++}.mark`);
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
    const path = join(folder, `back-${files++}.mark`);
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

describe('damage to a journal', () => {
  function assertReplayFails(opened: JournalOptions, expected: RegExp): void {
    const journal = Journal.open(opened);
    assert.throws(() => journal.replay(new JournalHead(0, 0, 0), () => {}), expected);
    journal.close();
  }

  for (const version of [3, 2, 1] as const) {
    it(`of any one bit of a row of version ${version} is named with its first sequence`, () => {
      const opened = version === 3 ? journalOf(5, 2) : journalOf(3);
      const key = version === 1 ? TEST_KEY.unchecked() : TEST_KEY;
      if (version !== 3) asOldVersion({ ...opened, key }, 1, version);
      const [first, last] = version === 3 ? [3, 4] : [2, 2];
      const journal = Journal.open({ ...opened, key });
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
    const other = options();
    const journal = Journal.open(other);
    append(journal, 1);
    journal.commit();
    const records = new RecordBuffer(64);
    records.append(8, 0);
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
});

describe('a journal that an older version wrote', () => {
  for (const version of [2, 1] as const) {
    it(`goes on after rows of version ${version}, and both kinds are read`, () => {
      const opened = journalOf(3);
      const key = version === 1 ? TEST_KEY.unchecked() : TEST_KEY;
      asOldVersion({ ...opened, key }, 1, version);
      const journal = Journal.open({ ...opened, key });
      assert.deepEqual(replayed(journal), THREE_RECORDS);
      for (const sequence of [4, 5]) append(journal, sequence);
      journal.commit();
      journal.close();
      assert.deepEqual(rowsOf(opened), [1, 2, 3, 5]);
      const reopened = Journal.open({ ...opened, key });
      assert.deepEqual(replayed(reopened), [...THREE_RECORDS, '4@1000004 32+40', '5@1000005 40+48']);
      assert.equal(reopened.trim(4), false);
      assert.equal(reopened.firstSequence, 4);
      reopened.close();
    });
  }
});

describe('a journal reader', () => {
  const start = () => new JournalHead(0, 0, 0);

  it('ends a read with the whole row of the last record it was asked for', () => {
    const reader = new JournalReader(journalOf(8, 3).journalPath, TEST_KEY);
    const head = start();
    const seen: number[] = [];
    const read = (limit: number) => reader.readFrom(head, limit, ({ sequence }) => seen.push(sequence));
    assert.deepEqual([read(1), read(4), read(4)], [3, 5, 0]);
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
    const copied = start();
    assert.deepEqual(
      reader.copiesFrom(copied, 4).map(({ sequence }) => sequence),
      [3, 6],
    );
    reader.close();
  });

  it('finds the row of a record, and the heads before and after it', () => {
    const opened = journalOf(8, 3);
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    const head = start();
    reader.readFrom(head, 6, () => {});
    assert.deepEqual(
      [4, 5, 6, 7].map((sequence) => reader.startOfRow(sequence)),
      [4, 4, 4, 7],
    );
    assert.deepEqual(reader.headAfter(6), head);
    assert.deepEqual(reader.headBefore(7), head);
    assert.equal(reader.continues(head), true);
    assert.throws(() => reader.headAfter(5), /sequence 5: no row ends with it/);
    assert.throws(() => reader.headBefore(5), /sequence 5: no row begins with it/);
    const inside = new JournalHead(5, head.chainLow, head.chainHigh);
    assert.equal(reader.continues(inside), false);
    assert.throws(() => reader.readFrom(inside, 1, () => {}), /sequence 6: in the middle of the row of 4 to 6/);
    reader.close();
    const journal = Journal.open(opened);
    journal.trim(6);
    journal.close();
    const trimmed = new JournalReader(opened.journalPath, TEST_KEY);
    assert.equal(trimmed.facts().firstSequence, 7);
    assert.equal(trimmed.continues(head), true);
    trimmed.close();
  });

  it('reads beside the writer, in portions, what is committed', () => {
    const opened = options();
    const journal = Journal.open(opened);
    for (const sequence of [1, 2, 3]) {
      append(journal, sequence);
      journal.commit();
    }
    append(journal, 4);
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    const head = start();
    const seen: number[] = [];
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      2,
    );
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      1,
    );
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      0,
    );
    journal.commit();
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      1,
    );
    assert.deepEqual(seen, [1, 2, 3, 4]);
    reader.close();
    journal.close();
  });

  it('goes on from a remembered head, and knows when the journal is not the one it remembers', () => {
    const opened = journalOf(3);
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    const head = start();
    reader.readFrom(head, 2, () => {});
    assert.equal(reader.continues(start()), true);
    assert.equal(reader.continues(head), true);
    assert.equal(reader.continues(new JournalHead(2, head.chainLow, head.chainHigh ^ 1)), false);
    assert.equal(reader.continues(new JournalHead(4, head.chainLow, head.chainHigh)), false);
    reader.close();
  });

  it('names a gap behind its head', () => {
    const opened = journalOf(3);
    tamper(opened, 'DELETE FROM journal WHERE sequence = 2');
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    assert.throws(() => reader.readFrom(start(), 10, () => {}), /sequence 2: missing/);
    reader.close();
  });

  it('does not create a journal that is not there', () => {
    assert.throws(() => new JournalReader(join(folder, 'absent.db'), TEST_KEY), /unable to open/);
  });
});
