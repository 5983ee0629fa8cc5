/**
 * A venue whose days take seconds: a real exchange whose clock is moved ahead, day by day. Each day a market opens and
 * one ends; makers quote both outcomes and cancel, a taker trades, the last quotes of the day expire, and accounts come
 * that place one order and are quiet ever after.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../shared/base/assert.ts';
import type { OrderMarket } from '../shared/client/order.ts';
import type { PlacementBody } from '../shared/client/types.ts';
import { eventually } from '../test/support/eventually.ts';
import { ROOT, TestServer } from '../test/support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../test/support/traders.ts';
import type { Been } from './growth.ts';
import { BATCH_ORDERS } from './loadClient.ts';

export const DAYS = 30;
const DAY_MS = 86_400_000;
const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** A market is open for as many days, and as many are open at a time. */
const LIFE_DAYS = 10;
const MAKERS = 4;
/** Batches of a maker between two of its cancels, each in a market of its own. */
const BATCHES = 2;
/** Of a day: the orders of the last one expire, all others are cancelled. */
const LEAST_ROUNDS = 2;
/** Orders of makers for each of a taker. */
const QUOTES_OF_TRADE = 25;
/** Orders of a day for each new account. */
const ORDERS_OF_ACCOUNT = 500;
const FUNDS_MICRO = 1e12;
const NEWCOMER_MICRO = 10_000_000;

const SETTINGS = {
  RATE_LIMITS: 'off',
  // Small bounds are reached within the first months, so that what is beyond them shows.
  ORDER_MEMORY_MB: '1',
  SNAPSHOT_EVERY: '5000',
  JOURNAL_KEEP: '20000',
  ARCHIVE_UNFILLED_DAYS: '10',
} as const;

type OpenMarket = { readonly market: OrderMarket; readonly endsDay: number };

export class Venue {
  readonly server: TestServer;
  readonly historyDir: string;
  readonly backups: string;
  readonly #env: Record<string, string>;
  readonly #clockFile: string;
  readonly #realNow = Date.now;
  #aheadMs = 0;
  #day = 0;
  #makers: Trader[] = [];
  #taker!: Trader;
  #first!: Trader;
  readonly #open: OpenMarket[] = [];
  #been: Been = { orders: 0, trades: 0, accounts: 0, markets: 0 };

