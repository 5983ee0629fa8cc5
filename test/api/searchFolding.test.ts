/** Searches find text that is spelled differently from the query (RULES.md 12.4), in every list of the catalogue. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { catalogueOf } from '../support/catalogue.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Json, startServer } from '../support/server.ts';

const server = await startServer(fileScope);
const { create, get } = catalogueOf(server);

/** Two spellings of one word: each finds the other, and itself. */
const SAME: readonly (readonly [string, string])[] = [
  ['Ødegaard', 'odegaard'],
  ['Łukasz Fabiański', 'LUKASZ fabianski'],
  ['Đoković', 'dokovic'],
  ['Kadıköy', 'kadikoy'],
  ['İstanbul', 'istanbul'],
  ['Hauptstraße', 'hauptstrasse'],
  ['São Paulo', 'sao paulo'],
  ['Grêmio', 'GREMIO'],
  ['Þórður', 'thordur'],
  ['Œuvre', 'oeuvre'],
  ['Việt Nam', 'viet nam'],
  ['U.S. election', 'us election'],
  ['U.K. budget', 'uk budget'],
  ['N.A.T.O', 'nato'],
  ["Trump's visit", 'trumps visit'],
  ['Biden’s visit', "Biden's visit"],
  ["O'Neill retires", 'oneill retires'],
  ["Côte d'Ivoire", 'cote divoire'],
  ['Bitcoin at 100,000', 'bitcoin at 100000'],
  ['Gold at 1’250,000', 'gold at 1250000'],
  ['Ёлка', 'елка'],
];
/** Parts of words that folding joins, and of scripts with marks, are found as they were before. */
const FOUND_TOO: readonly (readonly [string, string])[] = [
  ["O'Reilly", 'reilly'],
  ["Musk's", 'musk'],
  ['E.U. treaty', 'treaty e u'],
  ['Silver at 30,500', '500'],
  ['한국 대선', '한국'],
  ['ガンダム', 'ガ'],
  ['किताब', 'किता'],
];
const PAIRS = [...SAME.flatMap(([one, other]) => [[one, other] as const, [other, one] as const]), ...FOUND_TOO];
const NOT_FOUND: readonly (readonly [string, string])[] = [
  ['ガンダム', 'カンダム'],
  ['Silver at 30,500', '30500000'],
];

const texts = new Set(PAIRS.map(([written]) => written));

async function ids(path: string, list: string, search: string): Promise<string[]> {
  const body: Json = await get(`${path}?${new URLSearchParams({ search, limit: '100' })}`);
  return body[list].map((row: Json) => row['title'] as string);
}

describe('a search', async () => {
  for (const [index, title] of [...texts].entries()) {
    const event = await server.admin.createEvent({ title, slug: `folding-${index}` });
    await create({ title, event_id: event.id });
    await create({ title: 'Otherwise', description: `About ${title}.` });
  }

  test('finds each spelling by the other in titles and descriptions of markets', async () => {
    for (const [written, typed] of PAIRS) {
      const found = await ids('/v1/markets', 'markets', typed);
      assert.ok(found.includes(written), `${typed} finds ${written}`);
      assert.ok(found.includes('Otherwise'), `${typed} finds the description of ${written}`);
    }
    for (const [one, other] of SAME) {
      const [first, second] = [await ids('/v1/markets', 'markets', one), await ids('/v1/markets', 'markets', other)];
      assert.deepEqual(first, second, `${one} and ${other} find the same`);
    }
    for (const [written, typed] of NOT_FOUND) {
      assert.ok(!(await ids('/v1/markets', 'markets', typed)).includes(written), `${typed} does not find ${written}`);
    }
  });

  test('finds events, and their tiles by what they and their markets are called', async () => {
    for (const [written, typed] of PAIRS) {
      assert.ok((await ids('/v1/events', 'events', typed)).includes(written), `${typed} finds the event ${written}`);
      const tiles = JSON.stringify(
        await get(`/v1/events/browse?${new URLSearchParams({ search: typed, limit: '100' })}`),
      );
      assert.ok(tiles.includes(JSON.stringify(written)), `${typed} finds the tile of ${written}`);
    }
  });

  test('finds a title that is changed by its new words alone', async () => {
    const market = await create({ title: 'Øresund' });
    await server.admin.patchMarket(market.id, { title: 'Ångström' });
    await eventually('the new title', async () => (await ids('/v1/markets', 'markets', 'angstrom')).length > 0);
    assert.deepEqual(await ids('/v1/markets', 'markets', 'oresund'), []);
  });
});
