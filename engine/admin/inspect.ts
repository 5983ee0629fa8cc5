/**
 * Looks one shard's files through, from the first record to the last: checksums, chain and gaps of the journal, its
 * mark, every snapshot, and a replay that has to give the stored events. Reads only, so the shard may be running: what
 * was there at the start is checked, and what comes meanwhile is left alone.
 *
 *   mark and snapshots are listed first, then the journal's end is read: neither runs ahead of the journal, so one that
 *   does has outlived records that are gone.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Engine } from '../engine.ts';
import { markPath } from '../journalFile.ts';
import { JournalReader } from '../journalReader.ts';
import { JOURNAL_VERSION, JournalError, JournalHead } from '../journalRow.ts';
import { readMark } from '../mark.ts';
import { listSnapshots, loadSnapshot, type SnapshotFile } from '../snapshot.ts';
import { SnapshotError } from '../snapshotIo.ts';
import type { ShardFile } from './directory.ts';
import { makeReplica, readBatch } from './replica.ts';

/**
 * unreadable  not a journal of this shard: nothing in it can be believed
 * record      a record is damaged, missing or does not follow the one before; `checkedTo` is the last good one
 * replay      the record is whole, and this program does something else with it than the one that wrote it
 * base        the records are whole, and nothing says how things stood before the first
 * end         the journal ends before its mark
 * foreign     the mark was written for another history
 * mark        the mark is missing or damaged
 * trimmed     the running shard forgot the records while they were read
 */
export type ProblemKind = 'unreadable' | 'record' | 'replay' | 'base' | 'end' | 'foreign' | 'mark' | 'trimmed';
export type Problem = { readonly kind: ProblemKind; readonly text: string };

export type SnapshotFinding = {
  readonly file: SnapshotFile;
  /** Null for one that can be used. */
  readonly damage: string | null;
};

export type Findings = {
  readonly file: ShardFile;
  /** The records the journal claims to have: `first` 1 and `last` 0 when there are none. */
  readonly first: number;
  readonly last: number;
  /** The last record that follows from the first, and was replayed. */
  readonly checkedTo: number;
  readonly mark: JournalHead | null;
  /** Oldest first, as far as the check came. */
  readonly snapshots: readonly SnapshotFinding[];
  /** Where the replay began, 0 for the beginning; null when there was nothing to begin with. */
  readonly replayedFrom: number | null;
  readonly problem: Problem | null;
};

export function inspectShard(file: ShardFile): Findings {
  const mark = readMark(markPath(file.journalPath), file.shard);
  const snapshots = listSnapshots(file.directory, file.shard).reverse();
  let reader: JournalReader | undefined;
  try {
    reader = new JournalReader(file.journalPath);
    const { layoutVersion, shard, shards, firstSequence, lastSequence } = reader.facts();
    if (layoutVersion !== JOURNAL_VERSION) throw new JournalError(`layout version ${layoutVersion}`);
    if (shard !== file.shard || shards !== file.shards) {
      throw new JournalError(`belongs to shard ${shard} of ${shards}, not to shard ${file.shard} of ${file.shards}`);
    }
    return new Inspection(file, reader, mark, firstSequence, lastSequence).run(snapshots);
  } catch (error) {
    const text = `journal ${file.journalPath}: ${reasonOf(error)}`;
    const problem: Problem = { kind: 'unreadable', text };
    return { file, first: 1, last: 0, checkedTo: 0, mark, snapshots: [], replayedFrom: null, problem };
  } finally {
    reader?.close();
  }
}

/** Whether a shard could start from this snapshot: it loads, and everything behind it follows and replays. */
export function recoversFrom(file: ShardFile, snapshot: SnapshotFile, last: number): boolean {
  const reader = new JournalReader(file.journalPath);
  try {
    const engine = makeReplica();
    const head = loadSnapshot(snapshot, file.shard, engine);
    if (head.sequence === last) return reader.continues(head);
    while (head.sequence < last) replayBatch(reader, head, last, engine);
    return true;
  } catch (error) {
    reasonOf(error);
    return false;
  } finally {
    reader.close();
  }
}

/** Thrown by a replay, with what it was thrown by: told apart from what is wrong with a row. */
class ReplayFailure extends Error {
  override readonly name = 'ReplayFailure';
}

/** Takes a batch of records. @param engine null when nothing is known of the state before them. */
function replayBatch(reader: JournalReader, head: JournalHead, last: number, engine: Engine | null): void {
  readBatch(reader, head, last, (at, timeMs, words, command, _commandBytes, event, eventBytes) => {
    try {
      engine?.replay(at, timeMs, words, command, event, eventBytes);
    } catch (error) {
      throw new ReplayFailure((error as Error).message);
    }
  });
}

