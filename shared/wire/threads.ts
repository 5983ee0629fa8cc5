/** The options that the gateway passes to the threads it starts: plain data and shared memory only. */
import type { MessagePort } from 'node:worker_threads';
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
  /** Room that the journal takes ahead of time for commits on a full disk. */
  readonly journalReserveBytes: number;
  readonly verifier: VerifierChoice;
  /** Memory in which shards offer signature checks to verifier threads; null without such threads. */
  readonly checkBoard: SharedArrayBuffer | null;
  /** Memory in which shards show some of their signature checks to the spot checker (spotLayout.ts). */
  readonly spotMemory: SharedArrayBuffer;
  readonly chainId: number;
  /** 0x and 40 hex digits. */
  readonly exchangeAddress: string;
  /** False lets orders reserve more than an account has, for rehearsals of the interface. */
  readonly collateralCheck: boolean;
  /** Duration of the post-only phase after a start (RULES.md 7.13), or 0. */
  readonly postOnlyMs: number;
  /** Orders that the shard accepts in its life (RULES.md 2.12). */
  readonly maxOrdersEver: number;
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
   * Shards that the thread serves first, so that its code is compiled when the real one comes: with rings, memory and
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

/** A front is to be served from now on, with the command ring of main as the bell (RING-5), or its thread has ended. */
export type FrontRequest = { readonly attach: NewFront } | { readonly detach: number };
type NewFront = { readonly front: number; readonly rings: FrontRings };

/** A shard's thread sends these beside its events: how it recovered, and now and then how far its journal goes. */
export type ShardMessage =
  /** The front is attached: the state of the shard, as events up to a READY, and what follows is in its event ring. */
  | { readonly attached: number; readonly state: ArrayBuffer[] }
  /** The front does not read its events: it gets none any more, and its thread has to be ended. */
  | { readonly cutOff: number }
  | { readonly report: ShardReport }
  | { readonly head: KnownHead }
  /** On a standby, the answer to `restore`: up to this record its part of every balance is in the shared memory. */
  | { readonly restored: number }
  /** Its rehearsal has failed; the shard itself has nothing to do with it. */
  | { readonly rehearsalFailure: string };

/**
 * The gateway sends these to a shard that follows: rows of its stream, in order; `restore` after the last of them; and
 * `lead` once every shard has restored. A shard that leads only gets requests about fronts and `stop`.
 */
export type FollowRequest = { readonly rows: readonly FollowedRow[] } | FrontRequest | 'restore' | 'lead' | 'stop';
export type FollowedRow = { readonly sequence: number; readonly bytes: Uint8Array };

export type SnapshotOptions = {
  readonly journalPaths: readonly string[];
  readonly journalKey: JournalKey;
  readonly directory: string;
  readonly progress: SharedArrayBuffer;
  /** Records between two snapshots of a shard. */
  readonly everyRecords: number;
  /** The least number of journal rows to keep, for export and for rebuilding read.db. */
  readonly keepRecords: number;
};

/** The snapshot thread sleeps on this cell while it is 0; it is set once the message that stops the thread was sent. */
export type SnapshotAlarm = { readonly alarm: SharedArrayBuffer };

export type ProjectorOptions = {
  readonly journalPaths: readonly string[];
  readonly journalKey: JournalKey;
  readonly readDbPath: string;
  readonly progress: SharedArrayBuffer;
};

/** The projector's end of its channel to the gateway (catalogPage.ts): transferred, so each run has one of its own. */
export type ProjectorPort = {
  readonly catalogPort: MessagePort;
  /** read.db contradicts the journals: it is set aside and made again. */
  readonly makesAnew: boolean;
};

export type ProjectorMessage =
  /** The read model had another quantity of tokens than the engine. */
  | { readonly difference: Readonly<Record<string, string | number>> }
  /** Sent at each start: why the system gives the thread no read.db, or null; of another history it is made anew. */
  | ({ readonly refused: string | null } | { readonly doesNotGoOnWith: string });

