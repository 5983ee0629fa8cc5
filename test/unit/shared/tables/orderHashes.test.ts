import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY_BYTES, idsIn, PREFIX_BYTES } from '../../../../shared/tables/orderHashes.ts';

test('the ids of a hash are those of the entries that begin like it, in every byte', () => {
  const hash = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
  const id = (n: number): Uint8Array => new Uint8Array(ENTRY_BYTES - PREFIX_BYTES).fill(n);
  const entry = (prefix: Uint8Array, n: number): number[] => [...prefix, ...id(n)];
  const prefix = hash.subarray(0, PREFIX_BYTES);
  const others = Array.from({ length: PREFIX_BYTES }, (_, at) => prefix.with(at, 99));
  const entries = Uint8Array.from([
    ...others.flatMap((other, n) => entry(other, 100 + n)),
    ...entry(prefix, 1),
    ...others.flatMap((other, n) => entry(other, 200 + n)),
    ...entry(prefix, 2),
  ]);
  assert.deepEqual(idsIn(entries, hash), [id(1), id(2)]);
  assert.deepEqual(idsIn(new Uint8Array(0), hash), []);
  assert.equal(ENTRY_BYTES, 24, 'as the entries of read.db are');
});