class Inspection {
  readonly #file: ShardFile;
  readonly #reader: JournalReader;
  readonly #mark: JournalHead | null;
  readonly #first: number;
  readonly #last: number;
  readonly #snapshots: SnapshotFinding[] = [];
  #head: JournalHead;
  #engine: Engine | null = null;
  #replayedFrom: number | null = null;

  constructor(file: ShardFile, reader: JournalReader, mark: JournalHead | null, first: number, last: number) {
    this.#file = file;
    this.#reader = reader;
    this.#mark = mark;
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
      problem: problem ?? this.#checkMarkAtEnd(),
    };
  }

  /** From stop to stop: the snapshots and the mark are compared with the journal where they stand in it. */
  #walk(snapshots: readonly SnapshotFile[]): Problem | null {
    try {
      this.#head = this.#reader.headBefore(this.#first);
      for (const snapshot of snapshots) {
        if (snapshot.sequence < this.#head.sequence) {
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
    const mark = this.#mark;
    if (mark !== null && mark.sequence >= this.#head.sequence && mark.sequence <= sequence) {
      this.#advance(mark.sequence);
      if (!this.#head.equals(mark)) {
        const text = `journal ${this.#file.journalPath}: sequence ${mark.sequence}: not what its mark says was written`;
        return { kind: 'foreign', text };
      }
    }
    this.#advance(sequence);
    return null;
  }

  #advance(sequence: number): void {
    while (this.#head.sequence < sequence) {
      try {
        replayBatch(this.#reader, this.#head, sequence, this.#engine);
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error;
        // A page that cannot be read takes a whole batch with it: one by one tells which record it was.
        replayBatch(this.#reader, this.#head, this.#head.sequence + 1, this.#engine);
      }
    }
  }

  #checkSnapshot(snapshot: SnapshotFile): void {
    try {
      this.#found(snapshot, this.#damageOf(snapshot));
    } catch (error) {
      // The thread that makes snapshots keeps the newest two: this one may just have gone.
      if (existsSync(snapshot.path)) throw error;
    }
  }

  #damageOf(snapshot: SnapshotFile): string | null {
    const engine = makeReplica();
    try {
      const head = loadSnapshot(snapshot, this.#file.shard, engine);
      if (!head.equals(this.#head)) return 'of another history than the journal';
    } catch (error) {
      if (error instanceof SnapshotError) return error.message;
      throw error;
    }
    if (this.#engine === null) this.#replayFrom(engine, snapshot.sequence);
    return isSameState(engine, this.#engine ?? engine) ? null : 'another state than the replay gives';
  }

  #found(file: SnapshotFile, reason: string | null): void {
    const isComplete = reason === null || reason.startsWith('snapshot ');
    this.#snapshots.push({ file, damage: isComplete ? reason : `snapshot ${file.path}: ${reason}` });
  }

  #replayFrom(engine: Engine, sequence: number): void {
    this.#engine = engine;
    this.#replayedFrom = sequence;
  }

  #checkMarkAtEnd(): Problem | null {
    const path = this.#file.journalPath;
    const mark = this.#mark;
    if (mark === null) return { kind: 'mark', text: `journal ${path}: its high-water mark is missing or damaged` };
    if (mark.sequence <= this.#last) return null;
    const text = `sequence ${this.#last + 1}: missing, the mark says that ${mark.sequence} was written`;
    return { kind: 'end', text: `journal ${path}: ${text}` };
  }

  #explain(error: unknown): Problem {
    const path = this.#file.journalPath;
    if (error instanceof ReplayFailure) {
      // The head is behind the record already: it was whole.
      this.#head.sequence--;
      return { kind: 'replay', text: `journal ${path}: ${error.message}` };
    }
    if (this.#reader.facts().firstSequence > this.#first) {
      return { kind: 'trimmed', text: `journal ${path}: was trimmed while it was read, run this again` };
    }
    const next = this.#head.sequence + 1;
    const reason = reasonOf(error).replace(`journal ${path}: `, '').replace(`sequence ${next}: `, '');
    return { kind: 'record', text: `journal ${path}: sequence ${next}: ${reason}` };
  }
}

function isSameState(a: Engine, b: Engine): boolean {
  const [left, right] = [new Uint32Array(2), new Uint32Array(2)];
  a.state.sealedDigest(left, 0);
  b.state.sealedDigest(right, 0);
  return left[0] === right[0] && left[1] === right[1] && a.nowMs === b.nowMs;
}

/** What is wrong with a file, in words; anything that is not about a file is a bug and is passed on. */
function reasonOf(error: unknown): string {
  const isAboutFile =
    error instanceof JournalError ||
    error instanceof SnapshotError ||
    error instanceof ReplayFailure ||
    error instanceof Database.SqliteError;
  if (!isAboutFile) throw error;
  return error.message;
}
