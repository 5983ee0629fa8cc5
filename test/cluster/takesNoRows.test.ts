/**
 * A database that is there and takes no rows (RULES.md 18.21), because it was made read-only or its disk is full: the
 * leader refuses what changes something and says why, no other member takes the lead, and all goes on by itself.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, lstatSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { examine } from '../../engine/admin/clusterDoctor.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { startCluster } from '../support/cluster.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES as skip, startPostgres } from '../support/postgres.ts';
import { USER } from '../support/postgresFiles.ts';
import { newRow, openLog } from '../support/replicatedLog.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

type Postgres = Awaited<ReturnType<typeof startPostgres>>;
type Member = ReturnType<typeof startMember>;

const READ_ONLY = /^127\.0\.0\.1:\d+ takes no rows: it is read-only \(default_transaction_read_only\)$/;
const DISK_FULL = /^127\.0\.0\.1:\d+ takes no rows: its disk is full$/;
/** In file system blocks, it has room for the tables of the log and little more. */
const DISK_MB = 16;

async function setServer({ primary }: Postgres, setting: string): Promise<void> {
  await primary.query(`ALTER SYSTEM SET ${setting}`);
  await primary.query('SELECT pg_reload_conf()');
}

/** The problem that it reported last. */
function problemOf(member: Member): string | null {
  return member.messages.flatMap((message) => ('status' in message ? [message.status.problem] : [])).at(-1) ?? null;
}

function says(member: Member, problem: RegExp): Promise<true> {
  return eventually(
    () => `a problem like ${problem}: ${problemOf(member)}`,
    async () => problem.test(problemOf(member) ?? '') && true,
  );
}

/** Each way makes sessions of the user read-only, existing ones too, and ends that. */
const WAYS: Readonly<Record<string, (postgres: Postgres, isOn: boolean) => Promise<void>>> = {
  'the server': (postgres, isOn) => setServer(postgres, `default_transaction_read_only = ${isOn ? 'on' : 'off'}`),
  'the user': async ({ primary }, isOn) => {
    // Sessions keep their initial setting: so the one who makes a user read-only ends them.
    const change = isOn ? 'SET default_transaction_read_only = on' : 'RESET default_transaction_read_only';
    await primary.query(`BEGIN READ WRITE; ALTER ROLE ${USER} ${change}; COMMIT`);
    if (!isOn) return;
    await primary.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE usename = '${USER}' AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
  },
};

for (const [what, make] of Object.entries(WAYS)) {
  test(`${what} is made read-only: the lead stays where it is, and goes on with what waited`, { skip }, async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.database();
    const watch = await openLog(t, url, 'watch');
    const a = startMember(t, url, 'a');
    await a.becomes('leader');
    const b = startMember(t, url, 'b');
    await b.becomes('standby');
    let sequence = 1;
    a.put(newRow(0, sequence));
    await a.holds(0, sequence);

    for (let times = 0; times < 2; times++) {
      await make(postgres, true);
      // A server reloads its settings in its own time: until then it would take the row.
      await says(a, READ_ONLY);
      await says(b, READ_ONLY);
      a.put(newRow(0, ++sequence));
      await eventually('a leader that is stalled', async () => a.memory.state() === 'stalled');
      // The standby would take the lease now.
      await eventually('a lease that has ended', async () => (await watch.lease()).expiresInMs < 0);
      assert.equal(a.memory.held(0), sequence - 1);
      await make(postgres, false);
      await a.holds(0, sequence);
      await a.becomes('leader');
      for (const member of [a, b]) {
        await eventually('no problem any more', async () => problemOf(member) === null);
      }
      await eventually('a member that reports', async () => {
        const { members } = await watch.facts();
        return members.length === 2 && members.every(({ silentMs }) => silentMs < 2000);
      });
    }
    const { holder, epoch } = await watch.lease();
    assert.deepEqual([holder, epoch, a.lost, b.lost], ['a', 1, undefined, undefined]);
  });
}

/** The tables of one database, on a disk of their own; its write-ahead log has space. */
async function onSmallDisk(postgres: Postgres, url: string, disk: SmallDisk): Promise<void> {
  const name = url.slice(url.lastIndexOf('/') + 1);
  const { primary } = postgres;
  const [row] = await primary.query(`SELECT oid::text FROM pg_database WHERE datname = '${name}'`);
  await primary.stop();
  const path = join(primary.data, 'base', row!['oid'] as string);
  const { uid, gid } = lstatSync(path);
  const moved = join(disk.path, 'tables');
  execFileSync('cp', ['-a', path, moved]);
  chownSync(disk.path, uid, gid);
  renameSync(path, `${path}.before`);
  symlinkSync(moved, path);
  await primary.start();
}

