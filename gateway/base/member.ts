/**
 * This process as a member of a cluster: its replication thread, its role, and the way from a standby to the leader.
 *
 *   open ──opened──► files agree with the log ──follow──► standby ──the lease is ours, all rows applied──► leading
 *                                                            │                                               │
 *                                                            └──────────── lost: the process ends ◄──────────┘
 *
 * Every member starts as a standby, even the first one of a cluster, which finds the lease free and the log empty. A
 * member that has led is never a standby again in the same process (RULES.md 18.2).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   MEMBERSHIP-1  This member adds rows to the log only after it has applied every row before (`mayLead`).
 *   MEMBERSHIP-2  After `lost` nothing is acknowledged: the process ends, and its supervisor starts it again as a
 *                 standby.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/base/clock.ts';
import { ownVersion } from '../../shared/base/packages.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { MASTER_KEY_FACT, nameOfMasterKey } from '../../shared/crypto/masterKey.ts';
import type { HandOverAnswer } from '../../shared/wire/clusterStatus.ts';
import type { ControlCopy, DirectoryToPrepare } from '../../shared/wire/joining.ts';
import { createLogOrder, LogOrderConsumer } from '../../shared/wire/logOrder.ts';
import { OutboxProducer, Replication } from '../../shared/wire/replication.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type {
  JournalsToRejoin,
  ReplicationMessage,
  ReplicationOptions,
  ReplicationRequest,
  ReplicationStatus,
} from '../../shared/wire/threads.ts';
import type { ClusterConfig } from './clusterSettings.ts';
import { type Config, ConfigError } from './config.ts';
import { fallbacks } from './fallbacks.ts';
import type { Logger } from './log.ts';
import { type FollowTarget, LogFollower } from './logFollower.ts';
import { MemberRole } from './memberRole.ts';
import { StartError } from './startError.ts';

type End = Extract<ReplicationMessage, { readonly opened: unknown }>['opened']['ends'][number];
type StreamHere = Extract<ReplicationRequest, { readonly follow: unknown }>['follow'][number];

type MemberOptions = {
  readonly config: Config;
  readonly cluster: ClusterConfig;
  readonly shards: number;
  /** Size of a ring of commands to a shard. */
  readonly commandRingBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** MEMBERSHIP-2. */
  readonly onLost: (reason: string) => void;
  /** Gets each line about waiting for the log, or about a copy. */
  readonly onNews: (text: string) => void;
};

type MemberTarget = FollowTarget & { copyControl(copy: ControlCopy): Promise<void> };

/** The memory that the shards of this member share with its replication thread. */
export type ShardReplicas = {
  readonly memory: SharedArrayBuffer;
  /** One for each shard, then the gateway's. */
  readonly outboxes: readonly SharedArrayBuffer[];
  readonly commandRings: readonly SharedArrayBuffer[];
  /** The names of the rows of the log, in order. */
  readonly order: SharedArrayBuffer;
};

/** Space for the rows that a shard may have on their way into the log. */
const OUTBOX_BYTES = 16 << 20;
/** Time between two checks of what the shards have applied. */
const LOOK_MS = 10;
/** A stop waits at most this long for the last rows to be held. */
const STOP_MS = 5000;

export class Member {
  readonly role: MemberRole;
  readonly memory: Replication;
  readonly replicas: ShardReplicas;
  /** Rows of the gateway's databases on their way into the log. */
  readonly outbox: OutboxProducer;
  /** The names of the rows of the log, in order. */
  readonly order: LogOrderConsumer;
  /** Resolves when this member shows everything that the log held at a moment after the member's start. */
  readonly caughtUp: Promise<void>;
  /** Resolves with the epoch when this member has the lease and has applied every row. */
  readonly leading: Promise<number>;
  /** Resolves with the name of a member that is ready to lead in place of this one, which then stops in order. */
  readonly handedOver: Promise<string>;
  /** The last row of each stream that the log held when it was opened. */
  ends: readonly End[] = [];
  readonly #options: MemberOptions;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #follower: LogFollower | null = null;
  #target: MemberTarget | null = null;
  /** The sum of the last reported positions: neither position ever decreases. */
  #reported = 0;
  #epoch = 0;
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #onOpened: () => void = () => {};
  #onRefused: (error: Error) => void = () => {};
  #onRejoined: (texts: readonly string[]) => void = () => {};
  #onCaughtUp: () => void = () => {};
  #onLeading: (epoch: number) => void = () => {};
  #onHandedOver: (to: string) => void = () => {};
  readonly #asking = new Map<number, (answer: HandOverAnswer) => void>();
  #questions = 0;

