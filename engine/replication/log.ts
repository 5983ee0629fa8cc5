/**
 * The replicated log as the rest of this room sees it: rows of all streams in one order, which one leader at a time
 * appends to. postgresLog.ts is the real one; the simulator has another, whose faults it chooses.
 *
 * Invariants:
 *   CLUSTERLOG-1  Positions count from 1 without a gap. A row is at one position, and never changes.
 *   CLUSTERLOG-2  (fence) Once `take` has returned an epoch, no row of a lower one is added, and none of another lead
 *                 of the same epoch, which a failover that has lost that lead makes possible.
 *   CLUSTERLOG-3  Rows are appended behind the row they follow, or not at all; those of one call together or not at
 *                 all.
 *   CLUSTERLOG-4  A row that was reported as held is in the log after every failover that keeps what was committed.
 *   CLUSTERLOG-5  A server that `confirm` has returned had been replaced by no other when that was called: what it was
 *                 read to hold then is everything that was held.
 *   CLUSTERLOG-6  Once `take` has returned, no server is read that is older than the one at which it took the lease.
 */

import type { LeadFormats, LogFacts } from '../../shared/wire/clusterStatus.ts';
import type { LogRow, NewRow } from '../../shared/wire/replication.ts';
import type { LeaderOf, StreamEnd } from '../../shared/wire/threads.ts';

/** Of one read: there may be more after so many. */
export const MOST_ROWS_READ = 1000;

/** The lease as it stands: `expiresInMs` is at most 0 when it has ended. */
export type Lease = LeaderOf & LeadFormats & { readonly expiresInMs: number };

/** The formats of a lead that is taken, and the epoch of the one before: it is what they follow from. */
export type NextLead = LeadFormats & {
  readonly epoch?: number;
  /** The run of the database on which it may be taken, beside the one on which the log was last led (mayTake.ts). */
  readonly run?: string | null;
};

/** A member that is to lead finds this of the database, and of the other members (mayTake.ts). */
export type Runs = {
  /** Of the log. */
  readonly id: string | null;
  readonly run: string;
  /** The run on which the log was last led, or founded; '' where older versions have noted none. */
  readonly ledOn: string;
  readonly timeline: number;
  /** False for a log that no one has begun: it has no row, and goes on from nothing. */
  readonly isBegun: boolean;
  /** The members that have not found on this run what they have seen, and those whose start was refused there. */
  readonly silent: readonly string[];
  readonly refused: readonly string[];
};

/** A run of the database is from one start or promotion of a server to the next one. */
export type DatabaseRuns = {
  /** That which is read now; '' while it is not known. */
  readonly now: string;
  /** @param known the members that this one knows of: this database may know less */
  find(known: readonly string[]): Promise<Runs>;
  /** True where the servers of the database show that nothing that was held is missing (serverStarts.ts). */
  haveAllOf(runs: Runs): Promise<boolean>;
  /** Called now and then by a member that follows: the servers are known then by when they were started. */
  note(): Promise<void>;
};

/** A row without its bytes. */
export type RowName = Omit<LogRow, 'bytes'>;

/** Where a server stands: its cluster of PostgreSQL, its timeline, and its position in the write-ahead log. */
export type Place = { readonly system: string; readonly timeline: number; readonly lsn: string };
/** A server that rows are sent to, in a run of the database. */
export type WrittenPlace = Place & { readonly run: string };

/** A lead as the log remembers it: where it was taken, and after which row; null where that was not noted. */
export type LeadNote = {
  readonly epoch: number;
  readonly lead: number;
  readonly start: number | null;
  /** The run of the database on which it was taken; '' where an older version has noted none. */
  readonly run: string;
};

/** A stream of a founded log goes on from the last record that its founder had. */
export type Base = { readonly stream: number; readonly sequence: number; readonly head: string };

/** A log is known by it from another one, and from an older state of itself (standing.ts). */
export type LogHistory = {
  /** Null: it was not founded, or by an older version. */
  readonly id: string | null;
  readonly end: number;
  readonly place: Place;
  /** The run of the database, and the one on which the log was founded; '' where that is not noted. */
  readonly run: string;
  readonly foundedOn: string;
  /** The newest ones, oldest first: older versions note none. */
  readonly leads: readonly LeadNote[];
  readonly bases: readonly Base[];
};

/** Rows, and the server that they were read from. */
export type ReadRows = { readonly rows: readonly LogRow[]; readonly server: string };

/** The end of the log as `resolve` has found it, durably. */
export type Resolved = {
  /** False: another has taken over. */
  readonly isLeader: boolean;
  /** False: the log has lost the row after which it was read. */
  readonly hasLastHeld: boolean;
  /** The rows behind that. They are held. */
  readonly rows: readonly RowName[];
};

/** A lead that was taken, its random number, and the log's end. */
export type Taken = { readonly epoch: number; readonly lead: number; readonly end: number };