  /** @param folder is the venue's own */
  constructor(folder: string) {
    this.#clockFile = join(folder, 'clock');
    this.historyDir = join(folder, 'history');
    this.backups = join(folder, 'backups');
    mkdirSync(this.historyDir, { recursive: true });
    this.server = new TestServer(join(folder, 'data'), '1');
    const clock = new URL('./venueClock.mjs', import.meta.url);
    this.#env = {
      ...SETTINGS,
      HISTORY_DIR: this.historyDir,
      VENUE_CLOCK: this.#clockFile,
      NODE_OPTIONS: `--import=${fileURLToPath(clock)}`,
    };
  }

  async open(): Promise<void> {
    writeFileSync(this.#clockFile, '0');
    Date.now = () => this.#realNow() + this.#aheadMs;
    await this.server.start(this.#env);
    for (let each = 0; each < MAKERS; each++) this.#makers.push(await this.#newTrader(FUNDS_MICRO));
    this.#taker = await this.#newTrader(FUNDS_MICRO);
    while (this.#open.length < LIFE_DAYS) await this.#openMarket(this.#open.length + 1);
    this.#first = await this.#newcomer();
  }

  async close(): Promise<void> {
    Date.now = this.#realNow;
    await this.server.kill();
  }

  get been(): Been {
    return this.#been;
  }

  /** Has an account for each kind of past: very many orders, many fills, and one order of the first day. */
  get accounts(): { readonly maker: Trader; readonly taker: Trader; readonly first: Trader } {
    return { maker: this.#makers[0], taker: this.#taker, first: this.#first };
  }

  get market(): OrderMarket {
    return this.#open[0].market;
  }

  async month(orders: number): Promise<void> {
    for (let day = 0; day < DAYS; day++) await this.#playDay(Math.ceil(orders / DAYS));
  }

  /** Starts the exchange again. @returns the seconds until it answers */
  async restart(isKilled: boolean): Promise<number> {
    if (isKilled) await this.server.kill();
    else assert((await this.server.stop()) === 0, 'years: the exchange stops in order');
    const startMs = performance.now();
    await this.server.start(this.#env);
    const seconds = (performance.now() - startMs) / SECOND_MS;
    this.#makers = this.#makers.map((trader) => trader.reconnected());
    this.#taker = this.#taker.reconnected();
    this.#first = this.#first.reconnected();
    return seconds;
  }

  async backUp(): Promise<void> {
    const args = ['--import', './shared/base/keptSources.mjs', 'engine/admin/main.ts', 'backup', this.backups];
    const env = { ...process.env, ...this.#env };
    const options = ['--data', this.server.dataDir, '--rate', '0'];
    const child: ChildProcess = spawn(process.execPath, [...args, ...options], {
      ...{ cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] },
    });
    const [code] = await once(child, 'exit');
    assert(code === 0, 'years: the backup is made');
  }

  async #playDay(orders: number): Promise<void> {
    const newcomers = Math.ceil(orders / ORDERS_OF_ACCOUNT);
    const rounds = Math.max(LEAST_ROUNDS, Math.ceil(orders / (MAKERS * BATCHES * BATCH_ORDERS)));
    for (let round = 0; round < rounds; round++) {
      const isLast = round === rounds - 1;
      await Promise.all(this.#makers.map((maker, index) => this.#quote(maker, index + round, isLast)));
      await this.#take(round);
      if (!isLast) await Promise.all(this.#makers.map(({ client }) => client.cancelAll()));
    }
    await Promise.all(Array.from({ length: newcomers }, () => this.#newcomer()));
    await this.#nextDay();
  }

  /** Bids for both outcomes that never meet. The last ones of a day end by their expiration. */
  async #quote(maker: Trader, turn: number, isLast: boolean): Promise<void> {
    const expirationSec = Math.floor((Date.now() + HOUR_MS) / SECOND_MS);
    const ending = isLast ? ({ timeInForce: 'GTD', expirationSec } as const) : {};
    const batches = Array.from({ length: BATCHES }, (_, batch) => {
      const { market } = this.#open[(turn * BATCHES + batch) % this.#open.length];
      return Array.from({ length: BATCH_ORDERS }, (_, index): PlacementBody => {
        const price = `0.${44 - (index >>> 1)}`;
        return maker.body(market, { ...ending, price, size: '5', outcomeIndex: index % 2 === 0 ? 0 : 1 });
      });
    });
    const answers = await Promise.all(batches.map((bodies) => maker.client.placeOrders(bodies)));
    for (const { succeeded, results } of answers)
      assert(succeeded === BATCH_ORDERS, `years: a maker's quotes are accepted: ${JSON.stringify(results[0])}`);
    this.#add({ orders: BATCHES * BATCH_ORDERS });
  }

  async #take(round: number): Promise<void> {
    const trades = Math.ceil((MAKERS * BATCHES * BATCH_ORDERS) / QUOTES_OF_TRADE);
    for (let done = 0; done < trades; ) {
      const count = Math.min(BATCH_ORDERS, trades - done);
      const bodies = Array.from({ length: count }, (_, index) => {
        const { market } = this.#open[(round + index) % this.#open.length];
        return this.#taker.body(market, { price: '0.60', size: '2', outcomeIndex: index % 2 === 0 ? 0 : 1 });
      });
      const { succeeded } = await this.#taker.client.placeOrders(bodies);
      assert(succeeded === count, 'years: the taker trades');
      done += count;
      this.#add({ orders: count, trades: count });
    }
    await this.#taker.client.cancelAll();
  }

  async #newcomer(): Promise<Trader> {
    const trader = await this.#newTrader(NEWCOMER_MICRO);
    await trader.place(this.#open.at(-1)!.market, { price: '0.20', size: '5' });
    this.#add({ orders: 1 });
    return trader;
  }

  async #newTrader(depositMicro: number): Promise<Trader> {
    const trader = await makeTrader(this.server, { depositMicro });
    this.#add({ accounts: 1 });
    return trader;
  }

  async #nextDay(): Promise<void> {
    this.#day++;
    this.#aheadMs += DAY_MS;
    writeFileSync(this.#clockFile, String(this.#aheadMs));
    const sinceSec = Math.floor(Date.now() / SECOND_MS) - 1;
    const { client } = this.#taker;
    await eventually('the exchange has the next day', async () => (await client.time()).time >= sinceSec);
    while (this.#open[0].endsDay <= this.#day) {
      const { market } = this.#open.shift()!;
      await this.server.admin.resolveMarket(market.id, { outcome_index: this.#day % 2 === 0 ? 0 : 1 });
      await this.server.admin.settleMarket(market.id);
      await this.#openMarket(LIFE_DAYS);
    }
  }

  async #openMarket(days: number): Promise<void> {
    const endsMs = Date.now() + days * DAY_MS - HOUR_MS;
    const market = await makeMarket(this.server, { trading_ends_at: new Date(endsMs).toISOString() });
    this.#open.push({ market, endsDay: this.#day + days });
    this.#add({ markets: 1 });
  }

  #add(more: Partial<Been>): void {
    const { orders = 0, trades = 0, accounts = 0, markets = 0 } = more;
    const been = this.#been;
    this.#been = {
      orders: been.orders + orders,
      trades: been.trades + trades,
      accounts: been.accounts + accounts,
      markets: been.markets + markets,
    };
  }
}
