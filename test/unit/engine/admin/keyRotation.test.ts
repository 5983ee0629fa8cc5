/** A new master key for a data directory, and the state after an interruption at any step (RULES.md 10.14). */
import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AdminError, requireAlone, withExclusiveDirectory } from '../../../../engine/admin/directory.ts';
import { type MasterKeys, rotateMasterKey } from '../../../../engine/admin/keyRotation.ts';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { type Control, openControl } from '../../../../gateway/wiring/control.ts';
import { SELF_TRADE } from '../../../../shared/base/codes.ts';
import { runAdminHere } from '../../../support/adminProgram.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const OLD = Buffer.alloc(32, 1);
const FRESH = Buffer.alloc(32, 2);
const FROM_FILES: MasterKeys = { given: null, next: null };

function open(dataDir: string, masterKey?: Uint8Array): Control {
  const env = { DATA_DIR: dataDir, JOURNAL_RESERVE_MB: '0' };
  const key = masterKey === undefined ? {} : { MASTER_KEY: Buffer.from(masterKey).toString('hex') };
  return openControl(parseConfig({ ...env, ...key }, 2));
}

/** A directory, and the secrets that the control has to find again. */
type Made = { dataDir: string; keyId: string; token: string; journalKey: string; sessionSecret: string; kid: string };

/** A directory with an API key, a made token, a journal key and what sessions need. */
function made(masterKey?: Uint8Array): Made {
  const dataDir = temporaryDirectory();
  const control = open(dataDir, masterKey);
  const user = control.accounts.signUp(
    { displayName: null, email: null, role: 'user', referralCode: null, wallet: null },
    1_790_000_000_000,
  );
  const policy = {
    scopes: 1,
    tier: 'standard',
    rateLimitOverride: null,
    requireSigningVersion: null,
    selfTradePrevention: SELF_TRADE.NONE,
  } as const;
  const { key } = control.keys.issue(user, policy, null, 1_790_000_000_000);
  const { token } = control.adminToken;
  const journalKey = Buffer.from(control.journalKey.secret).toString('hex');
  const [sessionSecret, { kid }] = [control.sessionSecret.toString('hex'), control.sessionKeys];
  control.database.close();
  return { dataDir, keyId: key.keyId, token, journalKey, sessionSecret, kid };
}

function rotate(dataDir: string, keys: MasterKeys): Promise<string[]> {
  return withExclusiveDirectory(dataDir, (control) => rotateMasterKey(dataDir, control!, keys));
}

/** Everything opens, with its old content. */
function assertWhole({ dataDir, keyId, token, journalKey, ...before }: Made, masterKey?: Uint8Array): void {
  const control = open(dataDir, masterKey);
  assert.notEqual(control.keys.find(keyId), undefined);
  assert.deepEqual(control.adminToken, { token, isNew: false });
  assert.equal(Buffer.from(control.journalKey.secret).toString('hex'), journalKey);
  assert.equal(control.sessionSecret.toString('hex'), before.sessionSecret, 'refresh tokens stay good');
  assert.notEqual(control.sessionKeys.verifier(before.kid, Date.now()), null, 'access tokens stay good');
  control.database.close();
  for (const name of ['master.key.next', 'journal.key.next']) assert.ok(!existsSync(join(dataDir, name)), name);
}

