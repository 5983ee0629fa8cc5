/**
 * Checks the files of one shard from the first record to the last: checksums, chain and gaps of the journal, its
 * high-water mark, every snapshot, and a replay that must give the stored events. The check only reads, so the shard
 * may be running; records that arrive during the check are not covered. If the file is damaged, its rows are read out
 * of its pages one by one (salvagedRows.ts), so that only unreadable rows count as lost.
 *
 * Mark and snapshots are listed before the end of the journal is read. Neither is ever ahead of the journal, so a mark
 * or snapshot after its end shows that records are lost.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { memberOf } from '../../shared/base/memberOf.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import type { RunName } from '../book/acceptedHashes.ts';
import type { Engine } from '../core/engine.ts';
import { FILE_VERSION, markPath } from '../journal/file.ts';
import { readMark } from '../journal/mark.ts';
import { JournalReader, type SequenceRange } from '../journal/reader.ts';
import { JournalError, JournalHead, NewerRowError } from '../journal/row.ts';
import { SalvagedRows } from '../journal/salvagedRows.ts';
import { checkRuns } from '../snapshot/hashRuns.ts';
import { makeReplica, restore } from '../snapshot/replica.ts';
import { listSnapshots, type SnapshotFile } from '../snapshot/snapshot.ts';
import type { ShardFile } from './directory.ts';
import { readBatch } from './replica.ts';

/**
 * unreadable  not a journal of this shard: none of its content can be used
 * record      a record is damaged, missing, or does not follow its predecessor; `checkedTo` is the last good record
 * pages       every record is whole, but the file around them is damaged
 * replay      the record is whole, but its replay by this program gives other events than the stored ones, or a later
 *             version of this program wrote it
 * base        the records are whole, but the state before the first one is unknown
 * end         the journal ends before its mark, or before the last record that control.db knows of
 * foreign     the mark, or what control.db knows, was written for another history
 * mark        the mark is missing or damaged
 * trimmed     the running shard trimmed the records while they were read
 */
type ProblemKind = 'unreadable' | 'record' | 'pages' | 'replay' | 'base' | 'end' | 'foreign' | 'mark' | 'trimmed';
type Problem = { readonly kind: ProblemKind; readonly text: string };

type SnapshotFinding = {
  readonly file: SnapshotFile;
  /** Null if the snapshot and its runs are whole. */
  readonly damage: string | null;
  /** True if the snapshot itself can be used: only hashes of accepted orders are damaged. */
  readonly isOfRuns: boolean;
};

export type Findings = {
  readonly file: ShardFile;
  /** The sequence numbers of the first and the last record of the journal: 1 and 0 if it has none. */
  readonly first: number;
  readonly last: number;
  /** The last record that was replayed and that follows the first record without a gap. */
  readonly checkedTo: number;
  readonly mark: JournalHead | null;
  /** The checked snapshots, oldest first. */
  readonly snapshots: readonly SnapshotFinding[];
  /**
   * The sequence number from which the replay started, 0 for an empty state; null if there was no state to start from.
   */
  readonly replayedFrom: number | null;
  readonly problem: Problem | null;
  /** True if the rows were read out of the pages of the file because SQLite cannot read the file as a whole. */
  readonly isSalvaged: boolean;
  /** Intact records after `checkedTo`, beyond damaged or missing ones. */
  readonly behind: readonly SequenceRange[];
};

/** With these problems, SQLite or a damaged row may hide intact rows, so the rows are read out of the pages too. */
const HIDING: ReadonlySet<ProblemKind | undefined> = new Set<ProblemKind>(['unreadable', 'record']);

export function inspectShard(file: ShardFile): Findings {
  const stored = inspectRows(file, false);
  if (!HIDING.has(stored.problem?.kind) || !existsSync(file.journalPath)) return stored;
  const salvaged = inspectRows(file, true);
  if (salvaged.last === 0) return stored;
  if (salvaged.problem !== null || stored.problem === null) return salvaged;
  return { ...salvaged, problem: { kind: 'pages', text: stored.problem.text } };
}

