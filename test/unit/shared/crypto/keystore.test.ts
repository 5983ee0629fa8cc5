/** Encrypted keystores (shared/crypto/keystore.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openKeystore } from '../../../../shared/crypto/keystore.ts';
import { keystoreOf } from '../../../support/keystore.ts';

const SECRET = `0x${'c0ffee'.padStart(64, '0')}`;

test('an encrypted keystore opens with its password, and with no other', () => {
  const keystore = keystoreOf(SECRET, 'correct horse');
  assert.equal(openKeystore(keystore, 'correct horse'), SECRET);
  for (const [text, password] of [
    [keystore, 'battery staple'],
    ['{}', ''],
    ['no JSON', ''],
  ] as const) {
    assert.throws(() => openKeystore(text, password), { message: /cannot be opened/ });
  }
});
