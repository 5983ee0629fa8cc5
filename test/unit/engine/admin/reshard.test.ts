/** New journals of shards that are divided anew: what they begin with, read as a start reads it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  baseOf,
  divide,
  oldStates,
  requireSameMoney,
  timeOf,
  writeJournals,
} from '../../../../engine/admin/reshardedFiles.ts';
import { Engine } from '../../../../engine/core/engine.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { loneChecks, MemoryJournal } from '../../../support/engine.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEYS } from '../../../support/journalKey.ts';

const FLOOR = 2 ** 30;

/** A shard with markets that moved to three; the engines are those of a start. */
async function divided(spills: boolean, seed = 11) {
  const shard = new JournaledShard(seed);
  shard.trade(200);
  shard.snapshot(spills);
  shard.trade(20);
  shard.close();
  const { ends, replicas } = oldStates([shard.file]);
  const base = baseOf(ends, TEST_KEYS.length);
  const directory = temporaryDirectory();
  const states = await divide([shard.file], replicas, base, directory, TEST_KEYS, new Map());
  const heads = writeJournals(states, base, timeOf(replicas), FLOOR, directory, TEST_KEYS);
  const engines = states.map((_, index) => {
    const options = { shard: index, shards: states.length, journalSync: 'normal', key: TEST_KEYS[index]! } as const;
    const journal = Journal.open({ ...options, journalPath: `${directory}/journal-${index}.db` });
    const make = () =>
      new Engine({
        balances: new Balances(createBalances()),
        collateralCheck: true,
        checks: loneChecks(),
        journal: new MemoryJournal(),
      });
    const { damaged, engine } = recover(journal, directory, index, make);
    journal.close();
    assert.deepEqual(damaged, []);
    return engine;
  });
  return { base, engines, ends, heads, old: replicas.map(({ engine }) => engine.state), shard };
}

describe('the journals of shards that were divided anew', () => {
  it('begin after the highest record of before, with numbers above the floor and the same money', async () => {
    const { base, engines, heads, old, shard } = await divided(false);
    assert.equal(base.sequence, shard.last);
    assert.deepEqual(
      heads.map(({ sequence }) => sequence),
      engines.map(() => shard.last + 1),
    );
    for (const { state } of engines) assert.equal(state.orderSequence, FLOOR);
    requireSameMoney(
      old,
      engines.map(({ state }) => state),
    );
  });

  it('name in their chain how each journal of before ends', async () => {
    const { ends } = await divided(false);
    const [end] = ends;
    const other = [{ ...end!, digest: [1, 2] }];
    assert.notEqual(baseOf(ends, 3).chainLow, baseOf(other, 3).chainLow);
    assert.notEqual(baseOf(ends, 3).chainLow, baseOf(ends, 2).chainLow);
  });

  it('have every hash that a run of before had, in a shard that can get the order again', async () => {
    const { engines, shard } = await divided(true);
    const { hashes } = shard.rig.engine.state;
    let found = 0;
    hashes.visitKept((words, entry) => {
      const having = engines.filter(({ state }) => state.wasAccepted(words, entry));
      assert.ok(having.length >= 1, 'an order can be sent again');
      found++;
    });
    assert.ok(found > 50, `${found} hashes were looked for`);
    assert.ok(engines.some(({ state }) => state.hashes.spilled.named.runs.length > 0));
  });
});
