/**
 * The past of a demo. At the first start the clock of commands begins some days ago, and before the port opens the
 * accounts of the flow trade through the days since, so that a visitor finds charts, changes and volumes.
 *
 *   PastClock ── time of each command ──► catalogue, funds, signed orders ──► shards ──► journals ──► read.db
 *
 * Invariant:
 *   DEMOPAST-1  Only the clock differs. Each order is signed by its account, admitted, matched and journaled like any
 *               other; nothing is written that the journals do not say. So replays, audits and projections agree.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CatalogueLine } from '../../shared/api/catalogue.ts';
import { OUTCOME, type Outcome, SELF_TRADE } from '../../shared/base/codes.ts';
import { E, errorRow, OK } from '../../shared/base/errors.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { BREADTH_SIZE, quotesAround, ticksOf } from '../../shared/client/examples/demoBreadth.ts';
import { draftOrder, type OrderMarket } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from '../../shared/crypto/eip712.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { MarketEntry } from '../markets/catalog.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';
import { OrderEncoder } from '../trading/encodeOrder.ts';
import { ParsedOrders } from '../trading/parsedOrders.ts';
import { type DemoTrade, demoTrades } from './demoTrades.ts';
import { popularityOf, type ValuedMarket, type ValuedQuestion } from './demoValues.ts';
import type { Exchange } from './exchange.ts';
import type { PastClock } from './pastClock.ts';

const DAY_MS = 86_400_000;
/** A chart of a week is full. */
const PAST_MS = 8 * DAY_MS;
/** Games so far ahead were listed on one of the days since the beginning: a list of new ones has an order. */
const FAR_MS = 5 * DAY_MS;
const LATER_DAYS = 6;
/** Trades of a market: few have many. Their sum decides how long a first start takes. */
const TRADES_OF_FIRST = 3;
const TRADES_OF_OTHERS = 1;
const MORE_TRADES = 6;
const RARITY = 12;
const TRADES_OF_BUSY = 12;
/** The least of a trade, and the most above it, which is rare. */
const LEAST_TOKENS = 20;
const MORE_TOKENS = 1980;
/** A game has many markets: with trades as large as elsewhere the first cards would be of games alone. */
const MORE_TOKENS_OF_GAMES = 900;
const SPORTS = 'Sports';
/** Orders that wait for their shards at once. */
const MOST_WAITING = 128;
const ORDERS_PER_TURN = 8;

type PastAccount = { readonly name: string; readonly private_key: string; readonly user_id: string };
/** Lines that are imported at a moment. */
type Listing = { readonly atMs: number; readonly lines: CatalogueLine[] };
/** Buys an outcome, at a price in ticks of it. */
type PastOrder = {
  readonly market: MarketEntry;
  readonly outcome: Outcome;
  readonly ticks: number;
  readonly size: string;
  /** False: what cannot be taken at once is given up. */
  readonly rests: boolean;
};
type Trader = { readonly name: string; readonly index: number; readonly signer: OrderSigner };

/** @param lines events before their markets */
export function listingsOf(lines: readonly CatalogueLine[], nowMs: number): Listing[] {
  const startMs = nowMs - PAST_MS;
  const listings = new Map<number, CatalogueLine[]>();
  let day = 0;
  let later = 0;
  for (const line of lines) {
    const { event } = line;
    if (event !== undefined) {
      const isFar = event.sport_league != null && Date.parse(event.start_time!) > nowMs + FAR_MS;
      day = isFar ? 1 + (later++ % LATER_DAYS) : 0;
    }
    const atMs = startMs + day * DAY_MS;
    const listed = listings.get(atMs) ?? [];
    listed.push(line);
    listings.set(atMs, listed);
  }
  return [...listings].map(([atMs, listed]) => ({ atMs, lines: listed })).sort((a, b) => a.atMs - b.atMs);
}

