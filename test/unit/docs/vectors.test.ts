/** The documents about signing: their vectors equal those of other libraries. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const signing = readFileSync(join(ROOT, 'data/docs/signing.md'), 'utf8');

function vectors(name: string): string {
  return readFileSync(join(ROOT, 'test/vectors', name), 'utf8');
}

test('the vectors of the guide are those of the other libraries, value by value', () => {
  const { order } = JSON.parse(vectors('guide.json'));
  const { domain, message } = order;
  for (const value of [
    ...[order.typeHash, order.domainSeparator, order.structHash, order.digest, order.signature],
    ...[domain.name, domain.verifyingContract, message.salt, message.maker, message.tokenId, message.makerAmount],
  ]) {
    assert.ok(signing.includes(`\`${value}\``), value);
  }
  const { vectors: requests } = JSON.parse(vectors('hmac.json'));
  const request = requests.find(({ body }: { body: string }) => body === '{"a":1}');
  assert.ok(signing.includes(`\`${request.secret}\``) && signing.includes(`\`${request.v2.signature}\``));
  assert.ok(signing.includes(`\`${request.v2.stringToSign.split('\n').at(-1)}\``));
});
