/**
 * A catalogue and a history of trades, made with the exchange's own writers: control.db by the catalogue, a journal
 * row for every market and trade, read.db by the projector. Millions of trades take minutes, so the directory of each
 * size is kept in the system's folder for temporary files and used again by the next run.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Projector } from '../engine/projector/projector.ts';
import { openControlDatabase } from '../gateway/base/database.ts';
import { Catalog, type NewMarket } from '../gateway/markets/catalog.ts';
import { completeEventDetails, completeMarketDetails } from '../gateway/markets/marketDetails.ts';
import { catalogPage } from '../gateway/wiring/catalogFeed.ts';
import { MARKET_STATUS, SIDE } from '../shared/base/codes.ts';
import { READ_DB_VERSION } from '../shared/tables/readDb.ts';
import { Progress } from '../shared/wire/progress.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { Random } from '../test/support/random.ts';
import { JournalScript } from '../test/support/records.ts';
import { threadSeconds } from './processStat.ts';

export type Sizes = {
  readonly markets: number;
  readonly events: number;
  readonly accounts: number;
  readonly trades: number;
};

/** Includes the projector's processor time for the followed records, even if an earlier run has followed them. */
type Made = { readonly readDbPath: string; readonly controlDbPath: string; readonly usPerTrade: number };

const SEED = 11;
const DAY_MS = 86_400_000;
/** All sizes have the same time span, so that they differ only in the number of trades. */
const SPAN_MS = 30 * DAY_MS;
/** Start of a day, so that a directory made yesterday has the same spans of statistics. */
export const END_MS = Date.UTC(2026, 9, 1);
const ROWS_OF_A_COMMIT = 2000;
/** The projector follows this many at a time, as if it were far behind. */
const ROWS_OF_A_BATCH = 50_000;
const MARKETS_OF_A_TRANSACTION = 500;
const LOTS = 10_000;
export const LEAGUES = ['NPL', 'SLC', 'CBL', 'GBL', 'PHL', 'IGL'] as const;
const CATEGORIES = ['Sports', 'Sports', 'Sports', 'Politics', 'Economics', 'Weather'] as const;
/** Titles are drawn from these, so that a search for one finds a share of the markets. */
export const WORDS = ['river', 'harbour', 'castle', 'forge', 'summit', 'delta', 'iron', 'aurora'] as const;

export function makeHistory(sizes: Sizes): Made {
  const name = `exchange-bench-catalogue-${READ_DB_VERSION}-${Object.values(sizes).join('-')}`;
  const directory = join(tmpdir(), name);
  const readDbPath = join(directory, 'read.db');
  const controlDbPath = join(directory, 'control.db');
  const complete = join(directory, 'complete');
  if (existsSync(complete)) return { readDbPath, controlDbPath, usPerTrade: Number(readFileSync(complete, 'utf8')) };
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const database = openControlDatabase(controlDbPath);
  const catalog = new Catalog(database, 1);
  makeCatalogue(catalog, sizes);
  const journalPath = join(directory, 'journal.db');
  const usPerTrade = trade(catalog, journalPath, readDbPath, sizes);
  database.close();
  // The other files are twice the size of read.db, and only read.db is measured.
  for (const suffix of ['', '-wal', '-shm']) rmSync(journalPath + suffix, { force: true });
  writeFileSync(complete, String(usPerTrade));
  return { readDbPath, controlDbPath, usPerTrade };
}

function makeCatalogue(catalog: Catalog, { markets, events }: Sizes): void {
  const random = new Random(SEED);
  const word = (): string => WORDS[random.below(WORDS.length)];
  for (let index = 0; index < events; index++) {
    const category = CATEGORIES[index % CATEGORIES.length];
    const details = completeEventDetails(
      {
        title: `The ${word()} against the ${word()} ${index}`,
        status: index % 5 === 0 ? 'live' : 'upcoming',
        category,
        sport_league: category === 'Sports' ? LEAGUES[index % LEAGUES.length] : null,
        start_time: new Date(END_MS + random.below(SPAN_MS)).toISOString(),
      },
      END_MS,
    );
    catalog.createEvent(`event-${index}`, details, END_MS - SPAN_MS);
  }
  const toMarket = (index: number): NewMarket => {
    const event = catalog.events[index % events];
    return {
      eventId: event.id,
      ticksPerUnit: 100,
      minOrderAtomic: 1_000_000,
      tokenIds: [String(2 * index + 1), String(2 * index + 2)],
      opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: END_MS - SPAN_MS, endMs: END_MS + SPAN_MS },
      details: completeMarketDetails({
        title: `Will the ${word()} beat the ${word()} in game ${index}?`,
        description: 'Yes if the first side has the higher score at the end of the game, after any overtime.',
        category: event.details.category,
        external_event_id: `G-${index}`,
      }),
    };
  };
  for (let from = 0; from < markets; from += MARKETS_OF_A_TRANSACTION) {
    const count = Math.min(MARKETS_OF_A_TRANSACTION, markets - from);
    catalog.createMarkets(
      Array.from({ length: count }, (_, offset) => toMarket(from + offset)),
      END_MS - SPAN_MS,
    );
  }
}

