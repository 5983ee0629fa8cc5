import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText, foldToSearch } from '../../../../shared/base/folding.ts';

/** A text, its folded form, and a query that finds it. */
const TEXTS: readonly (readonly [string, string, string?])[] = [
  ['São Paulo vs. Grêmio', 'sao paulo vs. gremio'],
  ['Ødegaard, Łukasz, Đoković', 'odegaard, lukasz, dokovic'],
  ['İstanbul, Kadıköy', 'istanbul, kadikoy'],
  ['Hauptstraße, HAUPTSTRAẞE', 'hauptstrasse, hauptstrasse'],
  ['Haupt\u00adstraße', 'hauptstrasse'],
  ['Æther, œuvre, Þór', 'aether, oeuvre, thor'],
  ['Việt Nam', 'viet nam'],
  ['Йод', 'иод'],
  ['ΟΔΟΣ, οδός', 'οδοσ, οδοσ'],
  ['ﬁve ② １２ № ℡', 'five 2 12 no tel'],
  ['U.S. election', 'us election', 'u s'],
  ['the U.S.A wins', 'the usa wins', 'u s a'],
  ['U.S', 'us', 'u s'],
  ['x.com, 2.5, end.', 'x.com, 2.5, end.'],
  ['Trump’s', 'trumps', 'trump s'],
  ["Trump's", 'trumps', 'trump s'],
  ["O'Neill", 'oneill', 'o neill'],
  ["rock 'n' roll, James'", "rock 'n' roll, james'"],
  ['100,000', '100000', '100 000'],
  ['1,000,000', '1000000', '1 000'],
  ['100\u202f000 or 100’000', '100000 or 100000', '100 000'],
  ['1,2345 and 1,23', '1,2345 and 1,23'],
  // Scripts whose marks are letters, or make another letter, keep them.
  ['한국 대선', '한국 대선'],
  ['ガンダム', 'ガンダム'],
  ['किताब', 'किताब'],
  ['שָׁלוֹם', 'שלום'],
];

test('a text is folded to what people type who have no other letters', () => {
  for (const [text, folded, parts] of TEXTS) {
    assert.equal(foldText(text), folded, text);
    assert.equal(foldToSearch(text), parts === undefined ? folded : `${folded} ${parts}`, text);
    assert.equal(foldText(folded), folded, `${text} stays folded`);
  }
});
