/** Which words of a text are marked, by the rules of a search (RULES.md 12.4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { piecesOf, searchWords } from '../../../../../gateway/web/browser/matches.ts';

/** The text with its matches in brackets. */
function marked(text: string, search: string): string {
  const pieces = piecesOf(text, searchWords(search));
  assert.equal(pieces.map(({ text: piece }) => piece).join(''), text, 'the pieces are the text');
  return pieces.map(({ text: piece, isMatch }) => (isMatch ? `[${piece}]` : piece)).join('');
}

test('a word is marked as it is found: folded, whole, and from three letters on by its beginning', () => {
  const cases = [
    ['São Paulo rains', 'sao', '[São] Paulo rains'],
    ['São Paulo rains', 'PAUL rain', 'São [Paulo] [rains]'],
    ['To be or to go', 'to', '[To] be or [to] go'],
    ['Tomorrow', 'to', 'Tomorrow'],
    ['Above 100,000?', '100000', 'Above [100,000]?'],
    ['<b> & "quotes"', 'quotes', '<b> & "[quotes]"'],
    ['anything', '', 'anything'],
    ['', 'word', ''],
  ];
  for (const [text, search, expected] of cases) assert.equal(marked(text, search), expected, `${text} / ${search}`);
});
