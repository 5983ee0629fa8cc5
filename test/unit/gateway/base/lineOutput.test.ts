/** Lines of the log for readers that are slow, stop or go away (LINES-1 to LINES-3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineOutput } from '../../../../gateway/base/lineOutput.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const SEED = seedOr(20_261_128);
const KEPT_BYTES = 1 << 20;
const gapLine = (lines: number): string => `${lines} missing\n`;

/** Takes at most `room` bytes. */
class Reader {
  room = Number.POSITIVE_INFINITY;
  calls = 0;
  text = '';

  readonly take = (bytes: Uint8Array): number => {
    this.calls++;
    const taken = Math.min(bytes.length, this.room);
    this.room -= taken;
    this.text += Buffer.from(bytes.subarray(0, taken)).toString('latin1');
    return taken;
  };
}

/** The number of printed lines, plus the missing lines that are reported in their place. */
function accountedFor(text: string): number {
  let next = 0;
  for (const line of text.split('\n').slice(0, -1)) {
    const missing = /^(\d+) missing$/.exec(line);
    if (missing !== null) next += Number(missing[1]);
    else
      assert.equal(Number(/^line (\d+) x*$/.exec(line)?.[1]), next++, `a whole line, in order: ${line.slice(0, 80)}`);
  }
  return next;
}

test(`a slow reader gets whole lines in order, and a line for the missing ones (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let round = 0; round < timesOf({ suite: 5, soak: 100 }); round++) {
    const reader = new Reader();
    const output = new LineOutput(reader.take, gapLine);
    const lines = 3000;
    for (let at = 0; at < lines; at++) {
      if (random.below(10) === 0) reader.room = random.below(5000);
      output.write(`line ${at} ${'x'.repeat(random.below(2000))}\n`);
    }
    reader.room = Number.POSITIVE_INFINITY;
    output.flush();
    assert.equal(accountedFor(reader.text), lines);
    const missing = [...reader.text.matchAll(/^(\d+) missing$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
    assert.equal(output.dropped, missing);
    assert.ok(missing > 0, 'the reader was too slow');
    assert.ok(reader.text.includes(`line ${lines - 1} `), 'the newest lines are those that are kept');
  }
});

test('a reader that has stopped holds a megabyte of lines and no writer', () => {
  const reader = new Reader();
  const output = new LineOutput(reader.take, gapLine);
  output.write('line 0 \n');
  reader.room = 0;
  const line = (at: number): string => `line ${at} ${'x'.repeat(500)}\n`;
  for (let at = 1; at < 10_000; at++) output.write(line(at));
  assert.ok(reader.calls < 10, 'it is not asked for each line');
  reader.room = Number.POSITIVE_INFINITY;
  output.flush();
  assert.ok(reader.text.length < KEPT_BYTES + 1000);
  assert.equal(accountedFor(reader.text), 10_000);
});

test('a line that is longer than all that is kept comes out whole', () => {
  const reader = new Reader();
  reader.room = 0;
  const output = new LineOutput(reader.take, gapLine);
  output.write('line 0 \n');
  output.write('line 1 \n');
  output.write(`line 2 ${'x'.repeat(2 * KEPT_BYTES)}\n`);
  reader.room = Number.POSITIVE_INFINITY;
  output.flush();
  assert.equal(reader.text, `line 0 \n1 missing\nline 2 ${'x'.repeat(2 * KEPT_BYTES)}\n`);
});

test('the end waits for a reader that reads, and for none that does not', () => {
  const stopped = new Reader();
  stopped.room = 0;
  const unread = new LineOutput(stopped.take, gapLine);
  unread.write('line 0 \n');
  unread.flush();
  assert.equal(stopped.text, '');
  let calls = 0;
  const slow = new Reader();
  const read = new LineOutput((bytes) => {
    slow.room = calls++ % 2 === 0 ? 0 : 3;
    return slow.take(bytes);
  }, gapLine);
  for (let at = 0; at < 10; at++) read.write(`line ${at} \n`);
  read.flush();
  assert.equal(accountedFor(slow.text), 10);
});

test('kept lines are written without a further call when the reader reads again', async () => {
  const reader = new Reader();
  reader.room = 0;
  let out = (): void => {};
  const isOut = new Promise<void>((resolve) => {
    out = resolve;
  });
  const output = new LineOutput((bytes) => {
    const taken = reader.take(bytes);
    if (taken > 0) out();
    return taken;
  }, gapLine);
  output.write('line 0 \n');
  reader.room = 100;
  const alive = setInterval(() => {}, 1000);
  await isOut;
  clearInterval(alive);
  assert.equal(reader.text, 'line 0 \n');
});
