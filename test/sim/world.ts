/**
 * The whole exchange core on a virtual clock in one thread: shards over one account's money, the thread that makes
 * snapshots, clients that send, and everything that can die, in an order that only the seed decides.
 *
 * Invariants:
 *   WORLD-1  Available funds never exceed the durable ones, and are never negative while collateral is checked.
 *   WORLD-2  When no command is under way, available funds are the sum of the shards' nets. Together with reserved
 *            funds and collateral they are deposits less withdrawals (core/invariants.ts checks the latter in each
 *            shard).
 */
import assert from 'node:assert/strict';
import { NEWEST_RULES } from '../../engine/core/rules.ts';
import { SnapshotMaker } from '../../engine/snapshot/maker.ts';
import { CheckHelper } from '../../engine/verify/checkBoard.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { createCheckBoard } from '../../shared/wire/checkLayout.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import { Random } from '../support/random.ts';
import { assertBalanced } from './auditTrail.ts';
import { type Command, show, simVerifier } from './command.ts';
import { ACCOUNTS } from './flow.ts';
import { type SharedMemory, SimShard } from './simShard.ts';

const SHARDS = 2;
const START_MS = 1_800_000_000_000;
const HOLDERS = [0, ...ACCOUNTS];
/** Commands after which all events are read and compared. */
const COMPARE_EVERY = 150;
const KEEP_RECORDS = 50;
/** One seed in so many trades without collateral. */
const NO_COLLATERAL_EVERY = 4;
const LOG_LINES = 40;
/** Turns after which a shard has answered everything, or never will. */
const MOST_TURNS = 100_000;

export type Totals = Record<string, number> & {
  commands: number;
  accepted: number;
  overtook: number;
  fills: number;
  crashes: number;
  restarts: number;
  /** Batches of signatures, and those in which one was wrong. */
  batches: number;
  undecided: number;
  /** Shards in which the rules of this version came into force. */
  switched: number;
  /** Times a shard took runs over, and snapshot threads that died. */
  adoptions: number;
  makers: number;
};

/** The snapshot thread ends. */
class MakerDeath extends Error {}

export class World {
  readonly totals: Totals = {
    commands: 0,
    accepted: 0,
    overtook: 0,
    fills: 0,
    crashes: 0,
    restarts: 0,
    batches: 0,
    undecided: 0,
    switched: 0,
    adoptions: 0,
    makers: 0,
  };
  /** The latest steps, for the report of a failure. */
  readonly log: string[] = [];
  readonly collateralCheck: boolean;
  /** A few, so that hashes move to the disk all the time. */
  readonly hashesInMemory: number;
  readonly #random: Random;
  readonly #directory: string;
  readonly #shards: SimShard[];
  /** Shards whose thread ended while the others went on. */
  readonly #dead = new Set<SimShard>();
  #memory!: SharedMemory;
  #balances!: Balances;
  #progress!: Progress;
  #maker!: SnapshotMaker;
  #helper!: CheckHelper;
  /** The check it is at, or -1. */
  #taken = -1;
  #nowMs = START_MS;

