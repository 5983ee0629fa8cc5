import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecordBuffer, readSafe, readSigned, writeSafe, writeSigned } from '../../../../shared/wire/record.ts';

const MAX = Number.MAX_SAFE_INTEGER;

describe('a safe integer', () => {
  it('comes back as it was written', () => {
    const words = new Uint32Array(4);
    for (const value of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 52 + 1, MAX - 1, MAX]) {
      writeSafe(words, 1, value);
      assert.equal(readSafe(words, 1), value);
      writeSigned(words, 1, value);
      assert.equal(readSigned(words, 1), value);
      writeSigned(words, 1, -value);
      assert.equal(readSigned(words, 1), value === 0 ? 0 : -value);
      assert.deepEqual([words[0], words[3]], [0, 0], 'its neighbours are left alone');
    }
  });

  it('is two words, the lower first, and a signed one is two’s complement', () => {
    const words = new Uint32Array(2);
    writeSafe(words, 0, 5 * 2 ** 32 + 7);
    assert.deepEqual([...words], [7, 5]);
    writeSigned(words, 0, -1);
    assert.deepEqual([...words], [0xffff_ffff, 0xffff_ffff]);
    writeSigned(words, 0, -(2 ** 32));
    assert.deepEqual([...words], [0, 0xffff_ffff]);
  });
});

describe('a record buffer', () => {
  it('grows while it is written and keeps what is in it', () => {
    const buffer = new RecordBuffer(16);
    for (let i = 0; i < 100; i++) {
      const word = buffer.append(24, 7);
      buffer.words[word + 2] = i;
    }
    assert.equal(buffer.lengthBytes, 2400);
    for (let i = 0; i < 100; i++) assert.deepEqual([...buffer.words.subarray(i * 6, i * 6 + 4)], [24, 7, i, 0]);
    assert.equal(buffer.bytes.buffer, buffer.words.buffer, 'both views look at the grown memory');
  });

  it('gives a zeroed record, whatever the memory held before', () => {
    const buffer = new RecordBuffer(64);
    buffer.append(32, 1);
    buffer.words.fill(9);
    buffer.clear();
    const word = buffer.append(32, 2);
    assert.deepEqual([...buffer.words.subarray(word, word + 8)], [32, 2, 0, 0, 0, 0, 0, 0]);
  });

  it('takes back the last record, and only that', () => {
    const buffer = new RecordBuffer(64);
    buffer.append(16, 1);
    buffer.append(16, 2);
    buffer.truncate(16);
    assert.equal(buffer.append(24, 3), 4);
    assert.equal(buffer.lengthBytes, 40);
    assert.throws(() => buffer.truncate(48), /only shrinks/);
  });

  it('copies finished records', () => {
    const source = new RecordBuffer(64);
    source.append(16, 1);
    const word = source.append(16, 2);
    source.words[word + 3] = 77;
    const copy = new RecordBuffer(8);
    copy.append(8, 9);
    assert.equal(copy.appendRecords(source.words, word, 16), 2);
    assert.deepEqual([...copy.words.subarray(0, 6)], [8, 9, 16, 2, 0, 77]);
  });

  it('refuses a length that would misplace the next record', () => {
    assert.throws(() => new RecordBuffer(64).append(12, 1), /multiple of 8/);
  });
});
