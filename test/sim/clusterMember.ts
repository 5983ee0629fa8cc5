/**
 * One process of a simulated cluster: its shards, and in the place of the replication thread a small one that reads the
 * log, takes the lease when it has ended, and ships the rows of the outboxes, several appends at a time.
 */
import assert from 'node:assert/strict';
import { SnapshotMaker } from '../../engine/snapshot/maker.ts';
import type { KnownHead } from '../../shared/base/journalKey.ts';
import { NO_ROWS } from '../../shared/crypto/journalHeads.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { type NewRow, Replication } from '../../shared/wire/replication.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import type { Random } from '../support/random.ts';
import { type Answer, type Request, SimConnection, type SimLog } from './clusterLog.ts';
import { ClusterShard, type MemberMemory } from './clusterShard.ts';

const MOST_UNDER_WAY = 3;
const MOST_ROWS_SENT = 4;
const KEEP_RECORDS = 50;

type MemberOptions = {
  readonly name: string;
  readonly shards: number;
  readonly directory: string;
  readonly random: Random;
  readonly keccak: Keccak256;
  readonly log: SimLog;
  readonly nowMs: () => number;
  readonly holders: readonly number[];
};

/** `lost`: another leads; the process only has to end. */
type Role = 'down' | 'standby' | 'promoting' | 'leader' | 'lost';

export class Member {
  readonly name: string;
  role: Role = 'down';
  shards: ClusterShard[] = [];
  epoch = 0;
  starts = 0;
  setAside = 0;
  readonly connection: SimConnection;
  readonly #options: MemberOptions;
  readonly #random: Random;
  /** The files of the process beside its journals: they outlive it. */
  readonly #knownHeads: KnownHead[];
  #memory!: MemberMemory;
  #maker!: SnapshotMaker;
  /** The rows of the log up to here were posted to the shards. */
  #position = 0;
  #isReading = false;
  /** Of a leader: the log's end as far as it is known to be held, and where the next append goes. */
  #lastHeld = 0;
  #nextAfter = 0;
  #underWay = 0;
  #isResolving = false;
  /** Rows that are not held: the first of them were sent. */
  #unheld: NewRow[] = [];
  #sent = 0;

