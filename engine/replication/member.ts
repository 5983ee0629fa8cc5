/**
 * A member of a cluster: follows the log as a standby, takes the lease when it has ended, and then ships its rows.
 * Owner: the replication thread (main.ts), which has given it the log; tests give it another one.
 *
 *   opened ──► follow ──► standby ──── the lease has ended ────► leader ──► mayLead ──► ships
 *                           │  rows to the gateway                 │
 *                           └───────────── lost ◄──────────────────┘ another leads, or the log contradicts
 *
 * Invariants:
 *   MEMBER-1  Before `role: leader` is posted every row of the log was posted. Nothing is shipped before `mayLead`.
 *   MEMBER-2  `held` of a stream is set from rows that the log holds, never from rows that were sent.
 *   MEMBER-3  After `lost` nothing is posted, and nothing is held any more.
 *   MEMBER-4  A standby posts each row once, in order, and stops at a row that does not follow from the last one, and
 *             before the first one of a lead that writes formats which it does not know.
 *   MEMBER-5  What a standby posts with `asOfMs` is everything that the log held at that time: the server that it was
 *             read from was confirmed at that time, or later (CLUSTERLOG-5), and read at that time, or later.
 */
import { assert } from '../../shared/base/assert.ts';
import type { KnownFormats } from '../../shared/base/formats.ts';
import { type LogFacts, NO_FACTS } from '../../shared/wire/clusterStatus.ts';
import type { LogOrderProducer } from '../../shared/wire/logOrder.ts';
import { type LogRow, type NewRow, Replication } from '../../shared/wire/replication.ts';
import { wakeConsumer } from '../../shared/wire/ring.ts';
import type {
  LocalEnd,
  ReplicationMessage,
  ReplicationOptions,
  ReplicationRequest,
  ReplicationStatus,
} from '../../shared/wire/threads.ts';
import { AppliedPositions } from './applied.ts';
import { Confirmed } from './confirmed.ts';
import { requireReadable } from './formatsOfMember.ts';
import { FormerLead, RENEW_MS } from './formerLead.ts';
import { requireInOrder } from './gaps.ts';
import { HandOvers } from './handOver.ts';
import { rejoinJournals } from './journals.ts';
import { LastRow } from './lastRow.ts';
import { JoinAnewError, type Lease, MOST_ROWS_READ, NotAMemberError, type ReplicatedLog } from './log.ts';
import { leadToTake } from './nextLead.ts';
import type { Outboxes } from './outboxes.ts';
import type { OwnFiles } from './ownFiles.ts';
import { patientReads } from './patientReads.ts';
import { insist, Periodic } from './periodic.ts';
import { Shipper } from './shipper.ts';
import { findStart } from './start.ts';
import type { Timing } from './timing.ts';

/** The pause of a standby between two looks for rows, and for the lease. */
const POLL_MS = 10;
const LEASE_POLL_MS = 200;
/** Each is a commit of the database: a standby is at least as stale as its last one is old. */
const CONFIRM_MS = 200;
const STATUS_MS = 500;
const REPORT_MS = 1000;
const TRIM_MS = 10_000;
/** Rows that wait for longer mean that the log cannot be written. */
const STALL_MS = 1000;
/** Of rows that a leader has taken from the outboxes and that are not held. */
const MOST_WAITING_BYTES = 16 << 20;
const READ_BYTES = 1 << 20;
/** A planned end waits so long for the last rows. */
const STOP_MS = 3000;

type Parts = {
  readonly options: Pick<ReplicationOptions, 'holder' | 'memory' | 'commandRings'> & { readonly formats: KnownFormats };
  readonly log: ReplicatedLog;
  readonly outboxes: Pick<Outboxes, 'watch' | 'take' | 'isEmpty' | 'end'>;
  readonly order: Pick<LogOrderProducer, 'put'>;
  readonly timing: Timing;
  /** Absent: nothing of the directory is looked at. */
  readonly files?: Pick<OwnFiles, 'prepare' | 'look' | 'copied' | 'leave' | 'stop'>;
  readonly post: (message: ReplicationMessage) => void;
};

