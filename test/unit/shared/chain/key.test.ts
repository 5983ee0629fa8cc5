/** Keys of transactions (shared/chain/key.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keccak256, parseTransaction, recoverTransactionAddress, toHex } from 'viem';
import { chainKey } from '../../../../shared/chain/key.ts';

const SECRET = toHex(0xc0ffeen, { size: 32 });
const TO = '0x00000000000000000000000000000000000000aa';

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

test('a key that is malformed is refused without being shown', () => {
  assert.throws(
    () => chainKey(SECRET.slice(0, -1)),
    (error: Error) => !error.message.includes(SECRET.slice(2, 20)),
  );
});
