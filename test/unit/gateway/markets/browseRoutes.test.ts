/** `GET /v1/events/browse` with and without a provider of quotes (RULES.md 12.36 and 12.37). */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { TextsInTurns } from '../../../../gateway/http/pieces.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import { SharedAnswers } from '../../../../gateway/http/sharedAnswers.ts';
import { browseRoutes } from '../../../../gateway/markets/browseRoutes.ts';
import type { Catalog } from '../../../../gateway/markets/catalog.ts';
import type { ContractStore } from '../../../../gateway/markets/contracts.ts';
import type { DaysTask, DayTrade, NamedDay } from '../../../../gateway/markets/dayTradingQueries.ts';
import type { Indication } from '../../../../gateway/markets/indications.ts';
import { MarketResponses } from '../../../../gateway/markets/marketJson.ts';
import { mirrorPair } from '../../../../gateway/markets/mirrorPairs.ts';
import type { MarketReads } from '../../../../gateway/markets/reads.ts';
import type { BrowseQuery } from '../../../../shared/api/browse.ts';
import type { LiveScore } from '../../../../shared/api/events.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';
import { EntryMaker } from '../../../support/catalogueEntries.ts';
import { ClientRig, START_MS } from '../../../support/clientRig.ts';
import type { Json } from '../../../support/server.ts';

const KEPT_MS = 5000;
const PLAIN: BrowseQuery = {
  status: 'active',
  sort: 'start',
  limit: 50,
  offset: 0,
  home: false,
  core_lines: false,
  quotes: false,
  quotes_only: false,
};
const BUSY = { ok: false, row: ERRORS.ENGINE_BUSY } as const;
const QUOTE_MEMBERS = ['covered', 'desk_indications', 'ids', 'on_chain', 'updated_at'];

/** The second market fell from 12 to 10 ticks. */
function tradedIn(market: number): DayTrade | null {
  if (market === 0) return null;
  const sums = { trades: 2, tokensAtomic: 15_000_000n, notionalMicro: 1_500_000n, volumeMicro: 1_500_000n };
  return { market, ...sums, openTicks: 12, highTicks: 12, lowTicks: 10, closeTicks: 10 };
}

/** One event with two markets, each in a shard of its own, whose events and last prices the test decides. */
class BrowseRig {
  readonly rig: ClientRig;
  readonly maker = new EntryMaker();
  readonly revisions = { current: 1 };
  readonly indications = new Map<number, Indication>();
  events: number[] = [0];
  busy: 'browse' | 'marketDaysOf' | null = null;
  isWhole = true;
  isFloor = false;
  score: LiveScore | null = null;
  asked = 0;
  readonly #route: Route;

  constructor(t: TestContext, quoteProvider: 'book' | 'none') {
    const rig = new ClientRig(t);
    this.rig = rig;
    for (const external_market_type of ['moneyline', 'total'] as const) this.maker.add({ external_market_type });
    const isWhole = (): boolean => this.isWhole;
    this.#route = browseRoutes({
      config: { quoteProvider },
      catalog: { events: [this.maker.event], revisions: this.revisions } as unknown as Catalog,
      views: {
        books: rig.views.books,
        markets: rig.views.markets,
        get isWhole() {
          return isWhole();
        },
      },
      indications: {
        of: (market, nowMs) => {
          const indication = this.indications.get(market);
          return indication === undefined || indication.expiresMs <= nowMs ? null : indication;
        },
      },
      responses: new MarketResponses({
        catalog: { eventById: () => this.maker.event },
        contracts: { current: {} } as ContractStore,
        views: rig.views,
        volumes: { volumeMicro: () => 0n, volume24hMicro: () => 0n },
        findPair: mirrorPair,
        onPairFailed: (error) => assert.fail(error as Error),
      }),
      queries: this.#queries(),
      liveScores: { of: () => this.score },
      sharedAnswers: new SharedAnswers(rig.clock),
      texts: new TextsInTurns(() => false),
      clock: rig.clock,
    })[0];
  }

  /** Stands for the threads of the query pool. */
  #queries(): Pick<MarketReads, 'ofCatalog' | 'ofPublic'> {
    const page = async () => {
      this.asked++;
      const value = { rows: this.events, total: this.events.length, isFloor: this.isFloor };
      return this.busy === 'browse' ? BUSY : { ok: true, value };
    };
    const days = async (_asker: unknown, name: string, { markets }: DaysTask) => {
      assert.equal(name, 'marketDaysOf');
      if (this.busy === name) return BUSY;
      const value: NamedDay[] = markets.map((market) => ({
        market,
        lastYesTicks: 10 * market,
        traded: tradedIn(market),
      }));
      return { ok: true, value };
    };
    return { ofCatalog: page, ofPublic: days } as unknown as Pick<MarketReads, 'ofCatalog' | 'ofPublic'>;
  }

  async ask(query: Partial<BrowseQuery>): Promise<TestCall> {
    const asked = new TestCall({ method: 'GET', path: '/v1/events/browse' });
    asked.call.query = { ...PLAIN, ...query };
    void this.#route.handler(asked.call);
    await asked.answered;
    return asked;
  }

  async browse(query: Partial<BrowseQuery> = {}): Promise<Json> {
    const asked = await this.ask(query);
    assert.equal(asked.status, 200);
    return asked.json;
  }

  async quoteFirst(bidTicks: number, askTicks: number): Promise<void> {
    const { rig } = this;
    await rig.run(rig.place(rig.record(SIDE.BUY, bidTicks)));
    await rig.run(rig.place(rig.record(SIDE.BUY, 100 - askTicks, OUTCOME.NO)));
  }
}

