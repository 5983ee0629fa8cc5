/**
 * A cluster on a virtual clock in one thread: three members over one log in a database with two standbys, clients that
 * send, and everything that can go wrong in an order that only the seed decides. The way to the database is slow or
 * cut, and what was sent arrives late. A commit is answered with a warning, or never. Another server of the database
 * takes over. Clocks are set, of the database and of machines. Processes die at any turn, the power of a machine goes,
 * and a replication thread stands still for longer than its lease, so that two members believe that they lead.
 *
 * Invariants, besides those of the members and of the oracle:
 *   CLUSTER-1  A new leader has every record that was published anywhere, and what its journal has of commands without
 *              a reply is what the oracle says of them: nothing answered is lost, nothing happens twice.
 *   CLUSTER-2  Available funds never exceed those whose records the log holds, and are never negative. When no command
 *              is under way they are the sum of the shards' nets.
 *   CLUSTER-3  When all have followed, the journals of all members are the same byte for byte, and so are their states.
 *   CLUSTER-4  An answer that a client has is known to every later leader, and a command is in the log only behind the
 *              changes of the gateway that it rests on.
 *   CLUSTER-5  When a server of the database takes over that lacks rows, each member that has them stops and holds
 *              nothing more, unless a leader to which they were not held adds the same rows at the same positions.
 *   CLUSTER-6  When it lacks the newest lead as well, the next one has the same epoch, and one of the two goes on.
 *   CLUSTER-7  Once a leader serves clients no earlier one adds a row, also in a log that was set back to before it.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import { FakeDatabase } from '../support/fakeDatabase.ts';
import { promisesKept } from '../support/manualTiming.ts';
import { Random } from '../support/random.ts';
import { assertBalanced } from './auditTrail.ts';
import { assertAgrees, checkCells, compareAll, HOLDERS, type Talk } from './clusterChecks.ts';
import { Disasters, type DisasterTotals, noDisasters, type Stage } from './clusterDisasters.ts';
import { type EndingWorld, loseLead, loseRows } from './clusterEnds.ts';
import { GATEWAY_STREAMS } from './clusterGateway.ts';
import { KnownLog } from './clusterKnown.ts';
import { SimMember } from './clusterMember.ts';
import { Witness } from './clusterWitness.ts';
import { type Command, show } from './command.ts';
import { Conversation } from './conversation.ts';
import { ACCOUNTS, Flow } from './flow.ts';
import { Oracle } from './oracle.ts';
import { ROWS_OF_RECORD } from './simShard.ts';

const MEMBERS = 3;
const MOST_SHARDS = 3;
const START_MS = 1_800_000_000_000;
/** Commands after which all is answered, followed and compared. */
const COMPARE_EVERY = 500;
/** Commands between two disasters, about. */
const STRIKE_EVERY = 110;
const LOG_LINES = 60;
/** Commands that clients send at a time. */
const MOST_SENT = 16;
/** Between two steps. */
const MOST_STEP_MS = 10;
/** Several leases: another member leads in the meantime, and this one does not know. */
const LONGEST_SILENCE_STEPS = 3000;
const LONGEST_PAUSE_MS = 3000;
/** Several leases. */
const MOST_SET_MS = 6000;
/** Sometimes the clock of a machine jumps this far. */
const HOUR_MS = 3_600_000;
const MOST_TURNS = 200_000;
/** After this many steps without a leader an operator looks after the cluster. */
const LEADERLESS_STEPS = 2000;
/** In which a cluster in which nothing fails gets done. */
const SETTLE_TURNS = 10_000;
/** A supervisor waits before it starts a process again. */
const RESTART_PERCENT = 4;
/** The status of a member that may not lead says so (mayTake.ts). */
const WAITS = /waits with the lead/;
/** References of deposits that only a deposed leader gets, and the numbers of their requests. */
const FIRST_LOST_REFERENCE = 1_000_000;

