import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RenderedBooks } from '../../../../gateway/markets/renderedBooks.ts';

const MARKET = 3;

describe('an answer about a book', () => {
  it('is rendered once per sequence, and its time is always new', () => {
    const rendered = new RenderedBooks();
    let renders = 0;
    const show = (sequence: number, timestamp: number): unknown =>
      JSON.parse(rendered.show(MARKET, 0, sequence, timestamp, () => ({ best_bid: ++renders, sequence })));
    assert.deepEqual(show(7, 100), { best_bid: 1, sequence: 7, timestamp: 100 });
    assert.deepEqual(show(7, 101), { best_bid: 1, sequence: 7, timestamp: 101 });
    assert.deepEqual(show(8, 102), { best_bid: 2, sequence: 8, timestamp: 102 });
    assert.deepEqual(show(8, 102), { best_bid: 2, sequence: 8, timestamp: 102 });
  });

  it('is the same as bytes, whatever the lengths of its times', () => {
    const rendered = new RenderedBooks();
    let renders = 0;
    const render = (): object => ({ renders: ++renders });
    for (const [sequence, timestamp] of [
      [1, 8],
      [1, 9],
      [1, 10],
      [1, 11],
      [1, 7],
      [2, 7],
      [2, 1_700_000_000_000],
    ] as const) {
      const bytes = rendered.bytes(MARKET, 0, sequence, timestamp, render);
      assert.deepEqual(JSON.parse(bytes.toString()), { renders: sequence, timestamp });
      assert.equal(rendered.show(MARKET, 0, sequence, timestamp, render), bytes.toString());
    }
    assert.equal(renders, 2);
  });

  it('is never that of another market or of another variant', () => {
    const rendered = new RenderedBooks();
    for (let pass = 0; pass < 2; pass++) {
      for (const market of [0, 1, 2]) {
        for (const variant of [0, 1, 1023]) {
          const answer = rendered.show(market, variant, 5, 0, () => ({ market, variant }));
          assert.deepEqual(JSON.parse(answer), { market, variant, timestamp: 0 });
        }
      }
    }
  });

  it('makes room, first rendered first, when a thousand others are asked for', () => {
    const rendered = new RenderedBooks();
    let renders = 0;
    const ask = (market: number): string => rendered.show(market, 0, 1, 0, () => ({ renders: ++renders }));
    for (let market = 0; market <= 1024; market++) ask(market);
    assert.equal(renders, 1025);
    ask(1024);
    ask(1);
    assert.equal(renders, 1025, 'these are kept');
    ask(0);
    assert.equal(renders, 1026, 'the first one had made room');
  });
});
