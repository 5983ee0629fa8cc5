/** `npm run admin` finds directory and key of an exchange in its unit, and leaves no file of root's behind. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { environmentFor } from '../../engine/admin/service.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { ROOT, startServer } from '../support/server.ts';

const NOBODY = 65_534;
const KEY = 'ab'.repeat(32);
const NEXT = 'cd'.repeat(32);
const isRoot = process.geteuid?.() === 0;
const isReadable = spawnSync('ls', [join(ROOT, 'engine')], isRoot ? { uid: NOBODY, gid: NOBODY } : {}).status === 0;

function unitIn(folder: string, settings: string): string {
  const path = join(folder, 'exchange.service');
  writeFileSync(join(folder, 'exchange.env'), settings, { mode: 0o600 });
  writeFileSync(path, `[Service]\nEnvironmentFile=${folder}/exchange.env\nExecStart=node gateway/main.ts\n`);
  return path;
}

/** Without any environment variable that names an exchange. */
function admin(cwd: string, args: readonly string[], more: Record<string, string> = {}) {
  const { PATH, HOME } = process.env;
  const command = [join(ROOT, 'shared/run.mjs'), join(ROOT, 'engine/admin/main.ts'), ...args];
  return spawnSync(process.execPath, command, { cwd, env: { PATH, HOME, ...more }, encoding: 'utf8' });
}

test('a command reads directory and key from the unit; options override it', async (t) => {
  const server = await startServer(t, { MASTER_KEY: KEY, SHARDS: '1' });
  await server.stop();
  const folder = temporaryDirectory();
  const unit = unitIn(folder, `DATA_DIR=${server.dataDir}\nMASTER_KEY=${KEY}\n`);
  const verified = admin(folder, ['journal', 'verify', '--service', unit]);
  assert.equal(verified.status, 0, verified.stderr);
  assert.equal(verified.stderr, `data directory ${server.dataDir}\n`);
  assert.match(verified.stdout, /^ok$/m);
  const wrong = admin(folder, ['journal', 'verify', '--service', unit], { MASTER_KEY: NEXT });
  assert.match(wrong.stderr, /MASTER_KEY is another exchange's/);
  const bare = admin(folder, ['journal', 'verify', '--data', server.dataDir]);
  assert.equal(bare.status, 1);
  assert.match(
    bare.stderr,
    /^error: MASTER_KEY: .*, or name the unit that runs the exchange with --service(?:, or .*)?\n$/,
  );
});

test('run as root, a command writes files of the directory’s owner', { skip: !isRoot || !isReadable }, async (t) => {
  const server = await startServer(t, { MASTER_KEY: KEY, SHARDS: '1' });
  await server.stop();
  const { dataDir } = server;
  const folder = temporaryDirectory();
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(folder, 0o755);
  spawnSync('cp', ['-a', `${dataDir}/.`, data]);
  for (const name of ['.', ...readdirSync(data)]) chownSync(join(data, name), NOBODY, NOBODY);
  const unit = unitIn(folder, `DATA_DIR=${data}\nMASTER_KEY=${KEY}\n`);
  const { status, stderr } = admin(folder, ['keys', 'rotate', '--service', unit], { NEW_MASTER_KEY: NEXT });
  assert.equal(status, 0, stderr);
  const owners = readdirSync(data).map((name) => [name, statSync(join(data, name)).uid]);
  assert.deepEqual(
    owners.filter(([, uid]) => uid !== NOBODY),
    [],
  );
  const after = admin(folder, ['journal', 'verify', '--service', unit], { MASTER_KEY: NEXT });
  assert.equal(after.status, 0, after.stdout + after.stderr);
});

test('units are looked for only where nothing names the exchange', () => {
  const never = (): string[] => assert.fail('looked');
  for (const env of [{ DATA_DIR: 'x' }, { JOURNAL_URL: 'x' }]) assert.equal(environmentFor({}, env, never), env);
  assert.deepEqual(environmentFor({ data: 'x' }, {}, never), {});
  assert.deepEqual(
    environmentFor({}, {}, () => []),
    {},
  );
  const two = () => ['/a/one.service', '/b/two.service'];
  assert.throws(() => environmentFor({}, {}, two), /--service \/a\/one\.service or --service \/b\/two\.service/);
  const folder = temporaryDirectory();
  const unit = unitIn(folder, 'DATA_DIR=/srv/x\nSHARDS=3\n');
  const { DATA_DIR, SHARDS } = environmentFor({}, { SHARDS: '4' }, () => [unit]);
  assert.deepEqual([DATA_DIR, SHARDS], ['/srv/x', '4']);
  const compose = join(folder, 'compose.yaml');
  writeFileSync(compose, 'services: { exchange: { ports: ["8080:8080"] } }\n');
  assert.throws(
    () => environmentFor({ service: compose }, {}),
    /docker compose -f \S+ run --rm exchange engine\/admin/,
  );
});
