/**
 * A cluster on a virtual clock in one thread: three members over one log, clients that send, and everything that can go
 * wrong in an order that only the seed decides: the way to the log is cut, what was sent arrives late, processes die at
 * any turn, and leases end while their holder does not know.
 *
 * Invariants, besides those of the members and of the oracle:
 *   CLUSTER-1  A new leader has every record that was published anywhere, and what its journal has of commands without
 *              a reply is what the oracle says of them: nothing answered is lost, nothing happens twice.
 *   CLUSTER-2  Available funds never exceed those whose records the log holds, and are never negative. When no command
 *              is under way they are the sum of the shards' nets.
 *   CLUSTER-3  When all have followed, the journals of all members are the same byte for byte, and so are their states.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { checkInvariants } from '../../engine/core/invariants.ts';
import type { Row } from '../../engine/journal/row.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { stateOf } from '../support/engine.ts';
import { Random } from '../support/random.ts';
import { assertAgreement } from './agreement.ts';
import { SimLog } from './clusterLog.ts';
import { Member } from './clusterMember.ts';
import type { ClusterShard } from './clusterShard.ts';
import { type Command, marketOf, show } from './command.ts';
import { Conversation } from './conversation.ts';
import { ACCOUNTS, Flow } from './flow.ts';
import { Oracle } from './oracle.ts';
import { ROWS_OF_RECORD } from './simShard.ts';

const MEMBERS = 3;
const SHARDS = 2;
const START_MS = 1_800_000_000_000;
const HOLDERS = [0, ...ACCOUNTS];
/** Commands after which all is answered, followed and compared. */
const COMPARE_EVERY = 150;
const LOG_LINES = 60;
/** Several leases: another leads meanwhile, and the member does not know. */
const LONGEST_SILENCE_STEPS = 12_000;
const MOST_TURNS = 200_000;
/** References of deposits that only a deposed leader gets. */
const FIRST_LOST_REFERENCE = 1_000_000;