  /** Resolves when the files of this member agree with the log, or belong to a new log: they may be opened. */
  static async open(options: MemberOptions): Promise<Member> {
    const member = new Member(options);
    await new Promise<void>((resolve, reject) => {
      member.#onOpened = resolve;
      member.#onRefused = reject;
    });
    return member;
  }

  private constructor(options: MemberOptions) {
    const { shards, commandRingBytes, clock, log } = options;
    this.#options = options;
    const memory = Replication.create(shards);
    this.memory = new Replication(memory);
    this.replicas = {
      memory,
      outboxes: Array.from({ length: shards + 1 }, () => createRingBuffer(OUTBOX_BYTES)),
      commandRings: Array.from({ length: shards }, () => createRingBuffer(commandRingBytes)),
      order: createLogOrder(),
    };
    this.order = new LogOrderConsumer(this.replicas.order);
    this.outbox = new OutboxProducer(this.replicas.outboxes[shards]);
    this.role = new MemberRole(this.memory, clock, this.memory.ages());
    this.caughtUp = new Promise((resolve) => {
      this.#onCaughtUp = resolve;
    });
    this.leading = new Promise((resolve) => {
      this.#onLeading = resolve;
    });
    this.handedOver = new Promise((resolve) => {
      this.#onHandedOver = resolve;
    });
    this.#worker = this.#launch();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    let error: unknown;
    this.#worker.once('error', (thrown) => {
      error = thrown;
      log.error({ err: thrown }, 'the replication thread has failed');
    });
    this.#worker.once('exit', () => {
      if (!this.#isStopping) this.#lost(`the replication thread has ended: ${String(error ?? 'unasked')}`);
    });
  }

  /** Sets aside rows that only this machine has, or joins with a copy; no store has opened anything yet. */
  prepare(directory: DirectoryToPrepare): Promise<void> {
    return this.#setAside({ prepare: directory });
  }

  /** Does the same for the journals; no shard has started yet. */
  rejoin(journals: JournalsToRejoin): Promise<void> {
    return this.#setAside({ rejoin: journals });
  }

  async #setAside(request: ReplicationRequest): Promise<void> {
    const rejoined = new Promise<readonly string[]>((resolve, reject) => {
      this.#onRejoined = resolve;
      this.#onRefused = reject;
    });
    this.#post(request);
    for (const text of await rejoined) this.#options.log.warn(text);
  }

  /** The shards are READY: later rows of the log may come. */
  follow(here: readonly StreamHere[], target: MemberTarget): void {
    this.#target = target;
    this.#follower = new LogFollower(this.#options.shards, target);
    this.role.noteChange();
    this.#post({ follow: here });
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** On a standby: the last record of a shard that the journal must have to go with control.db as it is now. */
  handedOn(shard: number): number {
    return this.#follower?.handedOn(shard) ?? 0;
  }

  /** MEMBERSHIP-1. The shards lead, and their rows may be added to the log. */
  mayLead(): void {
    this.#post({ mayLead: true });
  }

  /** Asks for the lead to go to this member, or to the standby that has followed furthest. */
  askHandOver(to: string | null): Promise<HandOverAnswer> {
    return new Promise((resolve) => {
      const id = ++this.#questions;
      this.#asking.set(id, resolve);
      this.#post({ handOver: { id, to } });
    });
  }

  /** The disk of this member is nearly full, or has space again: the other members are notified. */
  noteRoom(hasRoom: boolean): void {
    this.#post({ hasRoom });
  }

  /** The private frames of rows up to this position are on the disk of this machine. */
  numbered(position: number): void {
    this.#post({ numbered: position });
  }

  /** The shards have stopped: waits until the log holds their last rows, and hands the lease back. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    this.#post('stop');
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, STOP_MS);
    });
    await Promise.race([this.#ended, late]);
    clearTimeout(timer);
    await this.#worker.terminate();
  }

  #launch(): Worker {
    const { config, cluster, shards } = this.#options;
    const workerData: ReplicationOptions = {
      url: cluster.url,
      cluster: cluster.name,
      holder: cluster.member,
      address: cluster.address,
      version: ownVersion(),
      isUnreplicatedAllowed: cluster.allowsUnreplicated,
      isUnsyncedAllowed: cluster.allowsUnsynced,
      facts: {
        [MASTER_KEY_FACT]: nameOfMasterKey(config.masterKey!),
        shards: String(shards),
        chain_id: String(config.chainId),
        exchange: config.contracts.exchange,
      },
      ...this.replicas,
    };
    const worker = new Worker(new URL('../../engine/replication/main.ts', import.meta.url), {
      workerData,
      name: 'replication',
      execArgv: STRIPPED_BEFORE,
    });
    return worker.on('message', (message: ReplicationMessage) => this.#receive(message));
  }

  #receive(message: ReplicationMessage): void {
    if ('rows' in message) this.#apply(message);
    else if ('status' in message) this.#receiveStatus(message.status);
    else if ('role' in message) this.#receiveRole(message);
    else if ('opened' in message) this.#opened(message.opened.ends);
    else if ('rejoined' in message) this.#onRejoined(message.rejoined);
    else if ('asked' in message) this.#answer(message.asked);
    else if ('handOver' in message) this.#onHandedOver(message.handOver);
    else if ('unreachable' in message) this.#noteUnreachable(message.unreachable);
    else if ('news' in message) this.#noteNews(message.news);
    else if ('damagedMark' in message) fallbacks.note(this.#options.log, 'held_mark', message.damagedMark);
    else if ('copyControl' in message) void this.#copyControl(message.copyControl);
    else this.#lost(message.lost, message.joinsAnew);
  }

  /** Copies control.db for a joining member. */
  async #copyControl(copy: ControlCopy): Promise<void> {
    const problem = await this.#target!.copyControl(copy).then(
      () => null,
      (error: Error) => error.message,
    );
    this.#post({ copied: problem });
  }

  #answer(answer: HandOverAnswer): void {
    this.#asking.get(answer.id)?.(answer);
    this.#asking.delete(answer.id);
  }

  #receiveStatus(status: ReplicationStatus): void {
    const { log } = this.#options;
    const before = this.role.status?.problem ?? null;
    if (status.problem !== before) {
      if (status.problem === null) log.info('the replicated log answers again');
      else log.warn({ problem: status.problem }, 'the replicated log does not answer as it should');
    }
    const { filesProblem } = this.role;
    this.role.status = status;
    if (this.role.filesProblem === filesProblem) return;
    if (this.role.filesProblem === null) log.info('the files of this member agree with the log again');
    else log.error({ problem: this.role.filesProblem }, 'the files of this member do not agree with the log');
  }

  #receiveRole(message: Extract<ReplicationMessage, { readonly role: unknown }>): void {
    const { log } = this.#options;
    if (message.role === 'leader') {
      log.info({ epoch: message.epoch }, 'this member has the lease');
      this.role.leader = null;
      this.role.noteFormerLead(message.ledUntilMs);
      this.#epoch = message.epoch;
    } else {
      this.role.leader = message.leader;
      log.info({ leader: message.leader?.holder ?? null, epoch: message.leader?.epoch }, 'this member is a standby');
    }
  }

  #look(): void {
    const follower = this.#follower!;
    const { applied, durable, asOfMs } = follower;
    if (applied + durable > this.#reported) {
      this.#reported = applied + durable;
      this.#post({ applied, durable });
    }
    this.role.asOfMs = asOfMs;
    if (asOfMs !== null) this.#onCaughtUp();
    if (this.#epoch === 0 || !follower.isIdle) return;
    clearInterval(this.#timer);
    this.#onCaughtUp();
    this.#onLeading(this.#epoch);
  }

  /** A row that cannot be applied contradicts the data of this machine. */
  #apply({ rows, end, asOfMs }: Extract<ReplicationMessage, { readonly rows: unknown }>): void {
    try {
      if (rows.length > 0) this.role.noteChange();
      this.#follower?.receive(rows, end, asOfMs);
    } catch (error) {
      this.#lost(String(error));
    }
  }

  #opened(ends: readonly End[]): void {
    this.ends = ends;
    this.#onOpened();
  }

  #noteNews(news: string): void {
    this.#options.onNews(news);
    this.#options.log.info(news);
  }

  #noteUnreachable(problem: string): void {
    this.#options.onNews(`the log cannot be read: ${problem}`);
    this.#options.log.warn({ problem }, 'the replicated log cannot be read; it is tried again');
  }

  /** MEMBERSHIP-2. */
  #lost(reason: string, joinsAnew = false): void {
    clearInterval(this.#timer);
    // Before the shards have started, another attempt would end in the same way, unless the member joins anew.
    if (this.#follower === null && !joinsAnew) {
      this.#isStopping = true;
      this.#onRefused(new StartError(reason));
    } else this.#options.onLost(reason);
  }

  #post(request: ReplicationRequest): void {
    this.#worker.postMessage(request);
  }
}

/** The number of shards has to be set for a cluster, because the memory is made before any file is opened. */
export function shardsOf({ shards }: Config): number {
  if (shards === null) throw new ConfigError('JOURNAL=postgres: SHARDS must be set');
  return shards;
}
