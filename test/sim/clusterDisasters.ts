/**
 * Disasters of a simulated cluster, which it does not survive by itself: all servers of the database are lost, the
 * database is restored to an earlier state, a standby that lacks rows is promoted, and the members are given another
 * name of the cluster. Processes die around it, disks are lost, supervisors start every member again at any step. Then
 * an operator does what the runbook says.
 *
 *   disaster ──► supervisors, and more faults ──► whole? ──► operator: found, refill ──► whole?
 *                                                                  └── refused ──► accepts the loss ──► goes on
 *
 * Invariants:
 *   DISASTER-1  If one member, or the log with members that can follow it, has everything acknowledged, it is there in
 *               the end, and members lead and follow again.
 *   DISASTER-2  Otherwise no member leads until an operator accepts the loss, which names the lost records exactly.
 */
import assert from 'node:assert/strict';
import { STREAM } from '../../shared/wire/replication.ts';
import type { Backup, FakeDatabase } from '../support/fakeDatabase.ts';
import type { Random } from '../support/random.ts';
import { textOf } from './clusterGateway.ts';
import type { SimMember } from './clusterMember.ts';
import { Operator } from './clusterOperator.ts';
import type { GivenUp, Witness } from './clusterWitness.ts';

const KINDS = ['totalLosses', 'restores', 'laggingPromotions', 'renames'] as const;
type Kind = (typeof KINDS)[number];

export type DisasterTotals = Record<Kind, number> & {
  /** They ended with everything, or refused until an operator accepted the loss. */
  whole: number;
  refused: number;
  /** Of the whole ones, the number that needed no operator. */
  byThemselves: number;
  /** Members whose files an operator gave up: they had rows on another branch, or rows of unknown state. */
  filesGivenUp: number;
  /** Records in the list that an operator has seen before, by their count. */
  recordsGivenUp: number;
  /** Members whose files were of an older version, which had no marks of held rows. */
  withoutMarks: number;
  /** Logs that lack rows that no remaining member has ever seen. */
  unseen: number;
};

/** The world lets disasters do this. */
export type Stage = {
  /** A step in which anything may fail. */
  step(): Promise<void>;
  kill(member: SimMember, isPowerCut: boolean): Promise<void>;
  /** Faults stop. @returns true if all members lead and follow within this many turns */
  settle(turns: number): Promise<boolean>;
  /** One standby of the database gets nothing, or again everything. */
  lag(isLagging: boolean): void;
  /** The log is another one: the world learns its present content. */
  relearn(): void;
  /** Records that were given up did not happen. */
  goBack(): void;
  note(line: string): void;
  where(): string;
};

type Parts = {
  readonly random: Random;
  /** The number of the first kind. */
  readonly first: number;
  readonly database: FakeDatabase;
  readonly members: readonly SimMember[];
  readonly witness: Witness;
  readonly totals: DisasterTotals;
};

/** A refused start says so of records that were held before (standing.ts). */
const LACKS = /held before|last row that this member has seen|another log/;
const MOST_BACKUPS = 6;
const MOST_STEPS = 300;
/** Steps of lag: a standby of the database then lacks rows. */
const LAG_STEPS = 300;
/** In which members that can lead do so, with all supervisors at work. */
const PATIENCE_TURNS = 1500;

export function noDisasters(): DisasterTotals {
  const counts = { totalLosses: 0, restores: 0, laggingPromotions: 0, renames: 0 };
  return {
    ...counts,
    whole: 0,
    refused: 0,
    byThemselves: 0,
    filesGivenUp: 0,
    recordsGivenUp: 0,
    withoutMarks: 0,
    unseen: 0,
  };
}

export class Disasters {
  readonly #parts: Parts;
  readonly #stage: Stage;
  readonly #operator: Operator;
  readonly #backups: Backup[] = [];
  /** The logs under other names of the cluster. */
  readonly #renamed: Backup[] = [];
  #next: number;
  /** The log was founded from the files of this one: they are not given up. */
  #founder = '';

