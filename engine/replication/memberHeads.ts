/**
 * Stores the heads of the files of a member whose start was refused, in the log's database. An operator founds or
 * refills a log from one member, and the files of every other member must be contained in that member's files
 * (engine/admin/clusterFound.ts). Each refused start compares its own files with the heads of all others, so members
 * need no connection other than the database. Owner: the replication thread, and the commands of an operator, while
 * nothing else has the directory open.
 *
 * Invariants:
 *   HEADS-1  A member is contained in another if the other has each of its rows: the rows up to its mark are of the
 *            same log and the same leads, and the rows after it end with a row of the other's journal.
 *   HEADS-2  A decision about a member applies to the files that it had then: with other files the decision is void.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { closeKeepingRoom } from '../../shared/base/keptRoom.ts';
import { lastLineOf } from '../../shared/base/lastLine.ts';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import type { DirectoryToPrepare } from '../../shared/wire/joining.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import { JournalHead } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import { ShardKey } from '../journal/shardKey.ts';
import type { Reader } from './copyTable.ts';
import type { FoundMark } from './heldMark.ts';
import { CONTROL_FILE } from './joiningFiles.ts';
import { openAlone } from './records.ts';
import { headText, lastIn, rowAt } from './rejoin.ts';
import { SQL } from './statements.ts';

type Head = {
  readonly sequence: number;
  /** Its chain value. */
  readonly head: string;
  /** The last record that was held for certain. */
  readonly known: number;
};

type Heads = {
  readonly mark: Pick<FoundMark, 'log' | 'isLeader' | 'own' | 'last' | 'leads' | 'members'> | null;
  readonly streams: Readonly<Record<string, Head>>;
  /** The streams whose rows in the log this member lacks. */
  readonly lacks: readonly number[];
};

/** The heads as the database has them. */
export type ReportedHeads = {
  readonly holder: string;
  readonly log: string;
  readonly reason: string;
  readonly heads: Heads;
  readonly digest: string;
  /** By member: the digest of its heads, which are contained in this member's files. */
  readonly contains: Readonly<Record<string, string>>;
  readonly founder: string;
  readonly contained: string;
  readonly agoMs: number;
};

type Files = Pick<DirectoryToPrepare, 'directory' | 'shards' | 'masterKey' | 'records'>;
type Table = Reader;
type OfMember = { readonly cluster: string; readonly holder: string };

export async function headsOf(files: Files, mark: FoundMark | null, lacks: readonly number[]): Promise<Heads> {
  const streams: Record<string, Head> = {};
  for (let shard = 0; shard < files.shards; shard++) {
    const path = journalPath(files, shard);
    const sequence = lastIn(path);
    const known = mark === null ? 0 : mark.isLeader ? Math.min(sequence, mark.held[shard] ?? 0) : sequence;
    streams[shard] = { sequence, head: await headAt(files, shard, sequence), known };
  }
  for (const { path, stream } of files.records) {
    const head = existsSync(path) ? recordsHead(path) : null;
    if (head !== null) streams[stream] = head;
  }
  const sequence = auditEnd(files.directory);
  streams[STREAM.AUDIT] = { sequence, head: '', known: sequence };
  const { log, isLeader, own, last, leads, members } = mark ?? {};
  return {
    mark: mark === null ? null : ({ log, isLeader, own, last, leads, members } as Heads['mark']),
    streams,
    lacks,
  };
}

function digestOf({ mark, streams }: Heads): string {
  const rows = Object.entries(streams).map(([stream, { sequence, head }]) => [stream, sequence, head]);
  const text = JSON.stringify({ log: mark?.log, last: mark?.last, rows });
  return createHash('sha256').update(text).digest('hex');
}

/** HEADS-1. @returns the reason why it is not contained, or null */
async function whyNotContained(files: Files, own: Heads, other: Heads): Promise<string | null> {
  const reason = otherLineage(own, other);
  if (reason !== null) return reason;
  for (const [name, { sequence, head, known }] of Object.entries(other.streams)) {
    const stream = Number(name);
    // The lines of the audit log are those of the member's own process.
    if (stream === STREAM.AUDIT || sequence === 0) continue;
    const here = own.streams[name]?.sequence ?? 0;
    if (sequence > here) return `it goes on to record ${sequence} of ${streamName(stream)}, and this one to ${here}`;
    const isSame = await hasHead(files, own, stream, { sequence, head, known });
    if (!isSame) return `record ${sequence} of ${streamName(stream)} is another one there`;
  }
  return null;
}

/** Up to that point, the other member has seen the same rows as this one. */
function otherLineage({ mark }: Heads, { mark: other }: Heads): string | null {
  if (mark === null || other === null) return 'there is no mark of the log';
  if (mark.log !== other.log) return `it is of the log ${other.log}`;
  if (other.last === null) return null;
  const { position, lead } = other.last;
  const at = mark.leads.findIndex((each) => each.lead === lead);
  const next = mark.leads[at + 1];
  const until = next === undefined ? (mark.last?.position ?? 0) : next.first - 1;
  if (at >= 0 && position <= until) return null;
  return `it has seen position ${position} of lead ${other.last.epoch}, and this one has not`;
}