/** @param isSalvaged true to read what is left in the pages of the file. */
export function openJournal({ journalPath, key }: ShardFile, isSalvaged: boolean): JournalReader {
  return isSalvaged
    ? new JournalReader(journalPath, key, new SalvagedRows(journalPath))
    : new JournalReader(journalPath, key);
}

function inspectRows(file: ShardFile, isSalvaged: boolean): Findings {
  const mark = readMark(markPath(file.journalPath), file.shard);
  const snapshots = listSnapshots(file.directory, file.shard).reverse();
  let reader: JournalReader | undefined;
  try {
    reader = openJournal(file, isSalvaged);
    const { firstSequence, lastSequence, ...facts } = reader.facts();
    // A file whose own description is lost is assumed to be in its right place.
    const { layoutVersion = FILE_VERSION, shard = file.shard, shards = file.shards } = facts;
    if (layoutVersion !== FILE_VERSION) throw new JournalError(`layout version ${layoutVersion}`);
    if (shard !== file.shard || shards !== file.shards) {
      throw new JournalError(`belongs to shard ${shard} of ${shards}, not to shard ${file.shard} of ${file.shards}`);
    }
    const findings = new Inspection(file, reader, mark, firstSequence, lastSequence).run(snapshots);
    if (!isSalvaged) return findings;
    const after = { from: findings.checkedTo + 1, to: findings.last };
    return { ...findings, isSalvaged, behind: reader.visitWhole(after, () => undefined) };
  } catch (error) {
    const text = `journal ${file.journalPath}: ${reasonOf(error)}`;
    const problem: Problem = { kind: 'unreadable', text };
    const nothing = { first: 1, last: 0, checkedTo: 0, snapshots: [], replayedFrom: null, behind: [] };
    return { file, mark, problem, isSalvaged, ...nothing };
  } finally {
    reader?.close();
  }
}

/**
 * Returns the last record that a shard would reach if it started from this snapshot: the records up to it are intact,
 * follow each other, give the stored events, and pass through the heads that the mark and control.db know. Null if the
 * snapshot cannot be used.
 */
export function reachFrom({ file, mark, last, isSalvaged }: Findings, snapshot: SnapshotFile): number | null {
  const reader = openJournal(file, isSalvaged);
  const engine = makeReplica();
  let reached: number | null = null;
  try {
    const head = restore(snapshot, file, engine);
    const { sequence: from } = head;
    const isThere = from <= last && reader.visitWhole({ from, to: from }, () => undefined).length > 0;
    if (isThere && !reader.continues(head)) return null;
    const known = witnessesOf(mark, file).map((witness) => witness.head);
    // Neither a row nor a witness reaches that far, so the snapshot may be of another history.
    if (from > last && !known.some((each) => each.sequence >= from)) return null;
    for (const { sequence } of [head, ...known.filter((each) => each.sequence <= last), { sequence: last }]) {
      while (head.sequence < sequence) replayBatch(reader, head, sequence, engine);
      if (known.some((each) => each.sequence === head.sequence && !each.equals(head))) return null;
      reached = Math.max(head.sequence, reached ?? 0);
    }
    return reached;
  } catch (error) {
    reasonOf(error); // throws an error that is not about a file
    if (error instanceof ReplayFailure || reached === null) return null;
    return engine.sequence;
  } finally {
    reader.close();
  }
}

/** A replay failed: the row is intact, but a command gives other events than the stored ones. */
class ReplayFailure extends Error {
  override readonly name = 'ReplayFailure';
  readonly sequence: number;

  constructor(message: string, sequence: number) {
    super(message);
    this.sequence = sequence;
  }
}

/**
 * Replays a batch of records.
 * @param engine null if the state before the records is unknown: then they are only read.
 */
function replayBatch(reader: JournalReader, head: JournalHead, last: number, engine: Engine | null): void {
  readBatch(reader, head, last, (record) => {
    try {
      engine?.replay(record);
    } catch (error) {
      throw new ReplayFailure(errorMessage(error), record.sequence);
    }
  });
}

