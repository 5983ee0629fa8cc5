/** `journal verify` finds a database that is whole by itself, and follows other journals than those beside it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import Database from 'better-sqlite3';
import type { ShardFile } from '../../../../engine/admin/directory.ts';
import { withHistories } from '../../../../engine/admin/histories.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';

const OK = ['settlement.db', 'read.db'].map((name) => ({ name, state: 'ok', problem: null }));

/** An exchange that has traded so much, followed by both databases. */
function rigOf(orders: number): ProjectionRig {
  const rig = new ProjectionRig();
  after(() => rig.close());
  rig.trade(orders);
  rig.project();
  const settlement = openSettlementDb(`${rig.directory}/settlement.db`);
  settlement.exec(`ATTACH '${rig.readDbPath}' AS read_model`);
  settlement.exec('INSERT INTO followed SELECT shard, sequence, chain_low, chain_high, NULL FROM read_model.cursors');
  settlement.close();
  return rig;
}

function problemsOf({ directory, journalPaths }: ProjectionRig): (string | null)[] {
  const shards = journalPaths.length;
  const files = journalPaths.map((journalPath, shard): ShardFile => {
    return { shard, shards, directory, journalPath, key: TEST_KEY };
  });
  return withHistories(directory, files, OK).map(({ problem }) => problem);
}

test('a database that follows the journals of another exchange is named, with what helps', () => {
  const [rig, other] = [rigOf(20), rigOf(30)];
  assert.deepEqual(problemsOf(rig), [null, null]);
  rig.trade(5);
  assert.deepEqual(problemsOf(rig), [null, null], 'one that is behind goes on');
  for (const [name, table] of [
    ['read.db', 'cursors'],
    ['settlement.db', 'followed'],
  ]) {
    const db = new Database(`${rig.directory}/${name}`);
    db.exec(`ATTACH '${other.directory}/${name}' AS other; DELETE FROM ${table};
      INSERT INTO ${table} SELECT * FROM other.${table}`);
    db.close();
  }
  const [settlement, read] = problemsOf(rig);
  assert.match(settlement!, /settlement\.db does not go on after record \d+ of \S+journal-0\.db: .*chain adopt`$/);
  assert.match(read!, /read\.db does not go on after record \d+ of .*the next start makes it anew$/);
});
