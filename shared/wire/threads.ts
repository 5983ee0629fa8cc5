/** The options that the gateway passes to the threads it starts: plain data and shared memory only. */
import type { DecisionsHealth, KeyOrigin, MoveHealth, NodeHealth } from '../base/chainFacts.ts';
import type { Floors } from '../base/floors.ts';
import type { JournalKey, KnownHead } from '../base/journalKey.ts';
import type { ChainReply, NewsOf } from './chainQuestions.ts';
import type { HandOverAnswer, HandOverQuestion, LogFacts } from './clusterStatus.ts';
import type { ControlCopy, DirectoryToPrepare } from './joining.ts';
import type { LogRow } from './replication.ts';

export type JournalSync = 'full' | 'normal';
export type VerifierChoice = 'kernel' | 'noble';

export type ShardOptions = {
  readonly shard: number;
  readonly shards: number;
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
  /** Available USDC of every account (balances.ts). */
  readonly balances: SharedArrayBuffer;
  /** Progress of the journals and the projector (progress.ts). */
  readonly progress: SharedArrayBuffer;
  /** The measurements that the shards make of themselves (shardMeters.ts). */
  readonly meters: SharedArrayBuffer;
  readonly journalPath: string;
  readonly journalKey: JournalKey;
  /** A row that the journal must contain, or have trimmed. */
  readonly knownHead: KnownHead;
  /** Directory of the snapshots. */
  readonly directory: string;
  readonly journalSync: JournalSync;
  /** The room that the journal reserves for commits on a full disk. */
  readonly journalReserveBytes: number;
  readonly verifier: VerifierChoice;
  /** Memory in which shards offer signature checks to verifier threads; null without such threads. */
  readonly checkBoard: SharedArrayBuffer | null;
  /** Memory in which shards show some of their signature checks to the spot checker (spotLayout.ts). */
  readonly spotMemory: SharedArrayBuffer;
  readonly chainId: number;
  /** 0x and 40 hex digits. */
  readonly exchangeAddress: string;
  /** False lets orders reserve more than an account has, for trading without collateral. */
  readonly collateralCheck: boolean;
  /** Duration of the post-only phase after a start (RULES.md 7.13), or 0. */
  readonly postOnlyMs: number;
  /** The number of orders that the shard remembers in memory (RULES.md 2.12). */
  readonly maxOrdersEver: number;
  /** Of them, those beyond which the oldest move to the disk; a start and a late snapshot may keep twice as many. */
  readonly hashesInMemory: number;
  /** Absent: the journal of this machine is the only one (JOURNAL=sqlite). */
  readonly replication?: ShardReplication;
};

/** The part of a shard in a replicated log (replication.ts). */
type ShardReplication = {
  readonly memory: SharedArrayBuffer;
  readonly outbox: SharedArrayBuffer;
  /** A shard that follows applies the rows that it is posted, until it is asked to lead. */
  readonly mode: 'lead' | 'follow';
};

/** A new thread of a shard. */
export type ShardThreadOptions = ShardOptions & {
  /**
   * Shards that the thread serves first, so that its code is compiled when the real shard comes: with rings, memory and
   * files of their own, which are thrown away. Each ends with the message REHEARSED. Absent: there is none.
   */
  readonly rehearsals?: readonly ShardOptions[];
};

/** The message that ends the rehearsal of a shard; the message `stop` ends its thread at any time. */
export const REHEARSED = 'rehearsed';

/** The facts of a recovery, for the log. */
export type ShardReport = {
  readonly verifier: string;
  /** Why the slower kernel checks signatures although the processor may be able to run the fast one, or null. */
  readonly verifierProblem: string | null;
  readonly recovered: number;
  readonly fromSequence: number;
  readonly damaged: readonly string[];
};

/** The rings of a gateway thread at one thread of a shard: nothing has used them before. */
export type FrontRings = {
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
};

/** From now on a front thread is served, with the command ring of main as bell (RING-5), or it has ended. */
export type FrontRequest = { readonly attach: NewFront } | { readonly detach: number };
type NewFront = { readonly front: number; readonly rings: FrontRings };

