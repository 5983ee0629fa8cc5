/** Journals of meaningless rows; several histories may start in the same way. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Journal } from '../../engine/journal/journal.ts';
import { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { crcOf, firstSequenceOf, JournalHead, type Row } from '../../engine/journal/row.ts';
import { RowWriter } from '../../engine/journal/rowWriter.ts';
import type { JournalFile } from '../../engine/replication/rejoin.ts';
import { NO_ROWS } from '../../shared/crypto/journalHeads.ts';
import { RECORD_VERSION } from '../../shared/wire/version.ts';
import { temporaryDirectory } from './directory.ts';
import { TEST_KEY } from './journalKey.ts';

/** Rows of a history: each of as many records as its number says, with times that tell histories apart. */
export function rowHistory(recordsOf: readonly number[], timeMs: number, after: readonly Row[] = []): Row[] {
  const rows = [...after];
  const head = new JournalHead(0, 0, 0);
  for (const row of after) head.advance(crcOf(row.bytes), row.sequence);
  const writer = new RowWriter(TEST_KEY);
  const record = new JournalRecord();
  record.command.set(new Uint32Array([8, 8 | (RECORD_VERSION << 16)]), 0, 8);
  for (const records of recordsOf) {
    const before = head.sequence;
    for (let sequence = before + 1; sequence <= before + records; sequence++) {
      writer.add(Object.assign(record, { sequence, timeMs: timeMs + sequence }));
    }
    const row = { sequence: before + records, bytes: writer.finish(head).slice() };
    head.advance(crcOf(row.bytes), row.sequence);
    rows.push(row);
  }
  return rows;
}

export function journalWith(rows: readonly Row[], directory = temporaryDirectory()): JournalFile {
  const journalPath = join(directory, 'journal-0.db');
  const file = { shard: 0, shards: 1, journalPath, key: TEST_KEY };
  const journal = Journal.open({ ...file, journalSync: 'full', knownHead: NO_ROWS });
  for (const row of rows) {
    journal.appendCopy(row);
    journal.commit();
  }
  journal.close();
  return file;
}

export function rowsIn(file: JournalFile, journalPath = file.journalPath): Row[] {
  const rows: Row[] = [];
  const journal = Journal.open({ ...file, journalPath, journalSync: 'full', knownHead: NO_ROWS });
  const first = journal.firstSequence;
  journal.close();
  const db = new Database(journalPath, { readonly: true });
  rows.push(...db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence').all());
  db.close();
  assert.equal(rows.length === 0 ? first : firstSequenceOf(rows[0]!), first);
  return rows;
}