  constructor(parts: Parts, stage: Stage) {
    this.#parts = parts;
    this.#next = parts.first;
    this.#stage = stage;
    this.#operator = new Operator(parts.database, parts.members);
  }

  /** A base backup of the database is made, beside older ones. */
  backUp(): void {
    const { random, database } = this.#parts;
    if (this.#backups.length === MOST_BACKUPS) this.#backups.splice(random.below(MOST_BACKUPS), 1);
    this.#backups.push(database.backup());
  }

  /** Strikes with the next kind, in turn: so a few worlds, one after the other, see all of them. */
  async strike(): Promise<void> {
    const kind = KINDS[this.#next++ % KINDS.length]!;
    this.#stage.note(`disaster: ${kind}`);
    this.#parts.totals[kind]++;
    await this.#cause(kind);
    this.#stage.relearn();
    await this.#recover();
  }

  async #cause(kind: Kind): Promise<void> {
    const { random, database } = this.#parts;
    if (kind === 'laggingPromotions') return this.#promoteLagging();
    const isUnreachable = random.chance(50);
    if (isUnreachable) await this.#takeAway();
    await this.#killSome();
    if (kind === 'totalLosses') database.replace(null);
    else if (kind === 'restores') database.replace(random.pick(this.#backups));
    else this.#rename();
    database.isReachable = true;
  }

  /** For a while all servers of the database are gone. */
  async #takeAway(): Promise<void> {
    const { random, database } = this.#parts;
    database.isReachable = false;
    database.generation++;
    for (let steps = random.below(MOST_STEPS); steps > 0; steps--) await this.#stage.step();
  }

  #rename(): void {
    const { random, database } = this.#parts;
    const was = random.chance(30) ? (this.#renamed.pop() ?? null) : null;
    this.#renamed.push(database.backup());
    database.rename(was);
  }

  async #promoteLagging(): Promise<void> {
    const { random, database } = this.#parts;
    this.#stage.lag(true);
    for (let steps = random.below(LAG_STEPS); steps > 0; steps--) await this.#stage.step();
    await this.#killSome();
    this.#stage.note(`a standby takes over at ${database.safe} of ${database.end}`);
    database.failOver('other');
    this.#stage.lag(false);
  }

  /** None, some or all members die, and some of those lose their disks; one of those with files keeps its own. */
  async #killSome(): Promise<void> {
    const { random, members, totals } = this.#parts;
    const percent = random.pick([0, 50, 100, 100]);
    const keeps = random.pick(members.filter(({ isEmpty }) => !isEmpty));
    for (const member of members) {
      if (member.isUp && random.chance(percent)) await this.#stage.kill(member, random.chance(40));
      if (member.isUp) continue;
      if (member !== keeps && random.chance(20)) {
        member.loseDisk();
        this.#stage.note(`${member.name} has lost its disk`);
      } else if (random.chance(5)) {
        member.forgetMark();
        totals.withoutMarks++;
        this.#stage.note(`${member.name} has the files of a version without marks`);
      }
    }
  }

