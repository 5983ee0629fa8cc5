/**
 * The intact records that a repair takes out of a journal. They are counted before the operator agrees, and written to
 * a file, one line of JSON each, before anything is changed.
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { decodeCommand } from '../../shared/wire/commands.ts';
import { decodeEvents } from '../../shared/wire/events.ts';
import type { JournalRecord, RecordVisitor } from '../journal/journalRecord.ts';
import type { SequenceRange } from '../journal/reader.ts';
import { legible } from '../replication/records.ts';
import { countKinds } from '../replication/rowContents.ts';
import { type Findings, openJournal } from './inspect.ts';

/** The numbers of orders, cancels and payments in these records. */
export function countsIn(findings: Findings, ranges: readonly SequenceRange[]): string {
  return countKinds((visit) => visitAll(findings, ranges, visit));
}

export function givenUpPath({ directory, shard }: Findings['file'], time: string): string {
  return join(directory, `journal-${shard}.given-up-${time}.jsonl`);
}

/** @returns the path of the file. */
export function writeGivenUp(findings: Findings, ranges: readonly SequenceRange[], time: string): string {
  const { directory, shard } = findings.file;
  const path = givenUpPath(findings.file, time);
  const fd = openSync(path, 'w', 0o600);
  try {
    visitAll(findings, ranges, (record) => writeSync(fd, `${lineOf(shard, record)}\n`));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDirectory(directory);
  return path;
}

/** Describes a record for an operator: its command and its result. */
export function lineOf(shard: number, { sequence, timeMs, command, events }: JournalRecord): string {
  return JSON.stringify(
    {
      shard,
      sequence,
      time_ms: timeMs,
      ...decodeCommand(command.words, command.word),
      events: decodeEvents(events.words, events.word, events.end),
    },
    legible,
  );
}

function visitAll(findings: Findings, ranges: readonly SequenceRange[], visit: RecordVisitor): void {
  const reader = openJournal(findings.file, findings.isSalvaged);
  try {
    for (const range of ranges) reader.visitWhole(range, visit);
  } finally {
    reader.close();
  }
}