export type ClusterTotals = {
  commands: number;
  accepted: number;
  fills: number;
  takeovers: number;
  deaths: number;
  cuts: number;
  /** Commands that a leader ran which had been deposed. */
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
    cuts: 0,
    lost: 0,
    setAside: 0,
  };
  readonly log: string[] = [];
  readonly #random: Random;
  readonly #members: Member[];
  readonly #talks: Talk[];
  readonly #replicated: SimLog;
  /** The member that clients talk to, and its epoch. */
  #leader: Member | null = null;
  #step = 0;
  /** Members between which and the log nothing moves before a step. */
  readonly #stuck = new Map<Member, number>();
  #nowMs = START_MS;
  #lostReference = FIRST_LOST_REFERENCE;

  constructor(seed: number, directory: string, keccak: Keccak256) {
    const random = new Random(seed);
    this.#random = random;
    this.#replicated = new SimLog(SHARDS, () => this.#step);
    this.#talks = Array.from({ length: SHARDS }, (_, shard) => {
      const oracle = new Oracle(true, ROWS_OF_RECORD, SHARDS);
      oracle.nowMs = START_MS;
      const flow = new Flow({ random, oracle, shard, shards: SHARDS, nowMs: START_MS, isRehearsal: false, keccak });
      return { oracle, flow, conversation: new Conversation(oracle, flow) };
    });
    this.#members = Array.from({ length: MEMBERS }, (_, index) => {
      const own = join(directory, `${index}`);
      mkdirSync(own);
      const [name, log, nowMs] = [`member ${index}`, this.#replicated, () => this.#nowMs];
      return new Member({ name, shards: SHARDS, directory: own, random, keccak, log, nowMs, holders: HOLDERS });
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
    for (const member of this.#members) {
      totals.setAside += member.setAside;
      member.stop();
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
    if (!member.isUp) {
      if (dice < 300) await this.#start(member);
      return;
    }
    if (dice < 1200) this.#sendSome();
    else if (dice < 4500) for (let turns = random.below(8); turns >= 0; turns--) random.pick(member.shards).turn();
    else if (dice < 6000) random.pick(member.shards).listen(random.below(60));
    else if (dice < 7400) member.turn();
    else if (dice < 9600) this.#move(member);
    else if (dice < 9700) member.connection.arriveLate();
    else if (dice < 9730) this.#cut(member);
    else if (dice < 9745) this.#kill(member);
    else if (dice < 9765) this.#housekeep(member);
    else if (dice < 9775) this.#step += random.below(600);
    else if (dice < 9790) this.#stuck.set(member, this.#step + random.below(LONGEST_SILENCE_STEPS));
    if (member.isDeposed && random.chance(10)) this.#sendInVain(member);
    this.#meetLeader();
    if (member.role === 'lost' && random.chance(2)) this.#kill(member);
    this.#checkCells();
  }

  /** Something on the way of the member to the log, or back, arrives. */
  #move(member: Member): void {
    if ((this.#stuck.get(member) ?? 0) <= this.#step) member.connection.step();
  }

  #sendSome(): void {
    const leader = this.#leader;
    if (leader === null || !leader.isUp) return;
    const random = this.#random;
    const shard = random.pick(leader.shards);
    const { flow } = this.#talks[shard.shard]!;
    for (let count = random.below(6); count >= 0; count--) {
      if (random.chance(10)) this.#nowMs += random.below(4000);
      const timeMs = random.chance(2) ? this.#nowMs - random.below(3000) : this.#nowMs;
      const command = flow.next(timeMs);
      if (!shard.send(command, timeMs)) return;
      this.#note(`to shard ${shard.shard} of ${leader.name} at ${timeMs}: ${show(command)}`);
      this.totals.commands++;
    }
  }

  /** Clients that do not know of the new leader: nothing of this may have an answer. */
  #sendInVain(member: Member): void {
    const account = this.#random.pick(ACCOUNTS);
    const reference = this.#lostReference++;
    const command: Command = { kind: 'funds', account, amount: 1_000_000, isDeposit: true, reference };
    const shard = this.#random.pick(member.shards);
    if (shard.conversation !== null) return; // no other leads yet
    if (shard.send(command, this.#nowMs)) this.totals.lost++;
  }

  /** CLUSTER-1. Clients go to the member that leads in the newest epoch. */
  #meetLeader(): void {
    const newest = this.#members.find(({ role, epoch }) => role === 'leader' && epoch === this.#replicated.epoch);
    if (newest === undefined || newest === this.#leader) return;
    for (const shard of this.#leader?.shards ?? []) shard.conversation = null;
    this.#leader = newest;
    this.totals.takeovers++;
    this.#note(`${newest.name} leads in epoch ${newest.epoch}`);
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

  async #start(member: Member): Promise<void> {
    await member.start();
    this.#note(`${member.name} is back at ${member.shards.map(({ engine }) => engine.sequence).join(', ')}`);
  }

  #cut(member: Member): void {
    this.#note(`the way of ${member.name} (${member.role}) to the log is cut`);
    this.totals.cuts++;
    member.cut();
  }

  #kill(member: Member): void {
    this.#note(`${member.name} (${member.role}) dies, its shards before ${member.shards.map(({ phase }) => phase)}`);
    this.totals.deaths++;
    if (member === this.#leader) {
      // Its clients may have got all that it has published.
      for (const shard of member.shards) shard.listen();
      this.#leader = null;
    }
    member.kill();
  }

  #housekeep(member: Member): void {
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
      const member = random.pick(this.#members);
      if (member.role === 'lost') this.#kill(member);
      if (!member.isUp) {
        await this.#start(member);
        continue;
      }
      if (this.#leader === null && random.chance(1)) this.#step += 400;
      for (let i = 0; i < 4; i++) {
        member.turn();
        member.connection.step();
        // Before a new leader runs what is due by itself: clients are there from its first record on.
        this.#meetLeader();
        for (const shard of member.shards) {
          shard.turn();
          shard.listen();
        }
      }
      this.#checkCells();
    }
    this.#compare();
  }

  get #isQuiet(): boolean {
    const leader = this.#leader;
    if (leader === null || !leader.isUp || leader.isDeposed) return false;
    return this.#members.every((member) => {
      return member.isUp && member.isQuiet && (member === leader || member.role === 'standby');
    });
  }

  #where(): string {
    return this.#members.map(({ name, role, epoch }) => `${name} ${role} ${epoch}`).join(', ');
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
    for (const [index, account] of HOLDERS.entries()) {
      const net = leader.shards.reduce((sum, { heldNets }) => sum + heldNets[index]!, 0);
      assert.equal(leader.balances.availableMicro(account), net, `CLUSTER-2: account ${account}`);
    }
  }

  #agree(shard: ClusterShard, oracle: Oracle): void {
    checkInvariants(shard.engine.state);
    const { events } = this.#talks[shard.shard]!.conversation;
    const toIndex = (market: number): number => marketOf(shard.shard, SHARDS, market);
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