  async #recover(): Promise<void> {
    const { random, totals } = this.#parts;
    for (let steps = random.below(MOST_STEPS); steps > 0; steps--) await this.#stage.step();
    if (await this.#stage.settle(PATIENCE_TURNS)) {
      totals.whole++;
      totals.byThemselves++;
      return;
    }
    await this.decide();
  }

  /**
   * Members are refused. If the log lacks rows that were held before, the operator founds it anew from the member that
   * goes furthest, and so accepts the loss of rows that no member has; files with rows that may have been acknowledged
   * are given up.
   */
  async decide(): Promise<void> {
    const { members } = this.#parts;
    const isLost = !members.some(({ isUp }) => isUp) || members.some(({ isUp, reason }) => !isUp && LACKS.test(reason));
    if (isLost) await this.#found();
    for (let tries = 0; !(await this.#stage.settle(PATIENCE_TURNS)); tries++) {
      assert.ok(tries < members.length, `DISASTER-1: members lead and follow: ${this.#stage.where()}`);
      const refused = members.find(({ isUp, isEmpty, name }) => !isUp && !isEmpty && name !== this.#founder);
      assert.ok(refused !== undefined, `DISASTER-1: members lead: ${this.#stage.where()}`);
      this.#stage.note(`an operator gives up the files of ${refused.name}`);
      this.#parts.totals.filesGivenUp++;
      this.#parts.totals.recordsGivenUp += await this.#operator.acceptLoss(refused, (shard, sequence) =>
        this.#isInLog(shard, sequence),
      );
    }
    this.#founder = '';
  }

  async #found(): Promise<void> {
    const { totals, members, witness } = this.#parts;
    for (const member of members) if (member.isUp) await this.#stage.kill(member, false);
    const having = this.#whoHasAll();
    this.#stage.note(`an operator decides: ${having.join(', ') || 'nobody'} has everything`);
    const founder = this.#operator.founder();
    const lost = this.#lostWith(founder);
    const isWhole = having.length === 0 || lost.length === 0;
    assert.ok(isWhole, `DISASTER-1: ${founder.name} founds, and ${having} has everything: ${JSON.stringify(lost)}`);
    await this.#operator.found(founder);
    this.#founder = founder.name;
    this.#stage.note(`${founder.name} founds the log anew`);
    this.#stage.relearn();
    if (lost.length > 0) totals.refused++;
    else totals.whole++;
    for (const each of lost) witness.giveUp(each);
    if (lost.length > 0) this.#stage.goBack();
  }

  /** A record that was acknowledged is in a row of the log, or before the first one. */
  #isInLog(shard: number, sequence: number): boolean {
    const { database, witness } = this.#parts;
    const first = database.firstAfter(shard, 0);
    if (first === null) return sequence <= (database.ends().find(({ stream }) => stream === shard)?.sequence ?? 0);
    if (first.sequence >= sequence) return true;
    return sequence <= witness.commonEnd(shard, (_, last) => database.rowOf(shard, last)?.bytes ?? null);
  }

  #lostWith(founder: SimMember): GivenUp[] {
    const { witness } = this.#parts;
    const ends = founder.sharedEnds();
    return [...ends].flatMap(([stream, end]) => {
      const to = witness.acknowledged(stream);
      return end >= to ? [] : [{ stream, from: end + 1, to }];
    });
  }

  /**
   * CLUSTER-1: a member leads without something that was acknowledged. No one who is left has ever seen it, whether it
   * runs or not (MAYTAKE-1): it is lost, and given up.
   */
  leadsWithout(leader: SimMember): void {
    const { members, witness, totals } = this.#parts;
    const ends = leader.sharedEnds();
    const isBeyond = ([stream, end]: readonly [number, number]): boolean => {
      return end > (ends.get(stream) ?? 0) && end <= witness.acknowledged(stream);
    };
    const knowing = members.filter((member) => [...member.sharedEnds(), ...member.seenEnds()].some(isBeyond));
    const names = knowing.map(({ name, role }) => `${name} (${role})`);
    assert.deepEqual(
      names,
      [],
      `CLUSTER-1: ${leader.name} leads without what others have seen: ${this.#stage.where()}`,
    );
    for (const [stream, end] of ends) {
      witness.giveUp({ stream, from: end + 1, to: witness.acknowledged(stream) });
    }
    totals.unseen++;
  }

  /** By name: the members with everything that was acknowledged. */
  #whoHasAll(): string[] {
    const { members, database, witness } = this.#parts;
    const having = members.filter((member) => member.readRows((rowOf) => witness.missing(rowOf)).length === 0);
    const inLog = witness.missing((stream, sequence) => {
      const row = database.rowOf(stream, sequence);
      if (row === null) return null;
      return stream < STREAM.CONTROL ? row.bytes : Buffer.from(textOf(row));
    });
    return [...having.map(({ name }) => name), ...(inLog.length === 0 ? ['the log'] : [])];
  }
}
