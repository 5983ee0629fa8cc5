/**
 * The exchange that the pictures are taken of: a week of trading of a few accounts, always the same. Its clock is
 * shifted, so that the week always ends at NOW; between two rounds of trades it jumps by most of a day.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { NewMarket } from '../../shared/client/types.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { freePort } from '../support/freePort.ts';
import { CLIENT } from '../support/oidcServer.ts';
import { startProvider } from '../support/providerServer.ts';
import { type Scope, startServer, type TestServer } from '../support/server.ts';
import { makeTrader, type Trader } from '../support/traders.ts';

const HOUR_MS = 3_600_000;
/** The clock of the browser stands here; that of the exchange begins here when it is opened to the browser. */
export const NOW_MS = Date.UTC(2027, 1, 9, 14, 30);
/** The private key of the visitor's wallet. */
export const VISITOR_KEY = `0x${'a1'.repeat(32)}` as const;
const PRELOADED = fileURLToPath(new URL('../support/shiftedClock.mjs', import.meta.url));
/** The prices of Yes at which the main market trades, one for each round. */
const PRICES = ['0.42', '0.45', '0.44', '0.52', '0.49', '0.55', '0.61', '0.58'] as const;
const BETWEEN_MS = 18 * HOUR_MS;
const CITY = 'Will the city hall be sold?';
const RICH_MICRO = 9_000_000_000;

export type World = {
  readonly server: TestServer;
  /** By the name that the views use. */
  readonly markets: Readonly<Record<'rain' | 'decided' | 'quiet', string>>;
};

type Markets = Readonly<
  Record<'rain' | 'frost' | 'lind' | 'carver' | 'moreau' | 'pond' | 'coin' | 'decided', OrderMarket>
>;

export async function makeWorld(scope: Scope): Promise<World> {
  const clock = new ShiftedClock(scope);
  clock.set(NOW_MS - PRICES.length * BETWEEN_MS);
  const house = await startProvider(scope, (_request, response) => response.writeHead(404).end());
  const env = {
    SHARDS: '1',
    PORT: String(await freePort()),
    NODE_OPTIONS: `--import=${PRELOADED}`,
    SHIFTED_CLOCK: clock.path,
    OIDC_HOUSE_ISSUER: house.url,
    OIDC_HOUSE_CLIENT_ID: CLIENT.clientId,
    OIDC_HOUSE_CLIENT_SECRET: CLIENT.clientSecret,
    FIAT_PROVIDERS: 'sandbox',
    FIAT_SANDBOX_URL: 'http://127.0.0.1:9',
    FIAT_SANDBOX_API_KEY: 'an-api-key-of-the-provider-of-the-tests',
    FIAT_SANDBOX_WEBHOOK_SECRETS: 'a-secret-of-the-webhooks-of-the-tests',
    FIAT_SANDBOX_ADDRESS: `0x${'d2'.repeat(20)}`,
  };
  const server = await startServer(scope, env);
  const markets = await makeMarkets(server);
  const quiet = await server.admin.createMarket({ ...HALL, title: CITY, trading_ends_at: at(30 * 24) });
  await trade(server, markets, clock);
  writeFileSync(join(server.dataDir, 'demo.json'), '{}');
  await server.stop();
  clock.set(NOW_MS);
  await server.start({ ...env, DEMO: 'on' });
  clock.leaveThisProcess();
  return { server, markets: { rain: markets.rain.id, decided: markets.decided.id, quiet: quiet.id } };
}

/**
 * The clock of the exchange. Until it leaves this process, requests are signed by it too: an exchange accepts only
 * those of the last half minute.
 */
class ShiftedClock {
  readonly path = join(temporaryDirectory(), 'clock');
  readonly #now = Date.now;
  #byMs = 0;

  constructor(scope: Scope) {
    scope.after(() => this.leaveThisProcess());
    Date.now = () => this.#now() + this.#byMs;
  }

