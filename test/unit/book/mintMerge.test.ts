/** Full sets made and dissolved by matching, and the mirror of the two outcomes (RULES.md 2.1, 2.2). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALICE, BOB, CAROL, FEES, inOtherOutcome, Scenario } from '../../support/scenario.ts';

const FREE = { feeBps: 0 };

describe('mint', () => {
  it('two buyers pay one USDC a set between them, at the maker’s price, and it is locked', () => {
    const x = new Scenario(FREE);
    x.order(ALICE, 'BUY Yes 10 @ 65');
    assert.deepEqual(x.order(BOB, 'BUY No 10 @ 40'), [
      'mint 10 @ 65: alice fee 0, bob fee 0',
      'alice filled',
      'bob filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -650, yes +1000');
    assert.equal(x.moved(BOB), 'usdc -350, no +1000');
    assert.equal(x.minted(), 1000);
  });

  it('takes its fee from either buyer in tokens, so both outcomes stay equal in number', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(ALICE, 'BUY Yes 10 @ 65');
    assert.deepEqual(x.order(BOB, 'BUY No 10 @ 40')[0], 'mint 10 @ 65: alice fee 5, bob fee 5');
    assert.equal(x.moved(ALICE), 'usdc -650, yes +995');
    assert.equal(x.moved(BOB), 'usdc -350, no +995');
    assert.equal(x.moved(FEES), 'yes +5, no +5');
  });
});

describe('merge', () => {
  it('two sellers share one locked USDC per set, at the maker’s price', () => {
    const x = new Scenario(FREE);
    x.order(ALICE, 'SELL Yes 10 @ 60');
    assert.deepEqual(x.order(BOB, 'SELL No 10 @ 38'), [
      'merge 10 @ 60: alice fee 0, bob fee 0',
      'alice filled',
      'bob filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc +600, yes -1000');
    assert.equal(x.moved(BOB), 'usdc +400, no -1000');
    assert.equal(x.minted(), -1000);
  });

  it('takes its fee from either seller in USDC', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(ALICE, 'SELL Yes 10 @ 60');
    assert.deepEqual(x.order(BOB, 'SELL No 10 @ 38')[0], 'merge 10 @ 60: alice fee 3, bob fee 2');
    assert.equal(x.moved(ALICE), 'usdc +597, yes -1000');
    assert.equal(x.moved(BOB), 'usdc +398, no -1000');
    assert.equal(x.moved(FEES), 'usdc +5');
  });
});

it('complementary orders that do not reach one USDC rest on both sides', () => {
  const x = new Scenario(FREE);
  x.order(ALICE, 'BUY Yes 10 @ 60');
  x.order(BOB, 'BUY No 10 @ 39');
  assert.deepEqual(x.drawn(), ['ask 61  bob 10 No', 'bid 60  alice 10 Yes']);
});

describe('the two outcomes', () => {
  const flow: [number, string][] = [
    [ALICE, 'BUY Yes 10 @ 60'],
    [BOB, 'SELL Yes 4 @ 58'],
    [CAROL, 'BUY No 9 @ 41'],
    [BOB, 'BUY No 5 @ 38'],
    [ALICE, 'SELL No 7 @ 37'],
    [CAROL, 'SELL Yes 3 @ 60 FAK'],
    [BOB, 'BUY Yes 2 @ 99 FOK'],
  ];
  const exchanged = (text: string): string =>
    text.replace(/yes|no\b/gi, (name) => ({ Yes: 'No', No: 'Yes', yes: 'no', no: 'yes' })[name]!);

  it('mirror each other: with their names exchanged the same flow moves the same money', () => {
    const straight = new Scenario();
    const mirror = new Scenario();
    const turned = (line: string): string => line.replace(/@ (\d+)/, (_, tick) => `@ ${100 - tick}`);
    for (const [account, text] of flow) {
      const lines = straight.order(account, text);
      assert.deepEqual(mirror.order(account, exchanged(text)), lines.map(turned));
      for (const who of [FEES, ALICE, BOB, CAROL]) {
        const sorted = (moved: string): string[] => moved.split(', ').sort();
        assert.deepEqual(sorted(exchanged(mirror.moved(who))), sorted(straight.moved(who)));
      }
    }
  });

  it('share a queue: an order takes the same place and meets the same orders, whichever it is written in', () => {
    const straight = new Scenario();
    const other = new Scenario();
    const parties = (lines: string[]): string[] => lines.map((line) => line.replace(/^\w+ (?=\d)|fee \d+/g, ''));
    for (const [account, text] of flow) {
      const lines = straight.order(account, text);
      assert.deepEqual(parties(other.order(account, inOtherOutcome(text))), parties(lines));
      assert.deepEqual(other.drawn(), straight.drawn().map(exchanged));
    }
  });
});
