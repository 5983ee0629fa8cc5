/** Implied prices of event sets (RULES.md 19.12), against an oracle that computes them from the books over HTTP. */
import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { ImpliedPrice } from '../../shared/client/types.ts';
import { Pmx } from '../support/pmx.ts';
import { Random } from '../support/random.ts';
import { sharedServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const DAY_MS = 86_400_000;
const CENTS = 100;
const [maker, other] = [await makeTrader(server), await makeTrader(server)];

async function makeSet(count: number): Promise<{ id: string; markets: OrderMarket[] }> {
  const { event, markets } = await server.admin.sets.create({
    event: { title: `Who wins ${randomUUID()}` },
    winners: 1,
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
    markets: Array.from({ length: count }, (_, at) => ({ title: `Candidate ${at}` })),
  });
  const placed = markets.map(({ id, yes_token_id = '', no_token_id = '' }) => {
    return { id, yes_token_id, no_token_id, ticks_per_unit: CENTS };
  });
  return { id: event.id, markets: placed };
}

async function implied(id: string): Promise<readonly ImpliedPrice[] | null> {
  return (await maker.client.eventView(id)).implied_prices;
}

/** In whole cents, from the best prices over HTTP; `shut` are markets without prices. */
async function expected(
  markets: readonly OrderMarket[],
  shut: readonly string[] = [],
): Promise<readonly ImpliedPrice[]> {
  const cents = (price: string | null): number | null => (price === null ? null : Math.round(Number(price) * CENTS));
  const books = await Promise.all(
    markets.map(async ({ id }) => {
      const { best_bid, best_ask } = await maker.client.bbo(id);
      return shut.includes(id) ? { bid: null, ask: null } : { bid: cents(best_bid), ask: cents(best_ask) };
    }),
  );
  const rest = (own: number, side: 'bid' | 'ask'): number | null => {
    const others = books.filter((_, at) => at !== own).map((book) => book[side]);
    return others.reduce(
      (left, price) => (left === null || price === null ? null : left - price),
      CENTS as number | null,
    );
  };
  return markets.map(({ id: market_id }, at) => {
    const [bid, ask] = [rest(at, 'ask'), rest(at, 'bid')];
    const isBid = bid !== null && bid > 0;
    return { market_id, bid: isBid ? String(bid / CENTS) : null, ask: ask === null ? null : String(ask / CENTS) };
  });
}

/** A bid of Yes, and an ask of Yes, which is a bid of No. */
async function quote(market: OrderMarket, bid: number | null, ask: number | null): Promise<void> {
  if (bid !== null) await maker.place(market, { price: String(bid / CENTS), size: '10' });
  if (ask === null) return;
  await other.place(market, { outcomeIndex: 1, price: String((CENTS - ask) / CENTS), size: '10' });
}

test('RULES.md 19.12: the example, and what locked, eliminated and decided markets do', async () => {
  const { id, markets } = await makeSet(4);
  const [a, b, c, d] = markets as [OrderMarket, OrderMarket, OrderMarket, OrderMarket];
  const of = async ({ id: market }: OrderMarket): Promise<(string | null)[]> => {
    const row = (await implied(id))!.find(({ market_id }) => market_id === market)!;
    return [row.bid, row.ask];
  };
  for (const market of markets) assert.deepEqual(await of(market), [null, null], 'no orders, no prices');
  await quote(a, 50, 53);
  await quote(b, 30, 33);
  await quote(c, 16, null);
  assert.deepEqual(await of(a), [null, null], 'D has no prices');
  await server.admin.resolveMarket(d.id, { outcome_index: 1 });
  const left = [a, b, c];
  assert.deepEqual(await implied(id), await expected(left), 'an eliminated market takes no part');
  assert.deepEqual(await of(a), [null, '0.54']);
  assert.deepEqual(await of(c), ['0.14', '0.2']);
  const lines = await new Pmx({ BASE_URL: server.baseUrl }).lines('events', 'show', id);
  assert.match(lines.join('\n'), /^IMPLIED BID +IMPLIED ASK +QUESTION[\s\S]*^ *0\.14 +0\.2 +Candidate 2$/m);
  // The first bid takes the ask of A, the second one rests.
  for (let times = 0; times < 2; times++) await quote(a, 75, null);
  assert.deepEqual(
    [await of(b), await of(c)],
    [
      [null, '0.09'],
      [null, '-0.05'],
    ],
  );
  await server.admin.patchMarket(b.id, { status: 'locked' });
  assert.deepEqual(await implied(id), await expected(left, [b.id]));
  assert.deepEqual(
    [await of(a), await of(b)],
    [
      [null, null],
      [null, '0.09'],
    ],
  );
  await server.admin.sets.resolve(id, { winner: a.id });
  assert.equal(await implied(id), null, 'a decided set has none');
});

test('RULES.md 19.12: implied prices of random books are those of the oracle; other events have none', async () => {
  const seed = randomInt(2 ** 31);
  const random = new Random(seed);
  const { id, markets } = await makeSet(5);
  for (let step = 0; step < 30; step++) {
    const market = markets[random.below(markets.length)]!;
    const bid = random.between(1, 30);
    await quote(market, random.below(4) === 0 ? null : bid, random.below(4) === 0 ? null : random.between(bid + 1, 60));
    assert.deepEqual(await implied(id), await expected(markets), `seed ${seed}, step ${step}`);
  }
  const { slug } = await server.admin.createEvent({ title: `No set ${randomUUID()}` });
  assert.equal(await implied(slug), null);
});
