/** The ends of threads in the log and in their metric, on a clock of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThreadEnds } from '../../../../gateway/base/threadEnds.ts';

type Line = { readonly err: Error; readonly times?: number; readonly shard?: number };

test('each end is counted, and a cause that stays is said at once and then once a minute with its number', () => {
  let nowMs = 0;
  const ends = new ThreadEnds(() => nowMs);
  const lines: [Line, string][] = [];
  const log = { error: (facts: Line, text: string) => void lines.push([facts, text]) } as never;
  ends.expect('projector');
  ends.expect('settlement');
  assert.deepEqual([...ends.counts], Object.entries({ projector: 0, settlement: 0 }));

  // Two minutes of five ends a second: the numbers in an error make it no other cause.
  for (let n = 0; n < 600; n++, nowMs += 200) ends.note(log, 'projector', new Error(`no room for page ${n}`));
  ends.expect('projector');
  assert.equal(ends.counts.get('projector'), 600);
  assert.deepEqual(
    lines.map(([{ times = 1 }, text]) => [times, text]),
    [
      [1, 'the projector thread ended; it is started again'],
      [300, 'the projector thread ended; it is started again'],
    ],
  );

  // Another cause and another thread are said at once.
  ends.note(log, 'projector', new Error('damaged'));
  ends.note(log, 'shard 1', new Error('no room for page 7'), 'it is rebuilt from its journal', { shard: 1 });
  assert.deepEqual(
    lines.slice(2).map(([{ err, shard }, text]) => [err.message, shard, text]),
    [
      ['damaged', undefined, 'the projector thread ended; it is started again'],
      ['no room for page 7', 1, 'the shard 1 thread ended; it is rebuilt from its journal'],
    ],
  );

  // A cause that comes back after an hour reports how often it was not logged in the meantime.
  nowMs += 3_600_000;
  ends.note(log, 'projector', new Error('no room for page 1'));
  assert.equal(lines.at(-1)![0].times, 300);
});
