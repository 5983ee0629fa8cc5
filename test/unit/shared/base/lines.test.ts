import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { linesOf } from '../../../../shared/base/lines.ts';

async function lines(...chunks: (string | Uint8Array)[]): Promise<string[]> {
  const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  return Array.fromAsync(linesOf(Readable.from(bytes)));
}

test('a line ends with a newline alone, whatever other ends of lines its text has', async () => {
  const text = '{"note":"a\u2028b\u2029c\u0085d\rE\u000bF\u000cG"}';
  assert.deepEqual(await lines(`${text}\n${text}\r\n\n`, text), [text, text, '', text]);
  assert.deepEqual(await lines(''), []);
  assert.deepEqual(await lines('\n'), ['']);
});

test('lines and characters may be cut anywhere', async () => {
  const bytes = Buffer.from('\uFEFFa\u2028\u{1F600}\r\nü\n');
  const parts = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  assert.deepEqual(await lines(...parts), ['\uFEFFa\u2028\u{1F600}', 'ü']);
});
