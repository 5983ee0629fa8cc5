/** A new MASTER_KEY for a cluster (RULES.md 18.20). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { rotateInCluster } from '../../engine/admin/clusterKeys.ts';
import { AdminError } from '../../engine/admin/directory.ts';
import { MASTER_KEY_FACT, nameOfMasterKey } from '../../shared/crypto/masterKey.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const ADMIN = fileURLToPath(new URL('../../engine/admin/main.ts', import.meta.url));
const SEED = seedOr(20_261_125);
const COMMANDS = 60;
const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const inSoakOnly = skip || (timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes a minute');

test('a key is replaced only while every member is silent, on one that has all that the log holds', {
  skip,
}, async (t) => {
  const url = await (await sharedPostgres()).database();
  const log = await openLog(t, url, 'a', { facts: { [MASTER_KEY_FACT]: nameOfMasterKey(OLD) } });
  const control = new Database(':memory:');
  control.exec('CREATE TABLE record_end (id INTEGER PRIMARY KEY, sequence INTEGER, link BLOB)');
  const rotate = (given: Buffer | null, next: Buffer | null) => {
    return rotateInCluster(log, temporaryDirectory(), control, { given, next });
  };
  const refusals = [
    [null, NEW, 'MASTER_KEY: set it to the key that the members have'],
    [OLD, null, 'NEW_MASTER_KEY: set it to the key that they are to have'],
    [NEW, Buffer.alloc(32, 3), 'MASTER_KEY: not the key that the members have'],
  ] as const;
  for (const [given, next, text] of refusals) await assert.rejects(rotate(given, next), new AdminError(text));
  assert.deepEqual(await rotate(Buffer.alloc(32, 3), OLD), ['the cluster has the new key already']);

  const { epoch } = (await log.take(false))!;
  await log.append(epoch, 0, [newRow(STREAM.CONTROL, 5)]);
  await log.release(epoch);
  control.exec("INSERT INTO record_end VALUES (0, 4, x'')");
  await assert.rejects(rotate(OLD, NEW), /^AdminError: control\.db has the changes up to 4, and the log those up to 5/);
  assert.equal(await log.fact(MASTER_KEY_FACT), nameOfMasterKey(OLD), 'nothing was changed');
  await log.report(0);
  const reports = new AdminError('stop every member first: a reports');
  const refused = assert.rejects(rotate(OLD, NEW), reports).then(() => 'refused' as const);
  // One report at a time: none is under way when the log is closed.
  while ((await Promise.race([refused, sleep(200, 'waiting' as const)])) === 'waiting') await log.report(0);
  const other = { facts: { [MASTER_KEY_FACT]: nameOfMasterKey(NEW) } };
  await assert.rejects(openLog(t, url, 'b', other), /^NotAMemberError: the cluster exchange has MASTER_KEY /);
});

test(`a cluster goes on under a new MASTER_KEY, with all that it had (SEED=${SEED})`, {
  skip: inSoakOnly,
}, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const witness = await Witness.create(cluster, SEED);
  await witness.trade({ commands: COMMANDS });
  const [a, b] = [cluster.leader, cluster.standbys[0]!];
  const fresh = NEW.toString('hex');
  const rotate = () => {
    const env = { ...process.env, ...a.env, NEW_MASTER_KEY: fresh };
    const args = [...argumentsOfNode(), ADMIN, 'keys', 'rotate', '--data', a.dataDir];
    return spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  };
  assert.match(rotate().stderr, /the exchange is running on/);
  await b.stop();
  assert.equal(await a.stop(), 0);
  const rotated = rotate();
  assert.equal(rotated.status, 0, rotated.stderr);
  assert.match(rotated.stdout, /^sealed anew: journal\.key and \d+ secrets of control\.db$/m);
  assert.match(rotate().stdout, /^the cluster has the new key already$/m);

  await assert.rejects(b.begin(), /the cluster exchange has MASTER_KEY [0-9a-f]{16}, and this process [0-9a-f]{16}/);
  for (const member of [a, b]) member.env['MASTER_KEY'] = fresh;
  await a.begin();
  await cluster.awaitLeader([a]);
  await cluster.rejoin(b);
  assert.ok(
    readdirSync(b.dataDir).some((name) => name.startsWith('left-')),
    'its files of before are set aside',
  );
  await witness.check();
  await witness.trade({ commands: COMMANDS });
  await a.kill();
  await cluster.awaitLeader([b]);
  await witness.check();
});
