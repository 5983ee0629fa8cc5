import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MarketDetails, MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { type MirrorPair, mirrorPair } from '../../../../gateway/markets/mirrorPairs.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { EntryMaker } from '../../../support/catalogueEntries.ts';

const HOME_AWAY = ['Lakers', 'Celtics'] as const;
const AWAY_HOME = ['Celtics', 'Lakers'] as const;

function moneyline(outcomes: readonly [string, string], more: Partial<MarketDetails> = {}): Partial<MarketDetails> {
  return { external_market_type: 'moneyline', outcomes: [...outcomes], ...more };
}

function pairOf(maker: EntryMaker): MirrorPair | null {
  return mirrorPair(maker.event.markets, maker.statusOf);
}

function assertCanonical(maker: EntryMaker, canonical: MarketEntry, mirror: MarketEntry): void {
  assert.deepEqual(pairOf(maker), { canonical, mirror });
}

// RULES.md 12.31
describe('two moneylines with mirrored outcomes', () => {
  test('are a pair, and the smaller last part of the ticker is canonical, whichever was made first', () => {
    for (const [first, second] of [
      ['NBA-X-BOS', 'NBA-X-LAL'],
      ['NBA-X-LAL', 'NBA-X-BOS'],
    ]) {
      const maker = new EntryMaker();
      const a = maker.add(moneyline(HOME_AWAY, { external_event_id: first }));
      const b = maker.add(moneyline(AWAY_HOME, { external_event_id: second }));
      if (first.endsWith('BOS')) assertCanonical(maker, a, b);
      else assertCanonical(maker, b, a);
    }
  });

  test('are compared by the part after the last hyphen only; a ticker without one is that part', () => {
    const maker = new EntryMaker();
    const a = maker.add(moneyline(HOME_AWAY, { external_event_id: 'AAA-ZZZ' }));
    const b = maker.add(moneyline(AWAY_HOME, { external_event_id: 'MMM' }));
    assertCanonical(maker, b, a);
  });

  test('with equal or absent tickers the smaller id is canonical', () => {
    for (const ticker of [{ external_event_id: 'NBA-SAME' }, {}]) {
      const maker = new EntryMaker();
      const a = maker.add({ ...moneyline(HOME_AWAY, ticker), id: 'b' });
      const b = maker.add({ ...moneyline(AWAY_HOME, ticker), id: 'a' });
      assertCanonical(maker, b, a);
    }
  });

  test('stay a pair through every status in which a trader can know them', () => {
    const { DRAFT, CANCELLED } = MARKET_STATUS;
    for (const status of Object.values(MARKET_STATUS)) {
      const maker = new EntryMaker();
      maker.add(moneyline(HOME_AWAY));
      const other = maker.add(moneyline(AWAY_HOME));
      maker.setStatus(other, status);
      assert.equal(pairOf(maker) === null, status === DRAFT || status === CANCELLED, `status ${status}`);
    }
  });

  test('are none while the shard has not opened one of them', () => {
    const maker = new EntryMaker();
    maker.add(moneyline(HOME_AWAY));
    maker.add({ ...moneyline(AWAY_HOME), status: null });
    assert.equal(pairOf(maker), null);
  });
});

describe('no pair', () => {
  const shapes: [string, Partial<MarketDetails>[]][] = [
    ['one moneyline alone', [moneyline(HOME_AWAY)]],
    ['the same order of outcomes', [moneyline(HOME_AWAY), moneyline(HOME_AWAY)]],
    ['other labels', [moneyline(HOME_AWAY), moneyline(['Celtics', 'Bulls'])]],
    ['one label of two', [moneyline(['Lakers', 'No']), moneyline(['No', 'Celtics'])]],
    ['three candidates', [moneyline(HOME_AWAY), moneyline(AWAY_HOME), moneyline(AWAY_HOME)]],
    ['a draw beside them', [moneyline(HOME_AWAY), moneyline(AWAY_HOME), moneyline(['Draw', 'No draw'])]],
    ['three questions with Yes and No', [moneyline(['Yes', 'No']), moneyline(['Yes', 'No']), moneyline(['Yes', 'No'])]],
    ['spreads', [HOME_AWAY, AWAY_HOME].map((o) => ({ ...moneyline(o), external_market_type: 'spread' as const }))],
    ['markets without a type', [{ outcomes: [...HOME_AWAY] }, { outcomes: [...AWAY_HOME] }]],
  ];
  for (const [what, markets] of shapes) {
    test(`is made of ${what}`, () => {
      const maker = new EntryMaker();
      for (const market of markets) maker.add(market);
      assert.equal(pairOf(maker), null);
    });
  }

  test('comes from a draw that is still a draft: the game has three results all the same', () => {
    const maker = new EntryMaker();
    maker.add(moneyline(HOME_AWAY));
    maker.add(moneyline(AWAY_HOME));
    assert.notEqual(pairOf(maker), null);
    maker.add({ ...moneyline(['Draw', 'No draw']), status: MARKET_STATUS.DRAFT });
    assert.equal(pairOf(maker), null);
  });
});

test('a market listed again after its cancellation takes the place of the cancelled one', () => {
  const maker = new EntryMaker();
  const home = maker.add(moneyline(HOME_AWAY, { external_event_id: 'X-A' }));
  maker.add({ ...moneyline(AWAY_HOME, { external_event_id: 'X-B' }), status: MARKET_STATUS.CANCELLED });
  assert.equal(pairOf(maker), null);
  const again = maker.add(moneyline(AWAY_HOME, { external_event_id: 'X-B' }));
  maker.add({ external_market_type: 'total', outcomes: [...AWAY_HOME] });
  assertCanonical(maker, home, again);
});
