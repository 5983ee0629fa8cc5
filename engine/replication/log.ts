/**
 * The replicated log as the rest of this room sees it: rows of all streams in one order, which one leader at a time
 * appends to. postgresLog.ts is the real one; the simulator has another, whose faults it chooses.
 *
 * Invariants:
 *   CLUSTERLOG-1  Positions count from 1 without a gap. A row keeps its position and never changes.
 *   CLUSTERLOG-2  (fence) Once `take` has returned an epoch, no row of a lower epoch is added, and no row of another
 *                 lead of the same epoch (a failover that has lost a lead can give its epoch out again).
 *   CLUSTERLOG-3  Rows are appended directly after the row they follow, or not at all; the rows of one call are
 *                 appended together or not at all.
 *   CLUSTERLOG-4  A row that was reported as held is in the log after every failover that keeps what was committed.
 *   CLUSTERLOG-5  A server that `confirm` returned had not been replaced when `confirm` was called: what was read from
 *                 it then is everything that was held.
 *   CLUSTERLOG-6  Once `take` has returned, no server is read that is older than the one at which it took the lease.
 */

import type { LeadFormats, LogFacts } from '../../shared/wire/clusterStatus.ts';
import type { LogRow, NewRow } from '../../shared/wire/replication.ts';
import type { LeaderOf, StreamEnd } from '../../shared/wire/threads.ts';

/** The most rows of one read; there may be more. */
export const MOST_ROWS_READ = 1000;

/** The present lease: `expiresInMs` is at most 0 when it has ended. */
export type Lease = LeaderOf & LeadFormats & { readonly expiresInMs: number };

/** The formats of the lead to take, and the previous epoch, from which they follow. */
export type NextLead = LeadFormats & {
  readonly epoch?: number;
  /** The database run on which the lead may be taken, besides the run on which the log was last led (mayTake.ts). */
  readonly run?: string | null;
};

/** Facts about the database and the other members that a member reads before it leads (mayTake.ts). */
export type Runs = {
  /** The id of the log. */
  readonly id: string | null;
  readonly run: string;
  /** The run on which the log was last led or founded; '' if older versions have noted none. */
  readonly ledOn: string;
  readonly timeline: number;
  /** False for a log that no member has begun: it has no rows and continues nothing. */
  readonly isBegun: boolean;
  /** Members that have not confirmed on this run what they have seen, and members whose start was refused there. */
  readonly silent: readonly string[];
  readonly refused: readonly string[];
};

/** Runs of the database: a run lasts from one start or promotion of a server to the next. */
export type DatabaseRuns = {
  /** The run that is read now; '' while it is unknown. */
  readonly now: string;
  /** @param known the members that this member knows; the database may know fewer */
  find(known: readonly string[]): Promise<Runs>;
  /** True if the database's servers show that nothing that was held is missing (serverStarts.ts). */
  haveAllOf(runs: Runs): Promise<boolean>;
  /** Called now and then by a following member, so that the servers' start times are known when needed. */
  note(): Promise<void>;
};

/** A row without its bytes. */
export type RowName = Omit<LogRow, 'bytes'>;

/** A server's place: its PostgreSQL cluster, its timeline, and its position in the write-ahead log. */
export type Place = { readonly system: string; readonly timeline: number; readonly lsn: string };
/** A server to which rows are sent, within a run of the database. */
export type WrittenPlace = Place & { readonly run: string };

/** A lead as the log remembers it: where it was taken, and after which row (null if that was not noted). */
export type LeadNote = {
  readonly epoch: number;
  readonly lead: number;
  readonly start: number | null;
  /** The database run on which it was taken; '' if an older version has noted none. */
  readonly run: string;
};

/** A stream of a founded log continues from the last record that its founder had. */
export type Base = { readonly stream: number; readonly sequence: number; readonly head: string };

/** Distinguishes a log from other logs, and from its own earlier state (standing.ts). */
export type LogHistory = {
  /** Null if it was not founded, or was founded by an older version. */
  readonly id: string | null;
  readonly end: number;
  readonly place: Place;
  /** The database run, and the run on which the log was founded; '' if not noted. */
  readonly run: string;
  readonly foundedOn: string;
  /** The newest leads, oldest first; older versions note none. */
  readonly leads: readonly LeadNote[];
  readonly bases: readonly Base[];
};

/** Rows, and the server that they were read from. */
export type ReadRows = { readonly rows: readonly LogRow[]; readonly server: string };

/** The end of the log as `resolve` found it, durably. */
export type Resolved = {
  /** False if another member has taken over. */
  readonly isLeader: boolean;
  /** False if the log has lost the row after which it was read. */
  readonly hasLastHeld: boolean;
  /** The rows after that row. They are held. */
  readonly rows: readonly RowName[];
};

/** A lead that was taken, its random number, and the log's end. */
export type Taken = { readonly epoch: number; readonly lead: number; readonly end: number };

