import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseLine } from '../../../../gateway/markets/catalogueLines.ts';
import { demoCatalogue, readDemoFile } from '../../../../gateway/wiring/demoCatalogue.ts';
import { EVENT_FIELD_NAMES, MARKET_FIELD_NAMES } from '../../../../shared/api/catalogue.ts';

const NOW_MS = 1_790_000_123_456;

const { lines, scores } = demoCatalogue(NOW_MS);
const events = lines.flatMap(({ event }) => event ?? []);
const markets = lines.flatMap(({ market }) => market ?? []);

describe('the catalogue of the demo', () => {
  test('has some two hundred events over a dozen leagues and half a dozen other categories', () => {
    assert.ok(events.length >= 200 && events.length < 250, String(events.length));
    assert.ok(new Set(events.map(({ sport_league }) => sport_league)).size > 12);
    assert.ok(new Set(events.map(({ category }) => category)).size >= 8);
    assert.equal(new Set(markets.map(({ external_market_type }) => external_market_type)).size, 6);
  });

  test('is made of lines that an import accepts, each with a key of its own, events before their markets', () => {
    const known = new Set<string>();
    for (const line of lines) {
      assert.ok(!('refusal' in parseLine(Buffer.from(JSON.stringify(line)))), JSON.stringify(line));
      const { event, market } = line;
      const key = event?.slug ?? `${market!.external_source} ${market!.external_event_id}`;
      assert.ok(!known.has(key), key);
      if (market !== undefined) assert.ok(known.has(market.event_slug!), key);
      known.add(key);
    }
    assert.ok(!/[{}]|undefined|NaN/.test(lines.map((line) => Object.values(line)[0]!.title).join('')));
  });

  test('has every field of both records somewhere, but for ids and what a chain gives', () => {
    const given = (each: readonly object[]) =>
      new Set(each.flatMap((row) => Object.keys(JSON.parse(JSON.stringify(row)))));
    const assigned = [
      'id',
      'event_id',
      'yes_token_id',
      'no_token_id',
      'contract_address',
      'condition_id',
      'question_id',
    ];
    const ofMarkets = given(markets);
    const missing = MARKET_FIELD_NAMES.filter((name) => !ofMarkets.has(name) && !assigned.includes(name));
    assert.deepEqual(missing, []);
    const ofEvents = given(events);
    assert.deepEqual(
      // An event set is made with its markets, by no line.
      EVENT_FIELD_NAMES.filter((name) => !ofEvents.has(name) && name !== 'id' && name !== 'winners'),
      [],
    );
    assert.ok(markets.some(({ settlement_sources }) => settlement_sources === null));
    assert.ok(markets.some(({ subcategories }) => subcategories?.includes('novelty')));
  });

  test('has fixtures with three results, mirrored moneylines, live games with their scores, and books', () => {
    const moneylines = Map.groupBy(
      markets.filter(({ external_market_type }) => external_market_type === 'moneyline'),
      ({ event_slug }) => event_slug,
    );
    const [three, mirrored] = [...moneylines.values()].reduce<[number, number]>(
      ([threes, pairs], each) => {
        const [first, second] = each.map(({ outcomes }) => outcomes);
        const isMirrored = each.length === 2 && first![0] === second![1] && first![1] === second![0];
        return [threes + (each.length === 3 ? 1 : 0), pairs + (isMirrored ? 1 : 0)];
      },
      [0, 0],
    );
    assert.ok(three >= 30 && mirrored >= 30);
    const live = events.filter(({ status }) => status === 'live').map(({ slug }) => slug);
    assert.deepEqual(new Set(live), new Set(scores.keys()));
    assert.ok(live.length >= 4);
    const keys = new Set(markets.map(({ external_event_id }) => external_event_id));
    for (const key of Object.keys(readDemoFile<object>('books.json'))) assert.ok(keys.has(key), key);
  });

  test('is the same for the same time, and every market of it can be opened then', () => {
    assert.deepEqual(demoCatalogue(NOW_MS).lines, lines);
    for (const { trading_ends_at, trading_starts_at } of markets) {
      assert.ok(Date.parse(trading_ends_at!) > NOW_MS + 3_000_000);
      assert.ok(trading_starts_at === undefined || Date.parse(trading_starts_at) < Date.parse(trading_ends_at!));
    }
  });
});