/** Trades between the accounts in the past: the caller lists markets, and lets time pass. */
export class DemoPast {
  readonly #exchange: Exchange;
  readonly #clock: PastClock;
  readonly #nowMs: number;
  readonly #encoder: OrderEncoder;
  readonly #parsed = new ParsedOrders();
  readonly #markets = new Map<string, MarketEntry>();
  #traders: readonly Trader[] = [];
  /** In the order of their times; the next one is the last. */
  #ahead: DemoTrade[] = [];
  #waiting = 0;
  #sent = 0;
  #refused = 0;
  #onReplied: () => void = () => {};
  readonly #onReply: ReplyHandler<null> = ({ code }) => {
    this.#waiting--;
    if (code !== OK) this.#refused++;
    this.#onReplied();
  };

  /** @param nowMs the present, up to which trades are planned */
  constructor(exchange: Exchange, clock: PastClock, nowMs: number) {
    this.#exchange = exchange;
    this.#clock = clock;
    this.#nowMs = nowMs;
    this.#encoder = new OrderEncoder(exchange.stores.control.accounts);
  }

  async enter(accounts: readonly PastAccount[]): Promise<void> {
    const { control } = this.#exchange.stores;
    const { chainId, exchange: verifyingContract } = control.contracts.current;
    const domain = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId, verifyingContract };
    const keccak = await createKeccak();
    this.#traders = accounts.map(({ name, private_key, user_id }) => {
      const { index } = control.accounts.byId(user_id)!;
      return { name, index, signer: new OrderSigner(private_key, domain, keccak) };
    });
  }

  /** These markets are listed now. @param busy those that are traded more than others */
  plan(questions: readonly ValuedQuestion[], busy: ReadonlySet<string>): void {
    const listedMs = this.#clock.nowMs();
    const planned = questions.map(({ isExclusive, markets }) => ({
      listedMs,
      isExclusive,
      markets: markets.map(({ market, value }, at) => {
        this.#markets.set(market.id, market);
        const least = (at === 0 ? TRADES_OF_FIRST : TRADES_OF_OTHERS) + (busy.has(market.id) ? TRADES_OF_BUSY : 0);
        return { id: market.id, value, trades: least + Math.round(MORE_TRADES * popularityOf(market) ** RARITY) };
      }),
    }));
    const added = demoTrades(planned, this.#nowMs, Math.random);
    this.#ahead = [...this.#ahead, ...added].sort((a, b) => b.atMs - a.atMs);
  }

  /** Lets time pass, with the trades of that time. */
  async passUntil(timeMs: number): Promise<void> {
    while (this.#ahead.length > 0 && this.#ahead.at(-1)!.atMs < timeMs) {
      const trade = this.#ahead.pop()!;
      this.#clock.moveTo(trade.atMs);
      await this.#trade(trade);
    }
    while (this.#waiting > 0) await this.#replied();
    this.#clock.moveTo(timeMs);
  }

  /** From now on it is the present. */
  async arrive(): Promise<void> {
    await this.passUntil(this.#nowMs);
    this.#clock.arrive();
  }

  /**
   * Offers both outcomes in these markets, as the flow does when it finds a book without orders.
   * @param name of one of the traders
   */
  async quote(name: string, valued: readonly ValuedMarket[]): Promise<void> {
    const trader = this.#traders.find((each) => each.name === name)!;
    for (const { market, value } of valued) {
      const { yes, no } = quotesAround(value, market.ticksPerUnit);
      const order = { market, size: BREADTH_SIZE, rests: true };
      await this.#place(trader, { ...order, outcome: OUTCOME.YES, ticks: yes });
      await this.#place(trader, { ...order, outcome: OUTCOME.NO, ticks: no });
    }
    while (this.#waiting > 0) await this.#replied();
  }

  /** The orders that were sent, and how many of them were refused. */
  get counts(): { readonly orders: number; readonly refused: number } {
    return { orders: this.#sent, refused: this.#refused };
  }

  /** Of two accounts one rests an order at the price, and the other takes all of it. */
  async #trade({ marketId, chance }: DemoTrade): Promise<void> {
    const market = this.#markets.get(marketId)!;
    const ticks = ticksOf(chance, market.ticksPerUnit);
    const more = market.details.category === SPORTS ? MORE_TOKENS_OF_GAMES : MORE_TOKENS;
    const size = String(LEAST_TOKENS + Math.floor(more * Math.random() ** 3));
    const first = Math.floor(Math.random() * this.#traders.length);
    const second = (first + 1 + Math.floor(Math.random() * (this.#traders.length - 1))) % this.#traders.length;
    const outcomes = Math.random() < 0.5 ? [OUTCOME.YES, OUTCOME.NO] : [OUTCOME.NO, OUTCOME.YES];
    for (const [at, trader] of [this.#traders[first], this.#traders[second]].entries()) {
      const outcome = outcomes[at];
      const own = outcome === OUTCOME.YES ? ticks : market.ticksPerUnit - ticks;
      await this.#place(trader, { market, outcome, ticks: own, size, rests: at === 0 });
    }
  }

  async #place({ index, signer }: Trader, { market, outcome, ticks, size, rests }: PastOrder): Promise<void> {
    const draft = draftOrder({
      market: orderMarketOf(market),
      outcomeIndex: outcome,
      side: 'BUY',
      price: tickToPrice(ticks, market.ticksPerUnit),
      size,
      feeRateBps: market.opening.feeBps,
      timeInForce: rests ? 'GTC' : 'FAK',
    });
    const order = this.#parsed.read(signer.sign(draft).body).kept();
    const placer = { accountIndex: index, selfTradePrevention: SELF_TRADE.NONE };
    // Replies are read between two turns.
    if (++this.#sent % ORDERS_PER_TURN === 0) await nextTurn();
    while (this.#waiting >= MOST_WAITING) await this.#replied();
    for (;;) {
      const writer = this.#encoder.ready(order, placer);
      const code = this.#exchange.trading.engine.place(market.shard, index, market.index, writer, this.#onReply, null);
      if (code === OK) break;
      if (code !== E.ENGINE_BUSY || this.#waiting === 0) throw new Error(`demo: ${errorRow(code).code}`);
      await this.#replied();
    }
    this.#waiting++;
  }

  #replied(): Promise<void> {
    return new Promise((resolve) => {
      this.#onReplied = resolve;
    });
  }
}

/** When the past begins. */
export function pastStartMs(nowMs: number): number {
  return nowMs - PAST_MS;
}

function orderMarketOf({ id, yesTokenId, noTokenId, ticksPerUnit }: MarketEntry): OrderMarket {
  return { id, yes_token_id: yesTokenId, no_token_id: noTokenId, ticks_per_unit: ticksPerUnit };
}
