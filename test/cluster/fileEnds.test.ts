/**
 * A running member notices that its journal ends before or after the log's records, and so do its peers, `cluster
 * status` and `cluster doctor` (RULES.md 18.25).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { examine } from '../../engine/admin/clusterDoctor.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];
type Row = { readonly sequence: number; readonly bytes: Buffer };

const ORDERS = 5;

async function traded(cluster: Cluster): Promise<void> {
  const [market, trader] = [await makeMarket(cluster), await makeTrader(cluster)];
  for (let order = 0; order < ORDERS; order++) await trader.place(market, { price: '0.20', size: '1' });
}

/** Runs a statement on the journal of a running member; its shards have nothing to write in the meantime. */
function onJournal<T>(member: Member, shard: number, use: (db: Database.Database) => T): T {
  const db = new Database(join(member.dataDir, `journal-${shard}.db`), { timeout: 5000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

function lastRow(db: Database.Database): Row | undefined {
  return db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence DESC LIMIT 1').get();
}

function busiestShard(member: Member): number {
  const [one, two] = [0, 1].map((shard) => onJournal(member, shard, (db) => lastRow(db)?.sequence ?? 0));
  return one! >= two! ? 0 : 1;
}

/** @param again is done before each look: the shard may have had something to write after all */
async function awaitProblem(member: Member, problem: RegExp, again = (): void => {}): Promise<string> {
  const reason = await eventually(`a problem of member ${member.name}`, async () => {
    again();
    const response = await fetch(`${member.baseUrl}/ready`);
    const body = (await response.json()) as { status: string; reason?: string };
    return response.status === 503 && body.status === 'degraded' && problem.test(body.reason ?? '') && body.reason;
  });
  return reason as string;
}

/** All other members report the same of it. */
async function assertSeen(cluster: Cluster, member: Member, reason: string): Promise<void> {
  const text = `${member.name} does not agree with the log: ${reason}`;
  const env = { ...member.env, DATA_DIR: member.dataDir };
  await eventually('a report of the problem', async () => {
    const { stdout } = await runAdminHere(['cluster', 'status'], env);
    return stdout.includes(text);
  });
  const { lines, isWell } = await examine(env, systemClock);
  assert.ok(lines.includes(`wrong  member ${text}`), lines.join('\n'));
  assert.equal(isWell, false);
  for (const each of cluster.members) {
    await eventually(`what ${each.name} shows of it`, async () => {
      const { members } = await each.admin.cluster();
      return members.find((found) => found.member === member.name)?.problem === reason;
    });
  }
}

async function awaitWell(member: Member, others: Cluster): Promise<void> {
  await others.awaitStandby(member);
  const env = { ...member.env, DATA_DIR: member.dataDir };
  await eventually('no problem in cluster status', async () => {
    const { stdout } = await runAdminHere(['cluster', 'status'], env);
    return !stdout.includes('does not agree');
  });
}

test('a standby whose journal ends early or late is not ready, and gets no lead', { skip }, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  await traded(cluster);
  const [b] = cluster.standbys as [Member];
  await cluster.awaitStandby(b);
  const shard = busiestShard(b);
  const { sequence } = onJournal(b, shard, (db) => lastRow(db)!);
  const removed: Row[] = [];
  const early = await awaitProblem(
    b,
    /^the journal of shard \d ends with record \d+, and record \d+ was in it$/,
    () => {
      const sql = 'DELETE FROM journal WHERE sequence >= ? RETURNING sequence, bytes';
      removed.push(...onJournal(b, shard, (db) => db.prepare<[number], Row>(sql).all(sequence)));
    },
  );
  await assertSeen(cluster, b, early);
  await assert.rejects(cluster.admin.promote('b'), /b does not agree with the log: the journal of shard/);
  for (const { sequence: at, bytes } of removed) {
    onJournal(b, shard, (db) => db.prepare('INSERT INTO journal VALUES (?, ?)').run(at, bytes));
  }
  await awaitWell(b, cluster);

  const row = onJournal(b, shard, (db) => lastRow(db)!);
  const beyond = row.sequence + 1;
  onJournal(b, shard, (db) => db.prepare('INSERT INTO journal VALUES (?, ?)').run(beyond, row.bytes));
  const late = await awaitProblem(
    b,
    new RegExp(`ends with record ${beyond}, and the log with record ${row.sequence}$`),
  );
  await assertSeen(cluster, b, late);
  onJournal(b, shard, (db) => db.prepare('DELETE FROM journal WHERE sequence = ?').run(beyond));
  await awaitWell(b, cluster);
});

test('a log that has lost a row is seen by the leader that nobody asks anything', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const cluster = await startCluster(t, ['a'], { JOURNAL_URL: url });
  await traded(cluster);
  const { leader } = cluster;
  const shard = busiestShard(leader);
  const last = onJournal(leader, shard, (db) => lastRow(db)!.sequence);
  const { primary } = await sharedPostgres();
  const database = new URL(url.replace(/,[^/]*/, '')).pathname.slice(1);
  const gone = await eventually('the last row of the shard in the log', async () => {
    const rows = await primary.query(
      `DELETE FROM exchange_log WHERE stream = ${shard} AND sequence = ${last} RETURNING position`,
      database,
    );
    return rows.length === 1;
  });
  assert.ok(gone);
  const reason = await awaitProblem(leader, new RegExp(`has held record ${last}$`));
  await assertSeen(cluster, leader, reason);
});
