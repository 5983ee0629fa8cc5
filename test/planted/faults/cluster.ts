/** Planted faults (faults.ts) of members of a cluster: what they hold, follow and set aside. */
import type { Fault } from './fault.ts';

const CLUSTER = 'test/sim/cluster.test.ts';

export const CLUSTER_FAULTS: readonly Fault[] = [
  {
    name: 'events leave a shard before the log of the cluster holds them',
    file: 'engine/shard/loop.ts',
    search: 'return this.#outlet.publish(this.#unheld?.heldEnd);',
    replace: 'return this.#outlet.publish();',
    caughtBy: CLUSTER,
  },
  {
    name: 'credits can be spent elsewhere before the log of the cluster holds them',
    file: 'engine/shard/loop.ts',
    search: 'unheld.push(this.#journal.head, this.#engine.state.ledger.sealCredits(), this.#outlet.end);',
    replace: 'this.#engine.state.ledger.releaseCredits();\n    unheld.push(this.#journal.head, 0, this.#outlet.end);',
    caughtBy: CLUSTER,
  },
  {
    name: 'a credit of a later batch leaves in the place of one that was spent',
    file: 'engine/money/sealedCredits.ts',
    search: 'const spent = Math.min(entry, this.#spentMicro[account]);',
    replace: 'const spent = Math.max(0, entry - this.#leftMicro[account]);',
    caughtBy: 'test/unit/engine/money/sealedCredits.test.ts',
  },
  {
    name: 'the committed sequence runs ahead of the log of the cluster',
    file: 'engine/shard/loop.ts',
    search: 'this.#progress.setCommitted(this.#shard, unheld.heldHead.sequence);',
    replace: 'this.#progress.setCommitted(this.#shard, this.#engine.sequence);',
    caughtBy: 'test/unit/engine/shard/cluster.test.ts',
  },
  {
    name: 'what is in the file counts as held',
    file: 'engine/journal/replicatedJournal.ts',
    search: 'return Math.min(this.#replication.held(this.#shard), this.#journal.heldSequence);',
    replace: 'return this.#journal.heldSequence;',
    caughtBy: CLUSTER,
  },
  {
    name: 'a shard leads before the tail of the log is read',
    file: 'engine/journal/replicatedJournal.ts',
    search: 'assert(held === journal.lastSequence,',
    replace: 'assert(held >= 0,',
    caughtBy: 'test/unit/engine/shard/cluster.test.ts',
  },
  {
    name: 'a shard that leads does not restore its balances',
    file: 'engine/shard/main.ts',
    search: 'goLive();\n        post({ restored',
    replace: 'post({ restored',
    caughtBy: 'test/unit/engine/shard/cluster.test.ts',
  },
  {
    name: 'a shard that is cut off from the log runs commands without end',
    file: 'engine/shard/unheld.ts',
    search: 'return this.#batches.length >= MOST_BATCHES;',
    replace: 'return this.#batches.length < 0;',
    caughtBy: 'test/unit/engine/shard/cluster.test.ts',
  },
  {
    name: 'rows that the log gives again are applied again',
    file: 'engine/shard/follower.ts',
    search: 'if (row.sequence <= this.#head.sequence) continue;',
    replace: '',
    caughtBy: 'test/unit/engine/shard/cluster.test.ts',
  },
  {
    name: 'a standby believes the events of the leader',
    file: 'engine/core/engine.ts',
    search: 'if (!isSame) throw new ReplayError(sequence);',
    replace: '',
    caughtBy: 'test/unit/engine/shard/cluster.test.ts',
  },
  {
    name: 'a member that comes back keeps what the log never took',
    file: 'engine/replication/rejoin.ts',
    search: 'removeTail(file, common.sequence);',
    replace: '',
    caughtBy: CLUSTER,
  },
  {
    name: 'rows count as common when they end with the same record',
    file: 'engine/replication/rejoin.ts',
    search: 'if (logged !== null && Buffer.from(logged).equals(row.bytes))',
    replace: 'if (logged !== null)',
    caughtBy: CLUSTER,
  },
  {
    name: 'a member that comes back drops what was acknowledged',
    file: 'engine/replication/rejoin.ts',
    search: 'if (held <= common) return;',
    replace: 'if (held >= 0) return;',
    caughtBy: 'test/unit/engine/replication/rejoin.test.ts',
  },
];
