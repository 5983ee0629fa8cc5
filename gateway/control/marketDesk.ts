/**
 * Opens and changes markets in both places that know them: the catalogue says what a market is, its shard how it
 * trades. The catalogue is written first when a market is made, so that no shard ever owns a market nobody can name,
 * and last when one is changed, so that a refused change is nowhere.
 * Owner: the gateway thread. One operation at a time: each sees what the one before it has done, and a market that its
 * shard refused is still the newest when it is taken back.
 */
import type { Clock } from '../../shared/clock.ts';
import { MARKET_STATUS, type MarketStatus } from '../../shared/codes.ts';
import { E, ERRORS, type ErrorRow, errorRow, OK } from '../../shared/errors.ts';
import type { Catalog, MarketDetails, MarketEntry, NewMarket } from './catalog.ts';

/** The part of the engine client used here. */
export type MarketEngine = {
  openMarket(market: MarketEntry, status: MarketStatus, feeBps: number): Promise<{ readonly code: number }>;
  patchMarket(market: number, shard: number, terms: MarketTerms): Promise<{ readonly code: number }>;
  decideMarket(
    market: number,
    shard: number,
    status: MarketStatus,
    payoutYesPpm: number,
  ): Promise<{ readonly code: number }>;
  settleMarket(market: number, shard: number): Promise<{ readonly code: number }>;
};

/** The part of the views used here: how a market stands by what its shard has told. */
export type MarketStates = {
  has(marketIndex: number): boolean;
  status(marketIndex: number): MarketStatus;
  startMs(marketIndex: number): number;
  endMs(marketIndex: number): number;
};

export type MarketTerms = {
  readonly status?: MarketStatus;
  readonly feeBps?: number;
  readonly startMs: number;
  readonly endMs: number;
};

/** Absent fields stay as they are; a detail that is present and undefined is removed. */
export type MarketChange = Partial<MarketTerms> & {
  readonly eventId?: string | null;
  readonly details: Partial<MarketDetails>;
};

export type Refusal = { readonly row: ErrorRow; readonly message?: string };
export type Opened = { readonly market: MarketEntry } | { readonly refusal: Refusal };

const NOT_ALLOWED: Refusal = { row: ERRORS.INVALID_TRANSITION };

export class MarketDesk {
  readonly #catalog: Catalog;
  readonly #states: MarketStates;
  readonly #engine: MarketEngine;
  readonly #clock: Clock;
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(catalog: Catalog, states: MarketStates, engine: MarketEngine, clock: Clock) {
    this.#catalog = catalog;
    this.#states = states;
    this.#engine = engine;
    this.#clock = clock;
  }

  open(fields: NewMarket): Promise<Opened> {
    return this.#inTurn(() => this.#open(fields));
  }

  /** Null when done; after a refusal nothing has changed. */
  change(market: MarketEntry, change: MarketChange): Promise<Refusal | null> {
    return this.#inTurn(() => this.#change(market, change));
  }

  /** Resolved or cancelled, as `status` says. Null when done, as below. */
  decide(market: MarketEntry, status: MarketStatus, payoutYesPpm: number): Promise<Refusal | null> {
    const { index, shard } = market;
    return this.#inTurn(() => this.#move(market, this.#engine.decideMarket(index, shard, status, payoutYesPpm)));
  }

  settle(market: MarketEntry): Promise<Refusal | null> {
    return this.#inTurn(() => this.#move(market, this.#engine.settleMarket(market.index, market.shard)));
  }

  /** When the shard is READY: what the end of a thread left in the catalogue alone. */
  openMissing(shard: number): Promise<void> {
    return this.#inTurn(() => this.#openMissing(shard));
  }

  /** The shard may have it all the same: opening a market twice changes nothing there. */
  async #openMissing(shard: number): Promise<void> {
    for (const market of this.#catalog.markets) {
      if (market.shard !== shard || this.#states.has(market.index)) continue;
      const { code } = await this.#engine.openMarket(market, market.opening.status, market.opening.feeBps);
      if (code !== OK) throw new Error(`market ${market.id} could not be opened again: error ${code}`);
    }
  }

  #inTurn<T>(operation: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(operation);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #open(fields: NewMarket): Promise<Opened> {
    if (fields.tokenIds?.some((token) => this.#catalog.byToken(token) !== undefined)) {
      return { refusal: { row: ERRORS.CONFLICT, message: 'token id is used by another market' } };
    }
    const market = this.#catalog.createMarket(fields, this.#clock.nowMs());
    const { code } = await this.#engine.openMarket(market, fields.opening.status, fields.opening.feeBps);
    if (code === OK) return { market };
    // When the outcome is unknown the shard may have the market, and is asked again when it is back.
    if (code !== E.OUTCOME_UNKNOWN) this.#catalog.removeNewest(market);
    return { refusal: { row: errorRow(code) } };
  }

  async #change(market: MarketEntry, change: MarketChange): Promise<Refusal | null> {
    const terms = {
      status: change.status,
      feeBps: change.feeBps,
      startMs: change.startMs ?? this.#states.startMs(market.index),
      endMs: change.endMs ?? this.#states.endMs(market.index),
    };
    const refusal = this.#judge(market, change, terms);
    if (refusal !== null) return refusal;
    const changesTerms =
      change.status !== undefined ||
      change.feeBps !== undefined ||
      change.startMs !== undefined ||
      change.endMs !== undefined;
    if (changesTerms) {
      const { code } = await this.#engine.patchMarket(market.index, market.shard, terms);
      if (code !== OK) return { row: errorRow(code) };
    }
    const eventId = change.eventId === undefined ? market.eventId : change.eventId;
    this.#catalog.updateMarket(market, eventId, changedDetails(market.details, change.details), this.#clock.nowMs());
    return null;
  }

  /** The catalogue learns no more of it than that the market has changed. */
  async #move(market: MarketEntry, moved: Promise<{ readonly code: number }>): Promise<Refusal | null> {
    const { code } = await moved;
    if (code !== OK) return { row: errorRow(code) };
    this.#catalog.updateMarket(market, market.eventId, market.details, this.#clock.nowMs());
    return null;
  }

  /** What the shard does not look at. Which status may follow which is the shard's to say. */
  #judge(market: MarketEntry, change: MarketChange, terms: MarketTerms): Refusal | null {
    if (terms.startMs >= terms.endMs) {
      return { row: ERRORS.VALIDATION_ERROR, message: 'trading_ends_at must be after trading_starts_at' };
    }
    const nowMs = this.#clock.nowMs();
    const status = change.status ?? this.#states.status(market.index);
    const hasStarted = status === MARKET_STATUS.ACTIVE || status === MARKET_STATUS.LOCKED;
    // A market trades from its start on, so one that has started cannot start later...
    if (hasStarted && change.startMs !== undefined && terms.startMs > nowMs) return NOT_ALLOWED;
    // ...and one is opened by hand only inside its trading time.
    const isInside = terms.startMs <= nowMs && nowMs < terms.endMs;
    return change.status === MARKET_STATUS.ACTIVE && !isInside ? NOT_ALLOWED : null;
  }
}

/** A new estimate keeps the one before beside it. */
function changedDetails(before: MarketDetails, change: Partial<MarketDetails>): MarketDetails {
  const after = { ...before, ...change };
  const isNewEstimate = change.outcome_probabilities !== undefined && !('previous_outcome_probabilities' in change);
  return isNewEstimate ? { ...after, previous_outcome_probabilities: before.outcome_probabilities } : after;
}
