/** The state that a browser keeps while its person is at a provider (RULES.md 15.33). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OAuthStates } from '../../../../gateway/account/oauthState.ts';

const NOW_MS = 1_790_000_000_000;
const STATE = { provider: 'house', state: 's', nonce: 'n', verifier: 'v', redirectPath: '/', referralCode: null };

test('15.33: a state opens for ten minutes, also after a restart, and shows nothing', () => {
  const sealed = new OAuthStates(Buffer.alloc(32, 1)).seal(STATE, NOW_MS);
  const states = new OAuthStates(Buffer.alloc(32, 1));
  assert.deepEqual(states.open(sealed, NOW_MS + 599_999), STATE);
  assert.equal(states.open(sealed, NOW_MS + 600_000), null);
  assert.ok(!Buffer.from(sealed, 'base64url').includes('house'));
  assert.notEqual(states.seal(STATE, NOW_MS), sealed);
});

test('15.33: one that was changed, or sealed by another exchange, does not open', () => {
  const states = new OAuthStates(Buffer.alloc(32, 1));
  const sealed = states.seal(STATE, NOW_MS);
  for (let at = 0; at < sealed.length; at++) {
    const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'Z' : 'A'}${sealed.slice(at + 1)}`;
    assert.equal(states.open(changed, NOW_MS), null, `character ${at}`);
  }
  for (const text of [
    '',
    'x',
    'A'.repeat(40),
    'A'.repeat(5000),
    new OAuthStates(Buffer.alloc(32, 2)).seal(STATE, NOW_MS),
  ]) {
    assert.equal(states.open(text, NOW_MS), null);
  }
});