export class Member {
  readonly #log: ReplicatedLog;
  readonly #post: Parts['post'];
  readonly #options: Parts['options'];
  readonly #files: Parts['files'];
  readonly #memory: Replication;
  readonly #outboxes: Parts['outboxes'];
  readonly #order: Parts['order'];
  readonly #timing: Timing;
  readonly #periodic: Periodic;
  #shipper: Shipper | null = null;
  #isEnded = false;
  #epoch = 0;
  #leader: ReplicationStatus['leader'] = null;
  /** The last row that was posted, or held. */
  #position = 0;
  /** Rows up to here were applied before this process started: some are read again only for their names. */
  #appliedBefore = 0;
  readonly #applied = new AppliedPositions();
  readonly #confirmed: Confirmed;
  /** The newest `asOfMs` that was posted. */
  #postedMs = 0;
  readonly #last: LastRow;
  /** The last sequence of each stream that this process had before it followed. */
  #local: ReadonlyMap<number, number> = new Map();
  readonly #handOvers: HandOvers;
  readonly #formerLead = new FormerLead();
  #mayLead: () => void = () => {};
  #facts: LogFacts = NO_FACTS;
  #problem: string | null = null;
  #hasRoom = true;

  constructor({ options, log, outboxes, order, timing, files, post }: Parts) {
    this.#options = options;
    this.#log = log;
    this.#last = new LastRow(log);
    this.#confirmed = new Confirmed(log, timing);
    this.#post = (message) => {
      if (!this.#isEnded || 'lost' in message) post(message);
    };
    this.#memory = new Replication(options.memory);
    this.#handOvers = new HandOvers(log, options.holder, (to) => this.#post({ handOver: to }));
    this.#outboxes = outboxes;
    this.#order = order;
    this.#timing = timing;
    this.#periodic = new Periodic(timing, ({ message }) => {
      this.#problem = message;
    });
    this.#files = files;
  }

  async open(): Promise<void> {
    const ends = await this.#log.ends();
    for (const end of ends) this.#hold(end.stream, end.sequence);
    for (const end of ends) this.#last.see(end);
    this.#post({ opened: { ends } });
  }

  receive(request: Exclude<ReplicationRequest, 'stop'>): void {
    if ('follow' in request) void this.#live(request.follow);
    else if ('prepare' in request) this.#answer(this.#files?.prepare(request.prepare) ?? Promise.resolve([]));
    else if ('copied' in request) this.#files?.copied(request.copied);
    else if ('rejoin' in request)
      this.#answer(rejoinJournals(patientReads(this.#log, this.#timing, this.#post), request.rejoin));
    else if ('applied' in request) this.#applied.apply(request.applied, request.durable);
    else if ('numbered' in request) this.#applied.numbered(request.numbered);
    else if ('hasRoom' in request) this.#hasRoom = request.hasRoom;
    else if ('mayLead' in request) this.#mayLead();
    else void this.#handOvers.ask(request.handOver).then((asked) => this.#post({ asked }));
  }

  /** The planned end: ships what is left, and gives the lease back, so that a standby takes it at once. */
  async stop(): Promise<void> {
    await this.#files?.stop();
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
  }

  #answer(lines: Promise<readonly string[]>): void {
    lines.then((rejoined) => this.#post({ rejoined })).catch((error) => this.#lose(error.message, error));
  }

  async #live(ends: readonly LocalEnd[]): Promise<void> {
    try {
      this.#periodic.every(STATUS_MS, () => this.#postStatus());
      this.#periodic.every(REPORT_MS, () =>
        this.#log.report(this.#applied.durable(this.#timing.nowMs()), this.#hasRoom),
      );
      this.#periodic.every(REPORT_MS, () => this.#files?.look(this.#shipper !== null));
      await this.#start(ends);
      // A leader's renewals show the same.
      this.#periodic.every(CONFIRM_MS, () => (this.#epoch > 0 ? null : this.#confirmed.ask()));
      const epoch = await this.#follow();
      if (epoch === null) return;
      const mayLead = new Promise<void>((resolve) => (this.#mayLead = resolve));
      this.#post({ role: 'leader', epoch, ledUntilMs: this.#formerLead.untilMs });
      await mayLead;
      if (!this.#isEnded) this.#lead(epoch);
    } catch (error) {
      this.#lose((error as Error).message, error as Error);
    }
  }

  async #start(ends: readonly LocalEnd[]): Promise<void> {
    await this.#insist(async () => {
      const { applied, position } = await findStart(this.#log, ends);
      // The log has them, or nothing of their stream, and they are not read again.
      for (const { stream, sequence } of ends) this.#hold(stream, sequence);
      this.#appliedBefore = applied;
      this.#position = position;
      await this.#last.requireThere();
      // A member that is shown as a standby has reported, so the lead may be handed over to it.
      await this.#log.report(applied, this.#hasRoom);
    });
    this.#applied.apply(this.#appliedBefore, this.#appliedBefore);
    this.#applied.numbered(this.#position);
    this.#local = new Map(ends.map(({ stream, sequence }) => [stream, sequence]));
  }

  /** @returns the epoch in which this process leads, once every row was posted; null when it was ended. */
  async #follow(): Promise<number | null> {
    let nextLookMs = 0;
    while (!this.#isEnded) {
      try {
        if (this.#timing.nowMs() >= nextLookMs) {
          const lease = this.#formerLead.noted(await this.#log.lease(), this.#timing.timeMs());
          await this.#last.requireThere();
          nextLookMs = this.#timing.nowMs() + Math.min(LEASE_POLL_MS, Math.ceil(lease.expiresInMs));
          this.#show(lease);
          const epoch = await this.#take(lease);
          if (epoch !== null) return epoch;
        }
        const count = await this.#postNext();
        this.#problem = null;
        if (count === 0) await this.#timing.sleep(POLL_MS);
      } catch (error) {
        this.#rethrow(error);
        await this.#timing.sleep(POLL_MS * 10);
      }
    }
    return null;
  }

  /** Takes the lease where it has ended. @returns the epoch once every row was posted, or null. */
  async #take(lease: Lease): Promise<number | null> {
    const { holder, formats: known } = this.#options;
    const isForced = this.#handOvers.isForced(lease);
    const lead = leadToTake(lease, this.#facts.members, { holder, known, hasRoom: this.#hasRoom, isForced });
    if (lead === null) return null;
    this.#memory.setRenewed(this.#timing.timeMs());
    const taken = await this.#log.take(isForced, lead.texts);
    if (taken === null) return null;
    this.#memory.setFormats(lead.numbers);
    return this.#finish(taken.epoch, taken.end);
  }

  /** Reads the log to its end, in the lease that this process has. */
  async #finish(epoch: number, end: number): Promise<number | null> {
    this.#epoch = epoch;
    this.#memory.setEpoch(epoch);
    this.#periodic.every(RENEW_MS, () => this.#renew());
    while (!this.#isEnded && this.#position < end) {
      await this.#insist(async () => {
        if ((await this.#postNext()) === 0) await this.#timing.sleep(POLL_MS);
      });
    }
    // The lease may be that of a server which lacks rows that this member has.
    await this.#insist(() => this.#last.requireThere());
    this.#leader = { ...(await this.#insist(() => this.#log.lease())), epoch };
    return this.#isEnded ? null : epoch;
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

  /** Posts the next rows, unless the gateway has enough of them. @returns how many came. */
  async #postNext(): Promise<number> {
    if (this.#applied.isFull) return 0;
    const askedMs = this.#timing.timeMs();
    const { rows, server } = await this.#log.readAfter(this.#position, READ_BYTES);
    // Rows of another lead may be of a log that has lost what this member has, with others in its place.
    if (rows.some((row) => this.#last.isOfAnotherLead(row))) {
      await this.#last.requireThere();
      requireReadable(await this.#log.lease(), this.#options.formats);
    }
    if (this.#isEnded) return 0;
    requireInOrder(rows, this.#position, this.#appliedBefore);
    const bytes = rows.reduce((sum, row) => sum + row.bytes.length, 0);
    if (rows.length > 0) {
      this.#position = rows.at(-1)!.position;
      this.#last.see(rows.at(-1)!);
      this.#applied.posted(this.#position, bytes);
    }
    this.#order.put(rows);
    const fresh = rows.filter(({ stream, sequence }) => sequence > (this.#local.get(stream) ?? 0));
    for (const { stream, sequence } of fresh) this.#hold(stream, sequence);
    const isEnd = bytes < READ_BYTES && rows.length < MOST_ROWS_READ;
    const asOfMs = isEnd ? this.#confirmed.asOfMs(server, askedMs) : null;
    // Without rows the message only says how new the state of the standby is.
    if (rows.length === 0 && (asOfMs === null || asOfMs <= this.#postedMs)) return 0;
    this.#postedMs = Math.max(this.#postedMs, asOfMs ?? 0);
    this.#post({ rows: fresh satisfies readonly LogRow[], end: this.#position, asOfMs });
    return rows.length;
  }

  #lead(epoch: number): void {
    this.#shipper = new Shipper({
      log: this.#log,
      timing: this.#timing,
      epoch,
      end: this.#position,
      onHeld: (rows, position) => this.#held(rows, position),
      onLost: (reason) => this.#lose(reason),
      onProblem: (problem) => {
        this.#problem = problem;
      },
    });
    this.#memory.setState('leader');
    this.#periodic.every(TRIM_MS, () => this.#log.trim());
    this.#periodic.every(STALL_MS / 4, () => this.#watchStall());
    this.#outboxes.watch(() => this.#ship());
    this.#ship();
  }

  #ship(): void {
    const shipper = this.#shipper;
    if (shipper === null || this.#isEnded) return;
    shipper.add(this.#outboxes.take(MOST_WAITING_BYTES - shipper.waitingBytes));
  }

  #held(rows: readonly NewRow[], position: number): void {
    if (this.#isEnded) return;
    // Before `held`: an event that follows from a row comes after its name (LOGORDER-2).
    this.#order.put(rows.map((row, index) => ({ ...row, position: position - rows.length + index + 1 })));
    const ends = new Map(rows.map(({ stream, sequence }) => [stream, sequence]));
    for (const [stream, sequence] of ends) this.#hold(stream, sequence);
    this.#position = position;
    this.#applied.held(position, this.#timing.nowMs());
    this.#ship();
  }

  #hold(stream: number, sequence: number): void {
    if (sequence <= this.#memory.held(stream)) return;
    this.#memory.setHeld(stream, sequence);
    const ring = this.#options.commandRings[stream];
    if (ring !== undefined) wakeConsumer(ring);
  }

  #watchStall(): void {
    const state = (this.#shipper?.oldestMs ?? 0) > STALL_MS ? 'stalled' : 'leader';
    if (!this.#isEnded && this.#memory.state() !== state) this.#memory.setState(state);
  }

  async #renew(): Promise<void> {
    const sentMs = this.#timing.timeMs();
    const isRenewed = await this.#log.renew(this.#epoch).catch((error: Error) => {
      this.#shipper?.doubt();
      throw error;
    });
    if (isRenewed) this.#memory.setRenewed(sentMs);
    else this.#lose(`another process leads since epoch ${this.#epoch}`);
  }

  async #postStatus(): Promise<void> {
    try {
      this.#facts = await this.#log.facts();
      await this.#handOvers.look(this.#facts, {
        applied: this.#applied.durable(this.#timing.nowMs()),
        leadsIn: this.#shipper === null ? null : this.#epoch,
      });
    } finally {
      const { waitingRows = 0, waitingBytes = 0, oldestMs: oldestWaitMs = 0, appendMs = 0 } = this.#shipper ?? {};
      const own = { waitingRows, waitingBytes, oldestWaitMs, appendMs, leader: this.#leader };
      this.#post({ status: { ...this.#facts, ...own, problem: this.#problem ?? this.#confirmed.problem } });
    }
  }

  #lose(reason: string, error?: Error): void {
    if (this.#isEnded) return;
    this.#end();
    this.#memory.setState('lost');
    for (const ring of this.#options.commandRings) wakeConsumer(ring);
    if (error instanceof JoinAnewError) this.#files?.leave(reason);
    this.#post({ lost: reason, joinsAnew: error instanceof JoinAnewError });
  }

  #end(): void {
    assert(!this.#isEnded, 'MEMBER-3: it ends once');
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
    this.#problem = (error as Error).message;
  }
}