export type ClusterTotals = {
  commands: number;
  accepted: number;
  fills: number;
  takeovers: number;
  deaths: number;
  powerCuts: number;
  cuts: number;
  /** Commits that were answered with a warning. */
  warnings: number;
  failovers: number;
  /** Clocks that were set to another time. */
  clocks: number;
  /** Servers that took over and lacked held rows, or the newest lead, whose epoch another lead then took. */
  losses: number;
  lostLeads: number;
  /** Changes and answers of the gateway. */
  changes: number;
  answers: number;
  /** Commands that a leader ran which had been deposed, and whose successor served clients: at least one per world. */
  lost: number;
  /** Records that were set aside. */
  setAside: number;
  /** Starts that were refused, and members that joined with a copy. */
  refusals: number;
  /** Records that are lost for good. */
  givenUp: number;
  copies: number;
} & DisasterTotals;

export class ClusterWorld {
  readonly totals: ClusterTotals = {
    commands: 0,
    accepted: 0,
    fills: 0,
    takeovers: 0,
    deaths: 0,
    powerCuts: 0,
    cuts: 0,
    warnings: 0,
    failovers: 0,
    clocks: 0,
    losses: 0,
    lostLeads: 0,
    changes: 0,
    answers: 0,
    lost: 0,
    setAside: 0,
    refusals: 0,
    givenUp: 0,
    copies: 0,
    ...noDisasters(),
  };
  readonly log: string[] = [];
  readonly #random: Random;
  readonly #shards: number;
  readonly #members: SimMember[];
  readonly #talks: Talk[];
  readonly #database: FakeDatabase;
  readonly #witness = new Witness();
  readonly #known: KnownLog;
  readonly #disasters: Disasters;
  /** The member that clients talk to, and its epoch. */
  #leader: SimMember | null = null;
  #step = 0;
  /** The last step with a leader. */
  #ledStep = 0;
  #clockMs = START_MS;
  /** The time by which the clock of the database is ahead. */
  #aheadMs = 0;
  /** Members whose replication thread stands still before a step. */
  readonly #stuck = new Map<SimMember, number>();
  #nowMs = START_MS;
  #lostReference = FIRST_LOST_REFERENCE;
  /** A standby of the database gets nothing. */
  #isLagging = false;

