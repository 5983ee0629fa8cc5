import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32c } from '../../../../shared/base/crc32c.ts';

function memoryOf(content: readonly number[]): { words: Uint32Array; bytes: Uint8Array } {
  const words = new Uint32Array(Math.ceil(content.length / 4));
  const bytes = new Uint8Array(words.buffer);
  bytes.set(content);
  return { words, bytes };
}

const checksum = (content: readonly number[]): string =>
  crc32c(memoryOf(content), 0, content.length).toString(16).padStart(8, '0');

/** The definition, one bit at a time. */
function bitwise(content: readonly number[]): number {
  let crc = 0xffff_ffff;
  for (const byte of content) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

describe('crc32c', () => {
  it('gives the check value of the catalogue for "123456789"', () => {
    assert.equal(checksum([...Buffer.from('123456789')]), 'e3069283');
  });

  it('gives the examples of RFC 3720 B.4', () => {
    const ascending = Array.from({ length: 32 }, (_, index) => index);
    assert.equal(checksum(new Array(32).fill(0)), '8a9136aa');
    assert.equal(checksum(new Array(32).fill(0xff)), '62a8ab43');
    assert.equal(checksum(ascending), '46dd794e');
    assert.equal(checksum(ascending.toReversed()), '113fdb5c');
    const readCommand = new Array(48).fill(0);
    readCommand[0] = 0x01;
    readCommand[1] = 0xc0;
    readCommand[16] = 0x14;
    readCommand[22] = 0x04;
    readCommand[27] = 0x14;
    readCommand[31] = 0x18;
    readCommand[32] = 0x28;
    readCommand[40] = 0x02;
    assert.equal(checksum(readCommand), 'd9963a56');
  });

  it('agrees with the bitwise definition at every length up to 40', () => {
    for (let length = 0; length <= 40; length++) {
      const content = Array.from({ length }, (_, index) => (index * 167 + length * 31 + 5) & 0xff);
      assert.equal(crc32c(memoryOf(content), 0, length), bitwise(content), `length ${length}`);
    }
  });

  it('continues behind a checksum as if the bytes had been one piece', () => {
    const content = Array.from({ length: 37 }, (_, index) => (index * 89 + 7) & 0xff);
    const memory = memoryOf(content);
    for (let split = 0; split <= 36; split += 4) {
      assert.equal(crc32c(memory, split, 37, crc32c(memory, 0, split)), bitwise(content), `split at ${split}`);
    }
  });

  it('refuses to start inside a word', () => {
    assert.throws(() => crc32c(memoryOf([1, 2, 3, 4]), 1, 4), /starts at a word/);
  });
});
