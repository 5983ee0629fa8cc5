/** Another administrator's token, put in place with `mv`, as the process sees it through a mount. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../support/directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FORMER = 'the-former-token-0123456789-0123456789';
const NEXT = 'the-next-token-0123456789-01234567890';
const mayMount = spawnSync('unshare', ['-m', 'mount', '--bind', '/tmp', '/tmp']).status === 0;

/** It prints the token of each path, and again for every line that it reads. */
const READER = `
import { readAdminToken } from ${JSON.stringify(join(ROOT, 'gateway/base/adminTokenFile.ts'))};
const paths = process.argv.slice(1);
const print = () => console.log(JSON.stringify(paths.map((adminTokenFile) =>
  readAdminToken({ adminTokenFile, host: '127.0.0.1', adminDoor: null }))));
print();
process.stdin.on('data', print);
`;

test('a folder that is mounted shows the new token, a file that is mounted does not', {
  skip: !mayMount,
}, async (t) => {
  const folder = temporaryDirectory();
  for (const name of ['secrets', 'seen']) mkdirSync(join(folder, name));
  const [source, seen, file] = ['secrets', 'seen', 'file'].map((name) => join(folder, name));
  writeFileSync(join(source!, 'admin.token'), FORMER);
  writeFileSync(file!, '');
  const mounts = `mount --bind ${source} ${seen} && mount --bind ${source}/admin.token ${file}`;
  const run = [process.execPath, '--disable-warning=ExperimentalWarning', '--import', './shared/base/keptSources.mjs'];
  const words = [...run, '--input-type=module', '-e', READER, `${seen}/admin.token`, file!];
  const script = `${mounts} && exec "$@"`;
  const child = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', ...words], { cwd: ROOT, stdio: 'pipe' });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string[]> => JSON.parse((await lines.next()).value);
  assert.deepEqual(await next(), [FORMER, FORMER]);
  writeFileSync(join(source!, 'next.token'), NEXT);
  renameSync(join(source!, 'next.token'), join(source!, 'admin.token'));
  child.stdin.write('again\n');
  assert.deepEqual(await next(), [NEXT, FORMER], 'the file has the inode that it was mounted with');
  child.stdin.end();
  await once(child, 'close');
});

test('files that the exchange reads again are neither copies of the start nor mounted files', () => {
  const [unit, compose] = ['open-prediction-exchange.service', 'compose.yaml'].map((name) => {
    return readFileSync(join(ROOT, 'data/deploy', name), 'utf8');
  });
  assert.doesNotMatch(unit!, /^LoadCredential/m);
  const [, inside] = /^Environment=ADMIN_TOKEN_FILE=(\/etc\/\S+)$/m.exec(unit!)!;
  assert.equal(inside, '/etc/open-prediction-exchange/admin.token');
  const [, folder] = /ADMIN_TOKEN_FILE: (\S+)\/admin\.token$/m.exec(compose!)!;
  assert.match(compose!, new RegExp(`^      - \\./secrets/exchange:${folder}:ro$`, 'm'));
});
