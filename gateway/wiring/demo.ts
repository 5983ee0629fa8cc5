/**
 * The demo: the first start fills an empty data directory with it, so that the exchange can be tried at once. It has a
 * catalogue (data/demo/), imported like any other, two funded accounts, and two-sided books in some of the markets,
 * which one of the accounts quotes over HTTP like any other client. More accounts belong to the flow: a program
 * that makes markets in others and trades in them (shared/client/examples/demoFlow.ts). Where there is a flow, the demo
 * has a past (demoPast.ts).
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCOPE_NAMES } from '../../shared/api/accounts.ts';
import type { CatalogueLine } from '../../shared/api/catalogue.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { MOVEMENT, OUTCOME, type Outcome, SELF_TRADE } from '../../shared/base/codes.ts';
import { tickToPrice, tryParsePriceTicks } from '../../shared/base/units.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { draftOrder } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { BOOTSTRAP } from '../base/principal.ts';
import { toScopeMask } from '../base/scopes.ts';
import type { EventEntry, MarketEntry } from '../markets/catalog.ts';
import { demoCatalogue, readDemoFile } from './demoCatalogue.ts';
import { demoFile, flowAccounts } from './demoFile.ts';
import { DemoPast, listingsOf, pastStartMs } from './demoPast.ts';
import { type ValuedMarket, type ValuedQuestion, valuedQuestions } from './demoValues.ts';
import type { Exchange } from './exchange.ts';
import { PastClock } from './pastClock.ts';

/** data/live/demo.json, readable by its owner alone: `pmx` signs with its keys. */
export type Demo = {
  base_url: string;
  /** The market of the order that the banner prints. */
  market_id: string;
  accounts: DemoAccount[];
  /** Names of the flow's accounts, and the markets in which they trade. A demo of an earlier version has no flow. */
  flow?: {
    maker: string;
    deeper?: readonly string[];
    broad?: string;
    takers: readonly string[];
    /** They have traded before the first start, and do nothing since. */
    past?: readonly string[];
    market_ids: string[];
    /** The value of Yes by market, in those that are quoted; a demo of an earlier version has none. */
    values?: Readonly<Record<string, number>>;
  };
};

type DemoAccount = {
  name: string;
  user_id: string;
  key_id: string;
  secret: string;
  passphrase: string;
  private_key: string;
  wallet_address: string;
};

export type OpenedDemo = { readonly demo: Demo; readonly path: string; readonly isNew: boolean };

/** Price and size of each level, in Yes terms. */
type DemoBook = { bids: [price: string, size: string][]; asks: [price: string, size: string][] };

type DemoMarket = { readonly market: MarketEntry; readonly book: DemoBook };

/** The parts of a demo that are made before the port opens. */
type Made = Omit<Demo, 'base_url'> & { readonly quoted: readonly DemoMarket[] };

/** The first start of a demo with a flow lives through a past before its port opens. */
export type PastOfDemo = {
  readonly clock: PastClock;
  readonly live: (exchange: Exchange) => Promise<void>;
  /** Present once it was lived. */
  made: Made | null;
};

const FUNDS_MICRO = 10_000_000_000;
/** The flow has positions in hundreds of markets. */
const FLOW_FUNDS_MICRO = 250_000_000_000;
/** The printed order bids 0.55 for Yes; the first market of this event has an offer at that price. */
const EXAMPLE_EVENT = 'general-election';

/** The first account is for the visitor, the second one quotes. */
const NAMES = ['alice', 'bob'] as const;
const FLOW = {
  maker: 'maker',
  deeper: ['erin', 'frank', 'grace'],
  broad: 'heidi',
  takers: ['carol', 'dave'],
  past: ['ivan', 'judy', 'kim', 'lena'],
} as const;
/** Those of the past. The market makers begin without positions: theirs would move their quotes apart. */
const TRADERS: readonly string[] = [FLOW.broad, ...FLOW.takers, ...FLOW.past];
const FLOW_MARKETS = 24;
const MARKETS_BY_TURNS = 12;
const CONTROL_FILE = 'control.db';

/** @returns null if this start makes no demo, or one without a past: on a chain its money is as new as the contracts */
export function pastOfDemo({ demo, demoFlow, dataDir, chain, cluster }: Config, log: Logger): PastOfDemo | null {
  if (!demo || !demoFlow || chain !== null || cluster !== null || existsSync(join(dataDir, CONTROL_FILE))) return null;
  const nowMs = systemClock.nowMs();
  const clock = new PastClock(pastStartMs(nowMs));
  const past: PastOfDemo = {
    clock,
    made: null,
    live: async (exchange) => {
      if (!exchange.stores.isNew) return clock.arrive();
      const lived = new DemoPast(exchange, clock, nowMs);
      past.made = await make(exchange, nowMs, lived);
      log.info(lived.counts, 'the demo has a past');
    },
  };
  return past;
}

