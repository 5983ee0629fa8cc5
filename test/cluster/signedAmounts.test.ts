/**
 * Orders of any ratio in a cluster (RULES.md 1.8): each member shows them as signed, beside the paid amounts, and its
 * directory passes the checks of the operator, before and after a restore as the first member of a new cluster.
 */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertWhole, runAdminHere } from '../support/adminProgram.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { SignedTrading } from '../support/signedTrading.ts';

test('members and what is restored of one show what was signed and what was paid', { skip: NO_POSTGRES }, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const [former, standby] = [cluster.leader, cluster.standbys[0]!];
  const trading = await SignedTrading.on(cluster);
  await trading.tradeAll([]);
  await trading.readAgain(cluster);
  await cluster.awaitStandby(standby);
  await trading.readAgain(standby);

  await former.kill();
  await cluster.awaitLeader([standby]);
  await trading.readAgain(cluster);
  assert.ok((await cluster.admin.ledger()).balanced);
  await cluster.rejoin(former);
  for (const member of cluster.members) await member.kill();
  for (const { dataDir, env } of cluster.members) await assertWhole(dataDir, env['MASTER_KEY']);

  const copy = join(temporaryDirectory(), 'restored');
  cpSync(standby.dataDir, copy, { recursive: true });
  // Files of another log found none by themselves (RULES.md 18.23): an operator does.
  const database = await (await sharedPostgres()).database();
  for (const member of cluster.members) member.env['JOURNAL_URL'] = database;
  const restored = await cluster.addMember('c', copy);
  await assert.rejects(restored.begin(), /the server ended with code 1/);
  const words = ['cluster', 'found', 'c', '--without', 'a', '--without', 'b'];
  const found = await runAdminHere(words, { ...restored.env, DATA_DIR: copy });
  assert.equal(found.status, 0, found.stderr);
  await restored.begin();
  await cluster.awaitLeader([restored]);
  await trading.readAgain(restored);
  assert.ok((await cluster.admin.ledger()).balanced);
  await restored.kill();
  await assertWhole(copy, restored.env['MASTER_KEY']);
});
