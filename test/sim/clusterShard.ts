/**
 * One shard of one member of a simulated cluster: the real journal, engine, follower and loop, turn by turn. It follows
 * from its start on, and leads on request.
 *
 * Invariants:
 *   SIMMEMBER-1  A record whose events were published is in the log, and is the same record there. A leader publishes
 *                it when a standby of the database has it; a standby may have read it before, after a warning.
 *   SIMMEMBER-2  Published records have no gap, across followers and leaders.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Engine } from '../../engine/core/engine.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { ReplicatedJournal } from '../../engine/journal/replicatedJournal.ts';
import type { ShardKey } from '../../engine/journal/shardKey.ts';
import { Follower } from '../../engine/shard/follower.ts';
import { Gateways } from '../../engine/shard/gateways.ts';
import { ShardLoop } from '../../engine/shard/loop.ts';
import { Outlet } from '../../engine/shard/outlet.ts';
import { recover } from '../../engine/shard/recovery.ts';
import { digestsBy } from '../../engine/verify/orderChecks.ts';
import { ShardChecks } from '../../engine/verify/shardChecks.ts';
import { hasherFor } from '../../shared/crypto/eip712.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances } from '../../shared/wire/balances.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';
import { decodeEvent } from '../../shared/wire/events.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { type LogRow, OutboxProducer, Replication } from '../../shared/wire/replication.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import { FakeBatches } from '../support/batchVerifier.ts';
import { DOMAIN } from '../support/engine.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import { TEST_KEYS } from '../support/journalKey.ts';
import type { Random } from '../support/random.ts';
import type { SimGateway } from './clusterGateway.ts';
import { type Command, marketOf, send, simVerifier } from './command.ts';
import type { Conversation } from './conversation.ts';
import { cutDuringCommit, Image } from './image.ts';
import { ROWS_OF_RECORD } from './simShard.ts';

/** Small, so that both rings are full now and then. */
const RING_BYTES = 8192;
const OUTBOX_BYTES = 4096;
/** One in this many requests has a key. */
const ANSWERED_EVERY = 4;

export type MemberMemory = {
  readonly balances: SharedArrayBuffer;
  readonly progress: SharedArrayBuffer;
  readonly replication: SharedArrayBuffer;
};

/** Every published record equals one of these. */
type Fact = { readonly timeMs: number; readonly command: number };
/** By sequence number: several facts if the log was lost and another one has other rows. */
export type Facts = Map<number, Fact[]>;

/** By epoch, shard and record: the changes of the gateway on which its command depends. */
export type Needs = Map<string, number>;

type ClusterShardOptions = {
  readonly shard: number;
  readonly shards: number;
  readonly directory: string;
  readonly random: Random;
  readonly keccak: Keccak256;
  readonly database: FakeDatabase;
  readonly gateway: SimGateway;
  readonly facts: readonly Facts[];
  readonly needs: Needs;
  readonly nowMs: () => number;
  readonly holders: readonly number[];
  /** Called when a leader runs a command after another one began to serve clients. */
  readonly onRunInVain: () => void;
};

type Phase = 'readAhead' | 'run' | 'step' | 'commit' | 'credit' | 'publish';

/** The net of each holder at the end of a batch. */
type Nets = { readonly sequence: number; readonly micro: readonly number[] };

export class ClusterShard {
  readonly journalPath: string;
  readonly key: ShardKey;
  readonly outboxBuffer = createRingBuffer(OUTBOX_BYTES);
  engine!: Engine;
  phase: Phase = 'readAhead';
  /** Rows that the replication thread has posted and the shard has not applied. */
  readonly inbox: LogRow[] = [];
  /** The nets as of the last batch that the log holds. */
  heldNets: readonly number[] = [];
  /** The gateway's side, where clients talk to this member. */
  conversation: Conversation | null = null;
  readonly #options: ClusterShardOptions;
  readonly #memory: MemberMemory;
  readonly #commandRing = createRingBuffer(RING_BYTES);
  readonly #eventRing = createRingBuffer(RING_BYTES);
  readonly #commandsIn = new RingProducer(this.#commandRing);
  readonly #eventsOut = new RingConsumer(this.#eventRing);
  #journal!: Journal;
  #outlet!: Outlet;
  #follower!: Follower;
  #loop: ShardLoop | null = null;
  #checks!: ShardChecks;
  #published = 0;
  #unheldNets: Nets[] = [];
  #arrivedMs = 0;
  /** By request: the changes of the gateway before it. */
  readonly #changesBefore = new Map<number, number>();

