/** Both ends of a signed webhook, and signatures that were made elsewhere (RULES.md 16.65). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkHook, HOOK_SIGNATURE, signHook } from '../../../../shared/crypto/hookSignature.ts';
import { coinbaseHook } from '../../../support/coinbaseServer.ts';

const NOW_MS = 1_760_000_000_000;

test('a webhook is signed as its receiver expects it, with the headers that name it', () => {
  const body = Buffer.from('{"a":1}');
  const named = { 'content-type': 'application/json', 'x-event-id': 'e-1' };
  const headers = { ...named, [HOOK_SIGNATURE]: signHook('secret', named, body, NOW_MS) };
  assert.deepEqual(checkHook(['other', 'secret'], headers, body, NOW_MS), { covered: Object.keys(named) });
  assert.equal(checkHook(['other'], headers, body, NOW_MS), null);
  const { headers: theirs, body: same } = coinbaseHook('secret', '{"a":1}', NOW_MS);
  const { [HOOK_SIGNATURE]: signature, ...covered } = theirs;
  assert.equal(signHook('secret', covered, same, NOW_MS), signature);
});
