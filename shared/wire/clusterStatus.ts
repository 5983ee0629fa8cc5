/** Reports of the replication thread: the members of a cluster, its database, and hand-overs of the lead. */

/** A member of a cluster as the log knows it. */
export type MemberStatus = {
  readonly holder: string;
  readonly address: string;
  /** It has applied the rows up to this position, as it last reported. */
  readonly position: number;
  /** Of the program that it runs; empty where that is too old to say. */
  readonly version: string;
  /** Those that it knows, as a text of formats.ts. */
  readonly formats: string;
  /** False: its disk is nearly full (RULES.md 10.8). */
  readonly hasRoom: boolean;
  /** Why its files do not agree with the log, as it has found itself; empty: they do. */
  readonly filesProblem: string;
  /** Time since it last reported, by the database's clock. */
  readonly silentMs: number;
};

/** One to hand the lead to. */
export function isFitToLead({ hasRoom, filesProblem }: Pick<MemberStatus, 'hasRoom' | 'filesProblem'>): boolean {
  return hasRoom && filesProblem === '';
}

/** The database of a cluster: the server that is written, and those that follow it. */
export type DatabaseStatus = {
  /** Its host and port, as JOURNAL_URL names them. */
  readonly server: string;
  readonly standbys: readonly DatabaseStandby[];
};

/** All but the name is null where the user of the database may not see it (pg_monitor). */
export type DatabaseStandby = {
  readonly name: string;
  readonly state: string | null;
  /** `sync` or `quorum`: commits wait for it. */
  readonly syncState: string | null;
  /** Bytes that it has not written to its disk yet. */
  readonly behindBytes: number | null;
};

/** As texts of formats.ts: what the newest lead writes, and what later ones write at least. */
export type LeadFormats = { readonly formats: string; readonly raised: string };

/** A hand-over that an operator has asked for: the lead of this epoch goes to a member. */
export type HandOverStatus = {
  readonly epoch: number;
  readonly to: string;
  /** The member takes the lead from a leader that goes on. */
  readonly isForced: boolean;
  /** The member is ready, so the leader ends. */
  readonly isAccepted: boolean;
};

/** The log of a cluster, as it was when it was last asked. */
export type LogFacts = {
  /** Its last position, and its oldest row that was not trimmed. */
  readonly end: number;
  readonly start: number;
  /** The room that it takes in the database. */
  readonly logBytes: number;
  readonly members: readonly MemberStatus[];
  /** The hand-over of the present lead that an operator has asked for, or null. */
  readonly handOver: HandOverStatus | null;
  /** Of the server that was asked: its cluster of PostgreSQL, its timeline and its write-ahead log; null before. */
  readonly place: { readonly system: string; readonly timeline: number; readonly lsn: string } | null;
  /** Null before the database was asked. */
  readonly database: DatabaseStatus | null;
  readonly formats: LeadFormats;
};

/** Before it was asked. */
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

/** Null: to the standby that has followed furthest. */
export type HandOverQuestion = { readonly id: number; readonly to: string | null };
/** `isDone`: it leads already. */
export type HandOverAnswer =
  | { readonly id: number; readonly to: string; readonly isDone: boolean }
  | { readonly id: number; readonly refused: string }
  /** The log cannot be read at the moment. */
  | { readonly id: number; readonly failed: string };
