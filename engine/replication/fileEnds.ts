/**
 * Compares the ends of a running member's journals with the end of the log, while the member follows or leads (a start
 * compares whole files, standing.ts). It notices a file that was rolled back or replaced while the process runs, and a
 * log that has lost rows which nothing has read since. Owner: the replication thread.
 *
 * Invariants:
 *   FILEENDS-1  A problem is reported only if a server of the log that was not replaced shows it (CLUSTERLOG-5), and
 *               only for ends that were read before the log was read: rows in flight cause no problem.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { preparedValue } from '../../shared/base/prepared.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { StreamEnd } from '../../shared/wire/threads.ts';
import type { ReplicatedLog } from './log.ts';
import { streamName } from './memberHeads.ts';

type Parts = {
  readonly directory: string;
  readonly shards: number;
  readonly log: Pick<ReplicatedLog, 'ends' | 'confirm'>;
};

/** The member's state at the time of a check. */
type Now = {
  /** A standby's journals come out of the log; a leader's are ahead of it. */
  readonly isLeader: boolean;
  /** The position up to which this member has every row durably. */
  readonly durable: () => number;
  /** The last sequence of a stream that the log was seen to hold. */
  readonly held: (stream: number) => number;
};

type Ends = ReadonlyMap<number, number>;
type Seen = { readonly here: Ends; readonly held: Ends; readonly durable: number };

export class FileEnds {
  /** Why the files disagree with the log; null if they agree as far as was seen. */
  problem: string | null = null;
  readonly #log: Parts['log'];
  readonly #journals: readonly JournalEnd[];
  /** By shard: a row of the log that the journal must have once everything up to its position is durable here. */
  readonly #awaited = new Map<number, StreamEnd>();

  constructor({ directory, shards, log }: Parts) {
    this.#log = log;
    const ofShard = (_: unknown, shard: number): JournalEnd => new JournalEnd(join(directory, `journal-${shard}.db`));
    this.#journals = Array.from({ length: shards }, ofShard);
  }

  close(): void {
    for (const journal of this.#journals) journal.close();
  }

  async look(now: Now): Promise<void> {
    const seen = this.#see(now);
    const logged = await this.#log.ends();
    if (this.#disagreement(seen, logged, now.isLeader) === null) this.problem = null;
    else {
      await this.#log.confirm();
      this.problem = this.#disagreement(seen, await this.#log.ends(), now.isLeader);
    }
    this.#await(seen, logged);
  }

  #see({ durable, held }: Now): Seen {
    const durableBefore = durable();
    const streams = [...this.#journals.keys(), ...Object.values(STREAM)];
    return {
      durable: durableBefore,
      held: new Map(streams.map((stream) => [stream, held(stream)])),
      here: new Map(this.#journals.map((journal, shard) => [shard, journal.read()])),
    };
  }

  #disagreement({ here, held, durable }: Seen, logged: readonly StreamEnd[], isLeader: boolean): string | null {
    const ends = new Map(logged.map(({ stream, sequence }) => [stream, sequence]));
    for (const [stream, sequence] of held) {
      const end = ends.get(stream) ?? 0;
      if (end >= sequence) continue;
      return `the log ends with record ${end} of ${streamName(stream)}, and has held record ${sequence}`;
    }
    for (const [shard, sequence] of here) {
      const awaited = this.#awaited.get(shard);
      if (awaited !== undefined && awaited.position <= durable && sequence < awaited.sequence) {
        return `the journal of shard ${shard} ends with record ${sequence}, and record ${awaited.sequence} was in it`;
      }
      const end = ends.get(shard) ?? 0;
      if (!isLeader && sequence > end) {
        return `the journal of shard ${shard} ends with record ${sequence}, and the log with record ${end}`;
      }
    }
    return null;
  }

  #await({ here, durable }: Seen, logged: readonly StreamEnd[]): void {
    for (const end of logged) {
      const sequence = here.get(end.stream);
      if (sequence === undefined) continue;
      const awaited = this.#awaited.get(end.stream);
      // A missing row is awaited until it is there again.
      const isThere = awaited === undefined || (awaited.position <= durable && sequence >= awaited.sequence);
      if (isThere) this.#awaited.set(end.stream, end);
    }
  }
}

/** The end of a journal that its shard may be writing, also after another file has taken its name. */
class JournalEnd {
  readonly #path: string;
  #db: Database.Database | null = null;
  #file = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** The last record; 0 where there is none. */
  read(): number {
    const found = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    const file = found === undefined ? '' : `${found.dev}:${found.ino}`;
    if (file !== this.#file) this.close();
    if (found === undefined) return 0;
    this.#file = file;
    this.#db ??= openReader(this.#path);
    return preparedValue<[], number | null>(this.#db, 'SELECT max(sequence) FROM journal').get() ?? 0;
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
    this.#file = '';
  }
}

function openReader(path: string): Database.Database {
  return openDatabase(path, { readonly: true });
}