/** Opens the demo of this data directory, or makes it if the directory is new. @returns null if there is no demo. */
export async function openDemo(exchange: Exchange, log: Logger, past: PastOfDemo | null): Promise<OpenedDemo | null> {
  const path = demoFile(exchange.config.dataDir);
  if (!exchange.stores.isNew) return existsSync(path) ? reopen(path, exchange.baseUrl, log) : null;
  const { quoted, ...made } = past?.made ?? (await make(exchange, exchange.clock.nowMs(), null));
  const demo = { base_url: exchange.baseUrl, ...made };
  write(path, demo);
  for (const { market, book } of quoted) await quote(exchange, made.accounts[1], market, book);
  return { demo, path, isNew: true };
}

/** @param past null: everything is listed now, and nothing was traded */
async function make(exchange: Exchange, nowMs: number, past: DemoPast | null): Promise<Made> {
  const visitors: DemoAccount[] = [];
  for (const name of NAMES) visitors.push(await makeAccount(exchange, name, FUNDS_MICRO));
  const traders: DemoAccount[] = [];
  for (const name of flowAccounts(FLOW)) traders.push(await makeAccount(exchange, name, FLOW_FUNDS_MICRO));
  await past?.enter(traders.filter(({ name }) => TRADERS.includes(name)));
  const { catalog } = exchange.stores.control;
  const lines = demoCatalogue(nowMs).lines.map(beforeStart);
  const listings = past === null ? [{ atMs: nowMs, lines }] : listingsOf(lines, nowMs);
  const valued: ValuedMarket[] = [];
  let marketIds: string[] | null = null;
  for (const listing of listings) {
    await past?.passUntil(listing.atMs);
    const known = catalog.events.length;
    await importLines(exchange, listing.lines);
    const questions = valuesOf(exchange, catalog.events.slice(known));
    valued.push(...questions.flatMap(({ markets }) => markets));
    marketIds ??= flowMarkets(exchange, quotedMarkets(exchange), valued);
    past?.plan(questions, new Set([...marketIds, ...quotedMarkets(exchange).map(({ market }) => market.id)]));
  }
  const quoted = quotedMarkets(exchange);
  if (past !== null) {
    await past.arrive();
    const others = new Set([...marketIds!, ...quoted.map(({ market }) => market.id)]);
    const broad = valued.filter(({ market }) => !others.has(market.id));
    await past.quote(FLOW.broad, broad);
  }
  await goLive(exchange, nowMs);
  const values = Object.fromEntries(valued.map(({ market, value }) => [market.id, value]));
  const flow = { ...FLOW, market_ids: marketIds!, values };
  const example = catalog.eventBySlug(EXAMPLE_EVENT)!.markets[0];
  return { market_id: example.id, accounts: [...visitors, ...traders], flow, quoted };
}

async function makeAccount(
  { stores, trading, clock }: Exchange,
  name: string,
  fundsMicro: number,
): Promise<DemoAccount> {
  const privateKey = `0x${randomBytes(32).toString('hex')}`;
  const wallet = addressOf(privateKey);
  const nowMs = clock.nowMs();
  const { accounts, keys } = stores.control;
  const user = accounts.signUp(
    { displayName: name, email: null, role: 'market_maker', referralCode: null, wallet: wallet.toLowerCase() },
    nowMs,
  );
  await accounts.durable();
  const { key, secret, passphrase } = keys.issue(
    user,
    {
      scopes: toScopeMask(SCOPE_NAMES),
      tier: 'market_maker',
      rateLimitOverride: null,
      requireSigningVersion: 2,
      selfTradePrevention: SELF_TRADE.NONE,
    },
    null,
    nowMs,
  );
  const { movement } = await trading.funding.move(user.index, MOVEMENT.DEPOSIT, fundsMicro, 'demo');
  if (movement === null) throw new Error('demo: an account could not be funded');
  return {
    name,
    user_id: user.id,
    key_id: key.keyId,
    secret,
    passphrase,
    private_key: privateKey,
    wallet_address: wallet,
  };
}

/** A game that is played at present had not begun when it was listed. */
function beforeStart(line: CatalogueLine): CatalogueLine {
  return line.event?.status === 'live' ? { event: { ...line.event, status: 'upcoming' } } : line;
}

async function goLive(exchange: Exchange, nowMs: number): Promise<void> {
  const { lines, scores } = demoCatalogue(nowMs);
  const live = lines.flatMap(({ event }) => (event?.status === 'live' ? [event.slug!] : []));
  await importLines(
    exchange,
    live.map((slug) => ({ event: { slug, status: 'live' } })),
  );
  const { catalog, liveScores } = exchange.stores.control;
  for (const [slug, score] of scores) liveScores.set(catalog.eventBySlug(slug)!.index, score, exchange.clock.nowMs());
  await liveScores.durable();
}

