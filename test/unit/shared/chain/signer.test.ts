/** Keys that a signer elsewhere keeps (shared/chain/signer.ts, RULES.md 17.48). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTransaction, recoverTransactionAddress } from 'viem';
import { chainKey } from '../../../../shared/chain/key.ts';
import { signBy } from '../../../../shared/chain/signer.ts';
import { MockSigner } from '../../../support/mockSigner.ts';

const SECRET = `0x${'17'.repeat(32)}` as const;
const OTHER = `0x${'18'.repeat(32)}` as const;
const DIGEST = `0x${'d1'.repeat(32)}` as const;
const own = chainKey(SECRET);
const TRANSACTION = {
  ...{ chainId: 137, nonce: 7, to: own.address, data: '0x0102' as const, gas: 90_000n },
  ...{ maxFeePerGas: 50n, maxPriorityFeePerGas: 3n },
};

for (const place of ['a port', 'a socket'] as const) {
  test(`a signer at ${place} signs transactions and hashes as the key itself does`, async (t) => {
    const signer = await MockSigner.open(t, [SECRET], place);
    const key = chainKey({ url: signer.url('first'), address: own.address });
    // High s, low s and both recovery ids come up among these.
    for (let nonce = 0; nonce < 24; nonce++) {
      const { bytes, hash } = await key.sign({ ...TRANSACTION, nonce });
      assert.deepEqual(parseTransaction(bytes), parseTransaction((await own.sign({ ...TRANSACTION, nonce })).bytes));
      assert.equal(hash, (await own.sign({ ...TRANSACTION, nonce })).hash);
      assert.equal(
        (await recoverTransactionAddress({ serializedTransaction: bytes as `0x02${string}` })).toLowerCase(),
        own.address,
      );
    }
    assert.ok(signer.highS > 0 && signer.highS < 24, `${signer.highS} signatures with a high s`);
    assert.equal(await key.signHash(DIGEST), await own.signHash(DIGEST));
    assert.deepEqual(signer.asked.at(-1), {
      KeyId: 'first',
      Message: Buffer.from(DIGEST.slice(2), 'hex').toString('base64'),
      MessageType: 'DIGEST',
      SigningAlgorithm: 'ECDSA_SHA_256',
    });
  });
}

test('an answer that is no signature of the key over this digest is an error of the node', async (t) => {
  const signer = await MockSigner.open(t, [SECRET]);
  const ask = (timeoutMs = 5000) => signBy({ url: signer.url('secret-name'), address: own.address }, DIGEST, timeoutMs);
  const refused = async (message: RegExp, timeoutMs?: number): Promise<void> => {
    await assert.rejects(ask(timeoutMs), (error: Error) => {
      assert.equal(error.name, 'NodeUnreachable');
      assert.match(error.message, message);
      assert.doesNotMatch(`${error.message} ${error.stack}`, /secret-name/);
      return true;
    });
  };
  signer.fault = { does: 'signs by', secret: OTHER };
  await refused(/its signature is not that of 0x/);
  signer.fault = { does: 'signs another digest' };
  await refused(/its signature is not that of 0x/);
  for (const text of ['', 'null', '{}', '{"Signature":7}', '{"Signature":"AAAA"}', '{"Signature":"MAYCAQACAQA="}']) {
    signer.fault = { does: 'answers', status: 200, text };
    await refused(/its answer is no signature in DER/);
  }
  signer.fault = { does: 'answers', status: 400, text: '{"__type":"NotFoundException"}' };
  await refused(/it answers 400/);
  signer.fault = { does: 'answers', status: 200, text: 'x'.repeat(20_000) };
  await refused(/its answer is too long/);
  signer.fault = { does: 'hangs' };
  await refused(/it does not answer \((TimeoutError|ABORT_ERR|23)\)/, 50);
  signer.fault = { does: 'hangs up' };
  await refused(/it does not answer \(ECONNRESET\)/);
  signer.fault = null;
  assert.equal(await ask(), await own.signHash(DIGEST));
});

test('a signer that is not there is an error of the node', async () => {
  const at = { url: 'unix:/nowhere/at/all.sock', address: own.address };
  await assert.rejects(signBy(at, DIGEST), { name: 'NodeUnreachable', message: /it does not answer \(ENOENT\)/ });
});
