/**
 * The runs of a real PostgreSQL, from one start or promotion of a server to the next: a member that is to lead on
 * another run than the log was last led on learns whether that one has everything (RULES.md 18.26).
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { foundEmpty } from '../../engine/admin/cluster.ts';
import { patientReads } from '../../engine/replication/patientReads.ts';
import type { PostgresLog } from '../../engine/replication/postgresLog.ts';
import { prepareDirectory } from '../../engine/replication/prepare.ts';
import { startMember } from '../support/clusterMember.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES as skip, startPostgres } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';

/** Reads until it has a connection to the server that serves now. */
async function readAgain(log: PostgresLog): Promise<string> {
  const before = log.runs.now;
  await eventually('a connection to the next run', async () => {
    await log.lease().catch(() => null);
    return log.runs.now !== before && log.runs.now !== '';
  });
  return log.runs.now;
}

test('the standby with the most is promoted: its servers show that it has everything', { skip }, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.database();
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  const { epoch } = (await a.take(false))!;
  await a.append(epoch, 0, [newRow(0, 1)]);
  await b.lease();
  await a.report(1, { run: b.runs.now });
  const first = await b.runs.find([]);
  assert.deepEqual([first.ledOn, first.silent, first.refused], [first.run, [], []]);
  await Promise.all([a.runs.note(), b.runs.note()]);
  await postgres.promote();
  const run = await readAgain(b);
  const found = await b.runs.find(['a', 'c']);
  assert.deepEqual([found.run, found.ledOn, found.timeline], [run, first.run, 2]);
  assert.deepEqual(found.silent, ['a', 'c']);
  await eventually('a standby that follows the new primary', () => b.runs.haveAllOf(found));
  await eventually('the end of the lease', async () => (await b.lease()).expiresInMs <= 0);
  assert.equal(await b.take(false), null, 'not without the run on which it may');
  const goesOn = await eventually('an answer', () => a.resolve(epoch, 1).catch(() => false as const));
  assert.deepEqual(goesOn, { isLeader: true, hasLastHeld: true, rows: [] });
  assert.equal((await b.runs.find([])).ledOn, run, 'the leader goes on there');
  await eventually('the end of the lease', async () => (await b.lease()).expiresInMs <= 0);
  const taken = await b.take(false, { ...(await b.lease()), run });
  assert.equal(taken?.end, 1);
  assert.equal((await b.runs.find([])).ledOn, run);
});

test('a database without a row of its log was started again: a member begins it once an operator founds it again', {
  skip,
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.database();
  const founded = ['the cluster exchange has a log, without a row: start its members'];
  assert.deepEqual(await foundEmpty({ JOURNAL_URL: url }), founded);
  const a = await openLog(t, url, 'a');
  const directory = join(temporaryDirectory(), 'empty');
  const begin = () =>
    prepareDirectory({
      ...{ directory, shards: 1, masterKey: new Uint8Array(32), records: [], cluster: 'exchange', holder: 'a' },
      ...{
        log: a,
        reads: patientReads(a, { sleep: async () => {} }, () => {}),
        decision: async () => null,
        onNews: () => {},
        onDamagedMark: () => {},
        isStopped: () => true,
      },
    });
  const { log } = await begin();
  const { run, foundedOn } = await a.history();
  assert.equal(run, foundedOn);
  assert.deepEqual(
    { ...(await a.runs.find([])), timeline: 0 },
    {
      ...{ id: log, run, ledOn: run, timeline: 0, isBegun: false, silent: [], refused: [] },
    },
  );
  await postgres.primary.stop();
  await postgres.primary.start();
  const next = await readAgain(a);
  await assert.rejects(begin(), /^NotAMemberError: refused: the log has no row, and the database was started/);
  const found = await a.runs.find([]);
  assert.deepEqual([found.run, found.ledOn, found.isBegun], [next, run, false]);
  assert.equal(existsSync(directory), false);
  assert.deepEqual(await foundEmpty({ JOURNAL_URL: url }), founded);
  assert.deepEqual(await begin(), { lines: [], log, proof: null }, 'it is the same log');
  assert.equal((await a.runs.find([])).ledOn, next);
});

test('the leader and the primary are lost at once: a standby leads although the leader is silent', {
  skip,
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.database();
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  for (let sequence = 1; sequence <= 20; sequence++) a.put(newRow(0, sequence));
  await b.holds(0, 20);
  const watch = await openLog(t, url, 'watch');
  await watch.report(0);
  await Promise.all([a.kill(), postgres.promote()]);
  await b.becomes('leader');
  const { silent } = await watch.runs.find(['a']);
  assert.deepEqual(silent, ['a'], 'it has not answered on this run');
});

test('a standby that lags is promoted, and the other one is made anew: nothing shows that all is there', {
  skip,
}, async (t) => {
  const postgres = await startPostgres(t);
  const { s1, s2 } = postgres.nodes;
  const url = await postgres.database();
  const [a, b] = [await openLog(t, url, 'a'), await openLog(t, url, 'b')];
  const { epoch } = (await a.take(false))!;
  await b.lease();
  await b.runs.note();
  await s2.stop('SIGKILL');
  await a.append(epoch, 0, [newRow(0, 1)]);
  await Promise.all([postgres.primary.stop('SIGKILL'), s1.stop('SIGKILL')]);
  await s2.start();
  await postgres.promote(false);
  await postgres.rejoin(s1);
  await readAgain(b);
  const found = await b.runs.find([]);
  assert.notEqual(found.ledOn, found.run);
  assert.equal(await b.runs.haveAllOf(found), false);
  // A leader that looks there what became of its rows does not lead there.
  const { hasLastHeld, isLeader } = await eventually('an answer', () =>
    a.resolve(epoch, 1).catch(() => false as const),
  );
  assert.deepEqual({ hasLastHeld, isLeader }, { hasLastHeld: false, isLeader: false });
  assert.equal((await b.runs.find([])).ledOn, found.ledOn);
  await b.report(0, { run: found.run });
  await openLog(t, url, 'c')
    .then((c) => c.runs.find([]))
    .then(({ silent }) => assert.deepEqual(silent, []));
});
