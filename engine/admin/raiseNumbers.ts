/**
 * After a restore to an earlier time, numbers continue above a floor (shared/base/floors.ts), so that a number given
 * out since that time never gets a second meaning.
 *
 *   journals      a RAISE as their last record ──► orders, trades, public frames
 *   audit.log     a record `restored` with the next number above the floor
 *   control.db    the list of floors ──► private frames, ids of operations on the chain, pseudonyms
 *
 * Invariant:
 *   RAISENUMBERS-1  All of this is done before an exchange starts with the directory, and nothing that has become due
 *                   is executed before the RAISE.
 */
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { FLOORS, type Floor, floorAt, readFloors } from '../../shared/base/floors.ts';
import { lastLineOf } from '../../shared/base/lastLine.ts';
import { chainLine, deriveAuditKey, NO_RECORDS, RESTORED_EVENT, readLine } from '../../shared/crypto/auditChain.ts';
import { Journal } from '../journal/journal.ts';
import { JournalReader } from '../journal/reader.ts';
import { listShards, openMasterKey, type ShardFile, withExclusiveDirectory } from './directory.ts';
import { saveHeads } from './heads.ts';
import { stateAfter } from './replica.ts';

type RestoredTo = { readonly point: string; readonly upToMs: number; readonly nowMs: number };

const AUDIT_HEAD = 'audit_head';

/** @returns the floor. */
export async function raiseNumbers(directory: string, restored: RestoredTo): Promise<number> {
  const files = await listShards(directory);
  return withExclusiveDirectory(directory, (control) => {
    const read = control!.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck();
    const write = (key: string, value: string): void => {
      const sql = `INSERT INTO platform (key, value) VALUES (?, ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`;
      control!.prepare(sql).run(key, value);
    };
    const floors = readFloors(read.get(FLOORS));
    const floor = floorAt(restored.nowMs, restored.upToMs, floors);
    const records = files.map((file) => raiseJournal(file, floor));
    saveHeads(control!, files, files);
    const added: Floor = { floor, records, lastAccount: lastAccountOf(control!) };
    write(FLOORS, JSON.stringify([...floors, added]));
    const head = raiseAuditLog(directory, floor, restored);
    if (head !== null) write(AUDIT_HEAD, JSON.stringify(head));
    return floor;
  });
}

/** @returns the record that raised the journal's numbers. */
function raiseJournal(file: ShardFile, floor: number): number {
  const reader = new JournalReader(file.journalPath, file.key);
  const { lastSequence } = reader.facts();
  reader.close();
  const journal = Journal.open({ ...file, journalSync: 'full' });
  try {
    const { engine } = stateAfter(file, lastSequence, journal);
    engine.raise(floor);
    journal.commit();
    return engine.sequence;
  } finally {
    journal.close();
  }
}

function lastAccountOf(control: Database.Database): number {
  return control.prepare<[], number | null>('SELECT max(account_index) FROM users').pluck().get() ?? 0;
}

/**
 * The record says why numbers are missing before it, so the chain has no unexplained gap.
 * @returns the end of the log.
 */
function raiseAuditLog(directory: string, floor: number, { point, upToMs, nowMs }: RestoredTo) {
  const path = join(directory, 'audit.log');
  if (!existsSync(path)) return null;
  const { text, endBytes } = lastLineOf(path);
  const last = text === null ? NO_RECORDS : readLine(text, null);
  if (last === null) return null; // a start finds the damaged log and reports it
  const fields = {
    time: new Date(nowMs).toISOString(),
    event: RESTORED_EVENT,
    point,
    since: new Date(upToMs).toISOString(),
    found: last.sequence,
  };
  const key = deriveAuditKey(openMasterKey(directory));
  const { line, head } = chainLine({ sequence: floor, hash: last.hash }, fields, key);
  const fd = openSync(path, 'r+');
  try {
    ftruncateSync(fd, endBytes);
    writeSync(fd, `${line}\n`, endBytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return head;
}
