/** Signs that a terminal would obey or hide are shown as a mark, and ends of lines only where there may be some. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printable, printableLines, withoutMark } from '../../../../../shared/client/cli/frame/text.ts';

const HIDDEN = [
  ...[0x00, 0x07, 0x0b, 0x1b, 0x7f, 0x9b, 0xad, 0x61c, 0x200b, 0x200d, 0x200e, 0x2028, 0x2029, 0x202a, 0x202e],
  ...[0x2060, 0x2066, 0x2069, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xd800, 0xdfff],
];

test('control and format characters of every kind become a mark', () => {
  for (const code of HIDDEN) {
    const text = `a${String.fromCodePoint(code)}b`;
    assert.equal(printable(text), 'a\u00b7b', code.toString(16));
    assert.equal(printableLines(text), 'a\u00b7b', code.toString(16));
  }
  for (const text of ['São Paulo: 5 °C?', '日本', 'नमस्ते', '€ 🙂 👍🏽']) assert.equal(printable(text), text);
});

test('ends of lines and tabs stay in text of several lines, and nowhere else', () => {
  assert.equal(printable('a\n\tb'), 'a\u00b7\u00b7b');
  assert.equal(printableLines('a\n\tb\rc'), 'a\n\tb\u00b7c');
});

test('a byte order mark is no part of a text', () => {
  assert.equal(withoutMark('\ufeff{}'), '{}');
  assert.equal(withoutMark('{}\ufeff'), '{}\ufeff');
});