async function hasHead(files: Files, own: Heads, stream: number, { sequence, head, known }: Head): Promise<boolean> {
  const here = own.streams[stream];
  if (here.sequence === sequence) return here.head === head;
  if (stream >= STREAM.CONTROL) return sequence <= known;
  const found = await headAt(files, stream, sequence);
  // A row that was trimmed here was held; the other row was held if its member knows so.
  return found === '' ? sequence <= known : found === head;
}

/** Returns '' if there is no such row. */
async function headAt(files: Files, shard: number, sequence: number): Promise<string> {
  if (sequence === 0) return headText(new JournalHead(0, 0, 0));
  const path = journalPath(files, shard);
  const row = rowAt(path, sequence);
  if (row === undefined) return '';
  const key = await ShardKey.create(readJournalKey(files.directory, files.masterKey), shard);
  return headText(new RowReader(path, key).headAfter(row));
}

function journalPath({ directory }: Files, shard: number): string {
  return join(directory, `journal-${shard}.db`);
}

function recordsHead(path: string): Head | null {
  const database = openAlone(path);
  try {
    const tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('record_end', 'record_queue')";
    if (database.prepare<[], number>(tables).pluck().get() !== 2) return null;
    type End = { readonly sequence: number; readonly link: Uint8Array };
    const end = database.prepare<[], End>('SELECT sequence, link FROM record_end').get();
    const first = database.prepare<[], number | null>('SELECT min(sequence) FROM record_queue').pluck().get();
    if (end === undefined) return null;
    const head = Buffer.from(end.link).toString('hex');
    return { sequence: end.sequence, head, known: first == null ? end.sequence : first - 1 };
  } finally {
    closeKeepingRoom(database);
  }
}

function auditEnd(directory: string): number {
  const path = join(directory, 'audit.log');
  if (!existsSync(path)) return 0;
  const { text } = lastLineOf(path);
  return text === null ? 0 : JSON.parse(text).sequence;
}

/** The founder's files are where every member continues: nothing in them waits for the log any more. */
export function becomeFounder(files: Files): void {
  for (const { path } of files.records) {
    if (!existsSync(path)) continue;
    const database = openAlone(path);
    try {
      for (const table of ['record_queue', 'record_undo']) {
        const isThere = database.prepare<[string]>('SELECT 1 FROM sqlite_master WHERE name = ?').get(table);
        if (isThere !== undefined) database.prepare(`DELETE FROM ${table}`).run();
      }
      if (!path.endsWith(CONTROL_FILE)) continue;
      const note = database.prepare<[string]>(
        "INSERT OR REPLACE INTO platform (key, value) VALUES ('audit_shared', ?)",
      );
      note.run(String(auditEnd(files.directory)));
    } finally {
      closeKeepingRoom(database);
    }
  }
}

// The table of heads.

export async function readHeads(table: Table, cluster: string): Promise<readonly ReportedHeads[]> {
  type Row = Omit<ReportedHeads, 'heads' | 'contains'> & { readonly heads: string; readonly contains: string };
  const rows = await table.read<Row>(SQL.heads, [cluster]);
  return rows.map((row) => ({ ...row, heads: JSON.parse(row.heads), contains: JSON.parse(row.contains) }));
}

/** Stores what this member has, why its start was refused, and which members are contained in its files. */
export async function reportHeads(
  table: Table,
  { cluster, holder, reason }: OfMember & { readonly reason: string },
  files: Files,
  own: Heads,
): Promise<void> {
  const contains: Record<string, string> = {};
  for (const other of await readHeads(table, cluster)) {
    if (other.holder === holder) continue;
    if ((await whyNotContained(files, own, other.heads)) === null) contains[other.holder] = other.digest;
  }
  const heads = JSON.stringify(own);
  await table.read(SQL.reportHead, [
    cluster,
    holder,
    own.mark?.log ?? '',
    reason,
    heads,
    digestOf(own),
    JSON.stringify(contains),
  ]);
}

export function streamName(stream: number): string {
  const names: Readonly<Record<number, string>> = {
    [STREAM.CONTROL]: 'control.db',
    [STREAM.ANSWERS]: 'idempotency.db',
    [STREAM.SETTLEMENT]: 'settlement.db',
    [STREAM.AUDIT]: 'audit.log',
  };
  return names[stream] ?? `shard ${stream}`;
}

/** An operator's decision about this member's files; null if there is none. */
export type Decision = 'founder' | 'contained' | null;

/** Forgets the heads of a member that starts: it is no longer refused. */
export async function forgetHeads(table: Table, { cluster, holder }: OfMember): Promise<void> {
  await table.read(SQL.forgetHead, [cluster, holder]);
}

/** HEADS-2. */
export async function decisionOf(
  table: Table,
  { cluster, holder }: OfMember,
  log: string,
  own: Heads,
): Promise<Decision> {
  const found = (await readHeads(table, cluster)).find((each) => each.holder === holder);
  if (found === undefined || found.digest !== digestOf(own)) return null;
  if (found.founder === log) return 'founder';
  return found.contained === log ? 'contained' : null;
}
