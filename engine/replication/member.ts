/**
 * A member of a cluster: follows the log as a standby, takes the lease when it has ended, and then ships its rows.
 * Owner: the replication thread (main.ts), which passes the log in; tests pass another one.
 *
 *   opened ──► follow ──► standby ──── the lease has ended ────► leader ──► mayLead ──► ships
 *                           │  rows to the gateway                 │
 *                           └───────────── lost ◄──────────────────┘ another leads, or the log contradicts
 *
 * Invariants:
 *   MEMBER-1  Every row of the log is posted before `role: leader`. Nothing is shipped before `mayLead`.
 *   MEMBER-2  After `lost` nothing is posted, and nothing is held any more.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { KnownFormats } from '../../shared/base/formats.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { type LogFacts, NO_FACTS } from '../../shared/wire/clusterStatus.ts';
import type { LogOrderProducer } from '../../shared/wire/logOrder.ts';
import { type NewRow, Replication } from '../../shared/wire/replication.ts';
import type {
  LocalEnd,
  ReplicationMessage,
  ReplicationOptions,
  ReplicationRequest,
  ReplicationStatus,
} from '../../shared/wire/threads.ts';
import { FormerLead, RENEW_MS } from './formerLead.ts';
import { HandOvers } from './handOver.ts';
import { SYNC_MS } from './heldMark.ts';
import { HeldStreams } from './heldStreams.ts';
import { JoinAnewError, type Lease, NotAMemberError, type ReplicatedLog, type Taken } from './log.ts';
import { MayTake } from './mayTake.ts';
import { leadToTake } from './nextLead.ts';
import type { Outboxes } from './outboxes.ts';
import type { OwnFiles } from './ownFiles.ts';
import { patientReads, type StartReads } from './patientReads.ts';
import { insist, Periodic } from './periodic.ts';
import { leadEnded, Shipper } from './shipper.ts';
import { Tail } from './tail.ts';
import type { Timing } from './timing.ts';

/** The pause of a standby between two checks for rows and for the lease. */
const POLL_MS = 10;
const LEASE_POLL_MS = 200;
/**
 * The time between confirmations. Each is a commit of the database, and a standby is at least as stale as its last one
 * is old.
 */
const CONFIRM_MS = 200;
const STATUS_MS = 500;
const REPORT_MS = 1000;
const COMPARE_MS = 2000;
const TRIM_MS = 10_000;
/** If rows wait for longer, the log counts as not writable. */
const STALL_MS = 1000;
/** The most bytes that a leader takes from the outboxes before they are held. */
const MOST_WAITING_BYTES = 16 << 20;
/**
 * For this long after the log's database refused rows, no standby takes the lease. It could not be renewed meanwhile:
 * its holder renews it as soon as that is possible, and another leader would have done no better.
 */
const REFUSED_MS = 1500;
/** A planned stop waits this long for the last rows. */
const STOP_MS = 3000;

type Parts = {
  readonly options: Pick<ReplicationOptions, 'holder' | 'memory' | 'commandRings'> & { readonly formats: KnownFormats };
  readonly log: ReplicatedLog;
  readonly outboxes: Pick<Outboxes, 'watch' | 'take' | 'isEmpty' | 'end'>;
  readonly order: Pick<LogOrderProducer, 'put'>;
  readonly timing: Timing;
  /** Absent if no files of the directory are checked. */
  readonly files?: Pick<OwnFiles, 'mark' | 'ends' | 'prepare' | 'rejoin' | 'look' | 'copied' | 'leave' | 'stop'>;
  readonly post: (message: ReplicationMessage) => void;
};

export class Member {
  readonly #log: ReplicatedLog;
  readonly #post: Parts['post'];
  readonly #options: Parts['options'];
  readonly #files: Parts['files'];
  readonly #memory: Replication;
  readonly #outboxes: Parts['outboxes'];
  readonly #timing: Timing;
  readonly #periodic: Periodic;
  #shipper: Shipper | null = null;
  #isEnded = false;
  #epoch = 0;
  #leader: ReplicationStatus['leader'] = null;
  readonly #ages: Clock;
  readonly #held: HeldStreams;
  readonly #tail: Tail;
  readonly #reads: StartReads;
  readonly #handOvers: HandOvers;
  readonly #formerLead = new FormerLead();
  readonly #mayTake: MayTake;
  #mayLead: () => void = () => {};
  #facts: LogFacts = NO_FACTS;
  #problem: string | null = null;
  #hasRoom = true;