  /** A server never reads half of the number. */
  set(timeMs: number): void {
    this.#byMs = timeMs - this.#now();
    writeFileSync(`${this.path}.new`, String(this.#byMs));
    renameSync(`${this.path}.new`, this.path);
  }

  leaveThisProcess(): void {
    Date.now = this.#now;
  }
}

/** @param hours from now on */
function at(hours: number): string {
  return new Date(NOW_MS + hours * HOUR_MS).toISOString();
}

const WEATHER = { category: 'Weather', description: 'The thermometer in the yard decides.\nIt is read at noon.' };
const HALL = { category: 'Politics', description: 'Yes if the city council decides so.' };
const SOURCES = { settlement_sources: [{ name: 'The yard', url: 'https://yard.example/noon' }] };

async function makeMarkets({ admin }: TestServer): Promise<Markets> {
  const make = async (title: string, more: Partial<NewMarket>, hours: number): Promise<OrderMarket> => {
    const details = { title, trading_ends_at: at(hours), ...SOURCES, ...WEATHER, ...more };
    const { id, yes_token_id, no_token_id } = await admin.createMarket(details);
    return { id, yes_token_id, no_token_id, ticks_per_unit: more.ticks_per_unit ?? 100 };
  };
  const week = await admin.createEvent({
    slug: 'weather-week',
    title: 'Weather in the capital',
    ...WEATHER,
    start_time: at(50),
  });
  const mayor = await admin.createEvent({
    slug: 'mayor',
    title: 'Who will be the mayor?',
    ...HALL,
    start_time: at(400),
  });
  const match = await admin.createEvent({
    slug: 'ducks-herons',
    title: 'Ducks against Herons',
    category: 'Sports',
    sport_league: 'POND',
    sport_teams: ['Ducks', 'Herons'],
    status: 'live',
    start_time: at(-1),
  });
  await admin.postScore(match.id, {
    status: 'in_progress',
    period: '2nd half',
    clock: '61:20',
    home_score: 2,
    away_score: 1,
  });
  const coin = await admin.createEvent({
    slug: 'coin',
    title: 'Coins in February',
    category: 'Crypto',
    start_time: at(300),
  });
  const past = await admin.createEvent({
    slug: 'past',
    title: 'January in numbers',
    category: 'Economy',
    start_time: at(9),
  });
  const ofMayor = { ...HALL, event_id: mayor.id };
  return {
    rain: await make('Will it rain on Thursday?', { event_id: week.id }, 50),
    frost: await make('Will it freeze on Friday night?', { event_id: week.id }, 74),
    lind: await make('Ada Lind', ofMayor, 400),
    carver: await make('Bo Carver', ofMayor, 400),
    moreau: await make('Cy Moreau, of the list of the citizens of the old town and the harbour', ofMayor, 400),
    pond: await make(
      'Who wins the match?',
      { event_id: match.id, category: 'Sports', outcomes: ['Ducks', 'Herons'] },
      2,
    ),
    coin: await make(
      'Will one coin cost more than $100,000?',
      { event_id: coin.id, category: 'Crypto', ticks_per_unit: 1000 },
      300,
    ),
    decided: await make('Was January colder than December?', { event_id: past.id, category: 'Economy' }, 9),
  };
}

type People = Readonly<Record<'visitor' | 'maker' | 'taker', Trader>>;

/** Every round the taker buys what the maker offers; the visitor takes part in some. */
async function trade(server: TestServer, markets: Markets, clock: ShiftedClock): Promise<void> {
  const people: People = {
    visitor: await makeTrader(server, { privateKey: VISITOR_KEY }),
    maker: await makeTrader(server, { privateKey: `0x${'b2'.repeat(32)}`, depositMicro: RICH_MICRO }),
    taker: await makeTrader(server, { privateKey: `0x${'c3'.repeat(32)}` }),
  };
  for (const [round, price] of PRICES.entries()) {
    clock.set(NOW_MS - (PRICES.length - round) * BETWEEN_MS + HOUR_MS);
    await meet(people, markets.rain, price, 20 + 15 * (round % 3));
    if (round % 3 === 0) await meet(people, markets.lind, ['0.48', '0.51', '0.55'][round / 3]!, 60);
    if (round % 4 === 1) await meet(people, markets.carver, round === 1 ? '0.35' : '0.31', 40);
    if (round === 2) await buyTogether(people, markets);
    if (round === 4) await server.admin.resolveMarket(markets.decided.id, { outcome_index: 0 });
    if (round > 4) await meet(people, markets.coin, ['0.125', '0.131', '0.118'][round - 5]!, 100);
    if (round === 7) await meet(people, markets.pond, '0.66', 80);
  }
  clock.set(NOW_MS - HOUR_MS);
  await quote(people, markets);
}

/** The maker sells No for what the taker pays for Yes. */
async function meet({ maker, taker }: People, market: OrderMarket, price: string, size: number): Promise<void> {
  await maker.place(market, { outcomeIndex: 1, price: complement(price), size: String(size) });
  await taker.place(market, { price, size: String(size) });
}

/** The visitor holds both kinds of outcomes, and has a claim later. */
async function buyTogether({ visitor, maker }: People, markets: Markets): Promise<void> {
  await maker.place(markets.rain, { outcomeIndex: 1, price: '0.56', size: '50' });
  await visitor.place(markets.rain, { price: '0.44', size: '50' });
  await maker.place(markets.lind, { price: '0.50', size: '30' });
  await visitor.place(markets.lind, { outcomeIndex: 1, price: '0.50', size: '30' });
  await maker.place(markets.decided, { outcomeIndex: 1, price: '0.70', size: '25' });
  await visitor.place(markets.decided, { price: '0.30', size: '25' });
}

/** Books with several prices on both sides, some of them the visitor's. */
async function quote({ visitor, maker }: People, markets: Markets): Promise<void> {
  const levels = [1, 2, 3, 4, 6, 9];
  for (const depth of levels) {
    await maker.place(markets.rain, { price: cents(58 - depth), size: String(20 * depth) });
    await maker.place(markets.rain, { outcomeIndex: 1, price: cents(42 - depth), size: String(25 * depth) });
  }
  await visitor.place(markets.rain, { price: '0.55', size: '40' });
  await visitor.place(markets.rain, { price: '0.52', size: '15' });
  const around: readonly (readonly [OrderMarket, bid: number, ask: number])[] = [
    [markets.frost, 20, 24],
    [markets.lind, 54, 56],
    [markets.carver, 30, 32],
    [markets.moreau, 11, 14],
    [markets.pond, 65, 67],
    [markets.coin, 11, 13],
  ];
  for (const [market, bid, ask] of around) {
    await maker.place(market, { price: cents(bid), size: '50' });
    await maker.place(market, { outcomeIndex: 1, price: cents(100 - ask), size: '50' });
  }
  await visitor.place(markets.moreau, { price: '0.10', size: '30' });
}

function cents(count: number): string {
  return (count / 100).toFixed(2);
}

/** As many digits as the price has. */
function complement(price: string): string {
  return (1 - Number(price)).toFixed(price.length - 2);
}
