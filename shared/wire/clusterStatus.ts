/** Reports of the replication thread about the members of a cluster, its database, and hand-overs of the lead. */

/** A member of a cluster as the log knows it. */
export type MemberStatus = {
  readonly holder: string;
  readonly address: string;
  /** The position up to which it has applied the rows, as it last reported. */
  readonly position: number;
  /** The version of its program; empty if the program is too old to say. */
  readonly version: string;
  /** The formats that it knows, as a text of formats.ts. */
  readonly formats: string;
  /** False: its disk is nearly full (RULES.md 10.8). */
  readonly hasRoom: boolean;
  /** The reason why its files disagree with the log, as it has found itself; empty if they agree. */
  readonly filesProblem: string;
  /** Time since it last reported, by the database's clock. */
  readonly silentMs: number;
};

/** True for a member that may get the lead. */
export function isFitToLead({ hasRoom, filesProblem }: Pick<MemberStatus, 'hasRoom' | 'filesProblem'>): boolean {
  return hasRoom && filesProblem === '';
}

/** The database of a cluster: the server to which members write, and its standbys. */
export type DatabaseStatus = {
  /** Its host and port, as JOURNAL_URL names them. */
  readonly server: string;
  readonly standbys: readonly DatabaseStandby[];
};

/** Everything except the name is null if the database user may not see it (pg_monitor). */
export type DatabaseStandby = {
  readonly name: string;
  readonly state: string | null;
  /** `sync` or `quorum`: commits wait for it. */
  readonly syncState: string | null;
  /** Bytes that it has not written to its disk yet. */
  readonly behindBytes: number | null;
};

/** As texts of formats.ts: the formats that the newest lead writes, and the least formats of later leads. */
export type LeadFormats = { readonly formats: string; readonly raised: string };

/** A hand-over that an operator has requested: the lead of this epoch goes to a member. */
export type HandOverStatus = {
  readonly epoch: number;
  readonly to: string;
  /** True if the member takes the lead from a leader that still runs. */
  readonly isForced: boolean;
  /** True if the member is ready, so that the leader ends. */
  readonly isAccepted: boolean;
};

/** The facts about a cluster's log when it was last asked. */
export type LogFacts = {
  /** The last position, and the oldest row that was not trimmed. */
  readonly end: number;
  readonly start: number;
  /** The space that it takes in the database. */
  readonly logBytes: number;
  readonly members: readonly MemberStatus[];
  /** The requested hand-over of the present lead, or null. */
  readonly handOver: HandOverStatus | null;
  /** The server that was asked: its PostgreSQL system, its timeline and its write-ahead log position; null before. */
  readonly place: { readonly system: string; readonly timeline: number; readonly lsn: string } | null;
  /** Null before the database was asked. */
  readonly database: DatabaseStatus | null;
  readonly formats: LeadFormats;
};

/** The facts before the log was first asked. */
export const NO_FACTS: LogFacts = {
  end: 0,
  start: 0,
  logBytes: 0,
  members: [],
  handOver: null,
  place: null,
  database: null,
  formats: { formats: '', raised: '' },
};

/** Null: the lead goes to the standby that has followed furthest. */
export type HandOverQuestion = { readonly id: number; readonly to: string | null };
/** `isDone`: the member already leads. */
export type HandOverAnswer =
  | { readonly id: number; readonly to: string; readonly isDone: boolean }
  | { readonly id: number; readonly refused: string }
  /** The log cannot be read at the moment. */
  | { readonly id: number; readonly failed: string };
