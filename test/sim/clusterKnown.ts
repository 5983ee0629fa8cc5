/**
 * The log of a simulated cluster as the world has seen it: the records that may be published anywhere, and the changes
 * on which they depend. After a disaster it is learned anew.
 */
import assert from 'node:assert/strict';
import Database from 'better-sqlite3';
import type { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { firstSequenceOf, JournalHead, type Row } from '../../engine/journal/row.ts';
import { RowReader } from '../../engine/journal/rowReader.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';
import { type LogRow, STREAM } from '../../shared/wire/replication.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import { TEST_KEYS } from '../support/journalKey.ts';
import { textOf } from './clusterGateway.ts';
import type { SimMember } from './clusterMember.ts';
import type { ClusterShard, Facts, Needs } from './clusterShard.ts';
import type { Witness } from './clusterWitness.ts';

export class KnownLog {
  readonly facts: readonly Facts[];
  readonly needs: Needs = new Map();
  /** The next leader may have rows that were not seen in the log, because the log was lost and is another one. */
  mustLearn = false;
  readonly #witness: Witness;
  /** By shard: the head after the last row of the log; null if the next row may be any. */
  readonly #heads: (JournalHead | null)[];
  readonly #readers = TEST_KEYS.map((key) => new RowReader('of the log', key));
  /** The newest lead that clients have met. */
  #lead = 0;
  /** The changes of the gateway that the log holds. */
  #heldChanges = 0;

  constructor(shards: number, witness: Witness) {
    this.#witness = witness;
    this.facts = Array.from({ length: shards }, () => new Map());
    this.#heads = this.facts.map(() => new JournalHead(0, 0, 0));
  }

  /** CLUSTER-7. @returns false for a leader that has a successor: it has to end, whatever the log says */
  meets(lead: number): boolean {
    if (lead <= this.#lead) return false;
    this.#lead = lead;
    return true;
  }

  /** CLUSTER-4. The log holds a row from now on: no failover to a standby in the quorum takes it away. */
  held(row: LogRow): void {
    const { stream, sequence, bytes, epoch } = row;
    assert.ok(row.lead >= this.#lead, `CLUSTER-7: a row of lead ${row.lead}, and ${this.#lead} has led`);
    this.#witness.held(stream < STREAM.CONTROL ? row : { ...row, bytes: Buffer.from(textOf(row)) });
    if (stream === STREAM.CONTROL) this.#heldChanges = sequence;
    if (stream >= STREAM.CONTROL) return;
    const reader = this.#readers[stream]!;
    const first = firstSequenceOf({ sequence, bytes });
    const head = this.#heads[stream] ?? reader.headBefore(row, first);
    this.#heads[stream] = head;
    assert.equal(first, head.sequence + 1, 'the rows of a stream have no gap');
    reader.load({ sequence, bytes }, head);
    reader.show((record) => {
      noteFact(this.facts[stream]!, record);
      const changes = this.needs.get(`${epoch}/${stream}/${record.sequence}`) ?? 0;
      assert.ok(changes <= this.#heldChanges, `CLUSTER-4: record ${record.sequence} rests on change ${changes}`);
    });
  }

  /** The log is another one: only acknowledged records, and whatever else it has, are sure to be in it. */
  relearn(database: FakeDatabase): void {
    this.needs.clear();
    // A log that was founded with these records has no rows of them.
    this.#heldChanges = database.ends().find(({ stream }) => stream === STREAM.CONTROL)?.sequence ?? 0;
    this.#heads.fill(null);
    for (const { stream, sequence, bytes } of database.readAfter(0, Number.POSITIVE_INFINITY)) {
      if (stream < STREAM.CONTROL) this.#heads[stream] = this.#learn(stream, { sequence, bytes });
    }
    this.mustLearn = true;
  }

  /** All that this leader has is held. */
  learnFrom(leader: SimMember): void {
    this.mustLearn = false;
    for (const shard of leader.shards) {
      for (const row of rowsOf(shard)) {
        this.#learn(shard.shard, row);
        this.#witness.held({ stream: shard.shard, ...row });
      }
    }
    leader.readRows((rowOf) => {
      for (const { stream, sequence } of leader.gateway.ends()) {
        for (let each = 1; each <= sequence; each++) {
          this.#witness.held({ stream, sequence: each, bytes: rowOf(stream, each)! });
        }
      }
    });
    this.#heldChanges = Math.max(this.#heldChanges, leader.gateway.changes);
  }

  /**
   * Records that were given up did not happen. No process shows them any more: either an operator has stopped all
   * members before, or none has seen them (CLUSTER-1).
   */
  goBack(shard: number, end: number): void {
    const facts = this.facts[shard]!;
    for (const sequence of facts.keys()) if (sequence > end) facts.delete(sequence);
  }

  /** Notes the records of a row that may be new to the world. @returns the head after it */
  #learn(shard: number, row: Row): JournalHead {
    const reader = this.#readers[shard]!;
    const head = reader.headBefore(row, firstSequenceOf(row));
    reader.load(row, head);
    reader.show((record) => {
      if (record.sequence > this.#witness.acknowledged(shard)) noteFact(this.facts[shard]!, record);
    });
    return head;
  }
}

function noteFact(facts: Facts, { sequence, timeMs, command: { words, word } }: JournalRecord): void {
  const fact = { timeMs, command: words[word + ANY_COMMAND.type]! & 0xffff };
  const known = facts.get(sequence) ?? [];
  if (!known.some((each) => each.timeMs === fact.timeMs && each.command === fact.command)) known.push(fact);
  facts.set(sequence, known);
}

/** All rows of its journal. */
export function rowsOf({ journalPath }: Pick<ClusterShard, 'journalPath'>): Row[] {
  const db = new Database(journalPath, { readonly: true });
  try {
    return db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence').all();
  } finally {
    db.close();
  }
}
