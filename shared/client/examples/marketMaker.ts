/**
 * A market maker for a few markets: read it from top to bottom and use it as a starting point.
 *
 * In each market it keeps one bid for Yes and one bid for No, around its estimate of the value of Yes. Buying No at p
 * is the same as selling Yes at 1 - p, so both sides need only USDC, and when both are filled the pair is merged into
 * one USDC.
 *
 *   - Inventory: the more Yes it has, the lower it quotes, so that the market takes the surplus off it.
 *   - Fill protection: all its orders are in one order group. When more than `maxFilled` tokens are filled within a
 *     second, the exchange cancels them all in that same step; it pauses, and reads the market again.
 *   - Heartbeats: if this program dies, the exchange cancels its orders by itself after some seconds.
 *   - It avoids refusals: a better quote stays just short of the best one on the other side.
 *   - It has its account to itself: orders, their group and heartbeats are the account's.
 *   - It may be started, killed and started again: what it left behind is cancelled first, and its inventory is what
 *     the exchange says.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { OUTCOME, type Outcome } from '../../base/codes.ts';
import { tickToPrice, tryParsePriceTicks, unitsToDecimal } from '../../base/units.ts';
import type { Eip712Domain } from '../../crypto/eip712.ts';
import { isRefusal as isOfExchange } from '../answers.ts';
import { ApiError } from '../http.ts';
import { draftOrder, type OrderMarket } from '../order.ts';
import { OrderSigner } from '../orderSigner.ts';
import type { Balances, OrderGroupSettings, PlacementBody } from '../types.ts';

/** An ExchangeClient is one, and so is a recorded day (../backtest). */
export type MakerExchange = {
  heartbeat(): Promise<unknown>;
  refreshConfig(): Promise<unknown>;
  signingDomain(): Promise<Eip712Domain>;
  orderMarket(marketId: string): Promise<OrderMarket>;
  feeRate(marketId: string): Promise<{ readonly maker_fee_bps: number }>;
  bbo(marketId: string): Promise<{ readonly best_bid: string | null; readonly best_ask: string | null }>;
  setOrderGroup(name: string, settings: OrderGroupSettings): Promise<unknown>;
  resetOrderGroup(name: string): Promise<unknown>;
  balances(): Promise<Balances>;
  readonly wallets: { nonceFloor(address: string): Promise<{ readonly nonce_floor: number }> };
  openOrders(marketId: string): Promise<readonly { readonly order_hash: string }[]>;
  placeOrder(body: PlacementBody): Promise<{ readonly order_hash: string }>;
  cancelReplace(hash: string, body: PlacementBody): Promise<{ readonly order: { readonly order_hash: string } }>;
  cancelOrder(hash: string): Promise<unknown>;
  cancelMarket(marketId: string): Promise<unknown>;
  merge(marketId: string, amountAtomic: number): Promise<unknown>;
};

export type MakerSettings = {
  /** Ticks between the value and each quote: the same in all markets, or for each by its grid. */
  readonly halfSpreadTicks: number | ((ticksPerUnit: number) => number);
  /** Tokens of each quote. */
  readonly size: number;
  /** The quotes move by one tick for each of this many tokens of inventory. */
  readonly tokensPerTick: number;
  /** Beyond this inventory it quotes only the side that reduces it. */
  readonly maxInventory: number;
  /** Tokens that may be filled in all markets within a second. */
  readonly maxFilled: number;
  readonly requoteMs: number;
};

/** Estimates the value of a Yes, from 0 to 1: the one part that you have to write. */
type Value = (marketId: string) => number | Promise<number>;

type Quote = { readonly hash: string; readonly ticks: number };
type Quoted = { readonly market: OrderMarket; feeRateBps: number; readonly quotes: [Quote | null, Quote | null] };

const GROUP = 'market-maker';
const HEARTBEAT_MS = 5000;
const ATOMIC_PER_TOKEN = 1_000_000;
const PAUSE_AFTER_TRIP_MS = 2000;
/** Temporary errors: the exchange restarts, is busy, or refuses for its rate limit. */
const RETRY_MS = 1000;

export class MarketMaker {
  readonly #client: MakerExchange;
  readonly #privateKey: string;
  readonly #value: Value;
  readonly #settings: MakerSettings;
  readonly #pause: (ms: number) => Promise<unknown>;
  readonly #quoted: Quoted[] = [];
  /** The floor of the wallet: its owner cancels every quote that was ever signed by raising it. */
  #nonce = 0;
  #signer: OrderSigner | null = null;
  #isRunning = true;
  /** False after a request without an answer: an order may be in the book that is not among the quotes. */
  #isCertain = true;

  /** @param pause waits for so many milliseconds; a backtest has a clock of its own */
  constructor(
    client: MakerExchange,
    privateKey: string,
    value: Value,
    settings: MakerSettings,
    pause: (ms: number) => Promise<unknown> = sleep,
  ) {
    this.#client = client;
    this.#privateKey = privateKey;
    this.#value = value;
    this.#settings = settings;
    this.#pause = pause;
  }

