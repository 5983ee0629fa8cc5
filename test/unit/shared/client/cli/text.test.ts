/** Signs that a terminal would obey or hide are shown as a mark, and ends of lines only where there may be some. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMAIL } from '../../../../../shared/api/accounts.ts';
import { LINE, LINES } from '../../../../../shared/api/fields.ts';
import { LINK } from '../../../../../shared/api/markets.ts';
import { printable, printableJson, printableLines, withoutMark } from '../../../../../shared/client/cli/frame/text.ts';

const HIDDEN = [
  ...[0x00, 0x07, 0x0b, 0x1b, 0x7f, 0x9b, 0xad, 0x61c, 0x200b, 0x200d, 0x200e, 0x2028, 0x2029, 0x202a, 0x202e],
  ...[0x2060, 0x2066, 0x2069, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xd800, 0xdfff],
  // Shown as nothing, although they are letters, marks and a sign.
  ...[0x34f, 0x115f, 0x1160, 0x17b4, 0x180b, 0x2800, 0x3164, 0xfe01, 0xffa0, 0xe0100],
];

test('control and format characters of every kind become a mark', () => {
  for (const code of HIDDEN) {
    const text = `a${String.fromCodePoint(code)}b`;
    assert.equal(printable(text), 'a\u00b7b', code.toString(16));
    assert.equal(printableLines(text), 'a\u00b7b', code.toString(16));
  }
  for (const text of ['São Paulo: 5 °C?', '日本', 'नमस्ते', '€ 🙂 👍🏽', '❤\ufe0f', 'क्\u0301']) {
    assert.equal(printable(text), text);
  }
});

test('the catalogue accepts none of them in titles and outcomes (RULES.md 9.4)', () => {
  const form = new RegExp(LINE.pattern, 'u');
  for (const code of HIDDEN) assert.doesNotMatch(`a${String.fromCodePoint(code)}b`, form, code.toString(16));
  for (const text of ['São Paulo: 5 °C?', '日本', 'नमस्ते', '❤\ufe0f', '']) assert.match(text, form);
});

test('nor do descriptions, links and email addresses; a description has ends of lines and tabs (RULES.md 9.4)', () => {
  const [lines, link, email] = [LINES, LINK, EMAIL].map(({ pattern }) => new RegExp(pattern, 'u')) as RegExp[];
  for (const code of HIDDEN) {
    const sign = String.fromCodePoint(code);
    assert.doesNotMatch(`a${sign}b`, lines!, code.toString(16));
    assert.doesNotMatch(`https://a.example/${sign}`, link!, code.toString(16));
    assert.doesNotMatch(`ada${sign}@a.example`, email!, code.toString(16));
    assert.doesNotMatch(`ada@a.example${sign}`, email!, code.toString(16));
  }
  for (const text of ['Yes if it rains.\r\n\tNo if not.', '日本 ❤\ufe0f', '']) assert.match(text, lines!);
  assert.match('https://a.example/regen?was=schön', link!);
  assert.match('ada@exämple.org', email!);
});

test('JSON has them as escapes, so that it is the same value and a terminal shows it', () => {
  for (const code of HIDDEN) {
    const value = { title: `a${String.fromCodePoint(code)}b` };
    const text = printableJson(value);
    assert.match(text, /^[ -~]+$/, code.toString(16));
    assert.deepEqual(JSON.parse(text), value);
  }
  assert.equal(printableJson({ title: 'a\nb' }, 1), '{\n "title": "a\\nb"\n}');
});

test('ends of lines and tabs stay in text of several lines, and nowhere else', () => {
  assert.equal(printable('a\n\tb'), 'a\u00b7\u00b7b');
  assert.equal(printableLines('a\n\tb\rc'), 'a\n\tb\u00b7c');
});

test('a byte order mark is no part of a text', () => {
  assert.equal(withoutMark('\ufeff{}'), '{}');
  assert.equal(withoutMark('{}\ufeff'), '{}\ufeff');
});
