/** The PostgreSQL that the tests of the replicated log run on keeps the promise that the log relies on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Client } from 'pg';
import { eventually, within } from '../support/eventually.ts';
import { NO_POSTGRES, sharedPostgres, startPostgres } from '../support/postgres.ts';

test('one server of a cluster can be written, and two follow it', { skip: NO_POSTGRES }, async () => {
  const cluster = await sharedPostgres();
  const recovering = await Promise.all(
    Object.values(cluster.nodes).map(async (node) => (await node.query('SELECT pg_is_in_recovery() AS is'))[0]!.is),
  );
  assert.deepEqual(recovering, [false, true, true]);
  assert.equal((await cluster.database()).split(',').length, 3);
});

test('what was committed is there after the primary was killed', { skip: NO_POSTGRES }, async (t) => {
  const cluster = await startPostgres(t);
  await cluster.primary.query('CREATE TABLE kept (number int)');
  await cluster.primary.query('INSERT INTO kept VALUES (7)');
  await cluster.promote();
  assert.deepEqual(await cluster.primary.query('SELECT number FROM kept'), [{ number: 7 }]);
  await cluster.primary.query('INSERT INTO kept VALUES (8)');
});

test('nothing is committed while no standby has it', { skip: NO_POSTGRES }, async (t) => {
  const cluster = await startPostgres(t);
  await cluster.primary.query('CREATE TABLE kept (number int)');
  for (const standby of cluster.standbys) standby.hang();
  const client = new Client({ connectionString: cluster.urlOf('postgres', [cluster.primary]) });
  client.on('error', () => {});
  await client.connect();
  let isCommitted = false;
  const insert = client.query('INSERT INTO kept VALUES (1)').then(() => {
    isCommitted = true;
  });
  await eventually('the commit waits for a standby', async () => {
    const waiting = await cluster.primary.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    return waiting.length === 1;
  });
  assert.equal(isCommitted, false);
  for (const standby of cluster.standbys) standby.goOn();
  await insert;
  await client.end();
});

/** Starts servers, hangs one of them and reports where their files are. */
const STARTER = `
  import { startPostgres } from ${JSON.stringify(new URL('../support/postgres.ts', import.meta.url).href)};
  const cluster = await startPostgres({ after() {} });
  cluster.standbys[0].hang();
  const ports = Object.values(cluster.nodes).map(({ port }) => port);
  console.log(JSON.stringify({ data: cluster.primary.data, ports }));
  setInterval(() => {}, 60_000);`;

test('servers end with the process that started them, hung ones too, and leave no files', {
  skip: NO_POSTGRES,
}, async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', STARTER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const printed = once(createInterface(child.stdout), 'line');
  const [line] = (await within('what the process prints of its servers', printed)) as [string];
  const { data, ports } = JSON.parse(line) as { data: string; ports: number[] };
  child.kill('SIGKILL');
  await eventually('no files', async () => !existsSync(dirname(data)));
  for (const port of ports) {
    const client = new Client({ host: '127.0.0.1', port, user: 'exchange', database: 'postgres' });
    await assert.rejects(client.connect(), /ECONNREFUSED/);
  }
});
