/** Members of different versions in one cluster (shared/base/formats.ts, RULES.md 18.15 to 18.17). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raise } from '../../../../engine/admin/clusterFormats.ts';
import { FORMATS, newestOf, numbersText } from '../../../../shared/base/formats.ts';
import { FakeLog } from '../../../support/fakeLog.ts';
import { promisesKept } from '../../../support/manualTiming.ts';
import { Cluster, type Rig } from '../../../support/memberRig.ts';
import { newRow } from '../../../support/replicatedLog.ts';

const LEASE_MS = 2000;
const YIELD_MS = 3000;
/** It reads one more format, and can write the present one as well. */
const NEXT = { ...FORMATS, journal: { newest: 4, oldest: 3 } };
/** It cannot write the present format. */
const ABRUPT = { ...FORMATS, journal: { newest: 4, oldest: 4 } };
const TOO_OLD = /this version does not read what the cluster writes: journal 4 \(3 at most\)/;

/** The format of rows that the member writes, if it leads. */
function written({ memory }: Rig): number | string {
  return memory.state() === 'leader' ? memory.format('journal') : memory.state();
}

async function raised(cluster: Cluster): Promise<string[]> {
  const operator = new FakeLog(cluster.database, 'operator');
  let lines: string[] | Error | undefined;
  raise(operator).then(
    (said) => {
      lines = said;
    },
    (error: Error) => {
      lines = error;
    },
  );
  for (let turns = 0; turns < 20 && lines === undefined; turns++) {
    operator.settle();
    cluster.database.replicate(0);
    await promisesKept();
  }
  if (lines instanceof Error) throw lines;
  return lines ?? [];
}

const FILES = `${FORMATS.files.oldest} to ${FORMATS.files.newest}`;
const ENGINE = `${FORMATS.engine.oldest} to ${FORMATS.engine.newest}`;

/** The cluster of two, from the version of now to the next one. */
test('FORMATS-1: a leader of the next version writes what the other reads, until the cluster is raised', async () => {
  const cluster = new Cluster();
  const a = cluster.add('a');
  await cluster.pass(300);
  const b = cluster.add('b', [], NEXT);
  await cluster.pass(1500);
  a.put(newRow(0, 1));
  await cluster.pass(100);
  assert.deepEqual([written(a), written(b), b.rows.length], [3, 'standby', 1]);
  await assert.rejects(raised(cluster), /^AdminError: a does not know journal 3 to 4/);
  cluster.kill(a);
  await cluster.pass(LEASE_MS * 2);
  assert.equal(written(b), 3);
  const upgraded = cluster.add('a', [{ stream: 0, sequence: 1 }], NEXT);
  await cluster.pass(1500);
  assert.deepEqual(await raised(cluster), [
    `the next lead writes engine ${ENGINE}, files ${FILES}, journal 3 to 4`,
    'a member of a version that does not know it is refused from now on',
  ]);
  await cluster.pass(500);
  assert.deepEqual([written(b), b.lost], [3, []], 'a lead keeps its formats');
  cluster.kill(b);
  await cluster.pass(LEASE_MS * 2);
  assert.equal(written(upgraded), 4);
  const old = cluster.add('c');
  await cluster.pass(300);
  assert.match(old.lost.join(), TOO_OLD);
});

/** Rows that come between two looks at the lease are the first that a member sees of the lead. */
for (const sinceLookMs of [0, 40, 80, 120, 160, 200, 240]) {
  test(`FORMATS-2: a member gets no row of a lead whose formats it does not know (${sinceLookMs} ms)`, async () => {
    const cluster = new Cluster();
    const a = cluster.add('a');
    await cluster.pass(300);
    a.put(newRow(0, 1));
    await cluster.pass(100);
    cluster.kill(a);
    const { database } = cluster;
    const b = cluster.add('b');
    await cluster.pass(300 + sinceLookMs);
    const lease = { formats: numbersText({ ...newestOf(FORMATS), journal: 4 }), raised: database.lease().raised };
    const taken = database.take({}, 'c', '', true, lease);
    assert.ok(typeof taken === 'object');
    database.replicate(0);
    database.append({}, taken.answer!, 1, [newRow(0, 2)]);
    database.replicate(0);
    await cluster.pass(300);
    assert.match(b.lost.join(), TOO_OLD);
    assert.deepEqual(
      b.rows.map(({ sequence }) => sequence),
      [1],
    );
  });
}

test('a member that another one cannot follow leads when that one has not taken the lease', async () => {
  const cluster = new Cluster();
  const a = cluster.add('a');
  await cluster.pass(300);
  const c = cluster.add('c', [], ABRUPT);
  await cluster.pass(1500);
  const b = cluster.add('b');
  b.isConnected = false;
  void b.log.report(0);
  b.log.settle();
  // The other standby is known to have been there, and not yet known to be gone.
  cluster.kill(a);
  await cluster.pass(LEASE_MS + YIELD_MS / 2);
  assert.equal(written(c), 'standby');
  await cluster.pass(YIELD_MS);
  assert.equal(written(c), 4);
  b.isConnected = true;
  await cluster.pass(500);
  assert.match(b.lost.join(), TOO_OLD);
});