/** A shard's thread sends these beside its events: how it recovered, and now and then how far its journal goes. */
export type ShardMessage =
  /** The front is attached: the state of the shard, as events up to a READY; later events are in its ring. */
  | { readonly attached: number; readonly state: ArrayBuffer[] }
  /** The front does not read its events: it gets no more, and its thread has to be ended. */
  | { readonly cutOff: number }
  | { readonly report: ShardReport }
  | { readonly head: KnownHead }
  /** On a standby, the answer to `restore`: up to this record its part of every balance is in the shared memory. */
  | { readonly restored: number }
  /** A part of a run of hashes is damaged (engine/snapshot/hashRun.ts): the file and the page. */
  | { readonly damagedRun: string }
  /** The rehearsal has failed; this does not affect the shard itself. */
  | { readonly rehearsalFailure: string };

/**
 * The gateway sends these to a shard that follows: rows of its stream, in order; `restore` after the last of them; and
 * `lead` once every shard has restored. A shard that leads only gets requests about fronts and `stop`.
 */
export type FollowRequest = { readonly rows: readonly FollowedRow[] } | FrontRequest | 'restore' | 'lead' | 'stop';
export type FollowedRow = { readonly sequence: number; readonly bytes: Uint8Array };

export type SnapshotOptions = Pick<ShardOptions, 'directory' | 'hashesInMemory' | 'journalKey' | 'progress'> & {
  readonly journalPaths: readonly string[];
  /** Records between two snapshots of a shard. */
  readonly everyRecords: number;
  /** The least number of journal rows to keep, for export and for rebuilding read.db. */
  readonly keepRecords: number;
};

/** The snapshot thread sleeps on this cell while it is 0. A stop sets it, and wakes the thread after its message. */
export type SnapshotAlarm = { readonly alarm: SharedArrayBuffer };

export type ProjectorOptions = {
  readonly journalPaths: readonly string[];
  readonly journalKey: JournalKey;
  readonly readDbPath: string;
  readonly progress: SharedArrayBuffer;
};

export type SettlementOptions = {
  readonly journalPaths: readonly string[];
  readonly journalKey: JournalKey;
  readonly progress: SharedArrayBuffer;
  readonly settlementDbPath: string;
  /** The address of one node, or of several separated by commas. It may contain secrets. */
  readonly rpcUrl: string;
  readonly chainId: number;
  /** The contract for which the first orders of the data directory are signed. */
  readonly exchangeAddress: string;
  readonly marketFactoryAddress: string;
  readonly usdcAddress: string;
  readonly ctfAddress: string;
  readonly resolutionsAddress: string;
  /** The keys for batches and movements, decisions, new markets, transfers of customers (null: none), and permits. */
  readonly operatorKey: KeyOrigin;
  readonly resolverKey: KeyOrigin;
  /** The key of payments, and the contract by which it pays; null: the operator's key pays. */
  readonly payerKey: KeyOrigin | null;
  readonly paymentsAddress: string | null;
  readonly deployerKey: KeyOrigin;
  readonly relayerKey: KeyOrigin | null;
  readonly permitKey: KeyOrigin;
  /** The highest price per unit of gas that a transaction may offer. */
  readonly mostFeeWei: bigint;
  readonly limits: SettlementLimits;
  /** The bounds of payments within an hour, in micro-USDC. */
  readonly payBounds: { readonly accountMicro: number; readonly allMicro: number };
  /** The fee of a withdrawal, split or merge, which the contract has to take. */
  readonly movementFeeMicro: number;
  readonly floors: Floors;
  /** Null without a cluster. */
  readonly cluster: SettlementCluster | null;
};

/** The part of settlement in a replicated log (replication.ts). It follows until it is asked to lead. */
type SettlementCluster = {
  readonly memory: SharedArrayBuffer;
  /** The process leads; `last` is the last record that the previous thread put into the log. Null: it follows. */
  readonly leads: { readonly last: FollowedRow | null } | null;
};

/**
 * In a cluster the gateway sends these to the settlement thread beside its questions: rows of its stream, in order, and
 * `lead` once the last of them is applied. `stop` ends the thread.
 */
export type SettlementRequest = { readonly rows: readonly FollowedRow[] } | 'lead' | 'stop';

/** The ages from which on placing is refused. */
export type SettlementLimits = { readonly headAgeMs: number; readonly waitMs: number };

