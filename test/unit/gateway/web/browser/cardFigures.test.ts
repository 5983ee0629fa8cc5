/** The figures of a card, and which markets it has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeInPercent, type HomeEvent, shownMarkets } from '../../../../../gateway/web/browser/cardFigures.ts';

test('a change is rounded to points, with the sign of its direction', () => {
  assert.deepEqual([null, '0', '0.05', '-0.05'].map(changeInPercent), [0, 0, 5, -5]);
});

test('a card has what was searched first, then what has a price, three at most, and never nothing', () => {
  const quote = { midpoint: '0.5', last_price: null };
  const market = (id: string, outcomes = ['Yes', 'No']) => ({ id, title: `Market ${id}`, outcomes });
  const markets = [market('a'), market('b'), market('c'), market('d', ['Red', 'Blue']), market('e')];
  const eventOf = (priced: readonly string[]): HomeEvent =>
    ({
      market_groups: [{ markets }],
      quotes: Object.fromEntries(priced.map((id) => [id, quote])),
    }) as unknown as HomeEvent;
  const shown = (priced: readonly string[], words: readonly string[] = []): string =>
    shownMarkets(eventOf(priced), words)
      .map(({ id }) => id)
      .join('');
  assert.equal(shown([]), 'a');
  assert.equal(shown(['c', 'b']), 'bc');
  assert.equal(shown(['a', 'b', 'c', 'e']), 'abc');
  assert.equal(shown(['b', 'c', 'e'], ['blue']), 'dbc');
});