  constructor(options: ClusterShardOptions, memory: MemberMemory) {
    this.#options = options;
    this.#memory = memory;
    this.journalPath = join(options.directory, `journal-${options.shard}.db`);
    this.key = TEST_KEYS[options.shard]!;
  }

  get shard(): number {
    return this.#options.shard;
  }

  get isQuiet(): boolean {
    const idle = this.phase === 'readAhead' && this.#commandsIn.usedBytes() === 0 && this.#eventsOut.isEmpty();
    if (this.#loop === null) return idle && this.inbox.length === 0;
    return idle && this.#loop.isAllHeld && !this.#loop.hasSteps;
  }

  get hasUnheld(): boolean {
    return this.#loop !== null && !this.#loop.isAllHeld;
  }

  /** A new thread, whose journal agrees with the log. */
  start(): void {
    const { shard, shards, directory, keccak } = this.#options;
    const { journalPath, key } = this;
    this.#journal = Journal.open({ shard, shards, journalPath, key, journalSync: 'full' });
    this.#checks = new ShardChecks({
      digests: digestsBy(hasherFor(DOMAIN, keccak)),
      verifier: new FakeBatches(simVerifier, 8),
    });
    const { engine, damaged } = recover(this.#journal, directory, shard, () => this.#makeEngine());
    assert.deepEqual(damaged, [], 'every snapshot is of records that are held');
    this.engine = engine;
    this.#published = engine.sequence;
    const progress = new Progress(this.#memory.progress);
    progress.setCommitted(shard, engine.sequence);
    this.#outlet = new Outlet(engine, new Gateways({ commandRing: this.#commandRing, eventRing: this.#eventRing }));
    engine.describe(() => {
      while (!this.#outlet.publish()) this.listen();
    });
    this.listen();
    const events = { waitForRoom: () => this.listen() };
    this.#follower = new Follower({ shard, engine, journal: this.#journal, progress, outlet: this.#outlet, events });
  }

  restore(): void {
    assert.equal(this.inbox.length, 0, 'SHARDFOLLOWER-3: every row is applied');
    this.listen();
    const rules = new Replication(this.#memory.replication).format('engine');
    this.engine.goLive(undefined, undefined, rules);
    this.heldNets = this.#nets();
  }

  lead(): void {
    const { shard } = this.#options;
    const replication = new Replication(this.#memory.replication);
    const outbox = new OutboxProducer(this.outboxBuffer);
    const journal = new ReplicatedJournal({ shard, journal: this.#journal, replication, outbox });
    this.#loop = new ShardLoop({
      shard,
      engine: this.engine,
      journal,
      progress: new Progress(this.#memory.progress),
      outlet: this.#outlet,
      checks: this.#checks,
      clock: { nowMs: () => this.#noteArrival() },
      isReplicated: true,
    });
    const { engine } = this;
    const submit = engine.submit.bind(engine);
    engine.submit = (words, bytes, word, isOvertaking) => {
      const requestId = words[word + ANY_COMMAND.requestId]!;
      const timeMs = readSafe(words, word + ANY_COMMAND.timeMs);
      if (this.conversation === null) this.#options.onRunInVain();
      this.conversation?.willRun(engine, requestId, timeMs, this.#arrivedMs);
      const before = engine.sequence;
      submit(words, bytes, word, isOvertaking);
      if (engine.sequence > before) this.#noteNeed(requestId, engine.sequence);
    };
  }

  /** @returns false when the ring is full: nothing was sent. */
  send(command: Command, timeMs: number, requestId = this.conversation?.nextRequestId() ?? 1): boolean {
    const isSent = send(this.#commandsIn, requestId, timeMs, command, this.#toIndex);
    if (isSent && this.conversation !== null) {
      this.conversation.wasSent(command, timeMs);
      this.#changesBefore.set(requestId, this.#options.gateway.changes);
    }
    return isSent;
  }

  #noteNeed(requestId: number, sequence: number): void {
    const changes = this.#changesBefore.get(requestId);
    const epoch = new Replication(this.#memory.replication).epoch();
    if (changes !== undefined) this.#options.needs.set(`${epoch}/${this.shard}/${sequence}`, changes);
  }

  /** One turn, as shard/turns.ts and shard/follower.ts take them. */
  turn(): void {
    if (this.#loop === null) {
      const rows = this.inbox.splice(0, 1 + this.#options.random.below(4));
      if (rows.length > 0) this.#follower.apply(rows);
      else this.#follower.idle();
      return;
    }
    const loop = this.#loop;
    switch (this.phase) {
      case 'readAhead':
        if (loop.ranCount === 0 && loop.isHeldDue) this.phase = 'credit';
        else if (!loop.mayRun) loop.handOver();
        else if (loop.readAhead() && !this.#endsBatch(loop)) this.phase = 'run';
        else if (loop.ranCount > 0 || loop.hasSteps) this.phase = 'step';
        else loop.idle();
        break;
      case 'run':
        loop.run();
        this.phase = 'readAhead';
        break;
      case 'step':
        if (loop.isStepDue) loop.step();
        this.phase = 'commit';
        break;
      case 'commit':
        if (loop.commit()) this.#unheldNets.push({ sequence: this.engine.sequence, micro: this.#nets() });
        this.phase = 'credit';
        break;
      case 'credit':
        this.#noteHeld();
        loop.credit();
        this.phase = 'publish';
        break;
      case 'publish':
        if (loop.publish()) this.phase = 'readAhead';
    }
  }

  /** The gateway reads published events. */
  listen(limit = Number.POSITIVE_INFINITY): void {
    const { words } = this.#eventsOut;
    for (let i = 0; i < limit; i++) {
      const word = this.#eventsOut.next();
      if (word < 0) break;
      const event = decodeEvent(words, word);
      if (event.name === 'RECORD') this.#checkRecord(event);
      this.conversation?.hear(words, word);
      if (event.name === 'REPLY' && event.requestId % ANSWERED_EVERY === 0) {
        this.#options.gateway.answer(`${this.shard}/${event.requestId}`);
      }
    }
    this.#eventsOut.release();
  }

  /**
   * The process ends at any turn. Of a commit under way the file may have nothing, while the outbox has the row. If the
   * power fails, a commit may be on the disk in part.
   */
  die(isPowerCut: boolean): void {
    const { random } = this.#options;
    let image = Image.take(this.journalPath);
    if (random.chance(70) && this.#commitSome()) {
      const after = Image.take(this.journalPath);
      if (isPowerCut) image = cutDuringCommit(image, after, random);
      else if (random.chance(50)) image = after;
    }
    this.#journal.close();
    image.write(this.journalPath);
  }

  /** @returns whether a commit was due at this turn. */
  #commitSome(): boolean {
    if (this.#loop === null) {
      const rows = this.inbox.splice(0, 2);
      this.#follower.apply(rows);
      return rows.length > 0;
    }
    return this.phase === 'commit' && this.#loop.commit();
  }

  stop(): void {
    this.#journal?.close();
  }

  /** SIMMEMBER-1 and SIMMEMBER-2. */
  #checkRecord({ shardSequence, timeMs, command }: { shardSequence: number; timeMs: number; command: number }): void {
    const facts = this.#options.facts[this.shard]!.get(shardSequence) ?? [];
    const isRead = this.#loop === null && facts.length === 0 && this.#isInDatabase(shardSequence);
    const isFact = facts.some((fact) => fact.timeMs === timeMs && fact.command === command);
    assert.ok(isRead || isFact, `SIMMEMBER-1: record ${shardSequence} of shard ${this.shard}`);
    assert.equal(shardSequence, this.#published + 1, 'SIMMEMBER-2: records are published in order, each once');
    this.#published = shardSequence;
  }

  /** A row that a standby has read, while the standbys of the database do not have it yet. */
  #isInDatabase(sequence: number): boolean {
    const name = this.#options.database.firstAfter(this.shard, sequence - 1);
    return name !== null && name.position > this.#options.database.held;
  }

  #noteHeld(): void {
    const held = new Replication(this.#memory.replication).held(this.shard);
    while (this.#unheldNets.length > 0 && this.#unheldNets[0]!.sequence <= held) {
      this.heldNets = this.#unheldNets.shift()!.micro;
    }
  }

  #nets(): number[] {
    const { netMicro } = this.engine.state.ledger;
    return this.#options.holders.map((account) => netMicro[account] ?? 0);
  }

  #noteArrival(): number {
    this.#arrivedMs = this.#options.nowMs();
    return this.#arrivedMs;
  }

  #endsBatch(loop: ShardLoop): boolean {
    return loop.ranCount > 0 && this.#options.random.chance(10);
  }

  #makeEngine(): Engine {
    return new Engine({
      balances: new Balances(this.#memory.balances, this.shard),
      collateralCheck: true,
      checks: this.#checks,
      journal: this.#journal,
      rowsOfRecord: ROWS_OF_RECORD,
    });
  }

  readonly #toIndex = (market: number): number => marketOf(this.shard, this.#options.shards, market);
}