export type SettlementHealth = {
  /** The reason why placing is refused; null while settlement is healthy. */
  readonly unhealthy: string | null;
  /** Null while the node answers correctly. */
  readonly problem: string | null;
  /** True while the thread waits for the log to accept a record; the other values are older then. */
  readonly isWaitingForLog: boolean;
  /** The number of trades that the contract refuses for good. */
  readonly failed: number;
  /** The number of successive batches of trades of which nothing was settled. */
  readonly failedInRow: number;
  /** Payments that the chain refuses; these and those that a bound holds back; splits and merges in no block. */
  readonly refusedPayments: number;
  readonly heldUpPayments: number;
  readonly waitingSets: number;
  /** The number of nonces that other programs' transactions have used. */
  readonly foreign: number;
  /** The wait of the oldest trade for its batch, and of the oldest work of any kind. */
  readonly oldestTradeMs: number;
  readonly oldestWorkMs: number;
  /** Unsettled work, by status. */
  readonly unsettled: Readonly<Record<'pending' | 'submitted' | 'mined', number>>;
  readonly headAgeMs: number | null;
  readonly headNumber: number;
  readonly finalizedNumber: number;
  /** The number of journal records that settlement has not read yet. */
  readonly behind: number;
  /** Null while no funds have to move to another exchange contract. */
  readonly move: MoveHealth | null;
  readonly isAtMostFee: boolean;
  readonly lastRefusal: string | null;
  /** The number of balances that differ between ledger and chain. */
  readonly differences: number;
  /** Movements that the ledger cannot follow yet, and nonce floors that it has to follow (null: unknown yet). */
  readonly waiting: number;
  readonly floorsToCarry: number | null;
  /** The number of the ledger's movements that wait for the wallet of their account. */
  readonly withoutWallet: number;
  /** The last block of which all events were read, the last that was compared, and the number of comparisons. */
  readonly scannedBlock: number | null;
  readonly reconciledBlock: number | null;
  readonly compared: number;
  /** By job, in wei; null until the node was asked. */
  readonly balances: readonly KeyBalance[];
  /** Present if there are several nodes. */
  readonly nodes: readonly NodeHealth[];
  readonly decisions: DecisionsHealth;
};
export type KeyBalance = { readonly job: string; readonly address: string; readonly wei: bigint | null };

/** The messages of the settlement thread: its state each second, answers, and news. */
export type SettlementMessage =
  | { readonly health: SettlementHealth }
  | { readonly reply: ChainReply }
  | { readonly news: NewsOf }
  /** Every journal has the records from the one on with which settlement has to continue. */
  | { readonly connected: true }
  /** On a standby: settlement.db durably has the rows of the log up to this record. */
  | { readonly applied: number }
  /** On a leader: the thread continues once the log holds this record. */
  | { readonly record: FollowedRow }
  /** One line: settlement cannot continue with this data directory. */
  | { readonly refusal: string };

export type ReplicationOptions = {
  /** It may contain a secret. */
  readonly url: string;
  /** The name of the cluster in the database: several exchanges may share one. */
  readonly cluster: string;
  /** The name of this process in the cluster, the address at which clients reach it, and its version. */
  readonly holder: string;
  readonly address: string;
  readonly version: string;
  /** True allows a database without synchronous standbys, for trials. */
  readonly isUnreplicatedAllowed: boolean;
  /** True allows a database that does not sync its commits: only the tests' own, on this machine. */
  readonly isUnsyncedAllowed: boolean;
  /** Settings that all members of a cluster share: a process with other values does not start. */
  readonly facts: Readonly<Record<string, string>>;
  readonly memory: SharedArrayBuffer;
  /** One outbox for each shard, then the gateway's. */
  readonly outboxes: readonly SharedArrayBuffer[];
  /** The command rings of the shards, which are woken when the log holds more of their rows. */
  readonly commandRings: readonly SharedArrayBuffer[];
  /** The names of the rows of the log, in order (logOrder.ts). */
  readonly order: SharedArrayBuffer;
};

/** The leader of a cluster as its lease names it. */
export type LeaderOf = { readonly holder: string; readonly address: string; readonly epoch: number };

