import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { type JournalOptions, markPath } from '../../../../engine/journal/file.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { Mark, readMark } from '../../../../engine/journal/mark.ts';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JournalHead, RowReader } from '../../../../engine/journal/row.ts';
import { RowView } from '../../../../engine/journal/rowView.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const folder = temporaryDirectory();

/** Byte of the second copy in a mark. */
const SECOND_COPY = 512;
let files = 0;

function options(changes: Partial<JournalOptions> = {}): JournalOptions {
  const journalPath = join(folder, `journal-${files++}.db`);
  return { journalPath, journalSync: 'full', shard: 0, shards: 2, key: TEST_KEY, ...changes };
}

/** Row n holds n command pairs and one pair more of events, so every row has other lengths than its neighbours. */
function append(journal: Journal, sequence: number): void {
  const records = new RecordBuffer(64);
  records.append(16, 7);
  const command = records.append(8 * sequence, sequence);
  const events = records.append(8 * (sequence + 1), 100 + sequence);
  const { words } = records;
  const row = new RowView();
  row.sequence = sequence;
  row.timeMs = 1_000_000 + sequence;
  row.command.set(words, command, 8 * sequence);
  row.events.set(words, events, 8 * (sequence + 1));
  journal.append(row);
}

function journalOf(rows: number, opened: JournalOptions = options()): JournalOptions {
  const journal = Journal.open(opened);
  for (let sequence = 1; sequence <= rows; sequence++) append(journal, sequence);
  journal.commit();
  journal.close();
  return opened;
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

function firstWords({ words, word }: RowView['command']): number[] {
  return [words[word], words[word + 1]];
}

const THREE_ROWS = ['1@1000001 8+16', '2@1000002 16+24', '3@1000003 24+32'];

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
  it('gives back every row in order after it was closed and opened again', () => {
    const journal = Journal.open(journalOf(3));
    assert.equal(journal.lastSequence, 3);
    assert.deepEqual(replayed(journal), THREE_ROWS);
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
    assert.deepEqual(replayed(journal), THREE_ROWS);
    journal.close();
  });

  it('of nothing replays nothing', () => {
    const journal = Journal.open(options());
    assert.equal(journal.lastSequence, 0);
    assert.deepEqual(replayed(journal), []);
    journal.close();
  });

  it('has every committed row and no other after its process was killed', () => {
    const opened = options();
    const journal = Journal.open(opened);
    for (const sequence of [1, 2, 3]) append(journal, sequence);
    assert.equal(journal.isStaged, true);
    journal.commit();
    assert.equal(journal.isStaged, false);
    append(journal, 4);
    const survivor = Journal.open(crashImage(opened));
    assert.equal(survivor.lastSequence, 3);
    assert.deepEqual(replayed(survivor), THREE_ROWS);
    survivor.close();
    journal.close();
  });

  it('drops what was staged when it is closed', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    append(journal, 4);
    journal.close();
    const reopened = Journal.open(opened);
    assert.deepEqual(replayed(reopened), THREE_ROWS);
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
    assert.throws(() => append(journal, 4), /UNIQUE/);
    assert.throws(() => append(journal, 4), /JOURNAL-3/);
    assert.throws(() => journal.commit(), /JOURNAL-3/);
    journal.close();
  });

  it('ROW-4: refuses a row of two commands before anything is written', () => {
    const journal = Journal.open(options());
    const records = new RecordBuffer(64);
    for (const type of [7, 8]) records.append(16, type);
    const row = new RowView();
    row.sequence = 1;
    row.command.set(records.words, 0, 32);
    assert.throws(() => journal.append(row), /ROW-4/);
    append(journal, 1);
    journal.commit();
    assert.deepEqual(replayed(journal), THREE_ROWS.slice(0, 1));
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

  it('of any one bit of a row is named with its sequence', () => {
    const opened = journalOf(3);
    const journal = Journal.open(opened);
    const db = new Database(opened.journalPath);
    const good = db.prepare('SELECT bytes FROM journal WHERE sequence = 2').pluck().get() as Buffer;
    const write = db.prepare('UPDATE journal SET bytes = ? WHERE sequence = 2');
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good);
      bad[bit >>> 3] ^= 1 << (bit & 7);
      write.run(bad);
      assert.throws(() => journal.replay(new JournalHead(0, 0, 0), () => {}), /sequence 2: /, `bit ${bit}`);
    }
    db.close();
    journal.close();
  });

  it('that took a row out is named as a gap', () => {
    const opened = journalOf(3);
    tamper(opened, 'DELETE FROM journal WHERE sequence = 2');
    assertReplayFails(opened, /sequence 2: missing, the next row is 3/);
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
    const records = new RecordBuffer(64);
    records.append(8, 0);
    const row = new RowView();
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

describe('a journal reader', () => {
  const start = () => new JournalHead(0, 0, 0);

  it('reads beside the writer, in portions, what is committed', () => {
    const opened = options();
    const journal = Journal.open(opened);
    for (const sequence of [1, 2, 3]) append(journal, sequence);
    journal.commit();
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
