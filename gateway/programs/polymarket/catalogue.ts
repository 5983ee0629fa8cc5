/**
 * The markets that are listed here, kept in memory: those whose tick the clients know. A market of this exchange has
 * one condition with two tokens; where there is no chain, the condition is a hash of the market's id.
 *
 * Invariants:
 *   POLYCATALOGUE-1  At most MOST_MARKETS are kept, the newest.
 *   POLYCATALOGUE-2  However many requests ask for what is unknown, the exchange is asked once in REFRESH_MS.
 */
import { keccak256 } from 'viem';
import type { Clock } from '../../../shared/base/clock.ts';
import type { ExchangeClient } from '../../../shared/client/client.ts';
import type { Market, MarketEvent } from '../../../shared/client/types.ts';
import { Refusal } from './reply.ts';

const MOST_MARKETS = 5000;
const MOST_EVENTS = 1000;
const REFRESH_MS = 1000;
const OLD_MS = 30_000;
/** The time between two reads when markets change all the time. */
const CHANGED_MS = 100;
const PAGE = 100;
const AT_ONCE = 8;
const NOT_FOUND = 404;
/** By ticks to one USDC. The client of the first struct knows the first four. */
const TICKS = { 10: '0.1', 100: '0.01', 1000: '0.001', 10000: '0.0001' } as const;
const MORE_TICKS = { 200: '0.005', 400: '0.0025' } as const;

export type Listed = {
  readonly market: Market;
  readonly conditionId: string;
  readonly tokens: readonly [string, string];
  readonly ticksPerUnit: number;
  /** "0.01" */
  readonly tick: string;
  readonly leastAtomic: bigint;
};
export type Outcome = 0 | 1;
export type Token = { readonly listed: Listed; readonly outcome: Outcome; readonly tokenId: string };
type Grid = Pick<Listed, 'ticksPerUnit' | 'tick' | 'leastAtomic'>;

export class Catalogue {
  readonly #reads: ExchangeClient;
  readonly #clock: Clock;
  readonly #tickTexts: Readonly<Record<number, string>>;
  /** Null for a grid that clients do not know; a grid never changes. */
  readonly #grids = new Map<string, Grid | null>();
  #byToken = new Map<string, Token>();
  #byCondition = new Map<string, Listed>();
  #byId = new Map<string, Listed>();
  #events: readonly MarketEvent[] = [];
  #refreshedMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;
  #hasChanged = false;

  constructor(reads: ExchangeClient, clock: Clock, orderVersion: 1 | 2) {
    this.#reads = reads;
    this.#clock = clock;
    this.#tickTexts = orderVersion === 1 ? TICKS : { ...TICKS, ...MORE_TICKS };
  }

  /** The newest first. */
  async all(): Promise<readonly Listed[]> {
    await this.#notOlder(OLD_MS);
    return [...this.#byId.values()];
  }

  async events(): Promise<readonly MarketEvent[]> {
    await this.#notOlder(OLD_MS);
    return this.#events;
  }

  /** @throws Refusal with 404 */
  async token(tokenId: string): Promise<Token> {
    const token = await this.#found(() => this.#byToken.get(tokenId));
    if (token === undefined) throw new Refusal(NOT_FOUND, 'No orderbook exists for the requested token id');
    return token;
  }

  /** @throws Refusal with 404 */
  async condition(conditionId: string): Promise<Listed> {
    const listed = await this.#found(() => this.#byCondition.get(conditionId.toLowerCase()));
    if (listed === undefined) throw new Refusal(NOT_FOUND, 'market not found');
    return listed;
  }

  /** Of what is known already: null for a market that is not listed. */
  ofId(marketId: string): Listed | null {
    return this.#byId.get(marketId) ?? null;
  }

  /** The exchange has said that a market is new or different. */
  changed(): void {
    this.#hasChanged = true;
  }

  async #found<T>(look: () => T | undefined): Promise<T | undefined> {
    await this.#notOlder(OLD_MS);
    const before = look();
    if (before !== undefined) return before;
    await this.#notOlder(REFRESH_MS);
    return look();
  }

  /** POLYCATALOGUE-2. What was known stays while the exchange does not answer. */
  async #notOlder(ageMs: number): Promise<void> {
    const mostMs = this.#hasChanged ? Math.min(CHANGED_MS, ageMs) : ageMs;
    if (this.#clock.nowMs() - this.#refreshedMs < mostMs) return;
    this.#hasChanged = false;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    try {
      await this.#refreshing;
    } catch (error) {
      if (this.#byId.size === 0) throw error;
    }
    this.#refreshedMs = this.#clock.nowMs();
  }

  async #refresh(): Promise<void> {
    const markets: Market[] = [];
    let cursor: string | undefined;
    // POLYCATALOGUE-1.
    while (markets.length < MOST_MARKETS) {
      const page = await this.#reads.markets({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      markets.push(...page.markets);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    const listed = await this.#listed(markets.filter(hasTokens));
    this.#byId = new Map(listed.map((each) => [each.market.id, each]));
    this.#byCondition = new Map(listed.map((each) => [each.conditionId, each]));
    this.#byToken = new Map(
      listed.flatMap((each) =>
        ([0, 1] as const).map((outcome): [string, Token] => {
          const tokenId = each.tokens[outcome];
          return [tokenId, { listed: each, outcome, tokenId }];
        }),
      ),
    );
    this.#events = await this.#allEvents();
  }

  async #allEvents(): Promise<readonly MarketEvent[]> {
    const events: MarketEvent[] = [];
    for (;;) {
      const page = await this.#reads.events({ limit: PAGE, offset: events.length });
      events.push(...page.events);
      if (page.events.length < PAGE || events.length >= MOST_EVENTS) return events;
    }
  }

  async #listed(markets: readonly Market[]): Promise<readonly Listed[]> {
    const unknown = markets.filter(({ id }) => !this.#grids.has(id));
    const next = unknown.values();
    const worker = async (): Promise<void> => {
      for (const { id } of next) this.#grids.set(id, await this.#grid(id));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return markets.flatMap((market) => {
      const grid = this.#grids.get(market.id) ?? null;
      if (grid === null) return [];
      const conditionId = (market.condition_id ?? conditionOf(market.id)).toLowerCase();
      return [{ market, conditionId, tokens: [market.yes_token_id, market.no_token_id] as const, ...grid }];
    });
  }

  async #grid(marketId: string): Promise<Grid | null> {
    const { ticks_per_unit: ticksPerUnit, min_order_size_atomic } = await this.#reads.tickSize(marketId);
    const tick = this.#tickTexts[ticksPerUnit];
    return tick === undefined ? null : { ticksPerUnit, tick, leastAtomic: BigInt(min_order_size_atomic) };
  }
}

/** A market whose contract is not deployed yet has none. */
function hasTokens({ yes_token_id, no_token_id }: Partial<Market>): boolean {
  return yes_token_id !== undefined && no_token_id !== undefined;
}

/** The same for ever, and of the form of a condition. */
function conditionOf(marketId: string): string {
  return keccak256(Buffer.from(marketId));
}
