import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ENUMERATIONS, marketsOf } from '../../../../gateway/markets/enumerations.ts';
import { mirrorPair } from '../../../../gateway/markets/mirrorPairs.ts';
import { MARKET_STATUS, MARKET_STATUS_NAMES, type MarketStatus } from '../../../../shared/base/codes.ts';
import { EntryMaker } from '../../../support/catalogueEntries.ts';

const NOVELTY = { external_market_type: 'other', subcategories: ['Props', 'novelty'] } as const;

/** Markets named by their kind: one of every status, a mirror pair, a novelty, and one that no shard has opened. */
function fullEvent(): EntryMaker {
  const maker = new EntryMaker();
  for (const [status, title] of MARKET_STATUS_NAMES.entries()) maker.add({ title, status: status as MarketStatus });
  const moneyline = { external_market_type: 'moneyline' } as const;
  maker.add({ ...moneyline, title: 'mirror', outcomes: ['A', 'B'], external_event_id: 'X-2' });
  maker.add({ ...moneyline, title: 'canonical', outcomes: ['B', 'A'], external_event_id: 'X-1' });
  maker.add({ ...NOVELTY, title: 'novelty' });
  maker.add({ title: 'opening', status: null });
  return maker;
}

function titlesOf(maker: EntryMaker, which: keyof typeof ENUMERATIONS): string[] {
  const state = {
    statusOf: maker.statusOf,
    pairOf: () => mirrorPair(maker.event.markets, maker.statusOf),
  };
  return marketsOf(maker.event, ENUMERATIONS[which], state).map(({ details }) => details.title);
}

// RULES.md 12.32
describe('the markets of an event', () => {
  const statuses = [...MARKET_STATUS_NAMES];
  const shown = statuses.filter((name) => name !== 'draft' && name !== 'cancelled');
  const rows: [keyof typeof ENUMERATIONS, string[]][] = [
    ['every', [...statuses, 'canonical', 'novelty']],
    ['view', [...shown, 'mirror', 'canonical', 'novelty']],
    ['viewGroups', [...shown, 'mirror', 'canonical']],
    ['browse', [...statuses, 'canonical']],
    ['browseOpen', ['active', 'locked', 'resolving', 'canonical']],
  ];
  for (const [which, titles] of rows) {
    test(`in the enumeration ${which} are in the order of creation, and none but these`, () => {
      assert.deepEqual(titlesOf(fullEvent(), which), titles);
    });
  }

  test('are those of the pair both when the pair is not known', () => {
    const maker = fullEvent();
    const state = { statusOf: maker.statusOf, pairOf: () => null };
    const titles = marketsOf(maker.event, ENUMERATIONS.every, state).map(({ details }) => details.title);
    assert.deepEqual(titles, [...statuses, 'mirror', 'canonical', 'novelty']);
  });

  test('count as novelty only by type other and that very subcategory', () => {
    const maker = new EntryMaker();
    maker.add({ title: 'typeless', subcategories: ['novelty'] });
    maker.add({ title: 'a total', subcategories: ['novelty'], external_market_type: 'total' });
    maker.add({ title: 'novelties', subcategories: ['novelties'], external_market_type: 'other' });
    maker.add({ title: 'plain', external_market_type: 'other', status: MARKET_STATUS.LOCKED });
    assert.deepEqual(titlesOf(maker, 'browseOpen'), ['a total', 'novelties', 'plain']);
  });
});
