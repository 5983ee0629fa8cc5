/**
 * The whole server with a catalogue that was imported as by an administrator: how fast an import is, what pages of the
 * catalogue and of public statistics cost over HTTP, and what a cached list costs the server compared with the same
 * number of bytes from uWebSockets.js alone.
 */
import { Agent, get as httpGet } from 'node:http';
import { MAX_IMPORT_LINES } from '../shared/api/catalogue.ts';
import { assert } from '../shared/base/assert.ts';
import { Random } from '../test/support/random.ts';
import { type Scope, startServer, type TestServer } from '../test/support/server.ts';
import { LEAGUES, type Sizes, WORDS } from './catalogueHistory.ts';
import { Histogram } from './histogram.ts';
import { startBareServer } from './loadTarget.ts';
import { threadSeconds } from './processStat.ts';
import { atLeast, type Goal, median, type Row, STOLEN, StealMeter } from './report.ts';

const SEED = 13;
const PAGES = 100;
/** The system counts processor time in hundredths of a second: this many requests take several of them. */
const CACHED = 3000;
const ROUNDS = 5;
const IN_FLIGHT = 16;
const LEAST_CACHED_RATIO = 0.5;
const LEAST_IMPORTED = 2000;

type ServerReport = { readonly settings: string; readonly rows: Row[]; readonly goals: Goal[] };
type Latency = { readonly p50Us: number; readonly p99Us: number; readonly processorUs: number };

export async function measureServer(sizes: Sizes): Promise<ServerReport> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  // Kept-alive connections: a new one for each request would cost more than the request.
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  scope.after(() => agent.destroy());
  try {
    const server = await startServer(scope, { SHARDS: '' });
    const imported = await importCatalogue(server, sizes);
    const rows: Row[] = [{ what: 'import, over HTTP', 'per second': imported }];
    for (const [name, path] of Object.entries(PATHS)) {
      const steal = new StealMeter();
      const random = new Random(SEED);
      const measured = await get(agent, server.baseUrl, server.pid!, PAGES, () => path(random, sizes));
      rows.push({ what: `page, ${name}`, ...latencyRow(measured), [STOLEN]: steal.percent() });
    }
    const bare = await startBareServer(scope);
    const cached = await measureCached(agent, server, { baseUrl: bare.baseUrl, pid: bare.pid! });
    return {
      settings:
        `${PAGES} pages of each kind over HTTP, ${IN_FLIGHT} in flight, and ${ROUNDS} rounds of ${CACHED} of one ` +
        `that is in the cache; seed ${SEED}`,
      rows: [...rows, ...cached.rows],
      goals: [
        atLeast('cached list of 100 markets, cost of a bare GET to its', cached.ratio, LEAST_CACHED_RATIO),
        atLeast('markets imported a second', imported, LEAST_IMPORTED),
      ],
    };
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

/** The sides alternate, because both sides of the ratio vary; the median round counts. */
async function measureCached(
  agent: Agent,
  server: TestServer,
  bare: { readonly baseUrl: string; readonly pid: number },
): Promise<{ readonly rows: Row[]; readonly ratio: number }> {
  const list = '/v1/markets?limit=100';
  const bytes = (await (await fetch(server.baseUrl + list)).arrayBuffer()).byteLength;
  const rounds: { own: Latency; peer: Latency; ratio: number; stolen: number | string }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const steal = new StealMeter();
    const own = await get(agent, server.baseUrl, server.pid!, CACHED, () => list);
    const peer = await get(agent, bare.baseUrl, bare.pid, CACHED, () => `/bytes/${bytes}`);
    rounds.push({ own, peer, ratio: peer.processorUs / own.processorUs, stolen: steal.percent() });
  }
  const ratio = median(rounds.map((round) => round.ratio));
  const { own, peer, stolen } = rounds.find((round) => round.ratio === ratio)!;
  const rows: Row[] = [
    { what: `list of 100 again and again, ${bytes} bytes`, ...latencyRow(own), [STOLEN]: stolen },
    { what: 'bare GET of as many bytes', ...latencyRow(peer), [STOLEN]: stolen },
  ];
  return { rows, ratio };
}

