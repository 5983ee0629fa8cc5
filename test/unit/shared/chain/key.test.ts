/** Keys of transactions (shared/chain/key.ts). */
import assert from 'node:assert/strict';
import { createCipheriv, scryptSync } from 'node:crypto';
import { test } from 'node:test';
import { keccak256, parseTransaction, recoverTransactionAddress, toHex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { chainKey, chainKeyFromKeystore } from '../../../../shared/chain/key.ts';

const SECRET = toHex(0xc0ffeen, { size: 32 });
const TO = '0x00000000000000000000000000000000000000aa';

/** As wallets write it: version 3 of the keystore. */
function keystoreOf(secret: string, password: string): string {
  const [salt, iv] = [Buffer.alloc(32, 7), Buffer.alloc(16, 9)];
  const derived = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(secret.slice(2), 'hex')), cipher.final()]);
  const mac = keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2);
  const kdfparams = { n: 1024, r: 8, p: 1, dklen: 32, salt: salt.toString('hex') };
  const cipherparams = { iv: iv.toString('hex') };
  const crypto = {
    cipher: 'aes-128-ctr',
    ciphertext: ciphertext.toString('hex'),
    cipherparams,
    kdf: 'scrypt',
    kdfparams,
    mac,
  };
  return JSON.stringify({ version: 3, id: 'test', crypto });
}

test('a transaction is signed as of EIP-1559, and its hash is that of its bytes', async () => {
  const key = chainKey(SECRET);
  const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 2n };
  const { bytes, hash } = await key.sign({ chainId: 137, nonce: 5, to: TO, data: '0x1234', gas: 21_000n, ...fees });
  assert.equal(hash, keccak256(bytes));
  assert.equal(
    (await recoverTransactionAddress({ serializedTransaction: bytes as `0x02${string}` })).toLowerCase(),
    key.address,
  );
  const { nonce, data, chainId, maxFeePerGas } = parseTransaction(bytes);
  assert.deepEqual([nonce, data, chainId, maxFeePerGas], [5, '0x1234', 137, 100n]);
});

test('an encrypted keystore opens with its password, and with no other', () => {
  const keystore = keystoreOf(SECRET, 'correct horse');
  assert.equal(chainKeyFromKeystore(keystore, 'correct horse').address, privateKeyToAddress(SECRET).toLowerCase());
  for (const [text, password] of [
    [keystore, 'battery staple'],
    ['{}', ''],
    ['no JSON', ''],
  ] as const) {
    assert.throws(() => chainKeyFromKeystore(text, password), { message: /cannot be opened/ });
  }
});

test('a key that is malformed is refused without being shown', () => {
  assert.throws(
    () => chainKey(SECRET.slice(0, -1)),
    (error: Error) => !error.message.includes(SECRET.slice(2, 20)),
  );
});