  /** Quotes until `stop`. Waits out temporary failures; throws a failure that no retry can fix. */
  async run(marketIds: readonly string[]): Promise<void> {
    const heart = setInterval(() => this.#client.heartbeat().catch(() => {}), HEARTBEAT_MS);
    try {
      await this.#patiently(() => this.#prepare(marketIds));
      while (this.#isRunning) {
        await this.#patiently(() => this.#requote());
        await this.#pause(this.#settings.requoteMs);
      }
      await this.#patiently(() => this.#withdraw(marketIds));
    } finally {
      clearInterval(heart);
    }
  }

  /** Ends `run`, which cancels the quotes. */
  stop(): void {
    this.#isRunning = false;
  }

  /** Starts from scratch: no orders of an earlier run, a fresh group, the grid and fee of each market. */
  async #prepare(marketIds: readonly string[]): Promise<void> {
    const { maxFilled } = this.#settings;
    this.#quoted.length = 0;
    this.#signer = new OrderSigner(this.#privateKey, await this.#client.signingDomain());
    this.#nonce = (await this.#client.wallets.nonceFloor(this.#signer.address)).nonce_floor;
    await this.#withdraw(marketIds);
    const most = String(maxFilled * ATOMIC_PER_TOKEN);
    await this.#client.setOrderGroup(GROUP, { window_seconds: 1, max_token_quantity_atomic: most });
    await this.#client.resetOrderGroup(GROUP);
    for (const id of marketIds) {
      const market = await this.#client.orderMarket(id);
      const { maker_fee_bps } = await this.#client.feeRate(id);
      this.#quoted.push({ market, feeRateBps: maker_fee_bps, quotes: [null, null] });
    }
  }

  async #startAgain(): Promise<void> {
    await this.#withdraw(this.#quoted.map(({ market }) => market.id));
    for (const { quotes } of this.#quoted) quotes.fill(null);
    this.#isCertain = true;
  }

