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
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { checkInvariants } from '../../engine/core/invariants.ts';
import { firstSequenceOf, JournalHead, type Row } from '../../engine/journal/row.ts';
import { RowReader } from '../../engine/journal/rowReader.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';
import { type LogRow, STREAM } from '../../shared/wire/replication.ts';
import { stateOf } from '../support/engine.ts';
import { FakeDatabase } from '../support/fakeDatabase.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import { promisesKept } from '../support/manualTiming.ts';
import { Random } from '../support/random.ts';
import { assertAgreement } from './agreement.ts';
import { assertBalanced } from './auditTrail.ts';
import { SimMember } from './clusterMember.ts';
import type { ClusterShard, Fact, Needs } from './clusterShard.ts';
import { type Command, marketOf, show } from './command.ts';
import { Conversation } from './conversation.ts';
import { ACCOUNTS, Flow } from './flow.ts';
import { Oracle } from './oracle.ts';
import { ROWS_OF_RECORD } from './simShard.ts';

const MEMBERS = 3;
const MOST_SHARDS = 3;
const START_MS = 1_800_000_000_000;
const HOLDERS = [0, ...ACCOUNTS];
/** Commands after which all is answered, followed and compared. */
const COMPARE_EVERY = 500;
const LOG_LINES = 60;
/** Commands that clients send at a time. */
const MOST_SENT = 16;
/** Between two steps. */
const MOST_STEP_MS = 10;
/** Several leases: another leads meanwhile, and the member does not know. */
const LONGEST_SILENCE_STEPS = 3000;
const LONGEST_PAUSE_MS = 3000;
/** Several leases. */
const MOST_SET_MS = 6000;
const MOST_TURNS = 200_000;
const LOSS_STEPS = 300;
const LOSS_TURNS = 2000;
/** References of deposits that only a deposed leader gets. */
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
  /** Servers that took over and lacked what was held, or the newest lead, whose epoch another one then took. */
  losses: number;
  lostLeads: number;
  /** Changes and answers of the gateway. */
  changes: number;
  answers: number;
  /** Commands that a leader ran which had been deposed, and whose successor served clients: at least one per world. */
  lost: number;
  /** Records that were set aside. */
  setAside: number;
};