/** @returns the processor time of the projector for a trade, in microseconds. */
function trade(catalog: Catalog, journalPath: string, readDbPath: string, { accounts, trades }: Sizes): number {
  const random = new Random(SEED + 1);
  const script = new JournalScript(journalPath);
  const memory = Progress.create(1);
  const options = { journalPaths: [journalPath], keys: [TEST_KEY], readDbPath, progress: memory };
  const projector = new Projector(options, sourceOf(catalog));
  const follow = (): void => {
    projector.progress.setCommitted(0, script.journal.lastSequence);
    projector.progress.setLogged(0, script.journal.lastSequence);
    while (projector.behind() > 0) projector.step(false);
  };
  const startMs = END_MS - SPAN_MS;
  const terms = { status: MARKET_STATUS.ACTIVE, startMs, endMs: END_MS + SPAN_MS };
  for (const market of catalog.markets) {
    script.add(startMs, (events) => events.market(market.index, market.id, market.ticksPerUnit, terms));
    if (market.index % ROWS_OF_A_COMMIT === 0) script.journal.commit();
  }
  script.journal.commit();
  follow();
  // The catalogue comes in pages, one per step.
  while (projector.step(true));
  let seconds = 0;
  for (let from = 0; from < trades; from += ROWS_OF_A_COMMIT) {
    for (let index = from; index < Math.min(trades, from + ROWS_OF_A_COMMIT); index++) {
      // A few markets have most of the trades.
      const share = random.below(1_000_000) / 1_000_000;
      const market = Math.floor(share ** 3 * catalog.markets.length);
      const [maker, taker] = [1 + random.below(accounts), 1 + random.below(accounts)];
      writeTrade(script, startMs + Math.floor((index / trades) * SPAN_MS), index, { market, maker, taker, random });
    }
    script.journal.commit();
    if (Math.floor(from / ROWS_OF_A_BATCH) === Math.floor((from + ROWS_OF_A_COMMIT) / ROWS_OF_A_BATCH)) continue;
    const before = threadSeconds(process.pid).get(process.pid)!;
    follow();
    seconds += threadSeconds(process.pid).get(process.pid)! - before;
  }
  const before = threadSeconds(process.pid).get(process.pid)!;
  follow();
  while (projector.step(true));
  seconds += threadSeconds(process.pid).get(process.pid)! - before;
  projector.close();
  script.journal.close();
  return (seconds * 1e6) / trades;
}

type Draw = { readonly market: number; readonly maker: number; readonly taker: number; readonly random: Random };

function writeTrade(
  script: JournalScript,
  timeMs: number,
  index: number,
  { market, maker, taker, random }: Draw,
): void {
  const limitTicks = 40 + random.below(20);
  const lots = LOTS * (1 + random.below(50));
  const hash = (side: string): Uint8Array => createHash('sha256').update(`${side}${index}`).digest();
  script.add(timeMs, (events) => {
    events.order({ slot: 0, account: maker, market, lots, limitTicks, side: SIDE.BUY, hash: hash('maker') });
    events.order({ slot: 1, account: taker, market, lots, limitTicks, side: SIDE.SELL, hash: hash('taker') });
    events.fill({ maker: 0, taker: 1, yesTicks: limitTicks, lots, makerFee: 5000, takerFee: 2000 });
    events.filled(0);
    events.filled(1);
  });
}

/** Answers the projector's questions as the gateway does, at once. */
function sourceOf(catalog: Catalog) {
  let asked: number | null = null;
  return {
    ask: ({ after }: { readonly after: number }): void => {
      asked = after;
    },
    receive: () => {
      if (asked === null || asked === catalog.revisions.current) return null;
      const page = catalogPage(catalog, asked);
      asked = null;
      return page;
    },
  };
}
