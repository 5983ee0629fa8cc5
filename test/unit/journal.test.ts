import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { Journal } from '../../engine/journal.ts';
import { type JournalOptions, markPath } from '../../engine/journalFile.ts';
import { JournalReader } from '../../engine/journalReader.ts';
import { JournalHead } from '../../engine/journalRow.ts';
import { RecordBuffer } from '../../shared/record.ts';

const folder = mkdtempSync(join(tmpdir(), 'journal-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

function options(changes: Partial<JournalOptions> = {}): JournalOptions {
  const journalPath = join(folder, `journal-${files++}.db`);
  return { journalPath, journalSync: 'full', shard: 0, shards: 2, ...changes };
}

/** Row n holds n command pairs and one pair more of events, so every row has other lengths than its neighbours. */
function append(journal: Journal, sequence: number): void {
  const records = new RecordBuffer(64);
  records.append(16, 7);
  const command = records.append(8 * sequence, sequence);
  const events = records.append(8 * (sequence + 1), 100 + sequence);
  const { words } = records;
  journal.append(sequence, 1_000_000 + sequence, words, command, 8 * sequence, words, events, 8 * (sequence + 1));
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
  journal.replay(
    new JournalHead(0, 0, 0),
    (sequence, timeMs, words, commandWord, commandBytes, eventWord, eventBytes) => {
      assert.deepEqual([words[commandWord], words[commandWord + 1]], [commandBytes, sequence]);
      assert.deepEqual([words[eventWord], words[eventWord + 1]], [eventBytes, 100 + sequence]);
      seen.push(`${sequence}@${timeMs} ${commandBytes}+${eventBytes}`);
    },
  );
  return seen;
}

const THREE_ROWS = ['1@1000001 8+16', '2@1000002 16+24', '3@1000003 24+32'];

function tamper(opened: JournalOptions, sql: string): void {
  const db = new Database(opened.journalPath);
  db.exec(sql);
  db.close();
}

/** What a killed process leaves: the file and its write-ahead log as they are, without the shared index. */
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
    assert.throws(() => append(journal, 3), /J1/);
    assert.throws(() => append(journal, 5), /J1/);
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
    assert.throws(() => append(journal, 4), /J3/);
    assert.throws(() => journal.commit(), /J3/);
    journal.close();
  });

  it('belongs to one shard of a fixed number of shards', () => {
    const opened = journalOf(1);
    assert.throws(() => Journal.open({ ...opened, shards: 3 }), /belongs to shard 0 of 2, not to shard 0 of 3/);
    assert.throws(() => Journal.open({ ...opened, shard: 1 }), /belongs to shard 0 of 2, not to shard 1 of 2/);
  });

  it('of another layout is refused', () => {
    const opened = journalOf(1);
    tamper(opened, 'UPDATE meta SET layout_version = 99');
    assert.throws(() => Journal.open(opened), /layout version 99, expected 1/);
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
      bad[bit >>> 3]! ^= 1 << (bit & 7);
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
    journal.append(2, 42, records.words, 0, 8, records.words, 0, 8);
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
    const reader = new JournalReader(opened.journalPath);
    const head = start();
    const seen: number[] = [];
    assert.equal(
      reader.readFrom(head, 2, (sequence) => seen.push(sequence)),
      2,
    );
    assert.equal(
      reader.readFrom(head, 2, (sequence) => seen.push(sequence)),
      1,
    );
    assert.equal(
      reader.readFrom(head, 2, (sequence) => seen.push(sequence)),
      0,
    );
    journal.commit();
    assert.equal(
      reader.readFrom(head, 2, (sequence) => seen.push(sequence)),
      1,
    );
    assert.deepEqual(seen, [1, 2, 3, 4]);
    reader.close();
    journal.close();
  });

  it('goes on from a remembered head, and knows when the journal is not the one it remembers', () => {
    const opened = journalOf(3);
    const reader = new JournalReader(opened.journalPath);
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
    const reader = new JournalReader(opened.journalPath);
    assert.throws(() => reader.readFrom(start(), 10, () => {}), /sequence 2: missing/);
    reader.close();
  });

  it('does not create a journal that is not there', () => {
    assert.throws(() => new JournalReader(join(folder, 'absent.db')), /unable to open/);
  });
});
