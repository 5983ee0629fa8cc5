/** Answers as records of the replicated log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeAnswers, encodeAnswers } from '../../../../gateway/shardlink/answerRecord.ts';
import { RecordError } from '../../../../shared/records/bytes.ts';
import { linkAfter, NO_LINK } from '../../../../shared/records/statements.ts';

const row = {
  account: 7,
  route: 3,
  key: new Uint8Array(16).fill(0xab),
  fingerprint: new Uint8Array(16).fill(0xcd),
  status: 201,
  body: '{"ä":1}',
  createdMs: 1_900_000_000_000,
};

test('a record of answers keeps its bytes from version to version', () => {
  const record = { link: linkAfter(NO_LINK), batch: { rows: [row], settledMs: 0, nowMs: 1_900_000_000_001 } };
  const bytes = encodeAnswers(record);
  const expected =
    '01374708fff7719dd5979ec875d56cd2280181f0cc86a6370107' +
    '03abababababababababababababababab' +
    'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdc90180f0cc86a637087b22c3a4223a317d';
  assert.equal(bytes.toString('hex'), expected);
  assert.deepEqual(decodeAnswers(bytes), record);
  for (let end = 0; end < bytes.length; end++) {
    assert.throws(() => decodeAnswers(bytes.subarray(0, end)), RecordError, `${end} bytes`);
  }
  assert.throws(() => decodeAnswers(Buffer.concat([bytes, Buffer.alloc(1)])), /after their end/);
});

test('a batch without rows keeps whether its moment is known', () => {
  for (const settledMs of [null, 5]) {
    const record = { link: NO_LINK, batch: { rows: [], settledMs, nowMs: 9 } };
    assert.deepEqual(decodeAnswers(encodeAnswers(record)), record);
  }
});