type Talk = { readonly oracle: Oracle; readonly flow: Flow; readonly conversation: Conversation };

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
  };
  readonly log: string[] = [];
  readonly #random: Random;
  readonly #shards: number;
  readonly #members: SimMember[];
  readonly #talks: Talk[];
  readonly #database: FakeDatabase;
  readonly #facts: Map<number, Fact>[];
  readonly #heads: JournalHead[];
  readonly #reader = new RowReader('of the log', TEST_KEY);
  readonly #needs: Needs = new Map();
  /** The changes of the gateway that the log holds. */
  #heldChanges = 0;
  /** The member that clients talk to, and its epoch. */
  #leader: SimMember | null = null;
  #step = 0;
  #clockMs = START_MS;
  /** Of the clock of the database. */
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
    this.#database.onHeld = (row) => this.#held(row);
    this.#facts = Array.from({ length: shards }, () => new Map());
    this.#heads = this.#facts.map(() => new JournalHead(0, 0, 0));
    this.#talks = Array.from({ length: shards }, (_, shard) => {
      const oracle = new Oracle(true, ROWS_OF_RECORD, shards);
      oracle.nowMs = START_MS;
      const flow = new Flow({ random, oracle, shard, shards, nowMs: START_MS, isRehearsal: false, keccak });
      return { oracle, flow, conversation: new Conversation(oracle, flow) };
    });
    this.#members = Array.from({ length: MEMBERS }, (_, index) => {
      const own = join(directory, `${index}`);
      mkdirSync(own);
      return new SimMember({
        name: `member ${index}`,
        shards,
        directory: own,
        random,
        keccak,
        database: this.#database,
        facts: this.#facts,
        needs: this.#needs,
        nowMs: () => this.#clockMs,
        holders: HOLDERS,
        onRunInVain: () => this.totals.lost++,
      });
    });
  }

  async run(commands: number): Promise<ClusterTotals> {
    const { totals } = this;
    for (const member of this.#members) await member.start();
    await this.#sendAll(({ flow }) => flow.opening());
    await this.#sendAll(({ flow }) => flow.endowment());
    let compareAt = COMPARE_EVERY;
    while (totals.commands < commands) {
      await this.#takeStep();
      if (totals.commands < compareAt) continue;
      await this.#settle();
      compareAt = totals.commands + COMPARE_EVERY;
    }
    await this.#settle();
    await this.#silenceLeader();
    await this.#settle();
    this.#isLagging = true;
    await this.#loseLead();
    await this.#settle();
    await this.#loseRows();
    for (const member of this.#members) {
      totals.answers += member.gateway.delivered.length;
      totals.setAside += member.setAside;
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

  async #takeStep(): Promise<void> {
    const random = this.#random;
    const member = random.pick(this.#members);
    const dice = random.below(10_000);
    this.#step++;
    this.#clockMs += random.below(MOST_STEP_MS + 1);
    if (!member.isUp) {
      if (dice < 300) await this.#start(member);
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
    if (member.role === 'lost' && random.chance(2)) await this.#kill(member, false);
    this.#checkCells();
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
    else return;
    await promisesKept();
  }

  /** Of the machine of a member, or of the database: its leases end early or late. */
  #setClock(member: SimMember): void {
    const byMs = this.#random.between(-MOST_SET_MS, MOST_SET_MS);
    if (this.#random.chance(50)) member.setClock(byMs);
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

  /** The log holds a row from now on: no failover to a standby in the quorum takes it away. */
  #held({ stream, sequence, bytes, epoch }: LogRow): void {
    if (stream === STREAM.CONTROL) this.#heldChanges = sequence;
    if (stream >= STREAM.CONTROL) return;
    const head = this.#heads[stream]!;
    assert.equal(firstSequenceOf({ sequence, bytes }), head.sequence + 1, 'the rows of a stream have no gap');
    this.#reader.load({ sequence, bytes }, head);
    this.#reader.show((record) => {
      const command = record.command.words[record.command.word + ANY_COMMAND.type]! & 0xffff;
      this.#facts[stream]!.set(record.sequence, { timeMs: record.timeMs, command });
      const changes = this.#needs.get(`${epoch}/${stream}/${record.sequence}`) ?? 0;
      assert.ok(changes <= this.#heldChanges, `CLUSTER-4: record ${record.sequence} rests on change ${changes}`);
    });
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
    shard.send(command, this.#nowMs);
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
      if (silent?.isUp === true) continue;
      this.#stuck.clear();
      silent = null;
    }
    this.#stuck.clear();
  }

  /** CLUSTER-1 and CLUSTER-4. Clients go to the member that leads in the newest epoch. */
  #meetLeader(): void {
    const newest = this.#members.find(({ role, epoch }) => role === 'leader' && epoch === this.#database.epoch);
    if (newest === undefined || newest === this.#leader) return;
    for (const shard of this.#leader?.shards ?? []) shard.conversation = null;
    this.#leader = newest;
    this.totals.takeovers++;
    this.#note(`${newest.name} leads in epoch ${newest.epoch}`);
    for (const { gateway } of this.#members) {
      for (const text of gateway.delivered) assert.ok(newest.gateway.has(text), `CLUSTER-4: ${text} was answered`);
    }
    for (const shard of newest.shards) {
      shard.listen();
      const { conversation, oracle } = this.#talks[shard.shard]!;
      const { publishedSequence } = conversation;
      assert.ok(shard.engine.sequence >= publishedSequence, `CLUSTER-1: ${publishedSequence} was published`);
      conversation.resume(shard.engine, shard.journalPath);
      shard.conversation = conversation;
      this.#agree(shard, oracle);
    }
  }

  async #start(member: SimMember): Promise<void> {
    await member.start();
    this.#note(`${member.name} is back at ${member.shards.map(({ engine }) => engine.sequence).join(', ')}`);
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
    const random = this.#random;
    for (let turns = 0; !this.#isQuiet; turns++) {
      assert.ok(turns < MOST_TURNS, `a cluster in which nothing fails gets done: ${this.#where()}`);
      this.#step++;
      this.#clockMs += MOST_STEP_MS;
      this.#stuck.clear();
      const member = random.pick(this.#members);
      if (member.role === 'lost') await this.#kill(member, false);
      if (!member.isUp) {
        await this.#start(member);
        continue;
      }
      await this.#goOn(member);
      this.#checkCells();
    }
    this.#compare();
    this.#needs.clear();
  }

  /** A member of a cluster in which nothing fails. */
  async #goOn(member: SimMember): Promise<void> {
    member.tick();
    for (let i = 0; i < 4; i++) {
      await promisesKept();
      member.turn();
      // Before a new leader runs what is due by itself: clients are there from its first record on.
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
  }

  /** CLUSTER-6: a standby takes the lease, and leads; then a server takes over that does not know of it. */
  async #loseLead(): Promise<void> {
    this.#database.replicate(1);
    const { epoch } = this.#database;
    const standbys = this.#members.filter(({ role }) => role === 'standby');
    await this.#passUntil(standbys, () => this.#database.epoch > epoch);
    const { holder } = this.#database.lease();
    const former = standbys.find(({ name }) => name === holder)!;
    await this.#passUntil([former], () => former.epoch > epoch);
    this.#note(`${former.name} takes the lead of epoch ${former.epoch}, which is lost`);
    this.#database.failOver('other');
    await this.#passUntil(
      standbys.filter((member) => member !== former),
      () => this.#database.epoch >= former.epoch,
    );
    this.#note(`${former.name} has the lead of epoch ${former.epoch}, and so does another one`);
    for (let turns = 0; turns < LOSS_STEPS; turns++) await this.#passAfterLoss(this.#members);
    assert.equal(former.role, 'lost', `CLUSTER-6: one of them ends: ${this.#where()}`);
    const { holder: next } = this.#database.lease();
    const isLed = this.#members.some(({ name, role }) => name === next && role === 'leader');
    assert.ok(isLed, `CLUSTER-6: the other one goes on: ${this.#where()}`);
    this.totals.lostLeads++;
  }

  /** CLUSTER-5. */
  async #loseRows(): Promise<void> {
    for (let steps = 0; steps < LOSS_STEPS || !this.#hasMuchToLose; steps++) {
      assert.ok(steps < MOST_TURNS, `a cluster with one standby of the database goes on: ${this.#where()}`);
      await this.#takeStep();
    }
    const before = this.#database.readAfter(0, Number.POSITIVE_INFINITY);
    // Facts are of rows that are never lost.
    this.#database.onHeld = () => {};
    this.#database.failOver('other');
    const lost = before.filter(({ position }) => position > this.#database.end);
    const having = this.#members.flatMap((member) => {
      const rows = lost.filter((row) => member.holds(row));
      return rows.length === 0 ? [] : { member, rows, heldRows: member.heldRows };
    });
    assert.ok(having.length > 0, 'a member holds rows that are lost');
    this.totals.losses++;
    this.#note(`a standby takes over that lacks ${lost.length} rows after ${this.#database.end}`);
    const isBack = (row: LogRow): boolean => isSameRow(this.#database.rowOf(row.stream, row.sequence), row);
    const isSafe = ({ member, rows }: (typeof having)[number]) => member.role === 'lost' || rows.every(isBack);
    for (let turns = 0; !having.every(isSafe); turns++) {
      assert.ok(turns < LOSS_TURNS, `CLUSTER-5: members that have lost rows stop: ${this.#where()}`);
      await this.#passAfterLoss(this.#members);
    }
    for (const { member, heldRows } of having) {
      if (member.role === 'lost') assert.equal(member.heldRows, heldRows, 'CLUSTER-5: it holds nothing more');
    }
  }

  /** A leader has rows that one standby of the database lacks. */
  get #hasMuchToLose(): boolean {
    const [row] = this.#database.readAfter(this.#database.safe, 1);
    return row !== undefined && this.#members.some((member) => member.role === 'leader' && member.holds(row));
  }

  async #passUntil(members: readonly SimMember[], isDone: () => boolean): Promise<void> {
    for (let turns = 0; !isDone(); turns++) {
      assert.ok(turns < LOSS_TURNS, `a lease that ends is taken: ${this.#where()}`);
      await this.#passAfterLoss(members);
    }
  }

  async #passAfterLoss(members: readonly SimMember[]): Promise<void> {
    this.#clockMs += MOST_STEP_MS;
    for (const member of members.filter(({ isUp }) => isUp)) {
      member.tick();
      await promisesKept();
      member.log.settle();
      this.#database.replicate(0);
      await promisesKept();
      member.turn();
    }
  }

  get #isQuiet(): boolean {
    const leader = this.#leader;
    if (leader === null || !leader.isUp || leader.isDeposed) return false;
    return this.#members.every((member) => {
      return member.isUp && member.isQuiet && (member === leader || member.role === 'standby');
    });
  }

  #where(): string {
    return this.#members.map(({ name, role, epoch, reason }) => `${name} ${role} ${epoch} ${reason}`).join(', ');
  }

  #compare(): void {
    const leader = this.#leader!;
    for (const shard of leader.shards) {
      const { conversation, oracle } = this.#talks[shard.shard]!;
      conversation.pause();
      this.#agree(shard, oracle);
      const state = stateOf(shard.engine);
      const rows = rowsOf(shard);
      for (const other of this.#members) {
        const twin = other.shards[shard.shard]!;
        assert.deepEqual(stateOf(twin.engine), state, `CLUSTER-3: the state of shard ${shard.shard} of ${other.name}`);
        assertSameRows(rowsOf(twin), rows, `CLUSTER-3: the journal of shard ${shard.shard} of ${other.name}`);
      }
    }
    for (const member of this.#members) {
      assert.deepEqual(member.gatewayRows(), leader.gatewayRows(), `CLUSTER-3: the stores of ${member.name}`);
    }
    for (const [index, account] of HOLDERS.entries()) {
      const net = leader.shards.reduce((sum, { heldNets }) => sum + heldNets[index]!, 0);
      assert.equal(leader.balances.availableMicro(account), net, `CLUSTER-2: account ${account}`);
    }
  }

  #agree(shard: ClusterShard, oracle: Oracle): void {
    checkInvariants(shard.engine.state);
    const { events } = this.#talks[shard.shard]!.conversation;
    const toIndex = (market: number): number => marketOf(shard.shard, this.#shards, market);
    assertAgreement(shard.engine, oracle, (market) => events.frameOf(market), toIndex);
  }

  #checkCells(): void {
    for (const member of this.#members) {
      if (member.role !== 'leader' && member.role !== 'lost') continue;
      for (const [index, account] of HOLDERS.entries()) {
        const cell = member.balances.availableMicro(account);
        const held = member.shards.reduce((sum, { heldNets }) => sum + (heldNets[index] ?? 0), 0);
        assert.ok(cell >= 0 && cell <= held, `CLUSTER-2: account ${account} can spend ${cell}, held are ${held}`);
      }
    }
  }

  #note(line: string): void {
    this.log.push(line);
    if (this.log.length > LOG_LINES) this.log.shift();
  }
}

function rowsOf({ journalPath }: ClusterShard): Row[] {
  const db = new Database(journalPath, { readonly: true });
  try {
    return db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence').all();
  } finally {
    db.close();
  }
}

/** Members trim at different times: what both have is compared, up to the same end. */
function assertSameRows(rows: readonly Row[], others: readonly Row[], what: string): void {
  const count = Math.min(rows.length, others.length);
  assert.deepEqual(rows.slice(rows.length - count), others.slice(others.length - count), what);
}

function isSameRow(row: LogRow | null, other: LogRow): boolean {
  return row !== null && row.position === other.position && Buffer.from(row.bytes).equals(other.bytes);
}