class Inspection {
  readonly #file: ShardFile;
  readonly #reader: JournalReader;
  readonly #mark: JournalHead | null;
  /** Heads through which the journal must pass, in the journal's order. */
  readonly #witnesses: readonly Witness[];
  /** The number of heads that were compared. */
  #asked = 0;
  readonly #first: number;
  readonly #last: number;
  readonly #snapshots: SnapshotFinding[] = [];
  /** By id: what is wrong with a run that was read, or null. */
  readonly #ofRuns = new Map<string, string | null>();
  #head: JournalHead;
  #engine: Engine | null = null;
  #replayedFrom: number | null = null;

  constructor(file: ShardFile, reader: JournalReader, mark: JournalHead | null, first: number, last: number) {
    this.#file = file;
    this.#reader = reader;
    this.#mark = mark;
    this.#witnesses = witnessesOf(mark, file);
    this.#first = first;
    this.#last = last;
    this.#head = new JournalHead(first - 1, 0, 0);
    if (first === 1) this.#replayFrom(makeReplica(), 0);
  }

  run(snapshots: readonly SnapshotFile[]): Findings {
    const problem = this.#walk(snapshots);
    return {
      file: this.#file,
      first: this.#first,
      last: this.#last,
      checkedTo: this.#head.sequence,
      mark: this.#mark,
      snapshots: this.#snapshots,
      replayedFrom: this.#replayedFrom,
      problem: problem ?? this.#checkEnd(),
      isSalvaged: false,
      behind: [],
    };
  }

  /** Walks through the journal, and compares each snapshot and the mark with it at their own sequence numbers. */
  #walk(snapshots: readonly SnapshotFile[]): Problem | null {
    try {
      this.#head = this.#reader.headBefore(this.#first);
      for (const snapshot of snapshots) {
        if (snapshot.sequence < this.#first - 1) {
          this.#found(snapshot, 'of records the journal no longer has');
        } else if (snapshot.sequence > this.#last) {
          this.#found(snapshot, 'of records the journal does not have');
        } else {
          const foreign = this.#readTo(snapshot.sequence);
          if (foreign !== null) return foreign;
          this.#checkSnapshot(snapshot);
        }
      }
      const foreign = this.#readTo(this.#last);
      if (foreign !== null) return foreign;
      if (this.#engine !== null) return null;
      const text = `journal ${this.#file.journalPath}: starts at ${this.#first}, and no snapshot can be used`;
      return { kind: 'base', text };
    } catch (error) {
      return this.#explain(error);
    }
  }

