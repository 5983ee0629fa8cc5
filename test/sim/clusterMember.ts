/**
 * One process of a simulated cluster: the real member of the replicated log (member.ts) with its shipper and outboxes,
 * the real shards, and the real distribution of rows on a standby, each turn by turn. A small gateway stands for the
 * stores.
 */
import assert from 'node:assert/strict';
import { Member } from '../../engine/replication/member.ts';
import { Outboxes } from '../../engine/replication/outboxes.ts';
import { SnapshotMaker } from '../../engine/snapshot/maker.ts';
import { LogFollower } from '../../gateway/cluster/logFollower.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import type { KnownHead } from '../../shared/base/journalKey.ts';
import { NO_ROWS } from '../../shared/crypto/journalHeads.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { type LogRow, Replication } from '../../shared/wire/replication.ts';
import type { ReplicationMessage } from '../../shared/wire/threads.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import { FakeLog } from '../support/fakeLog.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import { ManualTiming, promisesKept } from '../support/manualTiming.ts';
import type { Random } from '../support/random.ts';
import { GATEWAY_STREAMS, SimGateway } from './clusterGateway.ts';
import { ClusterShard, type Fact, type MemberMemory, type Needs } from './clusterShard.ts';

const KEEP_RECORDS = 50;
/** The stores sync about so often (laterSync.ts). */
const SYNC_MS = 1000;
/** More than a world has. */
const WORLD_ACCOUNTS = 64;

type MemberOptions = {
  readonly name: string;
  readonly shards: number;
  readonly directory: string;
  readonly random: Random;
  readonly keccak: Keccak256;
  readonly database: FakeDatabase;
  /** By shard and sequence: what the log holds. */
  readonly facts: readonly Map<number, Fact>[];
  readonly needs: Needs;
  readonly nowMs: () => number;
  readonly holders: readonly number[];
  readonly onRunInVain: () => void;
};

/** `lost`: another leads; the process only has to end. */
type Role = 'down' | 'standby' | 'promoting' | 'leader' | 'lost';

export class SimMember {
  readonly name: string;
  role: Role = 'down';
  shards: ClusterShard[] = [];
  starts = 0;
  setAside = 0;
  reason = '';
  log!: FakeLog;
  gateway!: SimGateway;
  readonly #options: MemberOptions;
  readonly #random: Random;
  /** The files of the process beside its journals: they outlive it. */
  readonly #knownHeads: KnownHead[];
  /** For one process after the other: new memory of this size takes longer than what is done in it. */
  readonly #balances: SharedArrayBuffer;
  #memory!: MemberMemory;
  #maker!: SnapshotMaker;
  #member!: Member;
  #timing!: ManualTiming;
  #follower!: LogFollower;
  #reported = -1;
  #syncedMs = 0;
  /** Messages of the replication thread that the gateway has not read. */
  #mail: ReplicationMessage[] = [];
  #onRows: () => void = () => {};

  constructor(options: MemberOptions) {
    this.name = options.name;
    this.#options = options;
    this.#random = options.random;
    this.#knownHeads = Array.from({ length: options.shards }, () => NO_ROWS);
    this.gateway = new SimGateway();
    this.#balances = createBalances(options.shards);
  }

  get isUp(): boolean {
    return this.role !== 'down';
  }

  get epoch(): number {
    return this.isUp ? this.#replication.epoch() : 0;
  }

  /** True for one that believes to lead while another does. */
  get isDeposed(): boolean {
    return (this.role === 'leader' || this.role === 'lost') && this.epoch < this.#options.database.epoch;
  }