test('a disk of the database that is full: the lead stays where it is, and goes on once there is room', {
  skip,
}, async (t) => {
  const disk = SmallDisk.mount(t, DISK_MB);
  if (disk === null) {
    t.skip('mounting a small disk needs the rights of root');
    return;
  }
  const postgres = await startPostgres(t);
  const url = await postgres.database();
  // Before the log is founded: one without a row is begun on the run of the server that it was founded on.
  await onSmallDisk(postgres, url, disk);
  const watch = await openLog(t, url, 'watch');
  const a = startMember(t, url, 'a');
  await a.becomes('leader');
  const b = startMember(t, url, 'b');
  await b.becomes('standby');
  disk.fill();
  // More than there is room for in pages that the tables have already.
  const LONG_BYTES = 100_000;
  let sequence = 0;
  await eventually('a log that takes no rows', async () => {
    if (a.memory.state() !== 'stalled') a.put(newRow(0, ++sequence, LONG_BYTES));
    return a.memory.state() === 'stalled' && DISK_FULL.test(problemOf(a) ?? '');
  });
  const { epoch } = await watch.lease();
  disk.clear();
  await a.holds(0, sequence);
  await a.becomes('leader');
  await eventually('no problem any more', async () => problemOf(a) === null);
  assert.deepEqual([(await watch.lease()).epoch, a.lost, b.lost], [epoch, undefined, undefined]);
});

test('orders and cancels are refused with a time to try again, the log says why, and they are accepted later', {
  skip,
}, async (t) => {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
  const { leader } = cluster;
  const market = await makeMarket(cluster, {});
  const trader = await makeTrader(cluster, { depositMicro: 1_000_000_000 });
  const body = () => trader.body(market, { price: '0.10', size: '1' });
  const { order_hash: hash } = await trader.client.placeOrder(body());
  await setServer(postgres, 'default_transaction_read_only = on');
  await eventually('a leader that is no place for orders', async () => (await leader.readiness())?.status === 503);
  for (const [method, path, given] of [
    ['POST', '/v1/orders', body()],
    ['DELETE', `/v1/orders/${hash}`, undefined],
  ] as const) {
    const { status, headers, body: answer } = await trader.send(method, path, given);
    assert.deepEqual([status, answer.code], [503, 'ENGINE_BUSY'], `${method} ${path}`);
    assert.ok(Number(headers.get('retry-after')) >= 1, `${method} ${path}`);
  }
  const named = /the replicated log does not answer as it should/;
  for (const member of cluster.members) {
    await eventually(`a line of ${member.name} that names the cause`, async () => {
      return member.stdout.some((line) => named.test(line) && line.includes('it is read-only')) && true;
    });
  }
  await setServer(postgres, 'default_transaction_read_only = off');
  assert.equal(await cluster.awaitLeader(), leader);
  await trader.client.cancelOrder(hash);
  await trader.client.placeOrder(body());
});

test('a server that does not sync what it commits is not written, and the doctor finds it and its standbys', {
  skip,
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = await postgres.database();
  const strictly = () => openLog(t, url, 'a', { isUnsyncedAllowed: false });
  await assert.rejects(
    strictly(),
    /127\.0\.0\.1:\d+: fsync is off: what it has committed may be lost with its machine/,
  );
  const wrong = async () => {
    const { lines } = await examine({ JOURNAL_URL: url }, systemClock);
    return lines
      .filter((line) => /^wrong .*(?:fsync|full_page_writes|read_only)/.test(line))
      .map((line) => line.slice(7));
  };
  const [s0, s1, s2] = Object.values(postgres.nodes).map(({ port }) => `127.0.0.1:${port}`);
  await eventually('standbys that have the database', async () => (await wrong()).length === 3);
  assert.deepEqual(await wrong(), [
    `${s0}: fsync is off: what it commits may be lost with its machine`,
    `${s1}: fsync is off: what it confirms may be lost with its machine`,
    `${s2}: fsync is off: what it confirms may be lost with its machine`,
  ]);
  for (const node of Object.values(postgres.nodes)) {
    await node.query('ALTER SYSTEM SET fsync = on');
    await node.query('SELECT pg_reload_conf()');
  }
  await setServer(postgres, 'full_page_writes = off');
  const pages = /127\.0\.0\.1:\d+: full_page_writes is off: its tables may be torn by a power cut/;
  await eventually('a server that reads its settings', async () => (await wrong()).length === 1);
  await assert.rejects(strictly(), pages);
  assert.match((await wrong())[0]!, pages);
  await setServer(postgres, 'full_page_writes = on');
  await setServer(postgres, 'default_transaction_read_only = on');
  await eventually('a server that reads its settings', async () => (await wrong()).some((line) => /_only/.test(line)));
  assert.deepEqual(await wrong(), [`${s0}: default_transaction_read_only is on: it takes no rows`]);
  await assert.rejects(strictly(), { message: READ_ONLY });
});
