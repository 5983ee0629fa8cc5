/** Small journals of distinguishable records, each as a file of its own, and changes that tests make to them. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type JournalOptions, markPath } from '../../engine/journal/file.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { JournalHead } from '../../engine/journal/row.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import { RECORD_VERSION } from '../../shared/wire/version.ts';
import { temporaryDirectory } from './directory.ts';
import { TEST_KEY } from './journalKey.ts';

const folder = temporaryDirectory();

let files = 0;

export function journalOptions(changes: Partial<JournalOptions> = {}): JournalOptions {
  const journalPath = join(folder, `journal-${files++}.db`);
  return { journalPath, journalSync: 'full', shard: 0, shards: 2, key: TEST_KEY, ...changes };
}

/** Record n has n command pairs and one pair more of events, so every record has other lengths than its neighbours. */
export function appendRecord(journal: Journal, sequence: number): void {
  const records = new RecordBuffer(64);
  records.append(16, 7);
  const version = RECORD_VERSION << 16;
  const command = records.append(8 * sequence, sequence | version);
  const events = records.append(8 * (sequence + 1), (100 + sequence) | version);
  const { words } = records;
  const record = new JournalRecord();
  record.sequence = sequence;
  record.timeMs = 1_000_000 + sequence;
  record.command.set(words, command, 8 * sequence);
  record.events.set(words, events, 8 * (sequence + 1));
  journal.append(record);
}

/** A journal with this many records in rows of one record, or of `batch`. */
export function journalOf(records: number, batch = 1): JournalOptions {
  const opened = journalOptions();
  const journal = Journal.open(opened);
  for (let sequence = 1; sequence <= records; sequence++) {
    appendRecord(journal, sequence);
    if (sequence % batch === 0) journal.commit();
  }
  journal.commit();
  journal.close();
  return opened;
}

export function rowsOf({ journalPath }: JournalOptions): number[] {
  const db = new Database(journalPath, { readonly: true });
  const sequences = db.prepare<[], number>('SELECT sequence FROM journal ORDER BY sequence').pluck().all();
  db.close();
  return sequences;
}

export function replayed(journal: Journal): string[] {
  const seen: string[] = [];
  journal.replay(new JournalHead(0, 0, 0), ({ sequence, timeMs, command, events }) => {
    assert.deepEqual(firstWords(command), [command.bytes, sequence]);
    assert.deepEqual(firstWords(events), [events.bytes, 100 + sequence]);
    seen.push(`${sequence}@${timeMs} ${command.bytes}+${events.bytes}`);
  });
  return seen;
}

function firstWords({ words, word }: JournalRecord['command']): number[] {
  return [words[word], words[word + 1] & 0xffff];
}

export const THREE_RECORDS = ['1@1000001 8+16', '2@1000002 16+24', '3@1000003 24+32'];

export function tamper(opened: JournalOptions, sql: string): void {
  const db = new Database(opened.journalPath);
  db.exec(sql);
  db.close();
}

/** The files of a killed process: the database and its write-ahead log as they are, without the shared index. */
export function crashImage(opened: JournalOptions): JournalOptions {
  const image = journalOptions({ shard: opened.shard, shards: opened.shards });
  copyFileSync(opened.journalPath, image.journalPath);
  copyFileSync(`${opened.journalPath}-wal`, `${image.journalPath}-wal`);
  copyFileSync(markPath(opened.journalPath), markPath(image.journalPath));
  return image;
}
