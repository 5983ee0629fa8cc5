/** A file that the system refuses is named with its owner and the command that mends it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessProblem, asOwner } from '../../../../shared/base/fileAccess.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const NOBODY = 65_534;
const MODULE = new URL('../../../../shared/base/fileAccess.ts', import.meta.url).href;
const LOADER = new URL('../../../../shared/base/keptSources.mjs', import.meta.url).href;

/** The answer that another user gets. */
function asNobody(expression: string) {
  const code = `import { accessProblem, asOwner } from ${JSON.stringify(MODULE)};
    console.log(JSON.stringify(${expression}))`;
  const args = ['--disable-warning=ExperimentalWarning', '--import', LOADER, '--input-type=module', '-e', code];
  return spawnSync(process.execPath, args, { uid: NOBODY, gid: NOBODY, encoding: 'utf8', cwd: '/' });
}

const probe = process.geteuid?.() === 0 ? asNobody('1') : null;
const skip = probe?.stdout.trim() === '1' ? false : 'needs root, and a project that others may read';

test('the error for another user says whose file it is, and how to get access', { skip }, () => {
  const directory = temporaryDirectory();
  chownSync(directory, NOBODY, NOBODY);
  const path = join(directory, 'journal.key');
  writeFileSync(path, 'secret');
  chmodSync(path, 0o600);
  const refused = asNobody(`accessProblem(${JSON.stringify(path)}, { code: 'EACCES' })`);
  assert.equal(
    JSON.parse(refused.stdout),
    `${path} belongs to root with mode 600, and this process is nobody: chown ${NOBODY}:${NOBODY} ${path}`,
  );
  chownSync(path, NOBODY, NOBODY);
  chmodSync(path, 0o400);
  const readOnly = asNobody(`accessProblem(${JSON.stringify(path)}, { code: 'SQLITE_READONLY' })`);
  assert.match(JSON.parse(readOnly.stdout), /: chmod u\+rw /);
  chmodSync(path, 0o600);
  assert.equal(JSON.parse(asNobody(`accessProblem(${JSON.stringify(path)}, { code: 'EACCES' })`).stdout), null);
});

test('a command that writes is to be run as the owner of the directory', { skip }, () => {
  const directory = temporaryDirectory();
  assert.equal(asOwner(directory), null);
  assert.equal(JSON.parse(asNobody(`asOwner(${JSON.stringify(directory)})`).stdout), 'sudo -u root');
  writeFileSync(join(directory, 'control.db'), '');
  chownSync(join(directory, 'control.db'), NOBODY, NOBODY);
  assert.equal(asOwner(directory), 'runuser -u nobody --');
  mkdirSync(join(directory, 'empty'));
  assert.equal(asOwner(join(directory, 'missing')), null);
});

test('an error that is not about access is left to others', () => {
  const path = join(temporaryDirectory(), 'control.db');
  writeFileSync(path, '');
  for (const code of ['SQLITE_CORRUPT', 'ENOSPC', undefined, 5]) assert.equal(accessProblem(path, { code }), null);
  assert.equal(accessProblem(path, null), null);
  assert.equal(accessProblem(path, { code: 'SQLITE_CANTOPEN' }), null, 'the file may be used');
});
