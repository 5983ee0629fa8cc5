/** Backups that an administrator asks for over the API and with `pmx` (RULES.md 9.62). */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import type { BackupReport } from '../../shared/client/types.ts';
import { withSocketPath } from '../../shared/wire/controlCopy.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { startServer } from '../support/server.ts';

const folder = temporaryDirectory();
const target = join(folder, 'backups');
const server = await startServer(fileScope, { SHARDS: '1', BACKUP_TARGET: target });
const pmx = new Pmx({ BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken });
let holding: Socket | null = null;

afterEach(() => holding?.destroy());

/** Until this connection ends, a backup waits for its copy of control.db. */
async function holdBackups(): Promise<Socket> {
  const socket = withSocketPath(server.dataDir, (path) => connect(path));
  await new Promise((resolve) => socket.once('data', resolve));
  holding = socket;
  return socket;
}

async function ended(): Promise<BackupReport> {
  return eventually('the backup ends', async () => {
    const report = await server.admin.backups();
    return report.state !== 'running' && report;
  });
}

function waiting(): Promise<BackupReport> {
  return eventually('the backup waits', async () => {
    const report = await server.admin.backups();
    return /^waits for the exchange/.test(report.lines.at(-1) ?? '') && report;
  });
}

test('a backup is requested, followed to its end, and equals a backup of the local command', async () => {
  const before = await server.admin.backups();
  assert.deepEqual([before.folder, before.state, before.backed_up_at], [target, 'none', null]);
  const { code, out, err } = await pmx.run(['admin', 'backup', '--rate', '0']);
  assert.equal(code, 0, out + err);
  assert.match(out, /^point \S+Z: [\d.]+ MB read in \d+ s/m);
  const report = await server.admin.backups();
  assert.equal(report.state, 'done');
  assert.ok(report.read_bytes > 0 && report.directory_bytes > 0);
  assert.ok(report.backed_up_at! >= report.started_at! && report.ended_at! >= report.backed_up_at!);
  assert.match((await pmx.lines('admin', 'backups')).join('\n'), /^backup +done$/m);
  const listed = await runAdminHere(['backups', 'list', target], {});
  assert.match(listed.stdout, /^\d{8}T\S+ .* running$/m);
  assert.equal((await runAdminHere(['backups', 'drill', target], { DATA_DIR: server.dataDir })).status, 0);
  const { records } = await server.admin.audit({ path: '/admin/platform/backup' });
  assert.deepEqual(
    records.map(({ event, operator, status, body }) => [event, operator, status ?? body]),
    [
      ['result', 'bootstrap', 202],
      ['change', 'bootstrap', { rate: 0 }],
    ],
  );
});

test('one runs at a time, a stop ends it, and the next one goes on', async () => {
  const held = await holdBackups();
  const begun = await pmx.json('admin', 'backup', '--detach');
  assert.deepEqual([begun.state, begun.ended_at], ['running', null]);
  assert.equal((await waiting()).state, 'running');
  const refused = await server.adminRequest('POST', '/admin/platform/backup');
  assert.deepEqual([refused.status, refused.body.code], [409, 'CONFLICT']);
  assert.equal(refused.body.error, 'a backup is under way');
  const besides = await runAdminHere(['backup', target], { DATA_DIR: server.dataDir });
  assert.match(besides.stderr, /another command works on/);
  assert.equal((await server.admin.backups()).failed_at, null, 'nothing has failed');
  held.destroy();
  assert.equal((await ended()).state, 'done');

  await holdBackups();
  await server.admin.backUp();
  await waiting();
  assert.equal(await server.stop(), 0);
  await server.start({ BACKUP_TARGET: target });
  await eventually('the folder is free', async () => {
    return (await runAdminHere(['backups', 'verify', target], {})).status === 0;
  });
  assert.equal((await server.admin.backups()).state, 'none');
  assert.equal(
    (await new Pmx({ BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken }).run(['admin', 'backup'])).code,
    0,
  );
});

test('no request names a folder, and a malformed request starts no backup', async () => {
  const viewer = await server.admin.createOperator({ name: 'watcher', roles: ['viewer'] });
  const path = '/admin/platform/backup';
  const asViewer = { authorization: `Bearer ${viewer.token}` };
  assert.equal((await server.request('GET', path, undefined, asViewer)).status, 200);
  assert.equal((await server.request('POST', path, {}, asViewer)).body.code, 'INSUFFICIENT_ROLE');
  assert.equal((await server.request('GET', path)).body.code, 'UNAUTHORIZED');
  assert.equal((await server.request('POST', path, {})).body.code, 'UNAUTHORIZED');
  const { started_at } = await server.admin.backups();
  for (const body of [
    ...[{ folder: '/tmp' }, { target: '/tmp' }, { rate: -1 }, { rate: 1.5 }, { rate: '40' }],
    ...[{ rate: 100_001 }, [], 'text', '{'],
  ]) {
    const answer = await server.adminRequest('POST', path, body);
    assert.deepEqual([answer.status, answer.body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
  }
  assert.equal((await server.admin.backups()).started_at, started_at);
  assert.equal((await pmx.failure(2, 'admin', 'backup', '--rate', 'fast')).code, 'USAGE');
});

test('a failed backup says why, and shows as failed everywhere', async () => {
  const stranger = join(target, 'of another program');
  writeFileSync(stranger, '');
  const url = { BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken };
  const { code, out } = await new Pmx(url).run(['admin', 'backup']);
  assert.deepEqual([code, /holds other files \(of another program\)/.test(out)], [1, true], out);
  const report = await server.admin.backups();
  assert.equal(report.state, 'failed');
  assert.ok(report.failed_at !== null);
  rmSync(stranger);
});

test('without a folder that the settings allow there is none, and one in the data directory is refused', async () => {
  await server.restart({});
  const answer = await server.adminRequest('POST', '/admin/platform/backup');
  assert.deepEqual([answer.status, answer.body.error], [409, 'no folder of backups is set: BACKUP_TARGET']);
  assert.equal((await server.admin.backups()).folder, null);
  const inside = join(server.dataDir, 'backups');
  mkdirSync(inside);
  await server.restart({ BACKUP_TARGET: inside });
  await server.admin.backUp();
  const { state, lines } = await ended();
  assert.deepEqual([state, /is in the data directory/.test(lines.join())], ['failed', true]);
});

test('the program of a backup gets no secret but the master key', async () => {
  await server.restart({ BACKUP_TARGET: join(folder, 'second'), SIGNING_SECRET_OF_A_TEST: 'secret' });
  const held = await holdBackups();
  await server.admin.backUp();
  await waiting();
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ');
  const names = readFileSync(`/proc/${children[0]}/environ`, 'utf8')
    .split('\0')
    .map((line) => line.split('=')[0])
    .filter((name) => name !== '');
  assert.deepEqual(names.sort(), ['DATA_DIR', 'MASTER_KEY', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE']);
  held.destroy();
  assert.equal((await ended()).state, 'done');
});