export type SettlementOptions = {
  readonly journalPaths: readonly string[];
  readonly journalKey: JournalKey;
  readonly progress: SharedArrayBuffer;
  readonly settlementDbPath: string;
  /** Of one node or, with commas between them, several. It may contain secrets. */
  readonly rpcUrl: string;
  readonly chainId: number;
  /** The contract that the first orders of the data directory are signed for. */
  readonly exchangeAddress: string;
  readonly marketFactoryAddress: string;
  readonly usdcAddress: string;
  readonly ctfAddress: string;
  readonly resolutionsAddress: string;
  /** For batches and movements, decisions, new markets, transfers of customers (null: none), and permits. */
  readonly operatorKey: KeyOrigin;
  readonly resolverKey: KeyOrigin;
  /** Of payments, and the contract by which it pays; null: the operator pays. */
  readonly payerKey: KeyOrigin | null;
  readonly paymentsAddress: string | null;
  readonly deployerKey: KeyOrigin;
  readonly relayerKey: KeyOrigin | null;
  readonly permitKey: KeyOrigin;
  /** No transaction offers more for a unit of gas. */
  readonly mostFeeWei: bigint;
  readonly limits: SettlementLimits;
  /** Of what is paid in an hour, in micro-USDC. */
  readonly payBounds: { readonly accountMicro: number; readonly allMicro: number };
  /** The fee of a withdrawal, split or merge: the contract has to take it. */
  readonly movementFeeMicro: number;
  readonly floors: Floors;
  /** Null without a cluster. */
  readonly cluster: SettlementCluster | null;
};

/** The part of settlement in a replicated log (replication.ts). It follows until it is asked to lead. */
type SettlementCluster = {
  readonly memory: SharedArrayBuffer;
  /** The process leads: the thread before this one has given the log this record last, or none. Null: it follows. */
  readonly leads: { readonly last: FollowedRow | null } | null;
};

/**
 * In a cluster the gateway sends these to the settlement thread beside its questions: rows of its stream, in order, and
 * `lead` once the last of them is applied. `stop` ends the thread.
 */
export type SettlementRequest = { readonly rows: readonly FollowedRow[] } | 'lead' | 'stop';

/** The times from which on placing is refused. */
export type SettlementLimits = { readonly headAgeMs: number; readonly waitMs: number };

export type SettlementHealth = {
  /** Why placing is refused; null while settlement is healthy. */
  readonly unhealthy: string | null;
  /** Null while the node answers as it should. */
  readonly problem: string | null;
  /** The thread stands still until the log of the cluster takes a record; everything else here is as it was before. */
  readonly isWaitingForLog: boolean;
  /** Trades that the contract refuses for good. */
  readonly failed: number;
  /** Batches of trades in a row of which nothing was settled. */
  readonly failedInRow: number;
  /** Payments that the chain refuses now; with those that a bound holds back; splits and merges that no block has. */
  readonly refusedPayments: number;
  readonly heldUpPayments: number;
  readonly waitingSets: number;
  /** Nonces that transactions from elsewhere have used. */
  readonly foreign: number;
  /** The wait of the oldest trade for its batch, and of the oldest work of any kind. */
  readonly oldestTradeMs: number;
  readonly oldestWorkMs: number;
  /** Work that is not settled, by its status. */
  readonly unsettled: Readonly<Record<'pending' | 'submitted' | 'mined', number>>;
  readonly headAgeMs: number | null;
  readonly headNumber: number;
  readonly finalizedNumber: number;
  /** Journal records that settlement has not read yet. */
  readonly behind: number;
  /** Null while no funds have to move to another exchange contract. */
  readonly move: MoveHealth | null;
  readonly isAtMostFee: boolean;
  readonly lastRefusal: string | null;
  /** Balances of which the ledger and the chain differ. */
  readonly differences: number;
  /** The ledger has to follow these: movements that it cannot yet, floors of wallets (null: not known yet). */
  readonly waiting: number;
  readonly floorsToCarry: number | null;
  /** Movements of the ledger that wait for the wallet of their account. */
  readonly withoutWallet: number;
  /** The last block of which every event was read, the last at which balances were compared, and how many since. */
  readonly scannedBlock: number | null;
  readonly reconciledBlock: number | null;
  readonly compared: number;
  /** By job, in wei; null until the node was asked. */
  readonly balances: readonly KeyBalance[];
  /** Where there are several. */
  readonly nodes: readonly NodeHealth[];
  readonly decisions: DecisionsHealth;
};
export type KeyBalance = { readonly job: string; readonly address: string; readonly wei: bigint | null };