/** A member on itself. */
export type MemberReport = {
  /** The rows up to here it has applied at all; absent: no more. */
  readonly applied?: number;
  /** False: its disk is nearly full. */
  readonly hasRoom?: boolean;
  /** Why its files do not agree with the log; absent or empty: they do. */
  readonly filesProblem?: string;
  /** The run of the database on which it has found all that it has seen held; absent or empty: on none. */
  readonly run?: string;
};

/** Every call may reject: then its outcome is not known. */
export type ReplicatedLog = {
  /**
   * Takes the lease if it has ended, or in any case. One that is to be handed over waits a while for the member that
   * was named. @returns the new epoch and the log's end, or null: also where another has led since `epoch`, or the
   * cluster was raised since `raised`. Without formats the lead has those of the one before.
   */
  take(isForced: boolean, lead?: NextLead): Promise<Taken | null>;
  lease(): Promise<Lease>;
  /** @returns false when another has taken over. Rejects where a connection was lost, although there is another one. */
  renew(epoch: number): Promise<boolean>;
  /** Ends the lease of this epoch now. */
  release(epoch: number): Promise<void>;
  /** Ends the lease and the epoch of any leader, without a new one. */
  fence(): Promise<void>;
  /** Later leads write these formats at least. @returns false where it was raised since `from`. */
  raise(from: string, to: string): Promise<boolean>;
  /** Notes that this lead is to go to another member. @returns false where another hand-over is underway. */
  askHandOver(asked: AskedHandOver): Promise<boolean>;
  /** This member is ready for the lead that it is named for. */
  acceptHandOver(epoch: number): Promise<void>;
  /** @returns false when there is none that was not accepted. */
  withdrawHandOver(asked: AskedHandOver): Promise<boolean>;
  /**
   * Appends rows behind the row at `after`. Several calls may be underway, and are made in order.
   * @returns false when nothing was added: another has taken over, or a call before has failed.
   */
  append(epoch: number, after: number, rows: readonly NewRow[]): Promise<boolean>;
  /** After an append whose outcome is not known: reads the log behind `lastHeld`, and makes what is there durable. */
  resolve(epoch: number, lastHeld: number): Promise<Resolved>;
  /**
   * The next rows after a position, as many as have about `mostBytes` and MOST_ROWS_READ at most, and one at least if
   * there is one.
   */
  readAfter(position: number, mostBytes: number): Promise<ReadRows>;
  /**
   * A commit of nothing, which the standbys of the database have as well: they have it only of a server that is not
   * replaced. @returns that server (CLUSTERLOG-5)
   */
  confirm(): Promise<string>;
  /** The row at a position, and the one that a stream ends with at this sequence; null: there is none. */
  nameAt(position: number): Promise<RowName | null>;
  rowOf(stream: number, sequence: number): Promise<LogRow | null>;
  /** The first row of a stream after this sequence. */
  firstAfter(stream: number, sequence: number): Promise<RowName | null>;
  /** The last row of each stream, at position 0 where the log has none and was founded with what is before. */
  ends(): Promise<readonly StreamEnd[]>;
  /** Notes that this member has applied the rows up to `position` durably, and how it stands with it. */
  report(position: number, about?: MemberReport): Promise<void>;
  readonly runs: DatabaseRuns;
  facts(): Promise<LogFacts>;
  history(): Promise<LogHistory>;
  /** A log without an id gets one. @returns the one that it has then */
  found(id: string): Promise<string>;
  /** One member begins a log that has nothing: this one, where none was noted before. @returns its name */
  beginner(): Promise<string>;
  /** Calls with each server that this process writes to, before anything is sent there, and with the present one. */
  watchServer(onServer: (place: WrittenPlace) => void): void;
  /** Deletes rows that every member has, some at a time. @returns how many. */
  trim(): Promise<number>;
  close(): Promise<void>;
};

/** The lead of an epoch goes to a member; forced: although the leader goes on. */
export type AskedHandOver = { readonly epoch: number; readonly to: string; readonly isForced: boolean };

/** This process may not take part in the cluster: another attempt would end the same way. */
export class NotAMemberError extends Error {
  override readonly name: string = 'NotAMemberError';
}

/** The log does not hold what this member has, and an operator has to decide: nothing was changed (standing.ts). */
export class LostRowsError extends NotAMemberError {
  override readonly name = 'LostRowsError';
}

/** The same, but a copy of another member's files helps: the log does not reach back to what this member has. */
export class JoinAnewError extends NotAMemberError {
  override readonly name = 'JoinAnewError';
}

/**
 * The database of the log refuses rows, and does nothing of a statement: it was made read-only, or has no room. Other
 * members could not write there either, and it may take rows again at any moment.
 */
export class TakesNoRowsError extends Error {
  override readonly name = 'TakesNoRowsError';

  constructor(server: string, reason: string) {
    super(`${server} takes no rows: ${reason}`);
  }
}
