/** A database that wants TLS and a password (RULES.md 18.1): members and commands reach it, and print no secret. */
import assert from 'node:assert/strict';
import { chownSync, copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { examine } from '../../engine/admin/clusterDoctor.ts';
import { PostgresLog } from '../../engine/replication/postgresLog.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { makeCertificate } from '../support/certificate.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES as skip, startPostgres } from '../support/postgres.ts';
import { newRow } from '../support/replicatedLog.ts';

const PASSWORD = 'se:s@m/e ?#50%';
const ENCODED = encodeURIComponent(PASSWORD);

/** Servers that let the user `member` in by scram-sha-256 over TLS alone. */
async function protectedServers(scope: Parameters<typeof startPostgres>[0]) {
  const postgres = await startPostgres(scope);
  const { cert, key } = makeCertificate();
  await postgres.primary.query(
    `SET password_encryption = 'scram-sha-256'; CREATE ROLE member LOGIN PASSWORD '${PASSWORD}';`,
  );
  await postgres.primary.query('CREATE DATABASE log OWNER member');
  for (const node of Object.values(postgres.nodes)) {
    const { uid, gid } = statSync(node.data);
    for (const [from, name] of [
      [cert, 'member.crt'],
      [key, 'member.key'],
    ] as const) {
      copyFileSync(from, join(node.data, name));
      chownSync(join(node.data, name), uid, gid);
    }
    const rules = join(node.data, 'pg_hba.conf');
    const own = 'hostnossl all member all reject\nhostssl all member all scram-sha-256\n';
    writeFileSync(rules, `${own}${readFileSync(rules, 'utf8')}`);
    await eventually('the database at each server', async () => {
      return (await node.query("SELECT 1 FROM pg_database WHERE datname = 'log'")).length === 1;
    });
    node.configure(['ssl = on', "ssl_cert_file = 'member.crt'", "ssl_key_file = 'member.key'"]);
    await node.query('SELECT pg_reload_conf()');
  }
  const hosts = Object.values(postgres.nodes).map(({ port }) => `localhost:${port}`);
  const urlWith = (password: string, parameters: string): string =>
    `postgres://member:${password}@${hosts.join(',')}/log?${parameters}`;
  const url = urlWith(ENCODED, `sslmode=verify-full&sslrootcert=${cert}`);
  await eventually('TLS after the configuration was read again', () =>
    postgres.primary.query("SELECT 1 FROM pg_settings WHERE name = 'ssl' AND setting = 'on'").then((rows) => rows[0]),
  );
  return { postgres, url, urlWith, cert };
}

const MEMBER = { cluster: 'exchange', holder: 'a', address: 'http://a', version: '1', facts: {}, formats: FORMATS };

test('a log is opened over TLS with a password of any characters, and no refusal repeats it', { skip }, async (t) => {
  const { postgres, url, urlWith, cert } = await protectedServers(t);
  const openAt = (at: string) =>
    PostgresLog.open({ ...MEMBER, url: at, isUnreplicatedAllowed: false, isUnsyncedAllowed: true });
  const log = await openAt(url);
  t.after(() => log.close());
  const { epoch } = (await log.take(false))!;
  assert.equal(await log.append(epoch, 0, [newRow(0, 1)]), true);
  const [unencrypted] = await postgres.primary.query(
    `SELECT count(*)::int AS count FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE usename = 'member' AND NOT ssl`,
  );
  assert.equal(unencrypted!['count'], 0);

  const { lines, isWell } = await examine({ JOURNAL_URL: url, JOURNAL_UNSYNCED: 'on' }, systemClock);
  const hidden = 'note   the user of the database may not see whether its standbys follow: GRANT pg_monitor to it';
  assert.ok(isWell && lines.includes(hidden), lines.join('\n'));
  assert.ok(!lines.some((line) => line.includes('not encrypted')));
  assert.equal((await log.facts()).database!.standbys[0]!.syncState, null);
  await postgres.primary.query('GRANT pg_monitor TO member');
  assert.equal((await log.facts()).database!.standbys[0]!.syncState, 'quorum');

  const { cert: other } = makeCertificate();
  for (const [refused, expected] of [
    [urlWith('wrong-sesame', `sslmode=verify-full&sslrootcert=${cert}`), /password authentication failed/],
    [urlWith(ENCODED, 'sslmode=disable'), /rejects connection/],
    [urlWith(ENCODED, `sslmode=verify-full&sslrootcert=${other}`), /self-signed certificate/],
    [urlWith(ENCODED, 'sslmode=verify-full'), /self-signed certificate/],
    [urlWith(ENCODED, 'sslmode=verify-full&sslrootcert=/nowhere'), /ENOENT/],
  ] as const) {
    await assert.rejects(openAt(refused), (error: Error) => {
      assert.match(error.message, expected);
      return !error.message.includes('sesame') && !error.message.includes(PASSWORD) && !error.message.includes(ENCODED);
    });
  }
});

test('a member with JOURNAL_URL_FILE leads over TLS, and nothing that it prints or answers has the password', {
  skip,
}, async (t) => {
  const { url } = await protectedServers(t);
  const file = join(temporaryDirectory(), 'journal-url');
  writeFileSync(file, `${url}\n`, { mode: 0o600 });
  const cluster = await startCluster(t, ['a'], { JOURNAL_URL: '', JOURNAL_URL_FILE: file, LOG_LEVEL: 'debug' });
  const { leader } = cluster;
  const state = await eventually('a state with its database', async () => {
    const answer = await leader.admin.cluster();
    return answer.database !== null && answer;
  });
  assert.match(state.database!.server, /^localhost:\d+$/);
  const headers = { authorization: `Bearer ${leader.adminToken}` };
  const metrics = await (await fetch(`${leader.baseUrl}/metrics`, { headers })).text();
  const shown = [...leader.stdout, ...leader.stderr, JSON.stringify(state), metrics].join('\n');
  assert.ok(shown.includes('this member leads'), 'the log is there');
  for (const secret of [PASSWORD, ENCODED, 'se:s@m']) assert.ok(!shown.includes(secret), secret);
});
