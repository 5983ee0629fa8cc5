/** The formats of a cluster in the database of its log: who may follow, lead and raise (RULES.md 18.15 to 18.17). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterStatus, promote, raiseFormats } from '../../engine/admin/cluster.ts';
import { AdminError } from '../../engine/admin/directory.ts';
import { CopyTable } from '../../engine/replication/copyTable.ts';
import { NotAMemberError } from '../../engine/replication/log.ts';
import { leadToTake } from '../../engine/replication/nextLead.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';

const NOW = { journal: { newest: 3, oldest: 3 }, control: { newest: 23, oldest: 23 } };
/** It reads two formats more, and can write one of them as before. */
const NEXT = { journal: { newest: 4, oldest: 3 }, control: { newest: 24, oldest: 24 } };
const WRITABLE = { ...NEXT, control: { newest: 24, oldest: 23 } };

test('the first member of a cluster decides what is written, and a raise changes it for later leads', {
  skip,
}, async (t) => {
  const url = await (await sharedPostgres()).database();
  const env = { JOURNAL_URL: url };
  const a = await openLog(t, url, 'a', { formats: NOW });
  const b = await openLog(t, url, 'b', { formats: WRITABLE });
  const { formats, raised } = await a.lease();
  assert.deepEqual([formats, raised], ['', 'control=23 journal=3']);
  const lead = await a.take(false, { formats: 'control=23 journal=3', raised });
  await a.report(0);
  await b.report(0);
  const status = await clusterStatus(env);
  assert.ok(status.includes('written: control 23, journal 3'), status.join('\n'));
  assert.ok(status.includes('b knows more: control 23 to 24, journal 3 to 4'), status.join('\n'));
  assert.ok(!status.join().includes('shuts out'), 'b can write what a reads');
  const behind = 'a does not know control 23 to 24, journal 3 to 4';
  const first = 'install the newer version there first, or name it in cluster leave';
  await assert.rejects(raiseFormats(env), new AdminError(`${behind}: ${first}`));
  assert.equal((await a.lease()).raised, raised, 'nothing was changed');

  const upgraded = await openLog(t, url, 'a', { formats: WRITABLE });
  await upgraded.report(0);
  assert.equal((await raiseFormats(env))[0], 'the next lead writes control 23 to 24, journal 3 to 4');
  assert.match((await raiseFormats(env))[0]!, /^every member knows what is written, and no more/);
  assert.equal(await a.renew(lead!.epoch), true, 'the present lead goes on');
  await a.release(lead!.epoch);
  assert.equal(await b.take(false, { formats: 'control=23 journal=3', raised }), null, 'it was raised since b looked');
  assert.notEqual(await b.take(false, await b.lease()), null);
});

test('a lead has the formats of the one before, also where its member stood still meanwhile', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const a = await openLog(t, url, 'a', { formats: NOW });
  const b = await openLog(t, url, 'b', { formats: NEXT });
  const seen = await a.lease();
  const older = leadToTake(seen, [], { holder: 'a', known: NOW, isFit: true, isForced: false })!.taken;
  // Then another member leads, which cannot write the old format, and is gone.
  const newer = leadToTake(seen, [], { holder: 'b', known: NEXT, isFit: true, isForced: false })!.taken;
  const { epoch } = (await b.take(false, newer))!;
  await b.release(epoch);
  for (const isForced of [false, true]) assert.equal(await a.take(isForced, older), null);
  assert.deepEqual([(await a.lease()).epoch, (await a.lease()).formats], [epoch, newer.formats]);
  assert.equal((await b.take(false, { ...newer, epoch }))!.epoch, epoch + 1);
});

test('a member that does not know what is written, or will be, is refused in one line', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const b = await openLog(t, url, 'b', { formats: NEXT });
  const refusal = 'this version does not read what the cluster writes: control 24 (23 at most), journal 4 (3 at most)';
  await assert.rejects(
    openLog(t, url, 'a', { formats: NOW }),
    new NotAMemberError(`${refusal}; install that of the other members`),
  );
  await b.take(false, { formats: 'books=1 control=24 journal=4', raised: (await b.lease()).raised });
  await assert.rejects(openLog(t, url, 'a', { formats: NEXT }), /writes: books 1 \(unknown\); install that of b$/);
});

test('the lead is not handed to a member that would shut out another standby', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const env = { JOURNAL_URL: url };
  const [a, b, c] = [
    await openLog(t, url, 'a', { formats: NOW }),
    await openLog(t, url, 'b', { formats: NEXT }),
    await openLog(t, url, 'c', { formats: NOW }),
  ];
  await a.take(false, await a.lease());
  for (const each of [a, b, c]) await each.report(0);
  const refusal = 'c does not read control 24 (23 at most), which b would write: upgrade it first';
  await assert.rejects(promote(env, 'b', false), new AdminError(refusal));
  assert.equal((await a.facts()).handOver, null);
  const status = await clusterStatus(env);
  for (const out of ['a', 'c']) {
    const line = `a lead of b shuts out ${out}, which does not read control 24 (23 at most)`;
    assert.ok(status.includes(line), status.join('\n'));
  }
});

test('a copy of files comes from a member whose files the other one can use', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const log = await openLog(t, url, 'a');
  const table = new CopyTable(log, 'exchange');
  const attempt = { holder: 'c', attempt: 'first' };
  await table.ask(attempt, 1);
  assert.equal(await table.claim('b', false, 2), null, 'b has files of a later format');
  assert.deepEqual(await table.claim('a', false, 1), attempt);
});