  get isQuiet(): boolean {
    if (this.#mail.length > 0 || !this.shards.every((shard) => shard.isQuiet)) return false;
    if (this.role === 'leader') return this.gateway.isAllHeld(this.#replication);
    return this.#follower.applied === this.#options.database.end && this.#follower.isIdle;
  }

  /** True for a row that this process counts as held. */
  holds({ stream, sequence }: LogRow): boolean {
    return this.isUp && this.#replication.held(stream) >= sequence;
  }

  /** The last sequences that are held, of all streams together. */
  get heldRows(): number {
    const streams = [...this.shards.map(({ shard }) => shard), ...GATEWAY_STREAMS];
    return streams.reduce((sum, stream) => sum + this.#replication.held(stream), 0);
  }

  get balances(): Balances {
    return new Balances(this.#memory.balances);
  }

  get #replication(): Replication {
    return new Replication(this.#memory.replication);
  }

  async start(): Promise<void> {
    const { shards, directory, database, name } = this.#options;
    this.#memory = {
      balances: cleared(this.#balances, 1 + shards),
      progress: Progress.create(shards),
      replication: Replication.create(shards),
    };
    this.shards = Array.from({ length: shards }, (_, shard) => {
      return new ClusterShard({ ...this.#options, shard, gateway: this.gateway }, this.#memory);
    });
    this.starts++;
    for (const shard of this.shards) {
      await shard.start(this.#knownHeads[shard.shard]!, `${this.starts}`);
      this.setAside += shard.setAside;
    }
    this.gateway.start(database);
    this.#maker = new SnapshotMaker({
      keys: this.shards.map(() => TEST_KEY),
      journalPaths: this.shards.map(({ journalPath }) => journalPath),
      directory,
      progress: this.#memory.progress,
      everyRecords: 1,
      keepRecords: KEEP_RECORDS,
    });
    this.log = new FakeLog(database, name);
    this.#timing = new ManualTiming(this.#options.nowMs());
    this.#mail = [];
    this.#reported = -1;
    const progress = new Progress(this.#memory.progress);
    this.#follower = new LogFollower(shards, {
      postRows: (shard, rows) => this.shards[shard]!.inbox.push(...rows),
      shown: (shard) => progress.committed(shard),
      applyRow: (row) => this.gateway.apply(row),
      durable: (stream) => this.gateway.durable(stream),
    });
    this.#member = this.#newMember();
    this.role = 'standby';
    this.reason = '';
    await this.#open();
  }

  #newMember(): Member {
    const outboxes = new Outboxes([...this.shards.map(({ outboxBuffer }) => outboxBuffer), this.gateway.outboxBuffer]);
    return new Member({
      options: { holder: this.name, memory: this.#memory.replication, commandRings: [], formats: FORMATS },
      log: this.log,
      outboxes: {
        take: (mostBytes) => outboxes.take(mostBytes),
        isEmpty: () => outboxes.isEmpty(),
        end: () => {},
        watch: (onRows) => {
          this.#onRows = onRows;
        },
      },
      order: { put: () => {} },
      timing: this.#timing,
      post: (message) => this.#mail.push(message),
    });
  }

  /** The log is opened at once: what a start waits for is not simulated. */
  async #open(): Promise<void> {
    void this.#member.open();
    this.log.settle();
    await promisesKept();
    assert.ok('opened' in this.#mail[0]!, 'a log that can be reached opens');
  }

  /** The process is killed, or the power goes. What it has sent to the log may arrive. */
  async kill(isPowerCut: boolean): Promise<void> {
    assert.ok(this.isUp, 'a process that runs is killed');
    for (const shard of this.shards) shard.die(isPowerCut);
    if (this.role === 'leader' && this.#random.chance(50)) {
      this.#onRows();
      await promisesKept();
    }
    this.log.cut('write', this.#random.chance(70));
    this.log.cut('read', false);
    this.gateway.die(isPowerCut, this.#random);
    this.role = 'down';
    this.shards = [];
    this.#onRows = () => {};
  }

  stop(): void {
    for (const shard of this.shards) shard.stop();
    this.role = 'down';
  }

  /** The time of the process goes on, up to now. @returns whether anything happened that promises may follow. */
  tick(): boolean {
    if (this.#options.nowMs() > this.#syncedMs + SYNC_MS) {
      this.gateway.sync();
      this.#syncedMs = this.#options.nowMs();
    }
    return this.#timing.advance(this.#options.nowMs() - this.#timing.nowMs());
  }

  /** The clock of its machine is set to another time. */
  setClock(byMs: number): void {
    this.#timing.set(byMs);
  }

  /** The replication thread looks into the outboxes, and the gateway reads a message of it. */
  turn(): void {
    this.#onRows();
    const message = this.#mail.shift();
    if (message !== undefined) this.#read(message);
    if (this.role === 'promoting') this.#promote();
    if (this.role !== 'standby' && this.role !== 'promoting') {
      if (this.role !== 'leader') return;
      this.gateway.deliver(this.#replication);
      this.#member.receive({ numbered: this.#options.database.held });
      return;
    }
    const { applied, durable } = this.#follower;
    if (applied + durable === this.#reported) return;
    this.#reported = applied + durable;
    this.#member.receive({ applied, durable });
    this.#member.receive({ numbered: applied });
  }

  #read(message: ReplicationMessage): void {
    if ('opened' in message) {
      const ofShards = this.shards.map(({ shard, engine }) => ({ stream: shard, sequence: engine.sequence }));
      this.#member.receive({ follow: [...ofShards, ...this.gateway.ends()] });
    } else if ('rows' in message) this.#follower.receive(message.rows, message.end, message.asOfMs);
    else if ('role' in message && message.role === 'leader') this.role = 'promoting';
    else if ('lost' in message) {
      this.role = 'lost';
      this.reason = message.lost;
    }
  }

  /** Every row is applied, every shard restores, and then all lead (BALANCES-3). */
  #promote(): void {
    if (!this.#follower.isIdle || this.shards.some(({ inbox }) => inbox.length > 0)) return;
    for (const shard of this.shards) shard.restore();
    for (const shard of this.shards) shard.lead();
    this.gateway.lead();
    this.#member.receive({ mayLead: true });
    this.role = 'leader';
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

  /** For a comparison: the rows of the gateway's streams. */
  gatewayRows(): readonly string[] {
    return GATEWAY_STREAMS.map((stream) => this.gateway.digest(stream));
  }
}

/** The cells of the few accounts that a world has, and the last cell of each row, are zero again. */
function cleared(balances: SharedArrayBuffer, rows: number): SharedArrayBuffer {
  const cells = balances.byteLength / 8 / rows;
  const words = new BigInt64Array(balances);
  for (let row = 0; row < rows; row++) {
    words.fill(0n, row * cells, row * cells + WORLD_ACCOUNTS);
    words[(row + 1) * cells - 1] = 0n;
  }
  return balances;
}