async function importLines({ trading }: Exchange, lines: readonly CatalogueLine[]): Promise<void> {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const report = await trading.catalogueImport.run(Buffer.from(text), BOOTSTRAP);
  const failed = report.lines.find(({ result }) => result === 'failed');
  if (failed !== undefined) throw new Error(`demo: line ${failed.line} of the catalogue: ${failed.error}`);
}

/** @returns the markets that get an order book. */
function quotedMarkets({ stores }: Exchange): DemoMarket[] {
  const books = readDemoFile<Record<string, DemoBook>>('books.json');
  return stores.control.catalog.markets.flatMap((market) => {
    const book = books[market.details.external_event_id ?? ''];
    return book === undefined ? [] : [{ market, book }];
  });
}

function valuesOf(exchange: Exchange, events: readonly EventEntry[]): ValuedQuestion[] {
  const quoted = new Map(quotedMarkets(exchange).map(({ market, book }) => [market, middleOf(book)]));
  const { markets } = exchange.stores.views;
  const statusOf = ({ index }: MarketEntry) => (markets.has(index) ? markets.status(index) : null);
  return valuedQuestions(events, { statusOf, quotedValue: (market) => quoted.get(market) });
}

function middleOf({ bids, asks }: DemoBook): number {
  return (Number(bids[0][0]) + Number(asks[0][0])) / 2;
}

/**
 * Returns the first of those that are valued: one event of each category in turn, then the events that start first,
 * which a visitor sees first. Leaves out the markets whose books are quoted.
 */
function flowMarkets({ stores }: Exchange, quoted: readonly DemoMarket[], valued: readonly ValuedMarket[]): string[] {
  const { events } = stores.control.catalog;
  const hasValue = new Set(valued.map(({ market }) => market));
  const taken = new Set(quoted.map(({ market }) => market.eventId));
  const found: string[] = [];
  const addOf = (event: EventEntry | undefined, most: number): void => {
    if (event === undefined || taken.has(event.id) || found.length >= most) return;
    const market = event.markets.find((each) => hasValue.has(each));
    if (market === undefined) return;
    taken.add(event.id);
    found.push(market.id);
  };
  const byCategory = Map.groupBy(events, ({ details }) => details.category);
  for (let turn = 0; found.length < MARKETS_BY_TURNS && turn < events.length; turn++) {
    for (const ofCategory of byCategory.values()) addOf(ofCategory[turn], MARKETS_BY_TURNS);
  }
  const startOf = ({ details }: EventEntry): number => Date.parse(details.start_time);
  for (const event of [...events].sort((a, b) => startOf(a) - startOf(b))) addOf(event, FLOW_MARKETS);
  return found;
}

/** An offer of Yes at p is a bid for No at 1 - p, so both sides can be quoted with USDC alone. */
async function quote(exchange: Exchange, maker: DemoAccount, market: MarketEntry, book: DemoBook): Promise<void> {
  const { key_id: keyId, secret, passphrase } = maker;
  const client = new ExchangeClient({ baseUrl: exchange.baseUrl, credentials: { keyId, secret, passphrase } });
  const signer = new OrderSigner(maker.private_key, await client.signingDomain());
  const orderMarket = await client.orderMarket(market.id);
  const place = async (outcomeIndex: Outcome, price: string, size: string): Promise<void> => {
    const { feeBps } = market.opening;
    const draft = draftOrder({ market: orderMarket, outcomeIndex, side: 'BUY', price, size, feeRateBps: feeBps });
    await client.placeOrder(signer.sign(draft).body);
  };
  for (const [price, size] of book.bids) await place(OUTCOME.YES, price, size);
  for (const [price, size] of book.asks) await place(OUTCOME.NO, complementOf(price, market.ticksPerUnit), size);
}

function complementOf(price: string, ticksPerUnit: number): string {
  return tickToPrice(ticksPerUnit - tryParsePriceTicks(price, ticksPerUnit), ticksPerUnit);
}

/**
 * The port may have changed since the last start. A damaged file does not stop the exchange: only the demo needs it.
 */
function reopen(path: string, baseUrl: string, log: Logger): OpenedDemo | null {
  const demo = tryRead(path);
  if (demo === null) {
    log.warn({ path }, 'the demo file is damaged: going on without it');
    return null;
  }
  if (demo.base_url === baseUrl) return { demo, path, isNew: false };
  const moved = { ...demo, base_url: baseUrl };
  write(path, moved);
  return { demo: moved, path, isNew: false };
}

function tryRead(path: string): Demo | null {
  try {
    const demo: Partial<Demo> | null = JSON.parse(readFileSync(path, 'utf8'));
    const isDemo = typeof demo?.market_id === 'string' && Array.isArray(demo.accounts);
    return isDemo ? (demo as Demo) : null;
  } catch {
    return null;
  }
}

/** Writes a new file and renames it: the keys exist nowhere else, and a crash must not lose them. */
function write(path: string, demo: Demo): void {
  const next = `${path}.new`;
  writeFileSync(next, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(next, path);
}