  constructor({ options, log, outboxes, order, timing, files, post }: Parts) {
    this.#options = options;
    this.#log = log;
    this.#post = (message) => {
      if (!this.#isEnded || 'lost' in message) post(message);
    };
    this.#memory = new Replication(options.memory);
    this.#ages = this.#memory.ages(timing);
    this.#held = new HeldStreams(this.#memory, options.commandRings, () => files?.mark ?? null);
    this.#tail = new Tail({
      log,
      timing,
      ages: this.#ages,
      order,
      formats: options.formats,
      onHeld: (rows, named) => this.#held.hold(rows, named),
      post: this.#post,
      isEnded: () => this.#isEnded,
    });
    this.#reads = patientReads(log, timing, this.#post);
    this.#mayTake = new MayTake(log, timing);
    this.#handOvers = new HandOvers(log, options.holder, (to) => this.#post({ handOver: to }));
    this.#outboxes = outboxes;
    this.#timing = timing;
    this.#periodic = new Periodic(timing);
    this.#files = files;
  }

  async open(): Promise<void> {
    const ends = await this.#log.ends();
    this.#held.hold(ends);
    this.#tail.see(ends);
    this.#post({ opened: { ends } });
  }

  receive(request: Exclude<ReplicationRequest, 'stop'>): void {
    if ('follow' in request) void this.#live(request.follow);
    else if ('prepare' in request)
      this.#answer(this.#files?.prepare(request.prepare, this.#reads) ?? Promise.resolve([]));
    else if ('copied' in request) this.#files?.copied(request.copied);
    else if ('rejoin' in request) this.#answer(this.#files?.rejoin(request.rejoin, this.#reads) ?? Promise.resolve([]));
    else if ('applied' in request) this.#tail.applied.apply(request.applied, request.durable);
    else if ('numbered' in request) this.#tail.applied.numbered(request.numbered);
    else if ('hasRoom' in request) this.#hasRoom = request.hasRoom;
    else if ('mayLead' in request) this.#mayLead();
    else void this.#handOvers.ask(request.handOver).then((asked) => this.#post({ asked }));
  }

  /** Planned stop: ships the remaining rows and gives the lease back, so that a standby takes it at once. */
  async stop(): Promise<void> {
    // A thread that gives a copy may take minutes to end: SQLite copies a long database.
    const filesStopped = this.#files?.stop();
    const shipper = this.#shipper;
    const deadlineMs = this.#timing.nowMs() + STOP_MS;
    const isShipped = (): boolean => this.#outboxes.isEmpty() && shipper?.waitingRows === 0;
    while (shipper !== null && !this.#isEnded && !isShipped() && this.#timing.nowMs() < deadlineMs) {
      this.#ship();
      await this.#timing.sleep(1);
    }
    const isLeader = this.#epoch > 0 && !this.#isEnded && this.#leader?.holder === this.#options.holder;
    if (!this.#isEnded) this.#end();
    if (isLeader) await Promise.race([this.#log.release(this.#epoch).catch(() => {}), this.#timing.sleep(STOP_MS)]);
    await this.#log.close();
    await filesStopped;
    this.#files?.mark?.close();
  }

  #answer(lines: Promise<readonly string[]>): void {
    lines.then((rejoined) => this.#post({ rejoined })).catch((error) => this.#lose(error.message, error));
  }

  async #live(ends: readonly LocalEnd[]): Promise<void> {
    try {
      this.#periodic.every(STATUS_MS, () => this.#postStatus());
      this.#periodic.every(REPORT_MS, () => this.#report());
      this.#periodic.every(REPORT_MS, () => this.#files?.look(this.#shipper !== null, () => this.#tail.isThere()));
      this.#periodic.every(COMPARE_MS, () => this.#compare());
      this.#periodic.every(SYNC_MS, () => this.#files?.mark?.sync());
      await this.#start(ends);
      this.#files?.mark?.follow();
      // A leader's lease renewals show the same.
      this.#periodic.every(CONFIRM_MS, () => (this.#epoch > 0 ? null : this.#tail.confirmed.ask()));
      const taken = await this.#follow();
      if (taken === null) return;
      const mayLead = new Promise<void>((resolve) => (this.#mayLead = resolve));
      // This precedes any row that a shard or store of this process writes (HELDMARK-4).
      this.#files?.mark?.lead(taken);
      this.#post({ role: 'leader', epoch: taken.epoch, ledUntilMs: this.#formerLead.untilMs });
      await mayLead;
      if (!this.#isEnded) this.#lead(taken);
    } catch (error) {
      this.#lose(errorMessage(error), error as Error);
    }
  }

  async #start(ends: readonly LocalEnd[]): Promise<void> {
    await this.#insist(async () => {
      const applied = await this.#tail.start(ends);
      // A member that is shown as a standby has reported, so the lead may be handed over to it.
      await this.#log.report(applied, { hasRoom: this.#hasRoom });
    });
  }

  #report(): Promise<void> {
    const [applied, hasRoom, filesProblem] = [this.#tail.applied.reached, this.#hasRoom, this.#filesProblem];
    const run = filesProblem === '' ? this.#mayTake.foundOn : '';
    return this.#log.report(this.#tail.durable(), { applied, hasRoom, filesProblem, run });
  }

  /** FILEENDS-1. */
  async #compare(): Promise<void> {
    await this.#files?.ends?.look({
      isLeader: this.#epoch > 0,
      durable: () => this.#tail.durable(),
      held: (stream) => this.#memory.held(stream),
    });
  }

  /** Why the files disagree with the log; empty if they agree as far as was seen. */
  get #filesProblem(): string {
    return this.#files?.ends?.problem ?? '';
  }

  /** @returns the lead of this process once every row was posted; null if the member was stopped */
  async #follow(): Promise<Taken | null> {
    let nextLookMs = 0;
    while (!this.#isEnded) {
      try {
        if (this.#timing.nowMs() >= nextLookMs) {
          const lease = this.#formerLead.noted(await this.#log.lease(), this.#timing.timeMs());
          const { now } = this.#log.runs;
          await this.#tail.requireThere();
          if (this.#mayTake.find(now)) await this.#report();
          nextLookMs = this.#timing.nowMs() + Math.min(LEASE_POLL_MS, Math.ceil(lease.expiresInMs));
          this.#show(lease);
          const taken = await this.#take(lease);
          if (taken !== null) return taken;
        }
        const count = await this.#tail.postNext();
        this.#problem = null;
        if (count === 0) await this.#timing.sleep(POLL_MS);
      } catch (error) {
        this.#rethrow(error);
        this.#tail.confirmed.note(error);
        await this.#timing.sleep(POLL_MS * 10);
      }
    }
    return null;
  }

  /** Takes the lease where it has ended. @returns the lead once every row was posted, or null. */
  async #take(lease: Lease): Promise<Taken | null> {
    const { holder, formats: known } = this.#options;
    const isForced = this.#handOvers.isForced(lease);
    const isFit = this.#hasRoom && this.#filesProblem === '';
    const lead = leadToTake(lease, this.#facts.members, { holder, known, isFit, isForced });
    if (lease.expiresInMs > 0) this.#mayTake.problem = null;
    if (lead === null) return null;
    if (!isForced && this.#tail.confirmed.wasRefused(REFUSED_MS)) return null;
    const run = await this.#mayTake.run(this.#files?.mark ?? null);
    if (run === null) return null;
    this.#memory.setRenewed(this.#ages.nowMs());
    const taken = await this.#log.take(isForced, { ...lead.taken, run });
    if (taken === null) return null;
    this.#memory.setFormats(lead.numbers);
    return this.#finish(taken);
  }

  /** Reads the log to its end, in the lease that this process has. */
  async #finish(taken: Taken): Promise<Taken | null> {
    const { epoch, end } = taken;
    this.#epoch = epoch;
    this.#memory.setEpoch(epoch);
    this.#periodic.every(RENEW_MS, () => this.#renew());
    while (!this.#isEnded && this.#tail.position < end) {
      await this.#insist(async () => {
        if ((await this.#tail.postNext()) === 0) await this.#timing.sleep(POLL_MS);
      });
    }
    // The lease may come from a server that lacks rows which this member has.
    await this.#insist(() => this.#tail.requireThere());
    this.#leader = { ...(await this.#insist(() => this.#log.lease())), epoch };
    return this.#isEnded ? null : taken;
  }

  #show({ holder, address, epoch, expiresInMs }: Lease): void {
    const leader = expiresInMs <= 0 || holder === '' ? null : { holder, address, epoch };
    const isSame = this.#memory.state() === 'standby' && this.#leader?.epoch === leader?.epoch;
    this.#leader = leader;
    if (isSame) return;
    this.#memory.setState('standby');
    this.#memory.setEpoch(epoch);
    this.#post({ role: 'standby', leader });
  }

  #lead(taken: Taken): void {
    const { epoch } = taken;
    this.#shipper = new Shipper({
      log: this.#log,
      timing: this.#timing,
      epoch,
      end: this.#tail.position,
      onHeld: (rows, position) => this.#shipped(rows, position, taken),
      onLost: (reason) => this.#lose(reason),
      onProblem: (problem) => {
        this.#problem = problem;
      },
    });
    this.#memory.setState('leader');
    this.#periodic.every(TRIM_MS, () => this.#log.trim());
    this.#periodic.every(TRIM_MS, () => this.#log.runs.note());
    this.#periodic.every(STALL_MS / 4, () => this.#watchStall());
    this.#outboxes.watch(() => this.#ship());
    this.#ship();
  }

  #ship(): void {
    const shipper = this.#shipper;
    if (shipper === null || this.#isEnded) return;
    shipper.add(this.#outboxes.take(MOST_WAITING_BYTES - shipper.waitingBytes));
  }

  #shipped(rows: readonly NewRow[], position: number, lead: Taken): void {
    if (this.#isEnded) return;
    this.#tail.held(rows, position, lead);
    this.#ship();
  }

  #watchStall(): void {
    const { oldestMs = 0, isRefused = false } = this.#shipper ?? {};
    const state = isRefused || oldestMs > STALL_MS ? 'stalled' : 'leader';
    if (!this.#isEnded && this.#memory.state() !== state) this.#memory.setState(state);
  }

  async #renew(): Promise<void> {
    const sentMs = this.#ages.nowMs();
    const isRenewed = await this.#log.renew(this.#epoch).catch((error: Error) => {
      this.#shipper?.doubt();
      throw error;
    });
    if (isRenewed) this.#memory.setRenewed(sentMs);
    else this.#lose(leadEnded(this.#epoch));
  }

  async #postStatus(): Promise<void> {
    try {
      this.#facts = await this.#log.facts();
      const names = this.#facts.members.map(({ holder }) => holder);
      const isLed = this.#shipper !== null || (this.#leader !== null && this.#mayTake.isRenewed);
      this.#files?.mark?.see(this.#facts.place, names, isLed);
      await this.#handOvers.look(this.#facts, {
        applied: this.#tail.durable(),
        leadsIn: this.#shipper === null ? null : this.#epoch,
      });
    } finally {
      const { waitingRows = 0, waitingBytes = 0, oldestMs: oldestWaitMs = 0, appendMs = 0 } = this.#shipper ?? {};
      const own = { waitingRows, waitingBytes, oldestWaitMs, appendMs, leader: this.#leader };
      this.#post({
        status: {
          ...this.#facts,
          ...own,
          filesProblem: this.#filesProblem,
          problem: this.#problem ?? this.#mayTake.problem ?? this.#periodic.problem ?? this.#tail.confirmed.problem,
        },
      });
    }
  }

  #lose(reason: string, error?: Error): void {
    if (this.#isEnded) return;
    this.#end();
    this.#memory.setState('lost');
    this.#held.wakeShards();
    if (error instanceof JoinAnewError) this.#files?.leave(reason);
    this.#post({ lost: reason, joinsAnew: error instanceof JoinAnewError });
  }

  #end(): void {
    assert(!this.#isEnded, 'MEMBER-2: it ends once');
    this.#isEnded = true;
    this.#periodic.end();
    this.#shipper?.end();
    this.#outboxes.end();
  }

  #insist<T>(run: () => Promise<T>): Promise<T> {
    return insist(run, async (error) => {
      this.#rethrow(error);
      if (this.#isEnded) throw error;
      await this.#timing.sleep(POLL_MS * 10);
    });
  }

  #rethrow(error: unknown): void {
    if (error instanceof NotAMemberError) throw error;
    this.#problem = errorMessage(error);
  }
}
