/**
 * The documents about signing: their vectors are those of other libraries, and of a Python that shares no code
 * with the project. Without `python3` or one of the packages the test says so; eth-account has a stand-in.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../support/directory.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const STAND_IN = join(ROOT, 'test/support/python');

const signing = readFileSync(join(ROOT, 'data/docs/signing.md'), 'utf8');
const python = readFileSync(join(ROOT, 'data/docs/python.md'), 'utf8');

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

/** The script of the document as a module, and what the test asks of it. */
const CHECK = `
import json, sys
import place_order as script
from eth_account import Account

given = json.load(sys.stdin)
for v in given["requests"]:
    parts = [v["secret"], v["timestamp"], v["nonce"], v["method"], v["path"], v["body"].encode()]
    assert script.request_signature(*parts) == v["v2"]["signature"], v
for v in given["orders"]:
    message = {name: int(value) if str(value).isdigit() else value for name, value in v["message"].items()}
    signed = Account.sign_typed_data(v["privateKey"], v["domain"], script.TYPES, message)
    assert "0x" + bytes(signed.message_hash).hex() == v["digest"], v
    assert "0x" + bytes(signed.signature).hex() == v["signature"], v
    assert Account.from_key(v["privateKey"]).address == message["signer"], v
print(json.dumps([script.amounts(*each) for each in given["amounts"]]))
`;

test('the Python script of the documents signs as the vectors do, and counts in whole numbers', (t) => {
  const has = (module: string): boolean => spawnSync('python3', ['-c', `import ${module}`]).status === 0;
  if (!has('requests')) return t.skip('python3 with the package requests is not installed');
  const isReal = has('eth_account');
  if (!isReal) t.diagnostic('eth-account is not installed: its stand-in signs');
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'place_order.py'), /^```py file=place_order\.py\n(.*?)^```$/ms.exec(python)![1]!);
  type Order = { message?: object; order: object };
  const orders = [JSON.parse(vectors('guide.json')).order, ...JSON.parse(vectors('eip712.json')).vectors.slice(0, 8)];
  const given = {
    requests: JSON.parse(vectors('hmac.json')).vectors,
    orders: orders.map((vector: Order) => ({ ...vector, message: vector.message ?? vector.order })),
    amounts: [
      ['BUY', '0.55', '10', 100],
      ['SELL', '0.055', '2.5', 1000],
      ['BUY', '0.29', '0.1', 100],
    ],
  };
  const { status, stdout, stderr } = spawnSync('python3', ['-c', CHECK], {
    cwd: directory,
    env: { ...process.env, PYTHONPATH: isReal ? directory : `${directory}:${STAND_IN}` },
    input: JSON.stringify(given),
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), [
    [5_500_000, 10_000_000],
    [2_500_000, 137_500],
    [29_000, 100_000],
  ]);
});