async function start(t: TestContext, quoteProvider: 'book' | 'none' = 'book'): Promise<BrowseRig> {
  const browsing = new BrowseRig(t, quoteProvider);
  await browsing.rig.start();
  return browsing;
}

function membersOf(answer: Json): string[] {
  return Object.keys(answer).sort();
}

const UNDECORATED = ['events', 'limit', 'offset', 'total'];

// RULES.md 12.36 and 12.37
describe('quotes and quotes_only', () => {
  for (const provider of ['book', 'none'] as const) {
    for (const quotes of [false, true]) {
      for (const quotes_only of [false, true]) {
        test(`with quotes=${quotes}, quotes_only=${quotes_only} and the provider ${provider}`, async (t) => {
          const browsing = await start(t, provider);
          const answer = await browsing.browse({ quotes, quotes_only });
          const hasQuotes = quotes && provider === 'book';
          const whole = hasQuotes ? [...UNDECORATED, ...QUOTE_MEMBERS].sort() : UNDECORATED;
          assert.deepEqual(membersOf(answer), hasQuotes && quotes_only ? QUOTE_MEMBERS : whole);
          if ('events' in answer) assert.equal('quotes' in answer.events[0], hasQuotes);
        });
      }
    }
  }

  for (const fault of ['a shard is away', 'the read model is busy'] as const) {
    test(`give way to the whole page without quotes while ${fault}`, async (t) => {
      const browsing = await start(t);
      if (fault === 'a shard is away') browsing.isWhole = false;
      else browsing.busy = 'marketDaysOf';
      const plain = await browsing.browse();
      assert.deepEqual(await browsing.browse({ quotes: true, quotes_only: true }), plain);
      assert.deepEqual(membersOf(plain), UNDECORATED);
    });
  }

  test('have an empty list and empty maps for an empty page', async (t) => {
    const browsing = await start(t);
    browsing.events = [];
    const { updated_at, ...rest } = await browsing.browse({ quotes: true, quotes_only: true });
    assert.deepEqual(rest, { ids: [], desk_indications: {}, on_chain: {}, covered: [] });
    assert.equal(updated_at, new Date(START_MS).toISOString());
  });

  test('are the prices of books, last trades and desks, by market, in the order of the page', async (t) => {
    const browsing = await start(t);
    await browsing.quoteFirst(40, 45);
    const expiresMs = START_MS + 60_000;
    browsing.indications.set(1, { bidTicks: 30, askTicks: 70, expiresMs });
    const [first, second] = browsing.maker.event.markets;
    const answer = await browsing.browse({ quotes: true });
    const updated_at = new Date(START_MS).toISOString();
    const none = { best_bid: null, best_ask: null, midpoint: null };
    const untraded = { last_price: null, change: null, volume_usdc_micro: '0' };
    const traded = { last_price: '0.1', change: '-0.02', volume_usdc_micro: '1500000' };
    assert.deepEqual(answer.events[0].quotes, {
      [first.id]: { best_bid: '0.4', best_ask: '0.45', midpoint: '0.425', ...untraded, updated_at },
      [second.id]: { ...none, ...traded, updated_at },
    });
    const alone: Json = await browsing.browse({ quotes: true, quotes_only: true });
    assert.deepEqual(
      { ...alone },
      {
        ids: [first.id, second.id],
        desk_indications: { [second.id]: { bid: '0.3', ask: '0.7', expires_at: new Date(expiresMs).toISOString() } },
        on_chain: { [first.id]: [0.425, 0.575] },
        covered: [first.id, second.id],
        updated_at,
      },
    );
    for (const name of QUOTE_MEMBERS) assert.deepEqual(answer[name], alone[name], name);
  });

  test('keep the expiry that an indication was given, and lose it then', async (t) => {
    const browsing = await start(t);
    const expiresMs = START_MS + KEPT_MS + 1;
    browsing.indications.set(0, { bidTicks: 30, askTicks: 70, expiresMs });
    const [{ id }] = browsing.maker.event.markets;
    for (const laterMs of [0, KEPT_MS]) {
      browsing.rig.clock.advance(laterMs);
      const { desk_indications } = await browsing.browse({ quotes: true, quotes_only: true });
      assert.equal(desk_indications[id].expires_at, new Date(expiresMs).toISOString());
    }
    browsing.rig.clock.advance(KEPT_MS);
    assert.deepEqual((await browsing.browse({ quotes: true, quotes_only: true })).desk_indications, {});
  });
});

