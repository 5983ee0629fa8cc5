/** control.db as a file: one owner, older and newer versions, and the keys and secrets that are sealed in it. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import Sqlite from 'better-sqlite3';
import type { KeyPolicy } from '../../../../gateway/access/keys.ts';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { emptyControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { ArmedSwitches } from '../../../../gateway/trading/armedSwitchesStore.ts';
import { TradingTimeouts } from '../../../../gateway/trading/tradingTimeoutsStore.ts';
import { type Control, openControl } from '../../../../gateway/wiring/control.ts';
import { SELF_TRADE } from '../../../../shared/base/codes.ts';
import { FORMATS } from '../../../../shared/base/formats.ts';
import { NOW_MS, newUser } from '../../../support/controlRows.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const NEWEST = FORMATS.control.newest;

const POLICY: KeyPolicy = {
  scopes: 3,
  tier: 'premium',
  rateLimitOverride: { requests: 7, windowSec: 2 },
  requireSigningVersion: 2,
  selfTradePrevention: SELF_TRADE.CANCEL_OLDEST,
};

describe('control.db', () => {
  test('a second connection is refused for as long as the first is open', () => {
    const path = join(temporaryDirectory(), 'control.db');
    const first = openControlDatabase(path);
    assert.throws(() => openControlDatabase(path), {
      name: 'StartError',
      message: /in use by another server/,
    });
    first.close();
    openControlDatabase(path).close();
  });

  test('of the first version is brought up to date with all that is in it', (t) => {
    const path = join(temporaryDirectory(), 'control.db');
    const old = new Sqlite(path);
    old.exec(readFileSync(new URL('../../../../data/schema/control-001.sql', import.meta.url), 'utf8'));
    old.pragma('user_version = 1');
    old.exec("INSERT INTO users VALUES (1, 'u-1', NULL, NULL, 'user', 'code', NULL, 5)");
    old.close();
    const database = openControlDatabase(path);
    t.after(() => database.close());
    assert.equal(new Accounts(database).idOf(1), 'u-1');
    new ArmedSwitches(database).arm(1, NOW_MS);
    const tradingTimeouts = new TradingTimeouts(database);
    tradingTimeouts.startTimeout(1, 'custom', 1, NOW_MS);
    tradingTimeouts.setPreferences(1, { realityCheckMinutes: 15, sessionTimeoutMinutes: null });
    const again = new TradingTimeouts(database);
    assert.deepEqual(new ArmedSwitches(database).armed(), [1]);
    assert.deepEqual(again.preferences(1), { realityCheckMinutes: 15, sessionTimeoutMinutes: null });
    assert.deepEqual(again.activeTimeout(1, NOW_MS), tradingTimeouts.activeTimeout(1, NOW_MS));
    assert.equal(again.activeTimeout(1, NOW_MS + 3_600_000 - 1)?.durationLabel, 'custom');
    assert.equal(again.activeTimeout(1, NOW_MS + 3_600_000), null, 'over at the instant it ends');
  });

  test('a file of a newer version is refused and left as it is', () => {
    const path = join(temporaryDirectory(), 'control.db');
    openControlDatabase(path).close();
    const newer = new Sqlite(path);
    newer.pragma('user_version = 99');
    newer.close();
    assert.throws(() => openControlDatabase(path), { message: /newer version/ });
  });

  test('a damaged file is refused with its name and what to do next, and left as it is', () => {
    const dataDir = temporaryDirectory();
    const path = join(dataDir, 'control.db');
    open(dataDir).database.close();
    const whole = readFileSync(path);
    const zeroed = (page: number): Buffer => Buffer.from(whole).fill(0, page * 4096, (page + 1) * 4096);
    for (const damage of [Buffer.from('no database'.repeat(1000)), zeroed(1), zeroed(2)]) {
      writeFileSync(path, damage);
      const refusal = { name: 'StartError', message: /control\.db is damaged \(.*\): restore .* backup/ };
      assert.throws(() => open(dataDir), refusal);
      assert.ok(readFileSync(path).equals(damage));
    }
  });

  test('an upgrade that is refused has changed nothing: the older version goes on', () => {
    const dataDir = temporaryDirectory();
    const path = join(dataDir, 'control.db');
    const first = open(dataDir);
    first.platform.setHasJournals();
    const rows = first.database.prepare('SELECT * FROM platform').raw().all() as [string, string][];
    first.database.close();
    const older = emptyControlDatabase(NEWEST - 1);
    const insert = older.prepare('INSERT OR REPLACE INTO platform VALUES (?, ?)');
    for (const row of rows) insert.run(...row);
    rmSync(`${path}-wal`, { force: true });
    writeFileSync(path, older.serialize());
    older.close();
    writeFileSync(join(dataDir, 'journal-0.db'), '');
    const versionOf = (): unknown => {
      const database = new Sqlite(path);
      const version = database.pragma('user_version', { simple: true });
      database.close();
      return version;
    };
    const key = readFileSync(join(dataDir, 'journal.key'));
    rmSync(join(dataDir, 'journal.key'));
    assert.throws(() => open(dataDir), { message: /journal\.key is missing/ });
    assert.equal(versionOf(), NEWEST - 1);
    writeFileSync(join(dataDir, 'journal.key'), key);
    open(dataDir).database.close();
    assert.equal(versionOf(), NEWEST);
  });
});

describe('keys and secrets', () => {
  test('a key comes back with its secret and its policy', (t) => {
    const dataDir = temporaryDirectory();
    const before = open(dataDir);
    const user = before.accounts.signUp(newUser(null), NOW_MS);
    const { key, secret } = before.keys.issue(user, POLICY, NOW_MS + 5, NOW_MS);
    before.database.close();
    const after = open(dataDir);
    t.after(() => after.database.close());
    const found = after.keys.find(key.keyId)!;
    const signature = createHmac('sha256', Buffer.from(secret, 'base64url')).update('text').digest('base64');
    assert.ok(found.secret.accepts(signature, 'text', new Uint8Array(0)));
    assert.deepEqual({ ...found, secret: null }, { ...key, secret: null });
  });

  test('a revoked key stays known as revoked, also after a restart', (t) => {
    const dataDir = temporaryDirectory();
    const before = open(dataDir);
    const { key } = before.keys.issue(before.accounts.signUp(newUser(null), NOW_MS), POLICY, null, NOW_MS);
    before.keys.revoke(key.keyId, NOW_MS);
    before.keys.revoke(key.keyId, NOW_MS + 1);
    assert.ok(before.keys.find(key.keyId)!.revoked);
    before.database.close();
    const after = open(dataDir);
    t.after(() => after.database.close());
    assert.ok(after.keys.find(key.keyId)!.revoked);
  });

  test('no file holds a secret, a passphrase or the administrator’s token in clear', (t) => {
    const dataDir = temporaryDirectory();
    const control = open(dataDir);
    t.after(() => control.database.close());
    const issued = control.keys.issue(control.accounts.signUp(newUser(null), NOW_MS), POLICY, null, NOW_MS);
    const bytes = Buffer.concat(readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name))));
    assert.ok(bytes.includes(issued.key.keyId));
    const secrets = [issued.secret, issued.passphrase, control.adminToken.token];
    for (const secret of secrets) assert.ok(!bytes.includes(secret));
    assert.ok(!bytes.includes(Buffer.from(issued.secret, 'base64url')));
  });

  test('a master key is made once, for its owner alone, and another one is refused', () => {
    const dataDir = temporaryDirectory();
    open(dataDir).database.close();
    const path = join(dataDir, 'master.key');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.throws(() => open(dataDir, { MASTER_KEY: '11'.repeat(32) }), {
      name: 'ConfigError',
      message: /not the key/,
    });
    writeFileSync(path, 'no key at all');
    assert.throws(() => open(dataDir), { name: 'ConfigError', message: /does not hold a master key/ });
    rmSync(path);
    assert.throws(() => open(dataDir), { name: 'ConfigError', message: /was made with one/ });
  });

  test('a given master key is written nowhere and asked for again', () => {
    const dataDir = temporaryDirectory();
    open(dataDir, { MASTER_KEY: '22'.repeat(32) }).database.close();
    assert.ok(!readdirSync(dataDir).includes('master.key'));
    open(dataDir, { MASTER_KEY: '22'.repeat(32) }).database.close();
  });

  test('a made token is new once and stays the same; a given one goes before it', () => {
    const dataDir = temporaryDirectory();
    const first = open(dataDir);
    first.database.close();
    assert.ok(first.adminToken.isNew);
    const second = open(dataDir);
    second.database.close();
    assert.deepEqual(second.adminToken, { token: first.adminToken.token, isNew: false });
    const given = open(dataDir, { ADMIN_TOKEN: 'mine' });
    given.database.close();
    assert.deepEqual(given.adminToken, { token: 'mine', isNew: false });
  });

  test('a token is read from ADMIN_TOKEN_FILE, and a file that holds none stops the start (RULES.md 9.50)', () => {
    const path = join(temporaryDirectory(), 'token');
    const openWith = (text: string | null, env: Record<string, string> = {}): string => {
      if (text !== null) writeFileSync(path, text);
      const control = open(temporaryDirectory(), { ADMIN_TOKEN_FILE: path, ...env });
      control.database.close();
      return control.adminToken.token;
    };
    assert.throws(() => openWith(null), {
      name: 'ConfigError',
      message: /^ADMIN_TOKEN_FILE: cannot read .* \(ENOENT\)$/,
    });
    assert.equal(openWith('  mine \n'), 'mine');
    for (const text of ['', '\n', 'two words', 'a\nb', 'tök', 'x'.repeat(1001)]) {
      assert.throws(() => openWith(text), { name: 'ConfigError', message: /^ADMIN_TOKEN_FILE: .*: expected one line/ });
    }
    const exposed = { HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.1', MASTER_KEY: 'file' };
    assert.equal(openWith('x'.repeat(32), exposed), 'x'.repeat(32));
    assert.throws(() => openWith('x'.repeat(31), exposed), { name: 'ConfigError', message: /at least 32 characters/ });
    assert.throws(() => openWith('mine', { ADMIN_TOKEN: 'other' }), {
      name: 'ConfigError',
      message: /set one of them/,
    });
  });

  test('the number of shards is fixed by the first start', () => {
    const dataDir = temporaryDirectory();
    open(dataDir, { SHARDS: '3' }).database.close();
    const later = open(dataDir);
    later.database.close();
    assert.equal(later.shards, 3);
    assert.throws(() => open(dataDir, { SHARDS: '2' }), { name: 'ConfigError', message: /SHARDS.*made with 3/ });
  });
});

function open(dataDir: string, env: Record<string, string> = {}): Control {
  return openControl(parseConfig({ ...env, DATA_DIR: dataDir }, 2));
}