export type ReplicationStatus = LogFacts & {
  readonly leader: LeaderOf | null;
  /** The rows and bytes that wait to be held, and the age of the oldest. */
  readonly waitingRows: number;
  readonly waitingBytes: number;
  readonly oldestWaitMs: number;
  /** The time from sending the last rows until they were held. */
  readonly appendMs: number;
  /** The reason why the log cannot be read or written at the moment; null while all is well. */
  readonly problem: string | null;
  /** The reason why the files of this member disagree with the log; empty if they agree. */
  readonly filesProblem: string;
};

/** The replication thread sends these to the gateway. */
export type ReplicationMessage =
  /** The log is open: its last row of each stream. The gateway answers with `follow`. */
  | { readonly opened: { readonly ends: readonly StreamEnd[] } }
  /** The answer to `prepare` and to `rejoin`: a line for each file from which something was set aside. */
  | { readonly rejoined: readonly string[] }
  /** The log cannot be opened; it is tried again. */
  | { readonly unreachable: string }
  /** This process has the lease, and every row has been posted; it writes nothing before the request `mayLead`. */
  | { readonly role: 'leader'; readonly epoch: number; readonly ledUntilMs: number }
  | { readonly role: 'standby'; readonly leader: LeaderOf | null }
  /**
   * Rows to apply, in order, up to the position `end`; sometimes none. At `asOfMs` (Date.now) the log held nothing
   * after them; null: there is more.
   */
  | { readonly rows: readonly LogRow[]; readonly end: number; readonly asOfMs: number | null }
  /** The answer to `handOver`: the member that gets the lead, or the reason why none does. */
  | { readonly asked: HandOverAnswer }
  /** This member is ready to lead: this process ends in order, and its lease goes to the member. */
  | { readonly handOver: string }
  /**
   * Another member leads, or the log contradicts this process: it ends without acknowledging anything more.
   * `joinsAnew`: the next start gets a copy of another member's files.
   */
  | { readonly lost: string; readonly joinsAnew?: boolean }
  /** A line for the log: this or another member joins, or the mark of held rows is damaged. */
  | ({ readonly news: string } | { readonly damagedMark: string })
  | { readonly copyControl: ControlCopy }
  | { readonly status: ReplicationStatus };

/** The last row of a stream in the log. */
export type StreamEnd = {
  readonly epoch: number;
  readonly lead: number;
  readonly stream: number;
  readonly sequence: number;
  readonly position: number;
};

/** The last sequence number of a stream that this process has durably. */
export type LocalEnd = {
  readonly stream: number;
  readonly sequence: number;
  /** For a shard: rows that end after this record are named again (logOrder.ts), even rows that are already here. */
  readonly doneThrough?: number;
};

export type JournalsToRejoin = {
  readonly journalKey: JournalKey;
  /** By shard. */
  readonly journalPaths: readonly string[];
};

/** The gateway sends these to the replication thread. */
export type ReplicationRequest =
  /** Compare the records of the directory with the log, or join with a copy, before anything opens it. */
  | { readonly prepare: DirectoryToPrepare }
  /** The copy of control.db is ready; a text gives the reason why it is not. */
  | { readonly copied: string | null }
  /** Compare the journals with the log, before any shard starts. */
  | { readonly rejoin: JournalsToRejoin }
  /** Start after the rows that are already here, up to these ends. */
  | { readonly follow: readonly LocalEnd[] }
  /** Rows up to one position are applied, and up to another durable: a restart no longer needs these. */
  | { readonly applied: number; readonly durable: number }
  /** The private frames of the rows up to this position are on the disk. */
  | { readonly numbered: number }
  /** Everything is applied, and the outboxes start after that. */
  | { readonly mayLead: true }
  /** False: the disk of this member is nearly full. */
  | { readonly hasRoom: boolean }
  /** Hand the lead over to a member. */
  | { readonly handOver: HandOverQuestion }
  | 'stop';

export type VerifierOptions = {
  readonly checkBoard: SharedArrayBuffer;
  readonly verifier: VerifierChoice;
};

export type SpotOptions = {
  readonly spotMemory: SharedArrayBuffer;
  readonly shards: number;
};

/** The spot checker sends this if the reference gave a different answer than a shard. Bytes are in hex. */
export type SpotMessage = {
  readonly difference: {
    readonly shard: number;
    /** True if the shard accepted the order. */
    readonly accepted: boolean;
    /** The hash of the order. */
    readonly digest: string;
    readonly signature: string;
    readonly signer: string;
  };
};