const PATHS: Readonly<Record<string, (random: Random, sizes: Sizes) => string>> = {
  'newest markets': () => '/v1/markets?limit=20',
  'markets of a category': (random) => `/v1/markets?category=${random.below(2) === 0 ? 'Sports' : 'Weather'}`,
  'markets by a rare word': (random, { markets }) => `/v1/markets?search=${random.below(markets)}`,
  'markets by words': (random) => `/v1/markets?search=${oneOf(WORDS, random)}`,
  'markets by volume': () => '/v1/markets?sort=total_volume',
  'markets by title, far down': (random, { markets }) =>
    `/v1/markets?sort=title&order=asc&offset=${random.below(markets)}`,
  events: () => '/v1/events',
  metadata: () => '/v1/markets/metadata',
  browse: () => '/v1/events/browse',
  'browse a league': (random) => `/v1/events/browse?sport_league=${oneOf(LEAGUES, random)}`,
  'page of an event': (random, { events }) => `/v1/events/event-${random.below(events)}/view`,
  pulse: () => '/v1/markets/stats/pulse',
  spotlight: () => '/v1/markets/stats/category-spotlight',
  'recent fills': () => '/v1/markets/fills/recent',
  leaderboard: () => '/v1/leaderboards/traders',
};

/** @returns markets per second, without events. */
async function importCatalogue(server: TestServer, { markets, events }: Sizes): Promise<number> {
  const random = new Random(SEED);
  const soon = new Date(Date.now() + 30 * 86_400_000).toISOString();
  const word = (): string => oneOf(WORDS, random);
  const eventLines = Array.from({ length: events }, (_, index) => ({
    event: {
      slug: `event-${index}`,
      title: `The ${word()} against the ${word()} ${index}`,
      category: index % 4 === 0 ? 'Weather' : 'Sports',
      sport_league: LEAGUES[index % LEAGUES.length],
      start_time: soon,
    },
  }));
  await send(server, eventLines);
  const started = performance.now();
  for (let from = 0; from < markets; from += MAX_IMPORT_LINES) {
    const count = Math.min(MAX_IMPORT_LINES, markets - from);
    const lines = Array.from({ length: count }, (_, offset) => ({
      market: {
        external_event_id: `G-${from + offset}`,
        event_slug: `event-${(from + offset) % events}`,
        title: `Will the ${word()} beat the ${word()} in game ${from + offset}?`,
        description: 'Yes if the first side has the higher score at the end of the game, after any overtime.',
        category: ((from + offset) % events) % 4 === 0 ? 'Weather' : 'Sports',
        trading_ends_at: soon,
      },
    }));
    await send(server, lines);
  }
  return markets / ((performance.now() - started) / 1000);
}

async function send(server: TestServer, lines: readonly object[]): Promise<void> {
  for (let from = 0; from < lines.length; from += MAX_IMPORT_LINES) {
    const part = lines.slice(from, from + MAX_IMPORT_LINES).map((line) => `${JSON.stringify(line)}\n`);
    const { created, lines: reports } = await server.admin.importCatalogue(part.join(''));
    const failed = reports.find(({ result }) => result === 'failed');
    if (failed !== undefined) throw new Error(`line ${failed.line}: ${failed.error}`);
    assert(created === part.length, 'catalogue: an empty exchange gets every line');
  }
}

async function get(
  agent: Agent,
  baseUrl: string,
  pid: number,
  requests: number,
  pathOf: () => string,
): Promise<Latency> {
  const histogram = new Histogram();
  const paths = Array.from({ length: requests }, pathOf);
  let next = 0;
  const before = threadSeconds(pid).get(pid)!;
  const client = async (): Promise<void> => {
    while (next < paths.length) {
      const path = paths[next++];
      const startedNs = process.hrtime.bigint();
      await read(agent, baseUrl + path);
      histogram.record(Number(process.hrtime.bigint() - startedNs));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, client));
  const seconds = threadSeconds(pid).get(pid)! - before;
  return {
    p50Us: histogram.quantileUs(0.5),
    p99Us: histogram.quantileUs(0.99),
    processorUs: (seconds * 1e6) / requests,
  };
}

/** Cheaper than fetch, which would occupy the processor that the server shares. */
function read(agent: Agent, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpGet(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.on('error', reject).on('end', resolve).resume();
    });
    request.on('error', reject);
  });
}

function latencyRow({ p50Us, p99Us, processorUs }: Latency): Row {
  return { 'p50 us': p50Us, 'p99 us': p99Us, 'processor us': processorUs };
}

function oneOf<T>(values: readonly T[], random: Random): T {
  return values[random.below(values.length)];
}