  #readTo(sequence: number): Problem | null {
    for (; this.#asked < this.#witnesses.length; this.#asked++) {
      const { head, name } = this.#witnesses[this.#asked];
      if (head.sequence > sequence) break;
      if (head.sequence < this.#first - 1) continue;
      this.#advance(head.sequence);
      if (this.#head.equals(head)) continue;
      const text = `journal ${this.#file.journalPath}: sequence ${head.sequence}: not what ${name} says was written`;
      return { kind: 'foreign', text };
    }
    this.#advance(sequence);
    return null;
  }

  /** Advances to the end of the row with this record. */
  #advance(sequence: number): void {
    while (this.#head.sequence < sequence) {
      try {
        replayBatch(this.#reader, this.#head, sequence, this.#engine);
      } catch (error) {
        if (!isOfSqlite(error)) throw error;
        // An unreadable page makes a whole batch fail; reading row by row finds the damaged row.
        replayBatch(this.#reader, this.#head, this.#head.sequence + 1, this.#engine);
      }
    }
  }

  #checkSnapshot(snapshot: SnapshotFile): void {
    try {
      const damage = this.#damageOf(snapshot);
      // The snapshot thread keeps only a few, and may just have deleted this one, and then its runs.
      if (damage === null || existsSync(snapshot.path)) this.#found(snapshot, damage);
    } catch (error) {
      if (existsSync(snapshot.path)) throw error;
    }
  }

  #damageOf(snapshot: SnapshotFile): string | null {
    const engine = makeReplica();
    try {
      const head = restore(snapshot, this.#file, engine);
      if (!head.equals(this.#head)) return 'of another history than the journal';
      if (this.#engine === null) this.#replayFrom(engine, snapshot.sequence);
    } catch (error) {
      if (error instanceof SnapshotError) return error.message;
      throw error;
    }
    if (!isSameState(engine, this.#engine ?? engine)) return 'another state than the replay gives';
    return engine.state.hashes.spilled.named.runs.map((run) => this.#damageOfRun(run)).find(isText) ?? null;
  }

  /** Snapshots share runs: each is read once. */
  #damageOfRun(run: RunName): string | null {
    const { directory, key, shard } = this.#file;
    const known = this.#ofRuns.get(run.id);
    if (known !== undefined) return known;
    let damage: string | null = null;
    try {
      checkRuns({ directory, shard, mac: key.snapshots }, [run]);
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      damage = error.message;
    }
    this.#ofRuns.set(run.id, damage);
    return damage;
  }

  #found(file: SnapshotFile, reason: string | null): void {
    const isComplete = reason === null || reason.startsWith('snapshot ');
    const isOfRuns = reason !== null && [...this.#ofRuns.values()].includes(reason);
    this.#snapshots.push({ file, damage: isComplete ? reason : `snapshot ${file.path}: ${reason}`, isOfRuns });
  }

  #replayFrom(engine: Engine, sequence: number): void {
    this.#engine = engine;
    this.#replayedFrom = sequence;
  }

  #checkEnd(): Problem | null {
    const path = this.#file.journalPath;
    const mark = this.#mark;
    if (mark === null) return { kind: 'mark', text: `journal ${path}: its high-water mark is missing or damaged` };
    const beyond = this.#witnesses.findLast(({ head }) => head.sequence > this.#last);
    if (beyond === undefined) return null;
    const text = `sequence ${this.#last + 1}: missing, ${beyond.name} says that ${beyond.head.sequence} was written`;
    return { kind: 'end', text: `journal ${path}: ${text}` };
  }

  #explain(error: unknown): Problem {
    const path = this.#file.journalPath;
    if (error instanceof ReplayFailure) {
      // The head already stands after the row of the record, because the row was intact.
      this.#head.sequence = error.sequence - 1;
      return { kind: 'replay', text: `journal ${path}: ${error.message}` };
    }
    if (this.#reader.facts().firstSequence > this.#first) {
      return { kind: 'trimmed', text: `journal ${path}: was trimmed while it was read, run this again` };
    }
    const next = this.#head.sequence + 1;
    const reason = reasonOf(error).replace(`journal ${path}: `, '').replace(`sequence ${next}: `, '');
    const kind = error instanceof NewerRowError ? 'replay' : 'record';
    return { kind, text: `journal ${path}: sequence ${next}: ${reason}` };
  }
}

type Witness = { readonly head: JournalHead; readonly name: string };

function witnessesOf(mark: JournalHead | null, { known }: ShardFile): Witness[] {
  const witnesses: Witness[] = [];
  if (mark !== null) witnesses.push({ head: mark, name: 'its mark' });
  if (known !== undefined && known.sequence > 0) {
    witnesses.push({ head: new JournalHead(known.sequence, known.chainLow, known.chainHigh), name: 'control.db' });
  }
  return witnesses.toSorted((a, b) => a.head.sequence - b.head.sequence);
}

function isSameState(a: Engine, b: Engine): boolean {
  const [left, right] = [new Uint32Array(2), new Uint32Array(2)];
  a.state.writeDigest(left, 0);
  b.state.writeDigest(right, 0);
  return left[0] === right[0] && left[1] === right[1] && a.nowMs === b.nowMs;
}

function isText(text: string | null): text is string {
  return text !== null;
}

function isOfSqlite(error: unknown): boolean {
  return [error, memberOf(error, 'cause')].some((each) => each instanceof Database.SqliteError);
}

/** Returns the message of an error about a file. Rethrows any other error, because it is a bug. */
function reasonOf(error: unknown): string {
  const isAboutFile =
    error instanceof JournalError ||
    error instanceof SnapshotError ||
    error instanceof ReplayFailure ||
    error instanceof Database.SqliteError;
  if (!isAboutFile) throw error;
  return error.message;
}
