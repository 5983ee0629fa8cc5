/**
 * One shard of the simulated exchange: the real engine, journal, rings and loop, run turn by turn, which can die and
 * recover.
 *
 *   send ──► command ring ──► turn … turn ──► event ring ──► listen ──► conversation.ts: the oracle says the same
 *
 * Invariants, besides those of the engine itself:
 *   SIMSHARD-1  After a restart every published record exists, and every record belongs to a command that was sent.
 *   SIMSHARD-2  The state of the engine, live and recovered, equals that of the oracle.
 *   SIMSHARD-3  The recovered state of an engine that died with nothing uncommitted equals its last one, byte for byte.
 *   SIMSHARD-4  A damaged journal is refused, or the damage changed nothing that may have been answered. (After a power
 *               cut the mark may be a few commits old; further damage is noticed only up to the mark.)
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { Engine } from '../../engine/core/engine.ts';
import { checkInvariants } from '../../engine/core/invariants.ts';
import { NEWEST_RULES, RULES_BEFORE } from '../../engine/core/rules.ts';
import { markPath } from '../../engine/journal/file.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { readMark } from '../../engine/journal/mark.ts';
import { Gateways } from '../../engine/shard/gateways.ts';
import { ShardLoop } from '../../engine/shard/loop.ts';
import { Outlet } from '../../engine/shard/outlet.ts';
import { type Recovered, recover } from '../../engine/shard/recovery.ts';
import { RunAdoption } from '../../engine/snapshot/adoption.ts';
import { listSnapshots } from '../../engine/snapshot/snapshot.ts';
import { OfferedChecks } from '../../engine/verify/checkBoard.ts';
import { digestsBy, LoneChecks, type OrderChecks } from '../../engine/verify/orderChecks.ts';
import { ShardChecks } from '../../engine/verify/shardChecks.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { hasherFor } from '../../shared/crypto/eip712.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';
import { decodeEvent } from '../../shared/wire/events.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import { FakeBatches } from '../support/batchVerifier.ts';
import { DOMAIN, stateOf } from '../support/engine.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import type { Random } from '../support/random.ts';
import { assertAgreement } from './agreement.ts';
import { AuditTrail } from './auditTrail.ts';
import { type Command, marketOf, send, simVerifier } from './command.ts';
import { Conversation } from './conversation.ts';
import { Flow } from './flow.ts';
import { cutDuringCommit, Image, tornMark } from './image.ts';
import { Oracle } from './oracle.ts';

/** Small, so that both are full now and then. */
const RING_BYTES = 8192;
/** Few, so that the command ring holds more than one batch. */
const MOST_IN_BATCH = 8;
/** So that a shard looks for runs whenever it is idle. */
const LOOK_MS = 1000;
/** Few, so that most markets take several records to end. */
export const ROWS_OF_RECORD = 3;

/** For engines that only replay: they never read it. */
const UNUSED_BALANCES = createBalances(2);

/** Memory all shards share; it ends with the process. */
export type SharedMemory = {
  readonly balances: SharedArrayBuffer;
  readonly progress: SharedArrayBuffer;
  readonly checkBoard: SharedArrayBuffer;
};

type SimShardOptions = {
  readonly shard: number;
  readonly shards: number;
  readonly directory: string;
  readonly random: Random;
  readonly keccak: Keccak256;
  readonly nowMs: number;
  readonly clock: Clock;
  readonly collateralCheck: boolean;
  readonly hashesInMemory: number;
};

/** The parts that exist only while the shard lives. */
type Live = {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly loop: ShardLoop;
  readonly commandsIn: RingProducer;
  readonly eventsOut: RingConsumer;
  readonly adoption: RunAdoption;
};

/** The next turn. */
type Phase = 'readAhead' | 'run' | 'step' | 'commit' | 'credit' | 'publish';

/** It dies again while it recovers. */
class Death extends Error {}

export class SimShard {
  readonly oracle: Oracle;
  readonly flow: Flow;
  readonly conversation: Conversation;
  readonly journalPath: string;
  readonly auditTrail = new AuditTrail();
  /** The net of every account as of the last commit. */
  durableNet: Float64Array = new Float64Array();
  /** Times it took runs over while it lived. */
  adoptions = 0;
  phase: Phase = 'readAhead';
  /** The verifier of each thread there has been. */
  readonly batches: FakeBatches[] = [];
  readonly #options: SimShardOptions;
  readonly #random: Random;
  /** Its first thread is one of an older version: the rules of this one come into force with a command of a later. */
  #rules = RULES_BEFORE;
  #live: Live | undefined;
  #looks = 0;
  /** When the shard began the running command. */
  #arrivedMs = 0;
  /** State of the dead engine, to be compared with the recovered one. */
  #dead: { readonly sequence: number; readonly state: Buffer } | undefined;
  /** The oldest mark a power cut may leave. */
  #syncedMark: Buffer = Buffer.alloc(0);

