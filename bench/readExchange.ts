/**
 * The exchange whose reads are measured: a catalogue of 100,000 markets, one event with a thousand of them, a market
 * with a deep book and most of the trades, and an account with a long history in many markets. Making it takes minutes,
 * so its directory is kept in the system's folder for temporary files, and each run works on a copy.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_IMPORT_LINES } from '../shared/api/catalogue.ts';
import { assert } from '../shared/base/assert.ts';
import type { Credentials } from '../shared/client/credentials.ts';
import type { OrderMarket } from '../shared/client/order.ts';
import { READ_DB_VERSION } from '../shared/tables/readDb.ts';
import { eventually } from '../test/support/eventually.ts';
import { Random } from '../test/support/random.ts';
import { type Scope, TestServer } from '../test/support/server.ts';
import { makeTrader, type Trader } from '../test/support/traders.ts';
import { LEAGUES, WORDS } from './catalogueHistory.ts';
import { whenIdle } from './processStat.ts';

/** The facts about the exchange that an attacker who only reads knows. */
export type Known = {
  readonly markets: readonly string[];
  /** A market with a deep book and most of the trades. */
  readonly busyMarket: string;
  readonly seriesMarket: string;
  readonly largeEvent: string;
  readonly events: readonly string[];
  readonly openHash: string;
  readonly filledHash: string;
  readonly address: string;
  /** The files of pages and documents, by the path of their route. */
  readonly files: Readonly<Record<string, readonly string[]>>;
  readonly credentials: Credentials;
};

/** In another version files have other names. */
type Kept = Omit<Known, 'files'>;

export const SIZES = {
  markets: 100_000,
  events: 10_000,
  large: 1000,
  orders: 30_000,
  traded: 2000,
  open: 2000,
} as const;
const SEED = 13;
const SHARDS = '1';
const BATCH = 15;
const TICKS = 100;
const DAY_MS = 86_400_000;
const DEPOSIT = 10_000_000_000_000;
/** The number of this layout of catalogue and history; another number makes them anew. */
const MADE_AS = 1;

/** @param env settings in addition to the usual ones */
export async function startReadExchange(
  scope: Scope,
  directory: string,
  env: Record<string, string> = {},
): Promise<{ server: TestServer; known: Known }> {
  const kept = join(tmpdir(), `exchange-bench-reads-${READ_DB_VERSION}-${MADE_AS}-${SIZES.markets}`);
  if (!existsSync(join(kept, 'known.json'))) await make(scope, kept);
  cpSync(join(kept, 'data'), directory, { recursive: true });
  const server = new TestServer(directory, SHARDS);
  scope.after(() => server.kill());
  await server.start(env);
  await whenIdle(server.pid!);
  const known = JSON.parse(readFileSync(join(kept, 'known.json'), 'utf8')) as Kept;
  return { server, known: { ...known, files: await filesOf(server) } };
}

async function make(scope: Scope, kept: string): Promise<void> {
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(join(kept, 'data'), { recursive: true });
  const server = new TestServer(join(kept, 'data'), SHARDS);
  scope.after(() => server.kill());
  await server.start();
  const ids = await importCatalogue(server);
  const [maker, hostile] = [
    await makeTrader(server, { depositMicro: DEPOSIT }),
    await makeTrader(server, { depositMicro: DEPOSIT }),
  ];
  const markets: OrderMarket[] = [];
  for (const id of ids.slice(0, SIZES.traded)) {
    const { yes_token_id, no_token_id } = await maker.client.market(id);
    markets.push({ id, yes_token_id: yes_token_id, no_token_id: no_token_id, ticks_per_unit: TICKS });
  }
  await trade(markets, maker, hostile);
  const hashes = await fillBook(markets[0], maker, hostile);
  await whenIdle(server.pid!);
  const known: Kept = {
    markets: ids,
    busyMarket: ids[0],
    seriesMarket: ids[SIZES.markets - 1],
    largeEvent: 'event-0',
    events: Array.from({ length: SIZES.events }, (_, index) => `event-${index}`),
    ...hashes,
    address: hostile.address,
    credentials: hostile.credentials,
  };
  await server.stop();
  writeFileSync(join(kept, 'known.json'), JSON.stringify(known));
}