describe('a rotation of the master key', () => {
  test('in a file makes another one, under which everything opens', async () => {
    const before = made();
    const file = join(before.dataDir, 'master.key');
    const old = readFileSync(file, 'utf8');
    const lines = await rotate(before.dataDir, FROM_FILES);
    assert.match(lines.join('\n'), /journal\.key and [67] secrets/);
    assert.notEqual(readFileSync(file, 'utf8'), old);
    assertWhole(before);
    const control = open(before.dataDir);
    assert.notEqual(control.sessionKeys.kid, before.kid, 'another key signs');
    control.database.close();
    assert.throws(() => open(before.dataDir, Buffer.from(old.trim(), 'hex')), /MASTER_KEY: not the key/);
  });

  test('from the environment wants the new one from there', async () => {
    const before = made(OLD);
    await assert.rejects(rotate(before.dataDir, { given: OLD, next: null }), /NEW_MASTER_KEY: set it/);
    await assert.rejects(rotate(before.dataDir, { given: OLD, next: OLD }), /this is the present key/);
    await assert.rejects(rotate(before.dataDir, { given: FRESH, next: null }), /MASTER_KEY: not the key/);
    assertWhole(before, OLD);
    await rotate(before.dataDir, { given: OLD, next: FRESH });
    assertWhole(before, FRESH);
    assert.throws(() => open(before.dataDir, OLD), /MASTER_KEY: not the key/);
  });

  test('can move the key out of the data directory', async () => {
    const before = made();
    await rotate(before.dataDir, { given: null, next: FRESH });
    assert.ok(!existsSync(join(before.dataDir, 'master.key')));
    assertWhole(before, FRESH);
  });

  for (const [what, keys, first, after] of [
    ['in a file', FROM_FILES, undefined, undefined],
    ['in the environment', { given: OLD, next: FRESH }, OLD, FRESH],
  ] as const) {
    test(`${what} that was interrupted before its transaction starts anew`, async () => {
      const before = made(first);
      const { dataDir } = before;
      copyFileSync(join(dataDir, 'journal.key'), join(dataDir, 'journal.key.next'));
      assert.throws(() => open(dataDir, first), /journal\.key\.next: a rotation was interrupted/);
      await rotate(dataDir, keys);
      assertWhole(before, after);
    });

    test(`${what} that was interrupted after its transaction is finished, at any step`, async () => {
      for (const names of [['journal.key', 'master.key'], ['master.key'], []]) {
        const before = made(first);
        const { dataDir } = before;
        const old = temporaryDirectory();
        cpSync(dataDir, old, { recursive: true });
        await rotate(dataDir, keys);
        // The files as they were before they took their names.
        for (const name of names.filter((each) => existsSync(join(dataDir, each)))) {
          renameSync(join(dataDir, name), join(dataDir, `${name}.next`));
          copyFileSync(join(old, name), join(dataDir, name));
        }
        const isLeft = ['master.key.next', 'journal.key.next'].some((name) => existsSync(join(dataDir, name)));
        if (isLeft) assert.throws(() => open(dataDir, after), /a rotation was interrupted/);
        if (isLeft) assert.match((await rotate(dataDir, keys))[0], /interrupted is finished/);
        assertWhole(before, after);
      }
    });
  }

  test('whose key already has its name is finished without that key going away', async () => {
    const before = made();
    const { dataDir } = before;
    const old = readFileSync(join(dataDir, 'journal.key'));
    await rotate(dataDir, FROM_FILES);
    // The state after an operator has renamed only one of the two files, or a disk has kept only the later rename.
    renameSync(join(dataDir, 'journal.key'), join(dataDir, 'journal.key.next'));
    writeFileSync(join(dataDir, 'journal.key'), old);
    assert.match((await rotate(dataDir, FROM_FILES))[0], /interrupted is finished/);
    assertWhole(before);
  });

  test('leaves out nothing: these are all the files that seal something', () => {
    const found = execSync('grep -rlE "sealSecret\\(" gateway engine shared --include=*.ts', { cwd: ROOT }).toString();
    // The seal of oauthState.ts is of cookies of ten minutes, under a key that follows from a secret of control.db.
    assert.deepEqual(found.trim().split('\n').sort(), [
      'engine/admin/keyRotation.ts',
      'gateway/access/keys.ts',
      'gateway/account/oauthState.ts',
      'gateway/account/refreshTokens.ts',
      'gateway/base/secrets.ts',
      'shared/crypto/journalHeads.ts',
      'shared/crypto/journalKeyFile.ts',
      'shared/crypto/secretBox.ts',
      'shared/crypto/sessionKeys.ts',
    ]);
  });
});

test('the files of a member of a cluster are not changed on one member alone', async () => {
  const { dataDir } = made(OLD);
  await withExclusiveDirectory(dataDir, (control) => requireAlone(control!, dataDir, 'no'));
  const env = { DATA_DIR: dataDir, JOURNAL_RESERVE_MB: '0', MASTER_KEY: OLD.toString('hex') };
  openControl(parseConfig(env, 2), { isFollowing: true }).database.close();
  const refused = withExclusiveDirectory(dataDir, (control) => requireAlone(control!, dataDir, 'no'));
  await assert.rejects(refused, new AdminError(`${dataDir} is of a member of a cluster: no`));
  const refusals = {
    'keys rotate': /JOURNAL_URL: set it to the database of the log/,
    'journal adopt': /is of a member of a cluster: /,
  };
  for (const [command, refusal] of Object.entries(refusals)) {
    const { status, stderr } = await runAdminHere([...command.split(' '), '--data', dataDir], {
      MASTER_KEY: env.MASTER_KEY,
      NEW_MASTER_KEY: FRESH.toString('hex'),
    });
    assert.notEqual(status, 0);
    assert.match(stderr, refusal, command);
  }
  openControl(parseConfig(env, 2), { isFollowing: true }).database.close();
});

test('a key that is in the file, and MASTER_KEY=file that says so, are rotated the same way', async () => {
  const { dataDir } = made();
  const before = readFileSync(join(dataDir, 'master.key'), 'utf8');
  const { status, stderr } = await runAdminHere(['keys', 'rotate', '--data', dataDir], { MASTER_KEY: 'file' });
  assert.equal(status, 0, stderr);
  assert.notEqual(readFileSync(join(dataDir, 'master.key'), 'utf8'), before);
  const refused = await runAdminHere(['keys', 'rotate', '--data', dataDir], { NEW_MASTER_KEY: 'file' });
  assert.match(refused.stderr, /NEW_MASTER_KEY: not a master key/);
});