/** The messages of the settlement thread: its state each second, answers, and news. */
export type SettlementMessage =
  | { readonly health: SettlementHealth }
  | { readonly reply: ChainReply }
  | { readonly news: NewsOf }
  /** Every journal is there from the record on that settlement has to go on with. */
  | { readonly connected: true }
  /** On a standby: up to this record settlement.db has the rows of the log, durably. */
  | { readonly applied: number }
  /** Of a leader: it goes on once the log holds this record. */
  | { readonly record: FollowedRow }
  /** One line: settlement cannot go on with this data directory. */
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
  /** True lets a database without synchronous standbys serve, for trying out. */
  readonly isUnreplicatedAllowed: boolean;
  /** True lets one serve that does not sync what it commits: the tests' own, on this machine. */
  readonly isUnsyncedAllowed: boolean;
  /** Settings that all members of a cluster share: a process with others does not start. */
  readonly facts: Readonly<Record<string, string>>;
  readonly memory: SharedArrayBuffer;
  /** One for each shard, then that of the gateway. */
  readonly outboxes: readonly SharedArrayBuffer[];
  /** Of the shards, which are woken when the log holds more of theirs. */
  readonly commandRings: readonly SharedArrayBuffer[];
  /** The names of the rows of the log, in order (logOrder.ts). */
  readonly order: SharedArrayBuffer;
};

/** The leader of a cluster as its lease names it. */
export type LeaderOf = { readonly holder: string; readonly address: string; readonly epoch: number };

export type ReplicationStatus = LogFacts & {
  readonly leader: LeaderOf | null;
  /** Rows and bytes that wait to be held, and the age of the oldest of them. */
  readonly waitingRows: number;
  readonly waitingBytes: number;
  readonly oldestWaitMs: number;
  /** Time that the last rows took from being sent until they were held. */
  readonly appendMs: number;
  /** Why the log cannot be read or written at the moment; null while all is well. */
  readonly problem: string | null;
  /** Why the files of this member do not agree with the log; empty: they do. */
  readonly filesProblem: string;
};

/** The replication thread sends these to the gateway. */
export type ReplicationMessage =
  /** The log is open: which row is its last of each stream. The gateway answers with `follow`. */
  | { readonly opened: { readonly ends: readonly StreamEnd[] } }
  /** The answer to `prepare` and to `rejoin`: a line for each file of which something was set aside. */
  | { readonly rejoined: readonly string[] }
  /** The log cannot be opened; it is tried again. */
  | { readonly unreachable: string }
  /** This process has the lease, and every row was posted; it writes nothing before the request `mayLead`. */
  | { readonly role: 'leader'; readonly epoch: number; readonly ledUntilMs: number }
  | { readonly role: 'standby'; readonly leader: LeaderOf | null }
  /**
   * Rows to apply, in order, of those up to the position `end`; none at times. At `asOfMs` (Date.now) the log held
   * nothing after it; null: there is more.
   */
  | { readonly rows: readonly LogRow[]; readonly end: number; readonly asOfMs: number | null }
  /** The answer to `handOver`: the member that gets the lead, or why none does. */
  | { readonly asked: HandOverAnswer }
  /** This member is ready to lead: this process ends in order, and its lease goes there. */
  | { readonly handOver: string }
  /**
   * Another leads, or the log contradicts what this process has: it ends without acknowledging anything more.
   * `joinsAnew`: the next start gets a copy of another member's files.
   */
  | { readonly lost: string; readonly joinsAnew?: boolean }
  /** A line for the log: a member joins, this one or another; the mark of what was held is damaged. */
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

/** The last sequence of a stream that this process has durably. */
export type LocalEnd = {
  readonly stream: number;
  readonly sequence: number;
  /** Of a shard: rows that end after this record are named again (logOrder.ts), those that are here too. */
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
  /** The copy of control.db is there; a text says why it is not. */
  | { readonly copied: string | null }
  /** Compare the journals with the log, before any shard starts. */
  | { readonly rejoin: JournalsToRejoin }
  /** Start after the rows that are here, those up to these ends. */
  | { readonly follow: readonly LocalEnd[] }
  /** The rows up to a position are applied, and those up to another one are durable: a restart needs them no more. */
  | { readonly applied: number; readonly durable: number }
  /** The private frames of the rows up to this position are on the disk. */
  | { readonly numbered: number }
  /** Everything is applied, and the outboxes start after it. */
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

/** The spot checker sends one where the reference gave another answer than a shard. Bytes are in hex. */
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
