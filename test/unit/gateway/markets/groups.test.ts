import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { featuredOf, groupsOf } from '../../../../gateway/markets/groups.ts';
import { distinctQuestions } from '../../../../gateway/markets/related.ts';
import { coreLines } from '../../../../gateway/markets/tiles.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { EntryMaker } from '../../../support/catalogueEntries.ts';

const TYPES = ['total', 'player_prop', 'other', 'moneyline', 'spread', 'total'] as const;

function titles(markets: readonly MarketEntry[]): string[] {
  return markets.map(({ details }) => details.title);
}

// RULES.md 12.33
describe('groups', () => {
  test('are in the order of their types, each with its markets oldest first; a market without a type is other', () => {
    const maker = new EntryMaker();
    for (const external_market_type of TYPES) maker.add({ external_market_type });
    maker.add();
    const groups = groupsOf(maker.event.markets);
    assert.deepEqual(
      groups.map(({ type, markets }) => [type, ...titles(markets)]),
      [
        ['moneyline', 'market 3'],
        ['other', 'market 2', 'market 6'],
        ['player_prop', 'market 1'],
        ['spread', 'market 4'],
        ['total', 'market 0', 'market 5'],
      ],
    );
    assert.deepEqual(
      groups.map(({ title }) => title),
      ['Moneyline', 'Other', 'Player props', 'Spread', 'Total'],
    );
    assert.deepEqual(groupsOf([]), []);
  });
});

describe('the featured market', () => {
  const noVolume = (): bigint => 0n;

  test('is one that trades before one that does not, whatever their types', () => {
    const maker = new EntryMaker();
    maker.add({ external_market_type: 'moneyline', status: MARKET_STATUS.LOCKED });
    maker.add({ external_market_type: 'player_prop' });
    assert.equal(featuredOf(maker.event.markets, maker.statusOf, noVolume)?.index, 1);
  });

  test('is a moneyline before the other types, then the one with more volume, then the older', () => {
    const maker = new EntryMaker();
    for (const external_market_type of [...TYPES, ...TYPES]) maker.add({ external_market_type });
    assert.equal(featuredOf(maker.event.markets, maker.statusOf, noVolume)?.index, 3);
    const byVolume = featuredOf(maker.event.markets, maker.statusOf, ({ index }) => BigInt(index));
    assert.equal(byVolume?.index, 9);
  });

  test('may be decided when nothing else is there, and is none of none', () => {
    const maker = new EntryMaker();
    maker.add({ status: MARKET_STATUS.SETTLED });
    assert.equal(featuredOf(maker.event.markets, maker.statusOf, noVolume)?.index, 0);
    assert.equal(featuredOf([], maker.statusOf, noVolume), undefined);
  });
});

// RULES.md 12.35
describe('the lines of a tile', () => {
  test('are moneylines, spreads and totals of the game, and no total of one team', () => {
    const maker = new EntryMaker();
    for (const external_market_type of TYPES) maker.add({ external_market_type });
    for (const words of [{ subcategories: ['Team Total'] }, { stat_category: 'team_totals' }]) {
      maker.add({ external_market_type: 'total', ...words });
    }
    maker.add({ external_market_type: 'total', player_team_abbrev: 'LAL' });
    const lines = coreLines(maker.event.markets);
    assert.deepEqual(titles(lines), ['market 0', 'market 3', 'market 4', 'market 5']);
  });

  test('are the other markets of an event that is no game', () => {
    const maker = new EntryMaker();
    maker.add();
    maker.add({ external_market_type: 'player_prop' });
    maker.add({ external_market_type: 'total', subcategories: ['team total'] });
    assert.deepEqual(titles(coreLines(maker.event.markets)), ['market 0']);
  });
});

// RULES.md 12.38
describe('questions', () => {
  const maker = new EntryMaker();
  for (const title of ['Who  wins?', 'who wins? ', 'Who wins', 'Who wins?', 'Hidden']) maker.add({ title });
  const { markets } = maker.event;
  const start = () => distinctQuestions(markets, ({ details }) => details.title !== 'Hidden');

  test('that read the same are one, the oldest, and all that are shown are counted', () => {
    const steps = start();
    let step = steps.next();
    while (!step.done) step = steps.next();
    assert.deepEqual([step.value.distinct.map(({ index }) => index), step.value.total], [[0, 2], 4]);
  });

  test('are looked at one in a step, those that are left out too: a series may have any number', () => {
    assert.deepEqual(
      [...start()],
      markets.map(() => ''),
    );
  });
});
