/** The settings of identity providers (RULES.md 15.30). */
import assert from 'node:assert/strict';
import { generateKeyPairSync, KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { ConfigError, type Environment, parseConfig } from '../../../../gateway/base/config.ts';

function refusal(env: Environment): string {
  try {
    parseConfig(env, 2);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(env)}`);
}

function pem(namedCurve: string): string {
  return generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'pem', type: 'spki' }).toString();
}

test('15.32: keys of Privy are those of one PEM, or of a set that no one between can change', () => {
  assert.equal(parseConfig({}, 2).privy, null);
  const byDefault = parseConfig({ PRIVY_APP_ID: 'app' }, 2).privy!;
  assert.equal(String(byDefault.keys), 'https://api.privy.io/v1/apps/app/jwks.json');
  const local = { PRIVY_APP_ID: 'app', PRIVY_JWKS_URL: 'http://127.0.0.1:7/keys' };
  assert.equal(String(parseConfig(local, 2).privy!.keys), 'http://127.0.0.1:7/keys');
  const key = pem('P-256');
  for (const text of [key, key.replaceAll('\n', '\\n')]) {
    assert.ok(parseConfig({ PRIVY_APP_ID: 'app', PRIVY_VERIFICATION_KEY: text }, 2).privy!.keys instanceof KeyObject);
  }
});

test('15.30: settings of Privy that are not right stop the start, and are not repeated', () => {
  const cases: [Environment, RegExp][] = [
    [{ PRIVY_JWKS_URL: 'https://keys.example' }, /^PRIVY_APP_ID: /],
    [{ PRIVY_VERIFICATION_KEY: pem('P-256') }, /^PRIVY_APP_ID: /],
    [{ PRIVY_APP_ID: 'a/b' }, /^PRIVY_APP_ID: /],
    [{ PRIVY_APP_ID: 'app', PRIVY_JWKS_URL: 'keys' }, /^PRIVY_JWKS_URL: /],
    [{ PRIVY_APP_ID: 'app', PRIVY_JWKS_URL: 'http://keys.example' }, /^PRIVY_JWKS_URL: expected https/],
    [{ PRIVY_APP_ID: 'app', PRIVY_VERIFICATION_KEY: 'key' }, /^PRIVY_VERIFICATION_KEY: expected a public key/],
    [{ PRIVY_APP_ID: 'app', PRIVY_VERIFICATION_KEY: pem('P-384') }, /^PRIVY_VERIFICATION_KEY: /],
    [
      { PRIVY_APP_ID: 'app', PRIVY_VERIFICATION_KEY: pem('P-256'), PRIVY_JWKS_URL: 'https://keys.example' },
      /set one of them$/,
    ],
  ];
  for (const [env, expected] of cases) assert.match(refusal(env), expected);
});

test('15.33: a provider of OpenID Connect has three settings, under a name of its own', () => {
  const env = {
    OIDC_GOOGLE_ISSUER: 'https://accounts.google.example',
    OIDC_GOOGLE_CLIENT_ID: 'id',
    OIDC_GOOGLE_CLIENT_SECRET: 'the-secret',
    OIDC_LOCAL_ISSUER: 'http://localhost:7',
    OIDC_LOCAL_CLIENT_ID: 'id',
    OIDC_LOCAL_CLIENT_SECRET: 'the-secret',
    OIDC_EMPTY_ISSUER: '',
  };
  const { oidc } = parseConfig(env, 2);
  assert.deepEqual(
    oidc.map(({ name, issuer }) => [name, issuer.href]),
    [
      ['google', 'https://accounts.google.example/'],
      ['local', 'http://localhost:7/'],
    ],
  );
  for (const part of ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET']) {
    assert.match(refusal({ ...env, [`OIDC_GOOGLE_${part}`]: '' }), /^OIDC_GOOGLE: needs /);
  }
  for (const issuer of ['google', 'http://accounts.google.example', 'ftp://127.0.0.1', 'javascript:0']) {
    assert.match(refusal({ ...env, OIDC_GOOGLE_ISSUER: issuer }), /^OIDC_GOOGLE_ISSUER: expected https/);
  }
});