/** The first markets all belong to the first event, the last ones to a series without an event. */
async function importCatalogue(server: TestServer): Promise<string[]> {
  const random = new Random(SEED);
  const soon = new Date(Date.now() + 300 * DAY_MS).toISOString();
  const word = (): string => WORDS[random.below(WORDS.length)];
  const eventLines = Array.from({ length: SIZES.events }, (_, index) => ({
    event: {
      slug: `event-${index}`,
      title: `The ${word()} against the ${word()} ${index}`,
      category: index % 4 === 0 ? 'Weather' : 'Sports',
      status: index % 5 === 0 ? 'live' : 'upcoming',
      sport_league: LEAGUES[index % LEAGUES.length],
      start_time: soon,
    },
  }));
  await send(server, eventLines);
  const marketLines = Array.from({ length: SIZES.markets }, (_, index) => ({
    market: {
      external_event_id: `G-${index}`,
      ...placeOf(index),
      title: `Will the ${word()} beat the ${word()} in game ${index}?`,
      description: 'Yes if the first side has the higher score at the end of the game, after any overtime.',
      category: index % 4 === 0 ? 'Weather' : 'Sports',
      trading_ends_at: soon,
    },
  }));
  await send(server, marketLines);
  const ids = new Map<string, string>();
  for (let cursor = ''; ; ) {
    const path = `/v1/markets?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`;
    // The read model follows the import.
    const body = await eventually('a page of markets', async () => {
      const answer = await server.request('GET', path);
      return answer.status === 200 && answer.body.total === SIZES.markets ? answer.body : false;
    });
    for (const market of body.markets) ids.set(market.external_event_id, market.id);
    if (body.next_cursor === null) break;
    cursor = body.next_cursor;
  }
  return Array.from({ length: SIZES.markets }, (_, index) => ids.get(`G-${index}`)!);
}

function placeOf(index: number): object {
  if (index < SIZES.large) return { event_slug: 'event-0' };
  if (index >= SIZES.markets - SIZES.large) return { series_ticker: 'SERIES' };
  return { event_slug: `event-${index % SIZES.events}` };
}

async function send(server: TestServer, lines: readonly object[]): Promise<void> {
  for (let from = 0; from < lines.length; from += MAX_IMPORT_LINES) {
    const part = lines.slice(from, from + MAX_IMPORT_LINES).map((line) => `${JSON.stringify(line)}\n`);
    const { created, lines: reports } = await server.admin.importCatalogue(part.join(''));
    const failed = reports.find(({ result }) => result === 'failed');
    assert(created === part.length, `reads: every line is imported, ${JSON.stringify(failed)}`);
  }
}

/** Most trades are in the first market, the others are spread over many. */
async function trade(markets: readonly OrderMarket[], maker: Trader, hostile: Trader): Promise<void> {
  for (let placed = 0; placed < SIZES.orders; placed += BATCH) {
    const market = placed % 2 === 0 ? markets[0] : markets[(placed * 7) % SIZES.traded];
    const size = 2;
    const orders = (trader: Trader, outcomeIndex: 0 | 1, price: string) =>
      Array.from({ length: BATCH }, () => trader.body(market, { price, size: String(size), outcomeIndex }));
    const [made, taken] = [orders(maker, 1, '0.50'), orders(hostile, 0, '0.50')];
    for (const [trader, batch] of [
      [maker, made],
      [hostile, taken],
    ] as const) {
      const { succeeded } = (await trader.send('POST', '/v1/orders/batch', { orders: batch })).body;
      assert(succeeded === BATCH, 'reads: every order is accepted');
    }
  }
}

async function fillBook(market: OrderMarket, maker: Trader, hostile: Trader) {
  for (let placed = 0; placed < SIZES.open; placed += BATCH) {
    for (const trader of [maker, hostile]) {
      const orders = Array.from({ length: BATCH }, (_, index) =>
        trader.body(market, {
          price: `0.${String(1 + ((placed + index) % 48)).padStart(2, '0')}`,
          size: '2',
          outcomeIndex: index % 2 === 0 ? 0 : 1,
        }),
      );
      const { succeeded } = (await trader.send('POST', '/v1/orders/batch', { orders })).body;
      if (succeeded !== BATCH) break;
    }
  }
  const rest = await hostile.place(market, { price: '0.03', size: '5' });
  const { body } = await hostile.send('GET', '/v1/user/trades/v2?limit=1');
  return { openHash: rest.order_hash, filledHash: String(body.trades[0].order_hash ?? rest.order_hash) };
}

/** Finds the files as a browser would. */
async function filesOf(server: TestServer): Promise<Known['files']> {
  const text = async (path: string): Promise<string> => (await fetch(server.baseUrl + path)).text();
  const pages = [await text('/'), await text('/docs')].join('\n');
  const named = (prefix: string): string[] => [
    ...new Set([...pages.matchAll(new RegExp(`"${prefix}([\\w.-]+)[#"]`, 'g'))].map(([, name]) => name)),
  ];
  return {
    '/assets/:file': named('/assets/'),
    '/docs/:page': named('/docs/'),
    '/docs/api/:page': named('/docs/api/'),
    '/docs/assets/:file': named('/docs/assets/'),
  };
}
