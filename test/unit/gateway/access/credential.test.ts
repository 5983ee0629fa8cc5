/** One door for keys, sessions and administrators (gateway/access/credential.ts). */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Gate } from '../../../../gateway/access/credential.ts';
import { credentialOf } from '../../../../gateway/access/credentialOf.ts';
import type { SessionPrincipal } from '../../../../gateway/base/principal.ts';
import { rightsOf } from '../../../../gateway/http/spec.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { apiKey } from '../../../support/apiKeys.ts';

const KINDS = "'(apiKey|session|administrator|anonymous|token)'";
const ASKS = [
  /\b(principal|credential|offered|holder|caller)\??\.kind\b/,
  new RegExp(`\\bkind\\s*[!=]==\\s*${KINDS}|\\bcase ${KINDS}`),
  /\{[^{}]*\bkind\b[^{}]*\}: (\w*Principal|ApiKey|Administrator|Offered)\b/,
];

const SESSION: SessionPrincipal = {
  kind: 'session',
  sessionId: 's',
  accountIndex: 2,
  userId: 'ann',
  scopes: 0,
  selfTradePrevention: 0,
  authenticatedAtMs: 5,
};
const GATE = { config: { trustProxy: null }, authenticator: { isInForce: () => true } } as unknown as Gate;

test('only gateway/access asks of which kind a principal is', () => {
  const asking = globSync('gateway/**/*.ts', { exclude: ['gateway/web/browser/**'] }).filter((file) => {
    const text = readFileSync(file, 'utf8');
    return ASKS.some((each) => each.test(text));
  });
  assert.deepEqual(asking, ['gateway/access/credentialOf.ts']);
});

test('a session has the scope of its own where its route names one, and a key that of the route', () => {
  const spec = { method: 'POST', path: '/x', summary: '', answers: {} } as const;
  const rights = rightsOf({ ...spec, access: 'trade:orders', sessionScope: 'read:account' });
  const may = (scopes: number) => {
    return [apiKey(1, { scopes }), { ...SESSION, scopes }].map((each) => credentialOf(each).lacks(each, rights));
  };
  assert.deepEqual(
    may(rights.sessionScope).map((refusal) => refusal?.row ?? null),
    [ERRORS.INSUFFICIENT_SCOPE, null],
  );
  assert.deepEqual(
    may(rights.scope).map((refusal) => refusal?.row ?? null),
    [null, ERRORS.INSUFFICIENT_SCOPE],
  );
});

test('a key ends with its time, a session with its store, and each says so in its own way', () => {
  const [key, expired] = [apiKey(1), apiKey(1, { expiresAtMs: 7 })];
  const inForce = [key, expired, SESSION].map((each) => credentialOf(each).isInForce(GATE, each, 7));
  assert.deepEqual(inForce, [true, false, false], 'without sessions no session is in force');
  assert.equal(credentialOf(expired).isInForce(GATE, expired, 6), true);
  const ended = [key, SESSION].map((each) => credentialOf(each).ended.row);
  assert.deepEqual(ended, [ERRORS.API_KEY_REVOKED, ERRORS.SESSION_ENDED]);
});

test('a key proves itself with each request, a session when its person did; a socket counts for either', () => {
  const key = apiKey(1);
  assert.deepEqual([credentialOf(key).provedMs(key, 9), credentialOf(SESSION).provedMs(SESSION, 9)], [9, 5]);
  const owners = [key, SESSION].map((each) => credentialOf(each).socketOwner(each));
  assert.deepEqual(owners, [key.keyId, 'account 2']);
});
