/** A starting member, and a server of its log that is gone in the meantime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../support/eventually.ts';
import { TEST_SECRET } from '../../../support/journalKey.ts';
import { Cluster } from '../../../support/memberRig.ts';
import { journalWith, rowHistory } from '../../../support/rowHistory.ts';

const ROWS = rowHistory([1, 2], 1000);

test('a server that is lost while a member compares its journals with the log does not end the member', async () => {
  const cluster = new Cluster();
  const a = cluster.add('a');
  await cluster.pass(300);
  for (const row of ROWS) a.put({ stream: 0, ...row });
  await cluster.pass(300);
  const b = cluster.add('b');
  b.isReady = false;
  await cluster.pass(100);

  const file = journalWith(ROWS);
  b.isConnected = false;
  b.member.receive({ rejoin: { journalKey: TEST_SECRET, journalPaths: [file.journalPath] } });
  cluster.database.isReachable = false;
  const problems = (): number => b.messages.filter((message) => 'unreachable' in message).length;
  await eventually('a server that is missed', async () => {
    b.log.cut('read');
    await cluster.pass(100);
    return problems() >= 2;
  });
  assert.deepEqual(b.lost, []);
  cluster.database.isReachable = true;
  b.isConnected = true;
  const rejoined = await eventually('journals that were compared', async () => {
    await cluster.pass(100);
    return b.messages.find((message) => 'rejoined' in message) ?? false;
  });
  assert.deepEqual(rejoined.rejoined, [], 'nothing is to be set aside');
});
