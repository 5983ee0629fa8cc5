/**
 * The operator of a simulated cluster, who knows what members say of themselves and nothing else. What is written here
 * into the log stands for `cluster found`, `cluster refill` and `cluster accept-loss` of the administrator: the files
 * of all members are compared, and the log begins anew with what the founder has. What each start makes of the
 * operator's word is the real start.
 */
import { randomUUID } from 'node:crypto';
import { RowReader } from '../../engine/journal/rowReader.ts';
import { setStateAside } from '../../engine/replication/joiningFiles.ts';
import { headText } from '../../engine/replication/rejoin.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import { TEST_KEYS } from '../support/journalKey.ts';
import type { SimMember } from './clusterMember.ts';

type Members = readonly SimMember[];

export class Operator {
  readonly #database: FakeDatabase;
  readonly #members: readonly SimMember[];
  #times = 0;

  constructor(database: FakeDatabase, members: Members) {
    this.#database = database;
    this.#members = members;
  }

  /** The member with what all others have, or that lacks the least of what any is known to have seen held. */
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

  /** All members are stopped. The log begins anew with what this one has. */
  found(founder: SimMember): void {
    const id = randomUUID();
    const bases = [...founder.ends()].map(([stream, sequence]) => {
      const row = stream < STREAM.CONTROL ? founder.readRows((rowOf) => rowOf(stream, sequence)) : null;
      const head =
        row === null ? '' : headText(new RowReader('', TEST_KEYS[stream]!).headAfter({ sequence, bytes: row }));
      return { stream, sequence, head };
    });
    this.#database.refound(
      id,
      bases.filter(({ sequence }) => sequence > 0),
    );
    for (const member of this.#members) {
      if (member === founder) member.decisions.set(id, 'founder');
      else if (!member.isEmpty && contains(founder, member)) member.decisions.set(id, 'contained');
    }
  }

  /** The files of a member are given up: it joins with a copy. */
  acceptLoss(member: SimMember): void {
    this.#setAside(member);
  }

  #setAside(member: SimMember): void {
    setStateAside(member.directory, `operator-${++this.#times}`);
    member.removeMark();
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