  constructor(options: SimShardOptions) {
    const { shard, shards, random, nowMs, collateralCheck, keccak } = options;
    this.#options = options;
    this.#random = random;
    this.journalPath = join(options.directory, `journal-${shard}.db`);
    this.oracle = new Oracle(collateralCheck, ROWS_OF_RECORD, shards);
    this.oracle.nowMs = nowMs;
    this.flow = new Flow({
      random,
      oracle: this.oracle,
      shard,
      shards,
      nowMs,
      hasNoCollateral: !collateralCheck,
      keccak,
    });
    this.conversation = new Conversation(this.oracle, this.flow);
  }

  get name(): number {
    return this.#options.shard;
  }

  get engine(): Engine {
    return this.#alive().engine;
  }

  /** Nothing is on its way in either direction. */
  get isQuiet(): boolean {
    const { commandsIn, eventsOut, loop } = this.#alive();
    if (loop.hasSteps) return false;
    return this.phase === 'readAhead' && commandsIn.usedBytes() === 0 && eventsOut.isEmpty();
  }

  /** @returns false when the ring is full: nothing was sent, and the client gets an error. */
  send(command: Command, timeMs: number): boolean {
    const requestId = this.conversation.nextRequestId();
    const isSent = send(this.#alive().commandsIn, requestId, timeMs, command, this.#toIndex);
    if (isSent) this.conversation.wasSent(command, timeMs);
    return isSent;
  }

  /** One turn of the loop, as shard/main.ts takes them. */
  turn(): void {
    const { adoption, engine, loop } = this.#alive();
    switch (this.phase) {
      case 'readAhead':
        if (loop.readAhead() && !this.#endsBatch()) this.phase = 'run';
        else if (loop.ranCount > 0 || loop.hasSteps) this.phase = 'step';
        else {
          loop.idle();
          this.#adopt(adoption, engine);
          this.#syncedMark = readFileSync(markPath(this.journalPath));
        }
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
        this.phase = loop.commit() ? 'credit' : 'publish';
        if (this.#random.chance(2)) checkpoint(this.journalPath);
        this.durableNet = engine.state.ledger.netMicro.slice();
        break;
      case 'credit':
        loop.credit();
        this.phase = 'publish';
        break;
      case 'publish':
        if (loop.publish()) this.phase = 'readAhead';
    }
  }

  #adopt(adoption: RunAdoption, { sequence, state }: Engine): void {
    const before = state.hashes.spilled;
    this.#looks += LOOK_MS;
    adoption.step(sequence, this.#looks);
    if (state.hashes.spilled !== before) this.adoptions++;
  }

  /** The gateway reads at most `limit` records. */
  listen(limit: number): void {
    const { eventsOut } = this.#alive();
    for (let i = 0; i < limit; i++) {
      const word = eventsOut.next();
      if (word < 0) break;
      this.conversation.hear(eventsOut.words, word);
    }
    eventsOut.release();
  }

  /**
   * SIMSHARD-2 and every invariant of the engine, checked once no command is under way: the oracle is then complete.
   */
  check(): void {
    this.audit();
    checkInvariants(this.engine.state);
    assertAgreement(this.engine, this.oracle, (market) => this.conversation.events.frameOf(market), this.#toIndex);
  }

  /** The audit reads committed records: from then on they are permanent. */
  audit(): void {
    if (this.#live !== undefined) this.auditTrail.follow(this.journalPath);
  }

  /** The thread ends at any turn; its files stay, as far as they were on the disk. */
  die(isPowerCut: boolean): void {
    const { adoption, engine, journal, eventsOut } = this.#alive();
    this.audit();
    const image = this.#lastImage(isPowerCut);
    for (let word = eventsOut.next(); word >= 0; word = eventsOut.next()) {
      this.conversation.overhear(eventsOut.words, word);
    }
    engine.out.clear();
    this.#dead = { sequence: engine.sequence, state: stateOf(engine) };
    this.#live = undefined;
    this.phase = 'readAhead';
    journal.close();
    adoption.close();
    image.write(this.journalPath);
  }

  /** An orderly stop: everything is answered, nothing is lost. */
  stop(): void {
    assert.ok(this.isQuiet, 'a stop waits for the answers');
    const { adoption, engine, journal } = this.#alive();
    this.#dead = { sequence: engine.sequence, state: stateOf(engine) };
    this.#live = undefined;
    journal.close();
    adoption.close();
  }

  /** A new thread on the same files; sometimes it takes more than one. @returns how many there were. */
  start(memory: SharedMemory): number {
    const { shard, directory, random } = this.#options;
    let starts = 1;
    for (; random.chance(20); starts++) this.#dieRecovering();
    const image = Image.take(this.journalPath);
    const journal = Journal.open(this.#journalOptions(this.journalPath));
    const verifier = new FakeBatches(simVerifier, MOST_IN_BATCH);
    const checks = new ShardChecks({
      digests: digestsBy(hasherFor(DOMAIN, this.#options.keccak)),
      verifier,
      board: new OfferedChecks(memory.checkBoard, shard),
    });
    const spoiled = random.chance(20) ? this.#spoilSnapshot() : undefined;
    const { engine, damaged } = recover(journal, directory, shard, () =>
      this.#makeEngine(memory.balances, journal, checks),
    );
    assert.equal(damaged.length, spoiled === undefined ? 0 : 1, 'a damaged snapshot is noticed');
    if (spoiled !== undefined) rmSync(spoiled);
    const progress = new Progress(memory.progress);
    const { publishedSequence } = this.conversation;
    assert.ok(
      engine.sequence >= publishedSequence,
      `SIMSHARD-1: ${publishedSequence} was published, only ${engine.sequence} is there`,
    );
    assert.ok(engine.sequence >= progress.committed(shard), 'SIMSHARD-1: every committed record is there');
    if (engine.sequence === this.#dead?.sequence) assert.deepEqual(stateOf(engine), this.#dead.state, 'SIMSHARD-3');
    if (engine.sequence > 0 && random.chance(30)) this.#startDamaged(image, engine);

    engine.goLive(undefined, undefined, this.#rules);
    // Sent commands reach this thread, or a later one.
    this.oracle.hasSets = this.#rules === NEWEST_RULES;
    this.#rules = NEWEST_RULES;
    this.durableNet = engine.state.ledger.netMicro.slice();
    this.conversation.resume(engine, this.journalPath);
    progress.setCommitted(shard, engine.sequence);
    this.batches.push(verifier);
    this.#goLive(engine, journal, progress, checks);
    this.#syncedMark = readFileSync(markPath(this.journalPath));
    return starts;
  }

  #noteArrival(): number {
    this.#arrivedMs = this.#options.clock.nowMs();
    return this.#arrivedMs;
  }

  #goLive(engine: Engine, journal: Journal, progress: Progress, checks: ShardChecks): void {
    const [commandRing, eventRing] = [createRingBuffer(RING_BYTES), createRingBuffer(RING_BYTES)];
    const loop = new ShardLoop({
      shard: this.#options.shard,
      engine,
      journal,
      progress,
      outlet: new Outlet(engine, new Gateways({ commandRing, eventRing })),
      checks,
      clock: { nowMs: () => this.#noteArrival() },
    });
    const eventsOut = new RingConsumer(eventRing);
    const { directory, hashesInMemory: most, shard } = this.#options;
    const { hashes } = engine.state;
    const adoption = new RunAdoption({ directory, shard, key: TEST_KEY, hashes, most });
    this.#live = { engine, journal, loop, commandsIn: new RingProducer(commandRing), eventsOut, adoption };
    const submit = engine.submit.bind(engine);
    engine.submit = (words, bytes, word, isOvertaking) => {
      const timeMs = readSafe(words, word + ANY_COMMAND.timeMs);
      this.conversation.willRun(engine, words[word + ANY_COMMAND.requestId], timeMs, this.#arrivedMs);
      submit(words, bytes, word, isOvertaking);
    };
    let described = 0;
    engine.describe(() => {
      for (let isAll = false; !isAll; ) {
        isAll = loop.publish();
        described += this.#hearDescription(eventsOut);
      }
    });
    assert.equal(described, this.oracle.open.length, 'every open order is described');
    this.check();
  }

  /** A thread looks at a clock here: a batch may end after any command. */
  #endsBatch(): boolean {
    return this.#alive().loop.ranCount > 0 && this.#random.chance(10);
  }

  /** Reads the state that a shard publishes before it accepts commands. @returns the number of open orders. */
  #hearDescription(eventsOut: RingConsumer): number {
    const { words } = eventsOut;
    let orders = 0;
    for (let word = eventsOut.next(); word >= 0; word = eventsOut.next()) {
      const event = decodeEvent(words, word);
      if (event.name === 'ORDER_STATE') {
        this.conversation.events.checkSlot(event);
        orders++;
      }
      if (event.name === 'READY') assert.equal(event.shardSequence, this.engine.sequence);
    }
    eventsOut.release();
    return orders;
  }

  /** The bytes on the disk, and if it was about to commit, perhaps a part of that commit. */
  #lastImage(isPowerCut: boolean): Image {
    const random = this.#random;
    const { journal, loop } = this.#alive();
    const before = Image.take(this.journalPath);
    if (this.phase === 'commit' && journal.isStaged && random.chance(70)) {
      loop.commit();
      if (random.chance(30)) checkpoint(this.journalPath);
      const after = Image.take(this.journalPath);
      if (random.chance(60)) return cutDuringCommit(before, after, random);
      return after.withMark(random.chance(50) ? before.mark : tornMark(before.mark, after.mark, random));
    }
    if (!isPowerCut) return before;
    const marks = [before.mark, this.#syncedMark, tornMark(this.#syncedMark, before.mark, random)];
    return before.withMark(random.pick(marks));
  }

  /** Dies somewhere in the replay; changes to the files until then stay. */
  #dieRecovering(): void {
    const { shard, directory, random } = this.#options;
    const journal = Journal.open(this.#journalOptions(this.journalPath));
    let rows = random.below(200);
    const makeEngine = (): Engine => {
      const engine = this.#makeEngine(UNUSED_BALANCES, journal);
      const replay = engine.replay.bind(engine);
      engine.replay = (...row) => {
        if (rows-- === 0) throw new Death();
        replay(...row);
      };
      return engine;
    };
    try {
      recover(journal, directory, shard, makeEngine);
    } catch (error) {
      if (!(error instanceof Death)) throw error;
    }
    const image = Image.take(this.journalPath);
    journal.close();
    image.write(this.journalPath);
  }

  /** One bit of the newest snapshot flips, where an older one is left. @returns its path. */
  #spoilSnapshot(): string | undefined {
    const [newest, older] = listSnapshots(this.#options.directory, this.#options.shard);
    if (newest === undefined || older === undefined) return undefined;
    const bytes = readFileSync(newest.path);
    const at = this.#random.below(bytes.length);
    bytes[at] = bytes[at] ^ (1 << this.#random.below(8));
    writeFileSync(newest.path, bytes);
    return newest.path;
  }

  /** SIMSHARD-4: tries the same start with damaged files. */
  #startDamaged(image: Image, good: Engine): void {
    const { shard, directory, random } = this.#options;
    const place = join(directory, 'damaged');
    mkdirSync(place, { recursive: true });
    const path = join(place, basename(this.journalPath));
    image.write(path);
    const vouched = Math.min(readMark(markPath(path), shard)?.sequence ?? 0, this.conversation.publishedSequence);
    const [damaged, what] = image.damaged(random);
    damaged.write(path);
    const recovered = tryRecover(() => {
      const journal = Journal.open(this.#journalOptions(path));
      try {
        return recover(journal, directory, shard, () => this.#makeEngine(UNUSED_BALANCES, journal));
      } finally {
        journal.close();
      }
    });
    rmSync(place, { recursive: true });
    if (recovered === undefined) return;
    const { engine } = recovered;
    assert.ok(engine.sequence >= vouched, `SIMSHARD-4: answered records are gone: ${what}`);
    if (engine.sequence === good.sequence) assert.deepEqual(stateOf(engine), stateOf(good), `SIMSHARD-4: ${what}`);
  }

  #makeEngine(balances: SharedArrayBuffer, journal: Journal, checks?: OrderChecks): Engine {
    const { shard, keccak, collateralCheck } = this.#options;
    return new Engine({
      balances: new Balances(balances, shard),
      collateralCheck,
      checks: checks ?? new LoneChecks(digestsBy(hasherFor(DOMAIN, keccak)), simVerifier),
      journal,
      rowsOfRecord: ROWS_OF_RECORD,
    });
  }

  #journalOptions(journalPath: string) {
    const { shard, shards } = this.#options;
    return { journalPath, journalSync: 'full', shard, shards, key: TEST_KEY } as const;
  }

  readonly #toIndex = (market: number): number => marketOf(this.#options.shard, this.#options.shards, market);

  #alive(): Live {
    assert.ok(this.#live !== undefined, 'the shard lives');
    return this.#live;
  }
}

/** The extra work of a commit once the WAL is long, which is far too rare for such short worlds. */
function checkpoint(journalPath: string): void {
  const db = new Database(journalPath);
  db.pragma('wal_checkpoint(PASSIVE)');
  db.close();
}

function tryRecover(attempt: () => Recovered): Recovered | undefined {
  try {
    return attempt();
  } catch {
    return undefined;
  }
}
