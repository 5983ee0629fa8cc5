/**
 * The operator of a simulated cluster. It knows only what members report, and has the real `cluster found`, `cluster
 * refill` and `cluster accept-loss`, which use the table of refused members and the members' files.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { foundLog } from '../../engine/admin/clusterFound.ts';
import { acceptLoss } from '../../engine/admin/clusterLoss.ts';
import { AdminError } from '../../engine/admin/directory.ts';
import type { Statement } from '../../engine/replication/command.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import type { SimMember } from './clusterMember.ts';

type Members = readonly SimMember[];

export class Operator {
  readonly #database: FakeDatabase;
  readonly #members: readonly SimMember[];

  constructor(database: FakeDatabase, members: Members) {
    this.#database = database;
    this.#members = members;
  }

  /**
   * The member with everything that all others have, or the one that lacks the least of what any is known to have seen
   * held.
   */
  founder(): SimMember {
    const seen = this.#members.map((member) => member.seenEnds());
    const lacked = (member: SimMember): number => {
      const known = [...member.ends()].map(
        ([stream, end]) => Math.max(...seen.map((ends) => ends.get(stream) ?? 0)) - end,
      );
      return known.reduce((sum, lack) => sum + Math.max(0, lack), 0);
    };
    const having = this.#members.filter(({ isEmpty }) => !isEmpty);
    const furthest = having.filter(
      (one) => !having.some((other) => other !== one && contains(other, one) && !contains(one, other)),
    );
    const most = (a: SimMember, b: SimMember): number => sumOf(b.seenEnds()) - sumOf(a.seenEnds());
    return furthest.sort((a, b) => lacked(a) - lacked(b) || most(a, b))[0]!;
  }

  /**
   * Runs `cluster refill` if there is a log, otherwise `cluster found`. Members report their ends with a refused start,
   * each compares them with the others', and the command refuses to found without one of them unless the operator names
   * it.
   */
  async found(founder: SimMember): Promise<void> {
    const database = this.#database;
    await this.#report(founder);
    if (database.history().id !== null) {
      const refused = await this.#tryToFound(founder, true);
      if (refused === null) return;
      // There is a log which this member cannot refill: another one begins under another name of the cluster.
      database.rename(null);
      await this.#report(founder);
    }
    assert.equal(await this.#tryToFound(founder, false), null, `${founder.name} founds a log`);
  }

  /** Each member is started once; the founder is started once more to compare its files with all of them. */
  async #report(founder: SimMember): Promise<void> {
    const others = this.#members.filter((member) => member !== founder && !member.isEmpty);
    for (const member of [...others, founder]) {
      if (await member.start()) await member.kill(false);
    }
  }

  /** @returns null where it was founded, or why it was not, although each member that is in the way was given up */
  async #tryToFound(founder: SimMember, isRefill: boolean): Promise<string | null> {
    const others = this.#members.filter((member) => member !== founder);
    const without = new Set<string>();
    for (;;) {
      const given = { cluster: '', founder: founder.name, without: [...without], isRefill };
      const problem = await foundLog(this.#log(founder), given).then(
        () => null,
        (error: Error) => {
          if (!(error instanceof AdminError)) throw error;
          return error.message;
        },
      );
      if (problem === null) return null;
      const named = others.filter(({ name }) => !without.has(name) && problem.includes(`--without ${name}`));
      if (named.length === 0) return problem;
      for (const { name } of named) without.add(name);
    }
  }

  /** The commands of an operator read and write this: all members are stopped. */
  #log(founder: SimMember | null) {
    const database = this.#database;
    return {
      history: async () => database.history(),
      lease: async () => ({ ...database.lease(), expiresInMs: 0 }),
      facts: async () => {
        const { members, ...facts } = database.facts();
        return { ...facts, members: members.map((each) => ({ ...each, silentMs: Number.POSITIVE_INFINITY })) };
      },
      ends: async () => database.ends(),
      firstAfter: async (stream: number, sequence: number) => database.firstAfter(stream, sequence),
      rowOf: async (stream: number, sequence: number) => database.rowOf(stream, sequence),
      read: <Row>(statement: Statement, values: readonly unknown[]) => database.heads.read<Row>(statement, values),
      write: async (_: Statement, values: readonly unknown[]) => {
        const [, id, , contained] = values as [string, string, string, string[]];
        const [streams, sequences, heads] = values.slice(6, 9) as [number[], number[], string[]];
        const bases = streams.map((stream, at) => ({ stream, sequence: sequences[at]!, head: heads[at]! }));
        for (const name of contained) {
          const member = this.#members.find((each) => each.name === name)!;
          assert.ok(contains(founder!, member), `HEADS-1: all that ${name} has is in the files of ${founder!.name}`);
        }
        database.refound(
          id,
          bases.filter(({ sequence }) => sequence > 0),
        );
        database.heads.decide(id, founder!.name, contained);
        return 1;
      },
    };
  }

  /**
   * Runs `cluster accept-loss`: the files of a member are given up, and it joins with a copy. The command first says
   * what is lost, and does nothing without the number of records. Every acknowledged one of them is in its list, or in
   * the log.
   * @returns the number of lost records
   */
  async acceptLoss(member: SimMember, isInLog: (shard: number, sequence: number) => boolean): Promise<number> {
    const { directory } = member;
    const log = this.#log(null);
    const before = [...member.ends()];
    const shared = member.sharedEnds();
    const said = await acceptLoss(log, { directory, count: null });
    const count = Number(/--count (\d+)/.exec(said.at(-1)!)![1]);
    await assert.rejects(acceptLoss(log, { directory, count: count + 1 }), /nothing was given up/);
    assert.deepEqual([...member.ends()], before, 'no file is given up without the number');
    const [, path] = / in all are in (.*)$/.exec(said.at(-2)!)!;
    const lines = readFileSync(path!, 'utf8').split('\n').filter(Boolean);
    assert.equal(lines.length, count);
    const listed = new Set(lines.map((line) => JSON.parse(line)).map(({ shard, sequence }) => `${shard}/${sequence}`));
    for (const [shard, end] of shared) {
      if (shard >= STREAM.CONTROL) continue;
      for (let sequence = 1; sequence <= end; sequence++) {
        const isSaid = listed.has(`${shard}/${sequence}`) || isInLog(shard, sequence);
        assert.ok(isSaid, `the word of the operator is about record ${sequence} of shard ${shard} of ${member.name}`);
      }
    }
    await acceptLoss(log, { directory, count });
    member.removeMark();
    return count;
  }
}

/** Everything that one member has is in the files of another one. */
function contains(one: SimMember, other: SimMember): boolean {
  const ends = one.ends();
  return other.readRows((otherRow) => {
    return one.readRows((row) => {
      return [...other.ends()].every(([stream, sequence]) => {
        if (sequence === 0) return true;
        if (sequence > ends.get(stream)!) return false;
        const [own, its] = [row(stream, sequence), otherRow(stream, sequence)];
        return own !== null && its !== null && Buffer.compare(own, its) === 0;
      });
    });
  });
}

function sumOf(ends: ReadonlyMap<number, number>): number {
  return [...ends.values()].reduce((sum, end) => sum + end, 0);
}