// RULES.md 12.34
test('a total says that it is an estimate only when it is one', async (t) => {
  const browsing = await start(t);
  assert.ok(!('count_is_estimate' in (await browsing.browse())));
  browsing.isFloor = true;
  const { total, count_is_estimate } = await browsing.browse({ limit: 1 });
  assert.deepEqual([total, count_is_estimate], [1, true]);
});

// RULES.md 12.34
test('an event has the score that was posted for it, and null before', async (t) => {
  const browsing = await start(t);
  assert.equal((await browsing.browse()).events[0].live, null);
  const score = { status: 'in_progress', clock: '61:20', period: null, home_score: 2, away_score: 1 };
  browsing.score = { ...score, updated_at: new Date(START_MS).toISOString() };
  assert.deepEqual((await browsing.browse({ limit: 1 })).events[0].live, browsing.score);
});

// RULES.md 12.34
describe('a kept page', () => {
  test('is answered again for five seconds, and then asked for anew', async (t) => {
    const browsing = await start(t);
    const first = await browsing.browse({ quotes: true });
    await browsing.quoteFirst(40, 45);
    browsing.rig.clock.advance(KEPT_MS - 1);
    assert.deepEqual(await browsing.browse({ quotes: true }), first);
    assert.equal(browsing.asked, 1);
    browsing.rig.clock.advance(1);
    const [{ quotes }] = (await browsing.browse({ quotes: true })).events;
    assert.equal(quotes[browsing.maker.event.markets[0].id].best_bid, '0.4');
    assert.equal(browsing.asked, 2);
  });

  test('is computed once for many requests, and answers no other question', async (t) => {
    const browsing = await start(t);
    const answers = await Promise.all(Array.from({ length: 100 }, () => browsing.browse()));
    assert.equal(browsing.asked, 1);
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    const others: Partial<BrowseQuery>[] = [
      { limit: 1 },
      { offset: 1 },
      { home: true },
      { core_lines: true },
      { status: 'live' },
      { sort: 'volume' },
      { search: 'x' },
    ];
    for (const [at, other] of others.entries()) {
      await browsing.browse(other);
      assert.equal(browsing.asked, 2 + at, JSON.stringify(other));
    }
  });

  test('ends with a change of the catalogue', async (t) => {
    const browsing = await start(t);
    await browsing.browse();
    browsing.maker.event.details = { ...browsing.maker.event.details, title: 'Renamed' };
    browsing.revisions.current++;
    assert.equal((await browsing.browse()).events[0].title, 'Renamed');
  });

  test('is the last one while the read model is behind a change, and no older for it', async (t) => {
    const browsing = await start(t);
    const before = await browsing.browse();
    browsing.busy = 'browse';
    browsing.revisions.current++;
    browsing.maker.event.details = { ...browsing.maker.event.details, title: 'Renamed' };
    browsing.rig.clock.advance(KEPT_MS - 1);
    assert.deepEqual(await browsing.browse(), before);
    assert.equal((await browsing.ask({ limit: 7 })).status, 503, 'another question has no last answer');
    browsing.rig.clock.advance(1);
    assert.equal((await browsing.ask({})).status, 503);
    browsing.busy = null;
    assert.equal((await browsing.browse()).events[0].title, 'Renamed');
  });

  test('is not one that could not be made: the next request tries again', async (t) => {
    const browsing = await start(t);
    browsing.busy = 'browse';
    const refused = await browsing.ask({});
    assert.deepEqual([refused.status, refused.json.code], [503, 'ENGINE_BUSY']);
    browsing.busy = null;
    await browsing.browse();
  });
});
