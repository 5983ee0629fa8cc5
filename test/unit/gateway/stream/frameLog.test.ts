import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameLog } from '../../../../gateway/stream/frameLog.ts';

const WORDS = 4;

function append(log: FrameLog, count: number): void {
  for (let i = 0; i < count; i++) {
    const word = log.append();
    assert.deepEqual([...log.words.subarray(word, word + WORDS)], [0, 0, 0, 0], 'new records are zero');
    log.words[word + 1] = log.last;
  }
}

function read(log: FrameLog, sequence: number): number {
  const word = log.locate(sequence);
  return log.words[word + 1];
}

test('an appended frame can be read by its number until there are at least `keep` newer ones', () => {
  const keep = 10_000;
  const log = new FrameLog(WORDS, keep, 41);
  assert.deepEqual([log.first, log.last], [42, 41]);
  for (const count of [1, 30, 2, 5000, 9000, 30_000]) {
    append(log, count);
    const kept = log.last - log.first + 1;
    assert.ok(kept >= Math.min(keep, log.last - 41), `${kept} kept of ${log.last}`);
    assert.ok(kept <= keep + 2 * 4096, 'and not for ever');
    for (let sequence = log.first; sequence <= log.last; sequence++) assert.equal(read(log, sequence), sequence);
  }
  assert.throws(() => log.locate(log.first - 1), /FRAMELOG-1/);
  assert.throws(() => log.locate(log.last + 1), /FRAMELOG-1/);
});

test('a log that starts anew holds nothing of before', () => {
  const log = new FrameLog(WORDS, 100, 0);
  append(log, 50);
  log.restart(70);
  assert.deepEqual([log.first, log.last], [71, 70]);
  append(log, 1);
  assert.equal(read(log, 71), 71);
  assert.throws(() => log.locate(50), /FRAMELOG-1/);
});