  /** @param directory empty, and for this world alone. */
  constructor(seed: number, directory: string, keccak: Keccak256) {
    const random = new Random(seed);
    this.collateralCheck = seed % NO_COLLATERAL_EVERY !== 0;
    this.hashesInMemory = 3 + ((seed * 7) % 28);
    this.#random = random;
    this.#directory = directory;
    this.#shards = Array.from({ length: SHARDS }, (_, shard) => {
      const { collateralCheck } = this;
      const clock = { nowMs: () => this.#nowMs };
      const nowMs = START_MS;
      const { hashesInMemory } = this;
      const place = { shard, shards: SHARDS, directory };
      return new SimShard({ ...place, random, keccak, nowMs, clock, collateralCheck, hashesInMemory });
    });
  }

  /** The whole run: `commands` random commands and whatever happens meanwhile. */
  run(commands: number): Totals {
    const { totals } = this;
    this.#startAll();
    this.#sendAll((shard) => shard.flow.opening());
    this.#sendAll((shard) => shard.flow.endowment());
    let compareAt = COMPARE_EVERY;
    while (totals.commands < commands) {
      this.#step();
      if (totals.commands < compareAt) continue;
      this.#settle();
      compareAt = totals.commands + COMPARE_EVERY;
    }
    this.#restart();
    for (const shard of this.#shards) {
      totals.adoptions += shard.adoptions;
      totals.switched += Number(shard.engine.state.rules === NEWEST_RULES);
      shard.stop();
      totals.accepted += shard.conversation.accepted;
      totals.overtook += shard.conversation.overtook;
      totals.fills += shard.conversation.events.fills;
      totals.batches += shard.batches.reduce((sum, { sizes }) => sum + sizes.length, 0);
      totals.undecided += shard.batches.reduce((sum, { wrong }) => sum + wrong, 0);
      for (const [what, count] of shard.auditTrail.counts) totals[what] = (totals[what] ?? 0) + count;
    }
    assertBalanced(this.#shards);
    return totals;
  }

  #step(): void {
    const random = this.#random;
    const shard = random.pick(this.#shards);
    const dice = random.below(10_000);
    if (this.#dead.has(shard)) {
      if (dice < 1000) this.#start(shard);
    } else if (dice < 4000) this.#sendSome(shard);
    else if (dice < 8500) for (let turns = random.below(8); turns >= 0; turns--) shard.turn();
    else if (dice < 9600) shard.listen(random.below(60));
    else if (dice < 9890) this.#help();
    else if (dice < 9950) this.#snapshot();
    else if (dice < 9960) this.#killOne(shard);
    else if (dice < 9970) this.#crash();
    else if (dice < 9973) this.#restart();
    this.#checkCells();
  }

  #sendSome(shard: SimShard): void {
    const random = this.#random;
    for (let count = random.below(6); count >= 0; count--) {
      if (random.chance(10)) this.#nowMs += random.below(4000);
      // A clock may be set back; the exchange's time never goes back.
      const timeMs = random.chance(2) ? this.#nowMs - random.below(3000) : this.#nowMs;
      const command = shard.flow.next(timeMs);
      const isSent = shard.send(command, timeMs);
      this.#note(`${isSent ? 'send' : 'no room for'} to ${shard.name} at ${timeMs}: ${show(command)}`);
      if (!isSent) return;
      this.totals.commands++;
    }
  }

  /** The commands at the start of a world, without a fault between them. */
  #sendAll(commands: (shard: SimShard) => Command[]): void {
    for (const shard of this.#shards) {
      for (const command of commands(shard)) {
        if (!shard.send(command, this.#nowMs)) this.#settle();
        else continue;
        assert.ok(shard.send(command, this.#nowMs), 'a quiet shard has room');
      }
    }
    this.#settle();
  }

  /** Everything is answered, then everything is compared. */
  #settle(): void {
    for (const shard of this.#dead) this.#start(shard);
    for (const shard of this.#shards) {
      for (let turns = 0; !shard.isQuiet; turns++) {
        assert.ok(turns < MOST_TURNS, 'a shard answers');
        shard.turn();
        shard.listen(Number.POSITIVE_INFINITY);
      }
      shard.conversation.pause();
      shard.check();
    }
    this.#checkCells();
    for (const account of HOLDERS) {
      const net = this.#shards.reduce((sum, { engine }) => sum + (engine.state.ledger.netMicro[account] ?? 0), 0);
      assert.equal(this.#balances.availableMicro(account), net, `WORLD-2: account ${account}`);
    }
  }

  #checkCells(): void {
    for (const account of HOLDERS) {
      const cell = this.#balances.availableMicro(account);
      const durable = this.#shards.reduce((sum, { durableNet }) => sum + (durableNet[account] ?? 0), 0);
      const isCovered = cell >= 0 || !this.collateralCheck;
      assert.ok(isCovered && cell <= durable, `WORLD-1: account ${account} can spend ${cell}, durable are ${durable}`);
    }
  }

  /** A verifier thread makes a check, or is halfway through one, or dies there and another one comes. */
  #help(): void {
    const random = this.#random;
    if (this.#taken >= 0 && random.chance(60)) this.#helper.answer(this.#taken);
    if (random.chance(5)) this.#newHelper();
    this.#taken = this.#helper.tryClaim();
    for (let checks = random.below(20); checks > 0; checks--) this.#helper.help();
  }

  #newHelper(): void {
    this.#helper = new CheckHelper(this.#memory.checkBoard, simVerifier);
    this.#taken = -1;
  }

  /** The thread that makes snapshots looks; the projector has followed as far as the gateway. */
  #snapshot(): void {
    this.#shards.forEach((shard, index) => {
      shard.audit();
      this.#progress.setProjected(index, shard.conversation.oracleSequence);
      this.#progress.setKept(index, shard.conversation.oracleSequence);
    });
    try {
      this.#maker.makeDue(this.#random.chance(30));
      this.#note('snapshots made');
    } catch (error) {
      if (!(error instanceof MakerDeath)) throw error;
      this.totals.makers++;
      this.#note('the snapshot thread dies');
      this.#newMaker();
    }
  }

  /** One thread ends; the gateway reads the events it had published. */
  #killOne(shard: SimShard): void {
    this.#note(`shard ${shard.name} dies before its turn to ${shard.phase}`);
    shard.listen(Number.POSITIVE_INFINITY);
    shard.die(false);
    this.#dead.add(shard);
    this.totals.crashes++;
  }

  /** The process or the whole machine ends. */
  #crash(): void {
    const isPowerCut = this.#random.chance(50);
    const phases = this.#shards.map((shard) => `${shard.name} before ${shard.phase}`).join(', ');
    this.#note(`${isPowerCut ? 'power cut' : 'kill'}, shard ${phases}`);
    for (const shard of this.#shards) if (!this.#dead.has(shard)) shard.die(isPowerCut);
    this.#dead.clear();
    this.totals.crashes++;
    this.#startAll();
  }

  #restart(): void {
    this.#settle();
    this.#note('orderly restart');
    for (const shard of this.#shards) shard.stop();
    this.#startAll();
  }

  #startAll(): void {
    this.#memory = {
      balances: createBalances(SHARDS),
      progress: Progress.create(SHARDS),
      checkBoard: createCheckBoard(SHARDS),
    };
    this.#newHelper();
    this.#balances = new Balances(this.#memory.balances);
    this.#progress = new Progress(this.#memory.progress);
    for (const shard of this.#shards) this.#start(shard);
    this.#newMaker();
  }

  #newMaker(): void {
    const pause = (): void => {
      if (this.#random.chance(4)) throw new MakerDeath();
    };
    const options = {
      keys: this.#shards.map(() => TEST_KEY),
      journalPaths: this.#shards.map(({ journalPath }) => journalPath),
      directory: this.#directory,
      progress: this.#memory.progress,
      everyRecords: 1,
      keepRecords: KEEP_RECORDS,
      hashesInMemory: this.hashesInMemory,
    };
    this.#maker = new SnapshotMaker(options, pause);
  }

  #start(shard: SimShard): void {
    this.#dead.delete(shard);
    this.totals.restarts += shard.start(this.#memory);
    this.#note(`shard ${shard.name} is back at ${shard.engine.sequence}`);
  }

  #note(line: string): void {
    this.log.push(line);
    if (this.log.length > LOG_LINES) this.log.shift();
  }
}
