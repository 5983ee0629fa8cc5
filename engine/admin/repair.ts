/**
 * Carries out a plan (plan.ts; RULES.md 10.28). The exchange must be stopped; the caller holds its lock.
 *
 * Invariants:
 *   REPAIR-1  Only the index of a write-ahead log is deleted, which SQLite makes again. A replaced file is renamed to
 *             end in `.damaged-<time>` and stays in its folder.
 *   REPAIR-2  A new journal is written beside the old one and takes its name once it is complete and durable. An
 *             interrupted repair may leave the name missing, so that the exchange refuses to start, but never a journal
 *             that only looks good. The next repair finishes the renaming.
 *   REPAIR-3  Intact records that leave the journal are written to a file of lines before anything is changed.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freeName } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { markPath } from '../journal/file.ts';
import { Journal } from '../journal/journal.ts';
import { Mark } from '../journal/mark.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalError, JournalHead } from '../journal/row.ts';
import { makeReplica, restore } from '../snapshot/replica.ts';
import type { SnapshotFile } from '../snapshot/snapshot.ts';
import type { ShardFile } from './directory.ts';
import { writeGivenUp } from './givenUp.ts';
import { type Findings, inspectShard, openJournal } from './inspect.ts';
import type { Plan } from './plan.ts';

/** Records of one transaction. */
const COPIED_RECORDS = 1000;

/** @param time part of the names of files that are set aside. @returns the findings of a check after the repair. */
export function carryOut(plan: Plan, time: string): Findings {
  const { file, last } = plan.findings;
  const setAside = (path: string): void => {
    if (existsSync(path)) renameSync(path, `${path}.damaged-${time}`);
  };
  // REPAIR-3
  if (plan.leaving.length > 0) writeGivenUp(plan.findings, plan.leaving, time);
  const fresh = plan.keep === null ? null : makeJournal(plan.findings, plan.keep);
  for (const { path } of plan.setAside) setAside(path);
  if (fresh !== null) {
    // The write-ahead log belongs to the old file: beside the new file, SQLite would take its pages for newer ones.
    const old = `${file.journalPath}.damaged-${time}`;
    setAside(markPath(file.journalPath));
    renameSync(file.journalPath, old);
    if (existsSync(`${file.journalPath}-wal`)) renameSync(`${file.journalPath}-wal`, `${old}-wal`);
    rmSync(`${file.journalPath}-shm`, { force: true });
    renameSync(fresh, file.journalPath);
    renameSync(markPath(fresh), markPath(file.journalPath));
  } else if (plan.rewritesMark) {
    setAside(markPath(file.journalPath));
    writeMark(file, last);
  }
  syncDirectory(file.directory);
  // A journal that was cut is not compared with the head that control.db knew before.
  return inspectShard(plan.needsConsent ? { ...file, known: undefined } : file);
}

/** The record with which the journal ends after the repair, or a record before it. */
export function endOf({ findings, keep }: Plan): number {
  if (keep === null) return findings.last;
  return Math.max(keep.to, keep.from - 1);
}

/** Finishes the renaming of an interrupted repair (REPAIR-2). @returns the journals that have their names again */
export function finishNames(directory: string): string[] {
  const names = readdirSync(directory);
  return names.flatMap((name) => {
    const journal = /^(journal-\d+\.db)\.part\.mark$/.exec(name)?.[1];
    if (journal === undefined) return [];
    const [journalPath, fresh] = [join(directory, journal), join(directory, `${journal}.part`)];
    // Only a repair takes away a journal's name, and only once the new journal is complete.
    const old = names.filter((other) => other.startsWith(`${journal}.damaged-`) && !other.endsWith('-wal')).sort();
    const isNamed = existsSync(journalPath) || !existsSync(fresh) || old.length === 0;
    if (isNamed && (existsSync(fresh) || existsSync(markPath(journalPath)))) return [];
    if (!isNamed) {
      const wal = `${journalPath}-wal`;
      // Older ones have a write-ahead log of their own, or never had one.
      const last = old.findLast((other) => !names.includes(`${other}-wal`)) ?? old.at(-1)!;
      if (existsSync(wal)) renameSync(wal, freeName(join(directory, `${last}-wal`)));
      rmSync(`${journalPath}-shm`, { force: true });
      renameSync(fresh, journalPath);
    }
    renameSync(join(directory, name), markPath(journalPath));
    syncDirectory(directory);
    return [journalPath];
  });
}

/** Writes the same rows again, byte for byte, so that snapshots and read.db can continue with them. */
function makeJournal(findings: Findings, { base, from, to }: NonNullable<Plan['keep']>): string {
  const { file } = findings;
  const journalPath = `${file.journalPath}.part`;
  for (const path of [journalPath, `${journalPath}-wal`, `${journalPath}-shm`, markPath(journalPath)]) {
    rmSync(path, { force: true });
  }
  if (base !== null && to < from) {
    beginAfter({ ...file, journalPath }, base);
    return journalPath;
  }
  const reader = openJournal(file, findings.isSalvaged);
  const head = reader.headBefore(from);
  const journal = Journal.open({ ...file, journalPath, journalSync: 'full' }, head);
  try {
    while (head.sequence < to) {
      const rows = reader.copiesFrom(head, Math.min(COPIED_RECORDS, to - head.sequence));
      if (rows.length === 0) throw new JournalError(`sequence ${head.sequence + 1}: missing`);
      for (const row of rows) journal.appendCopy(row);
      journal.commit();
    }
  } finally {
    journal.close();
    reader.close();
  }
  return journalPath;
}

/** A journal without rows would not know its next sequence number, so it begins with a record that changes nothing. */
function beginAfter(file: ShardFile, base: SnapshotFile): void {
  const head = restore(base, file, makeReplica());
  const journal = Journal.open({ ...file, journalSync: 'full' }, head);
  try {
    const engine = makeReplica(journal);
    restore(base, file, engine);
    engine.begin();
    journal.commit();
  } finally {
    journal.close();
  }
}

function writeMark({ journalPath, shard, key }: ShardFile, last: number): void {
  const reader = new JournalReader(journalPath, key);
  const head = last === 0 ? new JournalHead(0, 0, 0) : reader.headAfter(last);
  reader.close();
  const mark = new Mark(markPath(journalPath), shard);
  mark.advance(head);
  mark.close();
}