/** A member's report about itself. */
export type MemberReport = {
  /** The last row that it has applied, durably or not; absent if it is the same position. */
  readonly applied?: number;
  /** False if its disk is nearly full. */
  readonly hasRoom?: boolean;
  /** Why its files disagree with the log; absent or empty if they agree. */
  readonly filesProblem?: string;
  /** The database run on which the member has found everything that it saw held; absent or empty if none. */
  readonly run?: string;
};

/** Any call may reject; then its outcome is unknown. */
export type ReplicatedLog = {
  /**
   * Takes the lease if it has ended or, when forced, in any case. A lease that is being handed over waits a while for
   * the named member. Without formats the lead keeps those of the previous one. @returns the new epoch and the log's
   * end; null if the lease was not taken, also because another member has led since `epoch` or the cluster was raised
   * since `raised`
   */
  take(isForced: boolean, lead?: NextLead): Promise<Taken | null>;
  lease(): Promise<Lease>;
  /** @returns false if another member has taken over. Rejects if a connection was lost, even if there is a new one */
  renew(epoch: number): Promise<boolean>;
  /** Ends the lease of this epoch now. */
  release(epoch: number): Promise<void>;
  /** Ends the lease and the epoch of any leader, without a new one. */
  fence(): Promise<void>;
  /** Later leads write at least these formats. @returns false if the cluster was raised since `from` */
  raise(from: string, to: string): Promise<boolean>;
  /** Notes that this lead should go to another member. @returns false if another hand-over is in progress */
  askHandOver(asked: AskedHandOver): Promise<boolean>;
  /** This member is ready for the lead that was offered to it. */
  acceptHandOver(epoch: number): Promise<void>;
  /** @returns false if there is no unaccepted hand-over */
  withdrawHandOver(asked: AskedHandOver): Promise<boolean>;
  /**
   * Appends rows after the row at `after`. Several calls may be pending and are executed in order.
   * @returns false if nothing was added: another member has taken over, or an earlier call failed
   */
  append(epoch: number, after: number, rows: readonly NewRow[]): Promise<boolean>;
  /** After an append with an unknown outcome: reads the log after `lastHeld` and makes what it finds durable. */
  resolve(epoch: number, lastHeld: number): Promise<Resolved>;
  /** The next rows after a position: about `mostBytes` and MOST_ROWS_READ at most, but at least one if there is one. */
  readAfter(position: number, mostBytes: number): Promise<ReadRows>;
  /**
   * Makes an empty commit and waits for the database's standbys: they receive it only from a server that was not
   * replaced. @returns that server (CLUSTERLOG-5)
   */
  confirm(): Promise<string>;
  /** The row at a position, and the row with which a stream ends at this sequence number; null if there is none. */
  nameAt(position: number): Promise<RowName | null>;
  rowOf(stream: number, sequence: number): Promise<LogRow | null>;
  /** The first row of a stream after this sequence number. */
  firstAfter(stream: number, sequence: number): Promise<RowName | null>;
  /** The last row of each stream; at position 0 if the log has none and was founded with earlier records. */
  ends(): Promise<readonly StreamEnd[]>;
  /** Reports that this member has durably applied the rows up to `position`, and its state. */
  report(position: number, about?: MemberReport): Promise<void>;
  readonly runs: DatabaseRuns;
  facts(): Promise<LogFacts>;
  history(): Promise<LogHistory>;
  /** Gives the log an id if it has none. @returns its id */
  found(id: string): Promise<string>;
  /** One member begins an empty log: this one, if none was noted before. @returns the name of the one that begins it */
  beginner(): Promise<string>;
  /**
   * Calls back with the present server, and with each server that this process writes to before anything is sent there.
   */
  watchServer(onServer: (place: WrittenPlace) => void): void;
  /** Deletes rows that every member has, some at a time. @returns the number deleted */
  trim(): Promise<number>;
  close(): Promise<void>;
};

/** The lead of an epoch should go to a member; if forced, even though the leader continues. */
export type AskedHandOver = { readonly epoch: number; readonly to: string; readonly isForced: boolean };

/** This process may not take part in the cluster: a retry would end in the same way. */
export class NotAMemberError extends Error {
  override readonly name: string = 'NotAMemberError';
}

/** The log lacks rows that this member has, and an operator has to decide: nothing was changed (standing.ts). */
export class LostRowsError extends NotAMemberError {
  override readonly name = 'LostRowsError';
}

/**
 * Like LostRowsError, but a copy of another member's files helps: the log no longer has the rows after this member's
 * last.
 */
export class JoinAnewError extends NotAMemberError {
  override readonly name = 'JoinAnewError';
}

/**
 * The log's database refuses rows and has not executed the statement: it is read-only or full. Other members could not
 * write there either, and it may accept rows again at any moment.
 */
export class TakesNoRowsError extends Error {
  override readonly name = 'TakesNoRowsError';

  constructor(server: string, reason: string) {
    super(`${server} takes no rows: ${reason}`);
  }
}
