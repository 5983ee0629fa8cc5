/** API keys of which few are in memory: what leaves it is read again, and is as it was. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Authenticator } from '../../../../gateway/access/authenticator.ts';
import { KeptKeys } from '../../../../gateway/access/keptKeys.ts';
import { ApiKeys, type KeyPolicy } from '../../../../gateway/access/keys.ts';
import { NonceMemory } from '../../../../gateway/access/nonces.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import type { ApiKey } from '../../../../gateway/base/principal.ts';
import { SELF_TRADE } from '../../../../shared/base/codes.ts';
import { TakenRows } from '../../../../shared/records/changedRows.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const MASTER_KEY = new Uint8Array(32).fill(7);
const NOW_MS = 1_790_000_000_000;
const USER = { index: 1, id: '00000000-0000-4000-8000-000000000001' };
const POLICY: KeyPolicy = {
  scopes: 1,
  tier: 'standard',
  rateLimitOverride: null,
  requireSigningVersion: null,
  selfTradePrevention: SELF_TRADE.NONE,
};

function open(t: TestContext) {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  database
    .prepare("INSERT INTO users (account_index, id, role, referral_code, created_ms) VALUES (1, ?, 'user', 'A', 0)")
    .run(USER.id);
  /** Clearing it takes the keys out of memory. */
  const memory = new Map<string, ApiKey>();
  const make = (masterKey = MASTER_KEY, kept: Pick<KeptKeys<ApiKey>, 'get' | 'set'> = memory) =>
    new ApiKeys(database, masterKey, () => USER.id, kept);
  return { database, memory, make, keys: make() };
}

describe('an API key that has left memory', () => {
  it('is read again with its secret, passphrase and policy', (t) => {
    const { memory, keys } = open(t);
    const issued = keys.issue(USER, POLICY, NOW_MS + 1, NOW_MS);
    const { key, passphrase } = issued;
    memory.clear();
    const read = keys.find(key.keyId)!;
    assert.notEqual(read, key);
    assert.equal(keys.find(key.keyId), read, 'it is in memory again');
    assert.ok(read.passphrase.accepts(passphrase));
    const { secret, passphrase: _, ...facts } = read;
    const { secret: former, passphrase: __, ...formerFacts } = key;
    assert.deepEqual(facts, formerFacts);
    const signature = createHmac('sha256', Buffer.from(issued.secret, 'base64url')).update('text').digest('base64');
    for (const each of [secret, former]) assert.ok(each.accepts(signature, 'text', new Uint8Array(0)));
    assert.equal(keys.find('key_unknown'), undefined);
  });

  it('KEYS-2: is revoked if it was, and can be revoked and rotated', (t) => {
    const { memory, keys } = open(t);
    const [revoked, rotated] = [keys.issue(USER, POLICY, null, NOW_MS), keys.issue(USER, POLICY, null, NOW_MS)];
    const ended: string[] = [];
    keys.revoked.subscribe((keyId) => ended.push(keyId));
    memory.clear();
    keys.revoke(revoked.key.keyId, NOW_MS);
    const { passphrase } = keys.rotate(rotated.key.keyId);
    assert.deepEqual(ended, [revoked.key.keyId, rotated.key.keyId]);
    memory.clear();
    assert.ok(keys.find(revoked.key.keyId)!.revoked);
    assert.ok(keys.find(rotated.key.keyId)!.passphrase.accepts(passphrase));
    assert.ok(!keys.find(rotated.key.keyId)!.passphrase.accepts(rotated.passphrase));
  });

  it('RULES.md 4.3: has the latest timestamp of earlier processes, and none of this one', (t) => {
    const { memory, make, keys } = open(t);
    const { keyId } = keys.issue(USER, POLICY, null, NOW_MS).key;
    keys.acceptedAhead(keyId, 100);
    memory.clear();
    keys.find(keyId);
    assert.equal(keys.aheadBeforeStart(keyId), 0);
    const next = make(MASTER_KEY, new Map());
    next.find(keyId);
    next.acceptedAhead(keyId, 200);
    assert.equal(next.aheadBeforeStart(keyId), 100);
  });

  it('is no reason to keep a connection of a key that another member has revoked', (t) => {
    const { database, make, keys } = open(t);
    const { keyId } = keys.issue(USER, POLICY, null, NOW_MS).key;
    const ended: string[] = [];
    const follower = make(MASTER_KEY, new Map());
    follower.revoked.subscribe((each) => ended.push(each));
    follower.find(keyId);
    database.prepare('UPDATE api_keys SET revoked_ms = 1 WHERE key_id = ?').run(keyId);
    follower.reload(new TakenRows(new Map([['api_keys', new Map([[keyId, [keyId]]])]])));
    assert.deepEqual(ended, [keyId]);
    assert.ok(follower.find(keyId)!.revoked);
  });
});

it('a key whose row is damaged fails alone, is sent to no front, and can be revoked or rotated', (t) => {
  const { database, memory, keys } = open(t);
  const issued = [1, 2].map(() => keys.issue(USER, POLICY, null, NOW_MS).key.keyId);
  const [revoked, rotated] = issued as [string, string];
  database.prepare("UPDATE api_keys SET sealed_secret = x'01'").run();
  memory.clear();
  const authenticator = new Authenticator(keys, new NonceMemory(0, keys));
  for (const keyId of issued) {
    assert.throws(() => keys.find(keyId));
    assert.equal(authenticator.secretOf(keyId), null);
  }
  keys.revoke(revoked, NOW_MS);
  assert.equal(keys.known(revoked)!.revokedMs, NOW_MS);
  const { key, passphrase } = keys.rotate(rotated);
  assert.equal(authenticator.secretOf(rotated), key.secret);
  memory.clear();
  assert.ok(keys.find(rotated)!.passphrase.accepts(passphrase));
});

it('keys that another master key has sealed are refused at the start', (t) => {
  const { make, keys } = open(t);
  keys.issue(USER, POLICY, null, NOW_MS);
  assert.throws(() => make(new Uint8Array(32).fill(8)));
});

it('a key that is referred to is one object, however many others are used after it', () => {
  const kept = new KeptKeys<{ readonly keyId: string }>(2);
  const held = { keyId: 'held' };
  kept.set('held', held);
  for (let index = 0; index < 100; index++) kept.set(`other ${index}`, { keyId: `other ${index}` });
  assert.equal(kept.get('held'), held);
  const changed = { keyId: 'held' };
  kept.set('held', changed);
  for (let index = 0; index < 5; index++) kept.set(`later ${index}`, { keyId: `later ${index}` });
  assert.equal(kept.get('held'), changed);
  assert.equal(kept.get('unknown'), undefined);
});