  async #withdraw(marketIds: readonly string[]): Promise<void> {
    for (const id of marketIds) await this.#client.cancelMarket(id);
  }

  async #requote(): Promise<void> {
    if (!this.#isCertain) await this.#startAgain();
    const balances = await this.#client.balances();
    const inventory = surplusOf(balances);
    await this.#mergePairs(balances);
    for (const quoted of this.#quoted) {
      const { market, quotes } = quoted;
      const { id, ticks_per_unit } = market;
      const open = await this.#openHashes(id);
      for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
        if (!open.has(quotes[outcome]?.hash ?? '')) quotes[outcome] = null;
      }
      const surplus = inventory.get(id) ?? 0;
      const skewTicks = surplus / this.#settings.tokensPerTick;
      const valueTicks = (await this.#value(id)) * ticks_per_unit - skewTicks;
      const { halfSpreadTicks, maxInventory } = this.#settings;
      const half = typeof halfSpreadTicks === 'number' ? halfSpreadTicks : halfSpreadTicks(ticks_per_unit);
      const bid = Math.floor(valueTicks - half);
      const ask = Math.ceil(valueTicks + half);
      const bids = [surplus < maxInventory ? bid : null, surplus > -maxInventory ? ticks_per_unit - ask : null];
      // The side that the value moves away from goes first, or the other one would cross it.
      const isRising = bid > (quotes[OUTCOME.YES]?.ticks ?? 0);
      for (const outcome of isRising ? [OUTCOME.NO, OUTCOME.YES] : [OUTCOME.YES, OUTCOME.NO]) {
        await this.#quote(quoted, outcome, bids[outcome]);
      }
    }
  }

  /** A Yes and a No together are one USDC, which is of more use than the two tokens. */
  async #mergePairs({ tokens }: Balances): Promise<void> {
    for (const { market } of this.#quoted) {
      const held = tokens.filter(({ market_id }) => market_id === market.id).map(({ available }) => Number(available));
      const pairsAtomic = held.length === 2 ? Math.min(...held) : 0;
      const lots = Math.floor(pairsAtomic / market.ticks_per_unit);
      if (pairsAtomic >= ATOMIC_PER_TOKEN) await this.#client.merge(market.id, lots * market.ticks_per_unit);
    }
  }

  /** Quotes that are filled or cancelled are not among them. Asked just before they are used: takers do not wait. */
  async #openHashes(marketId: string): Promise<ReadonlySet<string>> {
    const orders = await this.#client.openOrders(marketId);
    return new Set(orders.map(({ order_hash }) => order_hash));
  }

  /** Makes sure that the one bid for this outcome is at this price. @param wanted in ticks; null for no bid */
  async #quote(quoted: Quoted, outcome: Outcome, wanted: number | null): Promise<void> {
    const { quotes, market } = quoted;
    const before = quotes[outcome];
    const isBetter = wanted !== null && wanted > (before?.ticks ?? 0);
    const ticks = isBetter ? Math.min(wanted, await this.#mostTicks(market, outcome)) : wanted;
    if (ticks === null || ticks < 1 || ticks >= market.ticks_per_unit) {
      if (before !== null) await this.#client.cancelOrder(before.hash).catch(unlessGone);
      quotes[outcome] = null;
      return;
    }
    if (before?.ticks === ticks) return;
    const body = this.#sign(quoted, outcome, ticks);
    try {
      // A replacement is one step, so there is never a moment without a quote, or with two.
      const placed =
        before === null
          ? await this.#client.placeOrder(body)
          : (await this.#client.cancelReplace(before.hash, body)).order;
      quotes[outcome] = { hash: placed.order_hash, ticks };
    } catch (error) {
      // A post-only order that would trade at once: the old quote stays, and the next round tries from there.
      if (isRefusal(error, 'POST_ONLY_WOULD_CROSS')) return;
      quotes[outcome] = null;
      unlessGone(error);
    }
  }

  /** The highest bid that meets no order: a post-only order at more would be refused. */
  async #mostTicks({ id, ticks_per_unit }: OrderMarket, outcome: Outcome): Promise<number> {
    const { best_bid, best_ask } = await this.#client.bbo(id);
    const ask = best_ask === null ? ticks_per_unit : tryParsePriceTicks(best_ask, ticks_per_unit);
    const bid = best_bid === null ? 0 : tryParsePriceTicks(best_bid, ticks_per_unit);
    return (outcome === OUTCOME.YES ? ask : ticks_per_unit - bid) - 1;
  }

  #sign({ market, feeRateBps }: Quoted, outcomeIndex: Outcome, ticks: number) {
    const price = tickToPrice(ticks, market.ticks_per_unit);
    const size = unitsToDecimal(this.#settings.size * ATOMIC_PER_TOKEN);
    const quote = { outcomeIndex, side: 'BUY', price, size, postOnly: true, orderGroup: GROUP } as const;
    return this.#signer!.sign(draftOrder({ market, feeRateBps, nonce: this.#nonce, ...quote })).body;
  }

  /** Repeats a step that a temporary failure has interrupted, starting from a known state again. */
  async #patiently(step: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await step();
        return;
      } catch (error) {
        if (!this.#isRunning) return;
        await this.#pause(await this.#recover(error));
      }
    }
  }

  /** @returns milliseconds to wait before the next try */
  async #recover(error: unknown): Promise<number> {
    if (isRefusal(error, 'ORDER_GROUP_TRIGGERED')) {
      // The exchange has cancelled every quote. A taker that large may know something: wait, then start anew.
      for (const { quotes } of this.#quoted) quotes.fill(null);
      await this.#pause(PAUSE_AFTER_TRIP_MS);
      await this.#client.resetOrderGroup(GROUP).catch(() => {});
      return 0;
    }
    if (isRefusal(error, 'FEE_RATE_MISMATCH')) {
      for (const quoted of this.#quoted) {
        quoted.feeRateBps = (await this.#client.feeRate(quoted.market.id)).maker_fee_bps;
      }
      return 0;
    }
    if (isRefusal(error, 'NONCE_BELOW_FLOOR')) {
      this.#nonce = (error.details as { nonce_floor: number }).nonce_floor;
      return 0;
    }
    if (isRefusal(error, 'INVALID_SIGNATURE')) {
      // The exchange has new contracts, which are part of what an order signs.
      await this.#client.refreshConfig();
      if (this.#signer!.useDomain(await this.#client.signingDomain())) return 0;
      throw error;
    }
    const isNo = isOfExchange(error);
    if (!isNo || error.status >= 500) this.#isCertain = false;
    const isMomentary = !isNo || error.status === 429 || error.status >= 500;
    if (!isMomentary) throw error;
    return Math.max(RETRY_MS, (error instanceof ApiError ? (error.retryAfter ?? 0) : 0) * 1000);
  }
}

/** Yes less No, in tokens, by market. */
function surplusOf({ tokens }: Balances): ReadonlyMap<string, number> {
  const surplus = new Map<string, number>();
  for (const { market_id, outcome_index, available, reserved } of tokens) {
    const held = (Number(available) + Number(reserved)) / ATOMIC_PER_TOKEN;
    const sign = outcome_index === OUTCOME.YES ? 1 : -1;
    surplus.set(market_id, (surplus.get(market_id) ?? 0) + sign * held);
  }
  return surplus;
}

/** An order that is filled, cancelled or unknown needs no cancel; any other failure is thrown. */
function unlessGone(error: unknown): void {
  if (!isOfExchange(error) || (error.status !== 404 && error.status !== 409)) throw error;
}

function isRefusal(error: unknown, code: string): error is ApiError {
  return error instanceof ApiError && error.code === code;
}
