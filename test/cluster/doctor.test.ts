/** `admin cluster doctor` finds faults, and finds none in a healthy cluster (data/docs/cluster.md). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { examine } from '../../engine/admin/clusterDoctor.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import type { Scope } from '../support/server.ts';

const ADMIN = fileURLToPath(new URL('../../engine/admin/main.ts', import.meta.url));

/** Answers as a member does, or as something else. */
async function answering(scope: Scope, headers: Record<string, string>): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(200, headers).end('{}'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Waits until standbys show the primary's present state, such as a database or a role. */
async function standbysFollow(): Promise<void> {
  const { primary, standbys } = await sharedPostgres();
  const [row] = await primary.query('SELECT pg_current_wal_lsn()::text AS lsn');
  for (const standby of standbys) {
    await eventually(`what ${standby.name} shows`, async () => {
      return (await standby.query(`SELECT pg_last_wal_replay_lsn() >= '${row!['lsn']}' AS is_there`))[0]!['is_there'];
    });
  }
}

async function linesOf(env: Record<string, string>): Promise<{ wrong: string[]; note: string[]; ok: string[] }> {
  await standbysFollow();
  const { lines, isWell } = await examine({ JOURNAL_UNSYNCED: 'on', ...env }, systemClock);
  const of = (level: string) => lines.filter((line) => line.startsWith(level)).map((line) => line.slice(7));
  assert.equal(isWell, of('wrong').length === 0);
  return { wrong: of('wrong'), note: of('note'), ok: of('ok') };
}

test('a cluster that is well has nothing wrong', { skip }, async (t) => {
  const url = await (await sharedPostgres()).database();
  const address = await answering(t, { 'x-svc-role': 'leader' });
  const a = await openLog(t, url, 'a', { address });
  await a.take(false);
  await a.report(0);
  const { wrong, note, ok } = await linesOf({ JOURNAL_URL: url, SHARDS: '2', MEMBER_NAME: 'a', MEMBER_URL: address });
  assert.deepEqual(wrong, []);
  assert.equal(note.filter((line) => line.endsWith('the connection is not encrypted (sslmode)')).length, 3);
  assert.equal(
    ok.filter((line) => / is (?:the primary|a standby), PostgreSQL \d+(?:\.\d+)?, and ans/.test(line)).length,
    3,
  );
  for (const expected of [
    'the user of the database has the rights that it needs',
    '2 synchronous standbys follow: s1, s2',
    'a leads in epoch 1',
    `member a answers at ${address}`,
  ]) {
    assert.ok(ok.includes(expected), `${expected}: ${ok.join('\n')}`);
  }
});

test('a server that is away, standbys that are not listed, other settings and silent members are found', {
  skip,
}, async (t) => {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  const stranger = await answering(t, {});
  const away = `127.0.0.1:${await freePort()}`;
  const [a, b] = [
    await openLog(t, url, 'a', { address: stranger }),
    await openLog(t, url, 'b', { address: `http://${away}`, version: '2.0.0' }),
  ];
  await a.report(0);
  await b.report(0);
  const primary = `127.0.0.1:${postgres.primary.port}`;
  const name = new URL(url.replace(/,[^/]*/, '')).pathname;
  const listed = `postgres://exchange@${primary},127.0.0.1:1${name}`;
  const env = { JOURNAL_URL: listed, SHARDS: '7', MEMBER_NAME: 'b', MEMBER_URL: 'http://b:8080/' };
  const { wrong, note } = await linesOf(env);
  assert.deepEqual(wrong, [
    '127.0.0.1:1 cannot be used from here: connect ECONNREFUSED 127.0.0.1:1',
    'JOURNAL_URL lists 0 standbys of 2: one that is promoted would not be found, nor what it syncs',
    'no member leads',
    'SHARDS is 7 here, and 2 in the cluster',
    `member a does not answer at ${stranger} from here: status 200, and no member of a cluster`,
    `member b does not answer at http://${away} from here: connect ECONNREFUSED ${away}`,
  ]);
  assert.ok(note.includes('members run versions 1.0.0 and 2.0.0'));
  assert.ok(note.includes(`MEMBER_URL is http://b:8080 here, and b was last at http://${away}`));
  const none = await linesOf({ JOURNAL_URL: url, CLUSTER_NAME: 'other' });
  assert.ok(none.note.includes('there is no cluster other yet: cluster found --new makes it'));
  const nowhere = await linesOf({ JOURNAL_URL: 'postgres://exchange@127.0.0.1:1/log' });
  assert.ok(nowhere.wrong.includes('no server of JOURNAL_URL can be written'));
});

test('a user that may not make tables, or does not own those of the log, is found', { skip }, async (t) => {
  const postgres = await sharedPostgres();
  const url = await postgres.database();
  await postgres.primary.query(`CREATE ROLE reader_${process.pid} LOGIN`);
  t.after(async () => {
    await postgres.primary.query(`DROP ROLE reader_${process.pid}`);
  });
  const asReader = url.replace('exchange@', `reader_${process.pid}@`);
  const { wrong, note } = await linesOf({ JOURNAL_URL: asReader });
  assert.deepEqual(wrong, ['the user of the database may not make tables: GRANT CREATE ON SCHEMA public to it']);
  assert.ok(note.includes('the user of the database may not see whether its standbys follow: GRANT pg_monitor to it'));
  await openLog(t, url, 'a');
  const { wrong: later } = await linesOf({ JOURNAL_URL: asReader, CLUSTER_NAME: 'other' });
  assert.ok(
    later.some((text) => text.includes('does not own the tables of the log')),
    later.join('\n'),
  );
});

test('the command ends with 1 where something is wrong, and with its usage where it is not understood', () => {
  const admin = (...args: string[]) => {
    const env = { ...process.env, JOURNAL_URL: 'postgres://exchange:sesame@127.0.0.1:1/log' };
    return spawnSync(process.execPath, [...argumentsOfNode(), ADMIN, 'cluster', ...args], { env, encoding: 'utf8' });
  };
  const { status, stdout, stderr } = admin('doctor');
  assert.equal(status, 1, stderr);
  assert.match(stdout, /^wrong {2}127\.0\.0\.1:1 cannot be used from here: connect ECONNREFUSED/);
  assert.ok(!`${stdout}${stderr}`.includes('sesame'), 'no password is printed');
  assert.equal(admin('promote', 'a', 'b').status, 64);
  assert.equal(admin('doctor', '--now').status, 64);
});
