/** The cost of a search, and its words that count (RULES.md 12.4). */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { BrowseQueries } from '../../../../gateway/markets/browseQueries.ts';
import { CatalogLists, type MarketListTask } from '../../../../gateway/markets/catalogListsQueries.ts';
import { searchWords } from '../../../../gateway/markets/catalogWordsQueries.ts';
import { CatalogRig } from '../../../support/catalogRig.ts';

/** The longest description: 4,000 words that one short word finds. */
const LONG = 'resa resb resc resd '.repeat(1000);
const MARKETS = 80;

const rig = new CatalogRig();
after(() => rig.close());
for (let index = 0; index < MARKETS; index++) {
  const event = rig.event({ title: `Night ${index}`, category: 'Sports' });
  rig.open({ title: `Will team ${index} win?`, description: LONG, category: 'Sports' }, event.id);
}
const plain = rig.open({ title: 'Will it rain?', description: 'The result of the weather station.' });
rig.project();
const db = new Database(rig.readDbPath, { readonly: true });
after(() => db.close());
const lists = new CatalogLists(db);
const browse = new BrowseQueries(db);

function listed(search: string, more: Partial<MarketListTask> = {}): readonly number[] | null {
  const all = { category: null, status: null, deployStatus: null, sort: null, before: null };
  const page = lists.markets({ ...all, search, descending: true, limit: 100, offset: 0, ...more });
  return page?.rows ?? null;
}

describe('the words of a search', () => {
  test('are each one once, in whatever case and with whatever accents', () => {
    assert.deepEqual(searchWords('res '.repeat(50)), ['res']);
    assert.deepEqual(searchWords('RES rés res\u0301 reſ'), ['res']);
  });

  test('leave out those that begin another one, unless they are too short to find it', () => {
    assert.deepEqual(searchWords('res resolution resol'), ['resolution']);
    assert.deepEqual(searchWords('us usa'), ['usa', 'us']);
    assert.deepEqual(searchWords('世 世界'), ['世界']);
  });

  test('are eight at most, the longest', () => {
    const words = Array.from({ length: 30 }, (_, index) => 'abcdefghijklmnopqrstuvwxyz0123'[index]!.repeat(3 + index));
    assert.deepEqual(searchWords(words.join(' ')), words.toReversed().slice(0, 8));
    assert.deepEqual(listed(`rain ${'will it the result of weather station '.repeat(4)}`), [plain.index]);
  });
});

describe('a search', () => {
  test('whose words stand at too many places has no answer, whatever else it asks', () => {
    for (const search of ['res', 'RÉS', 'res win', 'resa resb resc resd', 'res '.repeat(50)]) {
      for (const more of [{}, { category: 'Sports' }, { sort: 'title' as const, offset: 50 }, { before: 3 }]) {
        assert.equal(listed(search, more), null, search);
      }
    }
  });

  test('of rarer ones is answered, also after one that was too broad', () => {
    assert.equal(listed('res'), null);
    assert.deepEqual(listed('result'), [plain.index]);
    assert.deepEqual(listed('will rain'), [plain.index]);
    assert.equal(listed('team')!.length, MARKETS);
  });

  test('that an index does not have at all finds nothing, and reads nothing more', () => {
    assert.deepEqual(listed('nothingatall res'), []);
    assert.deepEqual(
      browse.page({ ...NO_FILTERS, search: 'res' })!.rows,
      [],
      'descriptions of markets are not browsed',
    );
  });
});

const NO_FILTERS = {
  ...{ status: null, category: null, league: null, isRanked: false },
  ...({ sort: 'start', nowMs: 0, limit: 50, offset: 0 } as const),
};

test('every row that the filters of a search look at is spent', () => {
  const spent = db.prepare('SELECT count(*) FROM catalog_markets WHERE spent(market)').pluck();
  assert.equal(spent.get(), MARKETS + 1, 'what a search has left is enough for those');
  const many = db.prepare(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    SELECT count(*) FROM n WHERE spent(i)`);
  assert.throws(() => many.get());
});
