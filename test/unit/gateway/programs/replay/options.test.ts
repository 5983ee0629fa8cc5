import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replayOptions } from '../../../../../gateway/programs/replay/options.ts';

test('a recording is replayed as it was recorded and printed, unless it is told otherwise', () => {
  const usual = { file: 'a.jsonl', speed: 1, port: null };
  for (const [args, changed] of [
    [[], {}],
    [['--speed', '2.5'], { speed: 2.5 }],
    [['--speed', '0.001'], { speed: 0.001 }],
    [['--speed', 'max'], { speed: Number.POSITIVE_INFINITY }],
    [['--port', '0'], { port: 0 }],
    [['--port', '65535'], { port: 65_535 }],
  ] as const) {
    assert.deepEqual(replayOptions(['a.jsonl', ...args]), { ...usual, ...changed }, args.join(' '));
  }
});

test('one file, a speed above nothing and a port there is: anything else is named', () => {
  for (const [args, reason] of [
    [[], /FILE/],
    [['a', 'b'], /FILE/],
    [['a', '--speed', '0'], /--speed/],
    [['a', '--speed', '-1'], /--speed/],
    [['a', '--speed', 'fast'], /--speed/],
    [['a', '--port', '65536'], /--port/],
    [['a', '--port', '-1'], /--port/],
    [['a', '--port', '1.5'], /--port/],
    [['a', '--port', 'x'], /--port/],
    [['a', '--loud'], /--loud/],
  ] as const) {
    assert.throws(() => replayOptions(args), reason, args.join(' '));
  }
});