  constructor(seed: number, directory: string, keccak: Keccak256) {
    const random = new Random(seed);
    this.#random = random;
    const shards = random.between(1, MOST_SHARDS);
    this.#shards = shards;
    this.#database = new FakeDatabase(() => this.#clockMs + this.#aheadMs);
    this.#known = new KnownLog(shards, this.#witness);
    this.#database.onHeld = (row) => this.#known.held(row);
    this.#talks = Array.from({ length: shards }, (_, shard) => {
      const oracle = this.#newOracle();
      const flow = new Flow({ random, oracle, shard, shards, nowMs: START_MS, hasNoCollateral: false, keccak });
      return { oracle, flow, conversation: new Conversation(oracle, flow) };
    });
    this.#members = Array.from({ length: MEMBERS }, (_, index) => {
      const own = join(directory, `${index}`);
      return new SimMember({
        name: `member ${index}`,
        shards,
        directory: own,
        random,
        keccak,
        database: this.#database,
        facts: this.#known.facts,
        needs: this.#known.needs,
        nowMs: () => this.#clockMs,
        holders: HOLDERS,
        onRunInVain: () => this.totals.lost++,
        witness: this.#witness,
        givers: () => this.#members.filter(({ gives }) => gives),
        others: () => this.#members,
      });
    });
    this.#disasters = new Disasters(
      {
        random,
        first: seed,
        database: this.#database,
        members: this.#members,
        witness: this.#witness,
        totals: this.totals,
      },
      this.#stage(),
    );
  }

  #newOracle(): Oracle {
    const oracle = new Oracle(true, ROWS_OF_RECORD, this.#shards);
    oracle.nowMs = START_MS;
    return oracle;
  }

  #stage(): Stage {
    return {
      step: () => this.#takeStep(),
      kill: (member, isPowerCut) => this.#kill(member, isPowerCut),
      settle: (turns) => this.#settleWithin(turns),
      lag: (isLagging) => {
        this.#isLagging = isLagging;
      },
      relearn: () => this.#known.relearn(this.#database),
      goBack: () => this.#goBack(),
      note: (line) => this.#note(line),
      where: () => this.#where(),
    };
  }

  async run(commands: number): Promise<ClusterTotals> {
    const { totals } = this;
    // An operator begins a new cluster (RULES.md 18.23).
    this.#database.foundNew('the first log');
    // A log that was restored to before its first row names no member (RULES.md 18.26).
    this.#disasters.backUp();
    for (const member of this.#members) await member.start();
    await this.#sendAll(({ flow }) => flow.opening());
    await this.#sendAll(({ flow }) => flow.endowment());
    this.#disasters.backUp();
    await this.#trade(commands);
    await this.#end();
    for (const member of this.#members) {
      totals.answers += member.gateway.delivered.length;
      totals.setAside += member.setAside;
      totals.refusals += member.refusals;
      totals.copies += member.copies;
      if (!member.isUp) continue;
      member.stop();
      assertBalanced(member.shards);
    }
    for (const { conversation } of this.#talks) {
      totals.accepted += conversation.accepted;
      totals.fills += conversation.events.fills;
    }
    return totals;
  }

  async #trade(commands: number): Promise<void> {
    const { totals } = this;
    let compareAt = COMPARE_EVERY;
    let strikeAt = this.#nextStrike();
    while (totals.commands < commands) {
      await this.#takeStep();
      await this.#lookAfter();
      if (totals.commands >= strikeAt) {
        await this.#disasters.strike();
        strikeAt = this.#nextStrike();
      }
      if (totals.commands < compareAt) continue;
      await this.#settle();
      compareAt = totals.commands + COMPARE_EVERY;
    }
  }

  /** Members that are refused may keep others from the lead (MAYTAKE-1). */
  async #lookAfter(): Promise<void> {
    if (this.#leader !== null) this.#ledStep = this.#step;
    if (this.#step - this.#ledStep < LEADERLESS_STEPS) return;
    await this.#settle();
    this.#ledStep = this.#step;
  }

  /** Faults that by themselves come too seldom, or after which nothing comes. */
  async #end(): Promise<void> {
    await this.#settle();
    await this.#silenceLeader();
    await this.#settle();
    this.#isLagging = true;
    const ending = this.#ending();
    await loseLead(ending);
    this.totals.lostLeads++;
    await this.#settle();
    await loseRows(ending);
    this.totals.losses++;
  }

  #ending(): EndingWorld {
    return {
      database: this.#database,
      members: this.#members,
      step: async () => {
        await this.#takeStep();
        await this.#lookAfter();
      },
      passTime: () => {
        this.#clockMs += MOST_STEP_MS;
      },
      note: (line) => this.#note(line),
      where: () => this.#where(),
    };
  }

  /** A disaster comes after about this many commands. */
  #nextStrike(): number {
    return this.totals.commands + this.#random.between(STRIKE_EVERY / 2, (STRIKE_EVERY * 3) / 2);
  }

  async #takeStep(): Promise<void> {
    const random = this.#random;
    const member = random.pick(this.#members);
    const dice = random.below(10_000);
    this.#step++;
    this.#clockMs += random.below(MOST_STEP_MS + 1);
    if (!member.isUp) {
      if (dice < 300 && this.#database.isReachable) await this.#start(member);
      return;
    }
    const goesOn = (this.#stuck.get(member) ?? 0) <= this.#step;
    let hasMoved = goesOn && member.tick();
    if (dice < 1200) this.#sendSome();
    else if (dice < 4500) for (let turns = random.below(24); turns >= 0; turns--) random.pick(member.shards).turn();
    else if (dice < 5700) random.pick(member.shards).listen(random.below(120));
    else if (dice < 7400) hasMoved = this.#turn(member, goesOn) || hasMoved;
    else if (dice < 9000) hasMoved = (goesOn && this.#move(member)) || hasMoved;
    else if (dice < 9600) this.#replicate();
    else if (dice < 9700) member.log.serveLate();
    else await this.#fail(member, dice);
    if (hasMoved) await promisesKept();
    if (member.isDeposed && random.chance(30)) this.#sendInVain(member);
    this.#meetLeader();
    this.#see();
    if (member.role === 'lost' && random.chance(2)) await this.#kill(member, false);
    checkCells(this.#members);
  }

  /** Clients know so much by now. */
  #see(): void {
    for (const [shard, { conversation }] of this.#talks.entries()) {
      this.#witness.acknowledge(shard, conversation.publishedSequence);
    }
    const leader = this.#leader;
    if (leader === null) return;
    for (const stream of GATEWAY_STREAMS) this.#witness.acknowledge(stream, leader.acknowledged(stream));
  }

  async #fail(member: SimMember, dice: number): Promise<void> {
    const random = this.#random;
    if (dice < 9730) this.#cut(member);
    else if (dice < 9745) await this.#kill(member, random.chance(40));
    else if (dice < 9755) this.#housekeep(member);
    else if (dice < 9770) this.#clockMs += random.below(LONGEST_PAUSE_MS);
    else if (dice < 9795) this.#stuck.set(member, this.#step + random.below(LONGEST_SILENCE_STEPS));
    else if (dice < 9850) this.#warn(member);
    else if (dice < 9854) this.#failOver();
    else if (dice < 9862) this.#setClock(member);
    else if (dice < 9880) this.#disasters.backUp();
    else return;
    await promisesKept();
  }

  /** Sets the clock of a member's machine, or of the database: its leases end early or late. */
  #setClock(member: SimMember): void {
    const byMs = this.#random.between(-MOST_SET_MS, MOST_SET_MS);
    const jumpMs = this.#random.pick([-HOUR_MS, 0, 0, HOUR_MS]);
    if (this.#random.chance(50)) member.setClock(byMs + jumpMs);
    else this.#aheadMs = byMs;
    this.totals.clocks++;
  }

  #turn(member: SimMember, goesOn: boolean): boolean {
    if (goesOn) member.turn();
    return goesOn;
  }

  /** Something on the way of the member to the log, or back, arrives. */
  #move(member: SimMember): boolean {
    const random = this.#random;
    let hasMoved = false;
    for (let count = random.below(6); count >= 0; count--) {
      const purpose = random.chance(50) ? 'write' : 'read';
      hasMoved = (random.chance(50) ? member.log.serve(purpose) : member.log.deliver(purpose)) || hasMoved;
    }
    return hasMoved;
  }

  /** A standby of the database gets the next writes. */
  #replicate(): void {
    const standby = this.#random.chance(50) && !this.#isLagging ? 1 : 0;
    this.#database.replicate(standby, this.#random.between(1, 4));
  }

  #sendSome(): void {
    const leader = this.#leader;
    if (leader === null || !leader.isUp) return;
    const random = this.#random;
    if (random.chance(5)) {
      this.totals.changes++;
      leader.gateway.change(`change ${this.totals.changes}`, random.chance(20));
    }
    if (!leader.gateway.maySend) return;
    const shard = random.pick(leader.shards);
    const { flow } = this.#talks[shard.shard]!;
    for (let count = random.below(MOST_SENT); count >= 0; count--) {
      if (random.chance(10)) this.#nowMs += random.below(4000);
      const timeMs = random.chance(2) ? this.#nowMs - random.below(3000) : this.#nowMs;
      const command = flow.next(timeMs);
      if (!shard.send(command, timeMs)) return;
      this.#note(`to shard ${shard.shard} of ${leader.name} at ${timeMs}: ${show(command)}`);
      this.totals.commands++;
    }
  }

  /** Clients that do not know of the new leader: nothing of this may have an answer. */
  #sendInVain(member: SimMember): void {
    const account = this.#random.pick(ACCOUNTS);
    const reference = this.#lostReference++;
    const command: Command = { kind: 'funds', account, amount: 1_000_000, isDeposit: true, reference };
    const shard = this.#random.pick(member.shards);
    if (shard.conversation !== null) return; // no other leads yet
    shard.send(command, this.#nowMs, reference);
    // After a disaster the journal of this member may be all that is left.
    this.#talks[shard.shard]!.conversation.wasSentInVain(reference, command, this.#nowMs);
  }

  /**
   * The replication thread of the leader stands still for longer than its lease, until the leader has run commands that
   * its successor does not know. By itself one world in seven comes that far: the leader has to live on until another
   * one is ready.
   */
  async #silenceLeader(): Promise<void> {
    const { lost } = this.totals;
    let silent: SimMember | null = null;
    for (let steps = 0; this.totals.lost === lost; steps++) {
      assert.ok(steps < MOST_TURNS, `a silent leader is deposed, and runs commands: ${this.#where()}`);
      if (silent === null) {
        silent = this.#leader;
        this.#clockMs += LONGEST_PAUSE_MS;
      }
      if (silent !== null) this.#stuck.set(silent, Number.POSITIVE_INFINITY);
      await this.#takeStep();
      await this.#lookAfter();
      if (silent?.isUp === true) continue;
      this.#stuck.clear();
      silent = null;
    }
    this.#stuck.clear();
  }

  /** CLUSTER-1 and CLUSTER-4. Clients go to the member that leads in the newest epoch. */
  #meetLeader(): void {
    const newest = this.#members.find(({ role, epoch }) => role === 'leader' && epoch === this.#database.epoch);
    if (newest === undefined || newest === this.#leader || !this.#known.meets(newest.log.lead)) return;
    for (const shard of this.#leader?.shards ?? []) shard.conversation = null;
    this.#leader = newest;
    this.totals.takeovers++;
    this.#note(`${newest.name} leads in epoch ${newest.epoch}`);
    const missing = newest.readRows((rowOf) => this.#witness.missing(rowOf));
    if (missing.length > 0) {
      assert.ok(
        this.#known.mustLearn,
        `CLUSTER-1: ${newest.name} lacks nothing that was acknowledged: ${missing.join(', ')}`,
      );
      this.#disasters.leadsWithout(newest);
      this.#goBack();
    }
    if (this.#known.mustLearn) this.#known.learnFrom(newest);
    for (const { gateway } of this.#members) {
      for (const text of gateway.delivered) assert.ok(newest.gateway.has(text), `CLUSTER-4: ${text} was answered`);
    }
    for (const shard of newest.shards) {
      shard.listen();
      const talk = this.#talks[shard.shard]!;
      const { conversation } = talk;
      const { publishedSequence } = conversation;
      assert.ok(shard.engine.sequence >= publishedSequence, `CLUSTER-1: ${publishedSequence} was published`);
      conversation.resume(shard.engine, shard.journalPath, shard.key);
      shard.conversation = conversation;
      assertAgrees(shard, talk, this.#shards);
    }
  }

  /** Records that were given up are also removed from what the world knows. */
  #goBack(): void {
    for (const [shard, talk] of this.#talks.entries()) {
      const end = this.#witness.acknowledged(shard);
      this.#known.goBack(shard, end);
      const { oracleSequence, publishedSequence } = talk.conversation;
      if (Math.max(oracleSequence, publishedSequence) <= end) continue;
      talk.oracle = this.#newOracle();
      this.totals.givenUp += talk.conversation.goBack(end, talk.oracle);
    }
    const kept = new Set(this.#witness.texts(STREAM.ANSWERS));
    for (const { gateway } of this.#members) gateway.forget((text) => kept.has(text));
  }

  async #start(member: SimMember): Promise<void> {
    const isUp = await member.start();
    const ends = member.shards.map(({ engine }) => engine.sequence).join(', ');
    this.#note(`${member.name} ${isUp ? `is back at ${ends}` : `does not start: ${member.reason}`}`);
  }

  #cut(member: SimMember): void {
    this.#note(`the way of ${member.name} (${member.role}) to the log is cut`);
    this.totals.cuts++;
    member.log.cut(this.#random.chance(60) ? 'write' : 'read', this.#random.chance(70));
  }

  #warn(member: SimMember): void {
    if (!member.log.cancel()) return;
    this.#note(`a commit of ${member.name} does not wait for the standbys`);
    this.totals.warnings++;
  }

  #failOver(): void {
    // Rows behind a warning may be lost with the primary: a standby that has read them then stops (LASTROW-1).
    if (this.#database.end > this.#database.held) this.#database.replicate(0);
    this.#note(`a standby takes over at ${this.#database.held} of ${this.#database.end}`);
    this.totals.failovers++;
    this.#database.failOver();
  }

  async #kill(member: SimMember, isPowerCut: boolean): Promise<void> {
    const how = isPowerCut ? 'loses its power' : 'dies';
    this.#note(`${member.name} (${member.role}) ${how}, its shards before ${member.shards.map(({ phase }) => phase)}`);
    this.totals.deaths++;
    if (isPowerCut) this.totals.powerCuts++;
    if (member === this.#leader) {
      // Its clients may have got all that it has published.
      for (const shard of member.shards) shard.listen();
      this.#see();
      this.#leader = null;
    }
    await member.kill(isPowerCut);
  }

  #housekeep(member: SimMember): void {
    member.housekeep((shard) => this.#talks[shard]!.conversation.oracleSequence);
  }

  /** The commands at the start of a world. */
  async #sendAll(commands: (talk: Talk) => Command[]): Promise<void> {
    await this.#settle();
    for (const [index, talk] of this.#talks.entries()) {
      for (const command of commands(talk)) {
        if (this.#leader!.shards[index]!.send(command, this.#nowMs)) continue;
        await this.#settle();
        assert.ok(this.#leader!.shards[index]!.send(command, this.#nowMs), 'a quiet shard has room');
      }
    }
    await this.#settle();
  }

  /** Everything works until all commands are answered and all members have followed; then everything is compared. */
  async #settle(): Promise<void> {
    if (await this.#settleWithin(SETTLE_TURNS)) return;
    // A loss of power and a failover at once leave rows of unknown state.
    await this.#disasters.decide();
  }

  async #settleWithin(mostTurns: number): Promise<boolean> {
    const random = this.#random;
    const refusals = this.#members.map((member) => member.refusals);
    let whileQuiet = refusals;
    for (let turns = 0; !this.#isQuiet; turns++) {
      const isSettled = this.#isQuietBut((member) => !member.isUp) || this.#areWaiting;
      if (!isSettled) whileQuiet = this.#members.map((member) => member.refusals);
      if (turns === mostTurns || this.#isRefused(refusals) || (isSettled && this.#hasRefused(whileQuiet))) return false;
      this.#step++;
      this.#clockMs += MOST_STEP_MS;
      this.#stuck.clear();
      const member = random.pick(this.#members);
      if (member.role === 'lost') await this.#kill(member, false);
      if (member.isUp) {
        await this.#goOn(member);
        checkCells(this.#members);
      } else if (random.chance(RESTART_PERCENT)) await this.#start(member);
    }
    compareAll(this.#leader!, this.#members, this.#talks);
    this.#known.needs.clear();
    return true;
  }

  /** Whoever has files was refused again and again, and nobody leads or follows. */
  #isRefused(before: readonly number[]): boolean {
    return this.#members.every(({ isUp, isEmpty, refusals }, at) => !isUp && (isEmpty || refusals >= before[at]! + 2));
  }

  /** All running members wait with the lead for those that are down (MAYTAKE-1). */
  get #areWaiting(): boolean {
    const up = this.#members.filter(({ isUp }) => isUp);
    return up.length > 0 && up.every(({ role, problem }) => role === 'standby' && WAITS.test(problem));
  }

  /**
   * Running members stay as they are, and each member that is down, at least one, was refused again and again in the
   * meantime.
   */
  #hasRefused(before: readonly number[]): boolean {
    if (this.#members.every(({ isUp }) => isUp)) return false;
    return this.#members.every(({ isUp, refusals }, at) => isUp || refusals >= before[at]! + 2);
  }

  /** A member of a cluster in which nothing fails. */
  async #goOn(member: SimMember): Promise<void> {
    member.tick();
    for (let i = 0; i < 4; i++) {
      await promisesKept();
      member.turn();
      // Called before a new leader runs due work: clients are there from its first record on.
      this.#meetLeader();
      member.log.settle();
      this.#database.replicate(0);
      if (!this.#isLagging) this.#database.replicate(1);
      for (const shard of member.shards) {
        shard.turn();
        shard.listen();
      }
    }
    await promisesKept();
    this.#see();
  }

  get #isQuiet(): boolean {
    return this.#isQuietBut(() => false);
  }

  #isQuietBut(isLeftOut: (member: SimMember) => boolean): boolean {
    const leader = this.#leader;
    if (leader === null || !leader.isUp || leader.epoch !== this.#database.epoch) return false;
    return this.#members.every((member) => {
      if (isLeftOut(member)) return true;
      return member.isUp && member.isQuiet && (member === leader || member.role === 'standby');
    });
  }

  #where(): string {
    const all = this.#members.map(({ name, role, epoch, reason, problem }) => [name, role, epoch, reason || problem]);
    return all.map((parts) => parts.join(' ')).join(', ');
  }

  #note(line: string): void {
    this.log.push(line);
    if (this.log.length > LOG_LINES) this.log.shift();
  }
}