  constructor(options: MemberOptions) {
    this.name = options.name;
    this.#options = options;
    this.#random = options.random;
    this.#knownHeads = Array.from({ length: options.shards }, () => NO_ROWS);
    this.connection = new SimConnection(options.log, options.random, (answer, request) => this.#hear(answer, request));
  }

  get isUp(): boolean {
    return this.role !== 'down';
  }

  /** True for one that believes to lead while another does. */
  get isDeposed(): boolean {
    return (this.role === 'leader' || this.role === 'lost') && this.epoch < this.#options.log.epoch;
  }

  get isQuiet(): boolean {
    if (!this.shards.every((shard) => shard.isQuiet)) return false;
    return this.role === 'leader' ? this.#unheld.length === 0 : this.#position === this.#options.log.rows.length;
  }

  get balances(): Balances {
    return new Balances(this.#memory.balances);
  }

  async start(): Promise<void> {
    const { shards, directory, log } = this.#options;
    this.#memory = {
      balances: createBalances(shards),
      progress: Progress.create(shards),
      replication: Replication.create(shards),
    };
    this.shards = Array.from({ length: shards }, (_, shard) => {
      return new ClusterShard({ ...this.#options, shard }, this.#memory);
    });
    this.starts++;
    for (const shard of this.shards) {
      await shard.start(this.#knownHeads[shard.shard]!, `${this.starts}`);
      this.setAside += shard.setAside;
    }
    this.#position = Math.min(...this.shards.map((shard) => log.positionOf(shard.shard, shard.engine.sequence)));
    this.#maker = new SnapshotMaker({
      keys: this.shards.map(() => TEST_KEY),
      journalPaths: this.shards.map(({ journalPath }) => journalPath),
      directory,
      progress: this.#memory.progress,
      everyRecords: 1,
      keepRecords: KEEP_RECORDS,
    });
    this.role = 'standby';
  }

  /** The process is killed. What it has sent to the log may arrive. */
  kill(): void {
    assert.ok(this.isUp, 'a process that runs is killed');
    const isLeader = this.role === 'leader';
    const rows = this.shards.flatMap((shard) => shard.die());
    if (isLeader && !this.#isResolving && rows.length > 0 && this.#random.chance(50)) {
      this.#unheld.push(...rows);
      this.#ship();
    }
    this.connection.cut();
    Object.assign(this, { role: 'down', shards: [] });
    this.#isReading = false;
    this.#isResolving = false;
    this.#unheld = [];
    this.#sent = 0;
    this.#underWay = 0;
  }

  stop(): void {
    for (const shard of this.shards) shard.stop();
    this.role = 'down';
  }

  cut(): void {
    this.connection.cut();
    this.#isReading = false;
    if (this.role === 'leader') this.#resolve();
  }

  /** One turn of the replication thread. */
  turn(): void {
    switch (this.role) {
      case 'standby':
        if (this.#random.chance(10)) this.connection.send({ kind: 'take', holder: this.name });
        else this.#read();
        break;
      case 'promoting':
        this.#promote();
        break;
      case 'leader':
        this.#collect();
        if (this.#random.chance(20)) this.connection.send({ kind: 'renew', epoch: this.epoch });
        else this.#ship();
    }
  }

  /** Makes snapshots, as far as the read models follow, and notes the heads. @param kept by shard. */
  housekeep(kept: (shard: number) => number): void {
    const progress = new Progress(this.#memory.progress);
    for (const { shard, knownHead } of this.shards) {
      this.#knownHeads[shard] = knownHead;
      const sequence = Math.min(kept(shard), progress.committed(shard));
      progress.setProjected(shard, sequence);
      progress.setKept(shard, sequence);
    }
    this.#maker.makeDue(true);
  }

  #hear(answer: Answer, request: Request): void {
    switch (answer.kind) {
      case 'take':
        if (answer.taken === null || this.role !== 'standby') return;
        this.epoch = answer.taken.epoch;
        this.#lastHeld = answer.taken.end;
        this.role = 'promoting';
        return;
      case 'read':
        this.#isReading = false;
        for (const row of answer.rows) this.shards[row.stream]!.inbox.push(row);
        this.#position = answer.rows.at(-1)?.position ?? this.#position;
        return;
      case 'renew':
        if (!answer.isLeader) this.role = 'lost';
        return;
      case 'append':
        this.#underWay--;
        assert.ok(request.kind === 'append');
        if (answer.isAdded) this.#held(request.rows.length);
        else if (!this.#isResolving) this.#resolve();
        return;
      case 'resolve':
        this.#isResolving = false;
        if (!answer.isLeader) {
          this.role = 'lost';
          return;
        }
        for (const { stream, sequence } of answer.rows) {
          const { stream: ownStream, sequence: ownSequence } = this.#unheld[0]!;
          assert.deepEqual({ stream, sequence }, { stream: ownStream, sequence: ownSequence }, 'only a leader appends');
          this.#held(1);
        }
        this.#nextAfter = this.#lastHeld;
        this.#sent = 0;
    }
  }

  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.connection.send({ kind: 'read', after: this.#position });
  }

  /** The tail is read to its end and applied, every shard restores, and then all lead (BALANCES-3). */
  #promote(): void {
    if (this.#position < this.#lastHeld) {
      this.#read();
      return;
    }
    if (this.shards.some(({ inbox }) => inbox.length > 0)) return;
    const replication = new Replication(this.#memory.replication);
    for (const shard of this.shards) shard.restore();
    for (const { shard, engine } of this.shards) replication.setHeld(shard, engine.sequence);
    for (const shard of this.shards) shard.lead();
    this.#nextAfter = this.#lastHeld;
    this.role = 'leader';
  }

  /** The rows of one shard keep their order; between shards any does, for a shard only spends what is held. */
  #collect(): void {
    for (let count = this.#random.below(4); count > 0; count--) {
      const row = this.#random.pick(this.shards).outbox.next();
      if (row !== null) this.#unheld.push(row);
    }
  }

  #ship(): void {
    if (this.#isResolving || this.#underWay >= MOST_UNDER_WAY) return;
    const rows = this.#unheld.slice(this.#sent, this.#sent + 1 + this.#random.below(MOST_ROWS_SENT));
    if (rows.length === 0) return;
    this.connection.send({ kind: 'append', epoch: this.epoch, after: this.#nextAfter, rows });
    this.#sent += rows.length;
    this.#nextAfter += rows.length;
    this.#underWay++;
  }

  #resolve(): void {
    this.#isResolving = true;
    this.#underWay = 0;
    this.connection.cut();
    this.connection.send({ kind: 'resolve', epoch: this.epoch, lastHeld: this.#lastHeld });
  }

  #held(count: number): void {
    const replication = new Replication(this.#memory.replication);
    for (const { stream, sequence } of this.#unheld.splice(0, count)) replication.setHeld(stream, sequence);
    this.#sent = Math.max(0, this.#sent - count);
    this.#lastHeld += count;
  }
}
