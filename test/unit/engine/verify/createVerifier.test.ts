/** The choice of a verifier where the native addon does not load; this process never loads it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVerifier } from '../../../../engine/verify/createVerifier.ts';

test('without the addon `auto` is the reference, and `native` is refused at the start', (t) => {
  t.mock.method(process, 'dlopen', () => {
    throw new Error('no binary for this platform');
  });
  assert.equal(createVerifier('auto').name, 'noble');
  assert.throws(() => createVerifier('native'), /does not load on this platform/);
});
