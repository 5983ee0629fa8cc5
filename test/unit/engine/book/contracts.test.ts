import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Contracts } from '../../../../engine/book/contracts.ts';

test('contracts are part of the digest from their first change on, and of no digest before it', () => {
  const contracts = new Contracts();
  assert.deepEqual([contracts.haveChanged, contracts.facts()], [false, []]);
  contracts.chainId = 137;
  contracts.exchange = new Uint8Array(20).fill(7);
  assert.deepEqual([contracts.haveChanged, contracts.facts()], [true, [137, ...Array(20).fill(7)]]);
  contracts.exchange = new Uint8Array(19);
  assert.throws(() => contracts.facts(), /20 bytes/);
});
