/**
 * The administrator's commands for markets. A market is changed in both places that hold it: the catalogue, which has
 * its description, and its shard, which trades it. A new market is written to the catalogue first, so that no shard has
 * a market without an entry; a change is written there last, so that a refused change leaves no trace.
 * Owner: the gateway thread. One operation runs at a time: each sees the result of the one before, and a market that
 * its shard refused is still the newest when it is removed again.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Optional } from '../../shared/api/schema.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { isDecided, MARKET_STATUS, type MarketStatus, type Stage } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { SetPlace } from '../shardlink/listedMarket.ts';
import { LEDGER_SETTLEMENT } from '../shardlink/settlementPort.ts';
import type { Catalog, EventEntry, MarketDetails, MarketEntry, NewMarket } from './catalog.ts';
import { placeInSet, refuseJoining } from './eventSets.ts';
import { type TokenIds, toIdBytes } from './marketTokensStore.ts';
import { MarketTrades } from './marketTrades.ts';
import { invalidField } from './newMarket.ts';
import { openingStage } from './stages.ts';

/** The part of the shard client that is used here. */
type MarketEngine = {
  isReady(shard: number): boolean;
  openMarket(
    market: MarketEntry & { readonly place: SetPlace | null },
    status: MarketStatus,
    feeBps: number,
    stage: Stage,
  ): Promise<{ readonly code: number }>;
  patchMarket(market: number, shard: number, terms: MarketTerms): Promise<{ readonly code: number }>;
  decideMarket(
    market: number,
    shard: number,
    status: MarketStatus,
    payoutYesPpm: number,
  ): Promise<{ readonly code: number }>;
  settleMarket(market: number, shard: number): Promise<{ readonly code: number }>;
};

/** The part of the views that is used here: the state of a market by its shard's events. */
export type MarketStates = {
  has(marketIndex: number): boolean;
  status(marketIndex: number): MarketStatus;
  stage(marketIndex: number): Stage;
  startMs(marketIndex: number): number;
  endMs(marketIndex: number): number;
};

type MarketTerms = {
  readonly status?: MarketStatus | undefined;
  readonly feeBps?: number | undefined;
  readonly startMs: number;
  readonly endMs: number;
};

/** Absent fields stay as they are; a detail that is present but undefined is removed. */
export type MarketChange = Optional<MarketTerms> & {
  readonly eventId?: string | null | undefined;
  readonly details: Partial<MarketDetails>;
};

type Identified = NewMarket & { readonly id: string; readonly tokenIds: TokenIds };
type Opened = { readonly market: MarketEntry } | { readonly refusal: Refusal };

const NAMED_BY_DEPLOYMENT = ['condition_id', 'question_id', 'contract_address'] as const;
const TOKEN_FIELDS = ['yes_token_id', 'no_token_id'] as const;
const NOT_ALLOWED: Refusal = { row: ERRORS.INVALID_TRANSITION };
const OUTCOMES_NEVER_CHANGE: Refusal = {
  row: ERRORS.CONFLICT,
  message: 'outcomes never change once a market has orders, tokens or trades',
  details: { field: 'outcomes', rule: 'unchanged' },
};
const TOKEN_IS_USED: Refusal = { row: ERRORS.CONFLICT, message: 'token id is used by another market' };
/**
 * A row takes the thread up to a tenth of a millisecond, mostly for the pages of four indexes; computing the tokens
 * that a chain would give a market takes a third of one.
 */
const MADE_PER_TURN = 4;
/** Attempts while a ring is full: together a second. */
const BUSY_ATTEMPTS = 50;
const BUSY_PAUSE_MS = 20;

type MarketEnds = Pick<MarketTrades, 'decidesMarkets' | 'decide' | 'whyNotDecided' | 'whyNotPaid'>;

export class MarketCommands {
  readonly #catalog: Catalog;
  readonly #states: MarketStates;
  readonly #engine: MarketEngine;
  readonly #clock: Clock;
  readonly #isReliedOn: (market: MarketEntry) => boolean;
  readonly #trades: MarketEnds;
  #lastOperation: Promise<unknown> = Promise.resolve();

  /** @param isReliedOn TERMS-1. */
  constructor(
    catalog: Catalog,
    states: MarketStates,
    engine: MarketEngine,
    clock: Clock,
    isReliedOn: (market: MarketEntry) => boolean,
    trades: MarketEnds = new MarketTrades(LEDGER_SETTLEMENT),
  ) {
    this.#trades = trades;
    this.#isReliedOn = isReliedOn;
    this.#catalog = catalog;
    this.#states = states;
    this.#engine = engine;
    this.#clock = clock;
  }

  open(fields: NewMarket): Promise<Opened> {
    return this.inTurn(() => this.#open(fields));
  }

  /**
   * Opens many markets with one sync for all of them: new ones, and markets of the catalogue that their shard does not
   * have yet. If a shard cannot be asked, the outcome is unknown: the market stays in the catalogue, hidden, and is
   * opened when it is requested again or when the shard is back.
   */
  openMany(markets: readonly (NewMarket | MarketEntry)[]): Promise<Opened[]> {
    return this.inTurn(() => this.#openMany(markets));
  }

  /** Returns why the change would be refused at present, as far as this is known without asking the shard. */
  whyNot(market: MarketEntry, change: MarketChange): Refusal | null {
    const isOther =
      'outcomes' in change.details && !isDeepStrictEqual(change.details.outcomes, market.details.outcomes);
    if (isOther && this.#isReliedOn(market)) return OUTCOMES_NEVER_CHANGE;
    const before = this.#eventAt(market.eventId);
    const after = change.eventId === undefined ? before : this.#eventAt(change.eventId);
    const joining = refuseJoining(before, after);
    return joining ?? this.#refuseNames(change.details, market.details) ?? this.#check(market, change);
  }

  /** @returns null on success; after a refusal nothing has changed. */
  change(market: MarketEntry, change: MarketChange): Promise<Refusal | null> {
    return this.#durably(this.inTurn(() => this.#change(market, change)));
  }

  /**
   * Resolves or cancels the market, as `status` says. A chain decides a market before the ledger does: until that is
   * carried out its status is resolving, without a decision.
   * @returns null on success.
   */
  async decide(market: MarketEntry, status: MarketStatus, payoutYesPpm: number): Promise<Refusal | null> {
    if (!this.#trades.decidesMarkets || isDecided(this.#states.status(market.index)))
      return this.carryOut(market, status, payoutYesPpm);
    const refusal =
      (await this.#trades.whyNotDecided(market.index)) ??
      (await this.#durably(this.inTurn(() => this.#close(market, status))));
    if (refusal !== null) return refusal;
    const decided = await this.#trades.decide(market, status, payoutYesPpm);
    return decided === 'not on the chain' ? this.carryOut(market, status, payoutYesPpm) : decided;
  }

  /** Decides the market in the ledger. @returns null on success. */
  carryOut(market: MarketEntry, status: MarketStatus, payoutYesPpm: number): Promise<Refusal | null> {
    const { index, shard } = market;
    const decide = () => this.#move(market, this.#engine.decideMarket(index, shard, status, payoutYesPpm));
    return this.#durably(this.inTurn(decide));
  }

  async settle(market: MarketEntry): Promise<Refusal | null> {
    // An undecided market has another refusal.
    const refusal = isDecided(this.#states.status(market.index)) ? await this.#trades.whyNotPaid(market.index) : null;
    if (refusal) return refusal;
    const settle = () => this.#move(market, this.#engine.settleMarket(market.index, market.shard));
    return this.#durably(this.inTurn(settle));
  }

  /**
   * The shard is READY: opens the markets of the catalogue that the shard lacks because a thread or the process ended.
   */
  openMissing(shard: number): Promise<void> {
    return this.inTurn(() => this.#openMissing(shard));
  }

  /** If the shard has the market after all, it ignores this: opening a market twice changes nothing. */
  async #openMissing(shard: number): Promise<void> {
    for (const market of this.#catalog.markets) {
      if (market.shard !== shard || this.#states.has(market.index)) continue;
      const { code } = await this.#openInShard(market);
      if (code !== OK) throw new Error(`market ${market.id} could not be opened again: error ${code}`);
    }
  }

  /**
   * The next operation need not wait for the disk; the caller of this one does, together with all others waiting now.
   */
  async #durably<T>(operation: Promise<T>): Promise<T> {
    const result = await operation;
    await this.#catalog.durable();
    return result;
  }

  /** Runs an operation on markets when no other is under way. */
  inTurn<T>(operation: () => Promise<T>): Promise<T> {
    const result = this.#lastOperation.then(operation);
    this.#lastOperation = result.catch(() => undefined);
    return result;
  }

  async #open(fields: NewMarket): Promise<Opened> {
    const identified = this.#identify(fields, (token) => this.#catalog.byToken(token) === undefined);
    if ('refusal' in identified) return identified;
    const market = this.#catalog.createMarket(identified, this.#clock.nowMs());
    // CATALOG-4: from now on a journal names the market.
    await this.#catalog.durable();
    const { code } = await this.#openInShard(market);
    if (code === OK) return { market };
    // If the outcome is unknown the shard may have the market; it is opened again when the shard is back.
    if (code !== E.OUTCOME_UNKNOWN) this.#catalog.removeNewest(market);
    return { refusal: { row: errorRow(code) } };
  }

  async #openMany(markets: readonly (NewMarket | MarketEntry)[]): Promise<Opened[]> {
    const made: Opened[] = [];
    for (let from = 0; from < markets.length; from += MADE_PER_TURN) {
      if (from > 0) await nextTurn();
      made.push(...this.#make(markets.slice(from, from + MADE_PER_TURN)));
    }
    await this.#catalog.durable();
    return Promise.all(made.map((each) => ('market' in each ? this.#openMade(each.market) : each)));
  }

  /** Writes the new markets to the catalogue, in one transaction. */
  #make(markets: readonly (NewMarket | MarketEntry)[]): Opened[] {
    const taken = new Set<string>();
    const isFree = (token: string): boolean => this.#catalog.byToken(token) === undefined && !taken.has(token);
    const added: NewMarket[] = [];
    const slots = markets.map((each): Opened | null => {
      if ('index' in each) return { market: each };
      const identified = this.#identify(each, isFree);
      if ('refusal' in identified) return identified;
      for (const token of identified.tokenIds) taken.add(token);
      added.push(identified);
      return null;
    });
    const made = this.#catalog.createMarkets(added, this.#clock.nowMs()).values();
    return slots.map((slot) => slot ?? { market: made.next().value! });
  }

  /** Adds the id and the tokens that the market will have. */
  #identify(fields: NewMarket, isFree: (token: string) => boolean): Identified | { readonly refusal: Refusal } {
    const { tokens } = this.#catalog;
    const { id = randomUUID(), tokenIds: given } = fields;
    const isGiven = given !== null && tokens.takesOthers;
    const tokenIds = isGiven ? given : tokens.idsOf(toIdBytes(id));
    const other = given === null ? -1 : given.findIndex((token, at) => token !== tokenIds[at]);
    if (other >= 0)
      return { refusal: invalidField(TOKEN_FIELDS[other], 'left out, or the id that the chain gives it') };
    const named = this.#refuseNames(fields.details, {}) ?? refuseJoining(undefined, this.#eventAt(fields.eventId));
    if (named !== null) return { refusal: named };
    return tokenIds.every(isFree) ? { ...fields, id, tokenIds } : { refusal: TOKEN_IS_USED };
  }

  /** On a chain only the deployment of a market names its condition. */
  #refuseNames(given: Partial<MarketDetails>, present: Partial<MarketDetails>): Refusal | null {
    if (this.#catalog.tokens.takesOthers) return null;
    const other = NAMED_BY_DEPLOYMENT.find((name) => name in given && given[name] !== present[name]);
    return other === undefined ? null : invalidField(other, 'left to the deployment');
  }

  async #openMade(market: MarketEntry): Promise<Opened> {
    for (let attempt = 0; attempt < BUSY_ATTEMPTS && this.#engine.isReady(market.shard); attempt++) {
      const { code } = await this.#openInShard(market);
      if (code === OK) return { market };
      if (code !== E.ENGINE_BUSY) return { refusal: { row: errorRow(code) } };
      await delay(BUSY_PAUSE_MS);
    }
    return { refusal: { row: ERRORS.OUTCOME_UNKNOWN } };
  }

  #eventAt(id: string | null): EventEntry | undefined {
    return id === null ? undefined : this.#catalog.eventById(id);
  }

  #openInShard(market: MarketEntry): Promise<{ readonly code: number }> {
    const { status, feeBps } = market.opening;
    const event = this.#eventAt(market.eventId);
    const stage = openingStage(event, this.#states);
    return this.#engine.openMarket({ ...market, place: placeInSet(market, event) }, status, feeBps, stage);
  }

  async #change(market: MarketEntry, change: MarketChange): Promise<Refusal | null> {
    const refusal = this.whyNot(market, change);
    if (refusal !== null) return refusal;
    const terms = { status: change.status, feeBps: change.feeBps, ...this.#timesAfter(market, change) };
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

  /** The shard keeps a change of status; the catalogue only records its time. */
  async #move(market: MarketEntry, moved: Promise<{ readonly code: number }>): Promise<Refusal | null> {
    const { code } = await moved;
    if (code !== OK) return { row: errorRow(code) };
    this.#catalog.updateMarket(market, market.eventId, market.details, this.#clock.nowMs());
    return null;
  }

  /** The market no longer trades, and its book is closed. */
  async #close(market: MarketEntry, wanted: MarketStatus): Promise<Refusal | null> {
    const { DRAFT, PENDING, ACTIVE, LOCKED, RESOLVING, RESOLVED } = MARKET_STATUS;
    const status = this.#states.status(market.index);
    // A market that never traded can only be cancelled.
    if (wanted === RESOLVED && status < ACTIVE) return NOT_ALLOWED;
    const way = [DRAFT, PENDING, LOCKED, RESOLVING].filter((step) => step > status);
    for (const step of way) {
      const refusal = await this.#change(market, { status: step, details: {} });
      if (refusal !== null) return refusal;
    }
    return null;
  }

  /** The checks that the shard does not make. The shard decides which status may follow which. */
  #check(market: MarketEntry, change: MarketChange): Refusal | null {
    const terms = this.#timesAfter(market, change);
    if (terms.startMs >= terms.endMs) {
      const details = { field: 'trading_ends_at', rule: 'after trading_starts_at' };
      return { row: ERRORS.VALIDATION_ERROR, message: 'trading_ends_at must be after trading_starts_at', details };
    }
    const nowMs = this.#clock.nowMs();
    const status = change.status ?? this.#states.status(market.index);
    const hasStarted = status === MARKET_STATUS.ACTIVE || status === MARKET_STATUS.LOCKED;
    // A market trades from its start time on, so a market that has started cannot get a later start time...
    if (hasStarted && change.startMs !== undefined && terms.startMs > nowMs) return NOT_ALLOWED;
    // ...and a market is activated by hand only inside its trading time.
    const isInside = terms.startMs <= nowMs && nowMs < terms.endMs;
    return change.status === MARKET_STATUS.ACTIVE && !isInside ? NOT_ALLOWED : null;
  }

  #timesAfter({ index }: MarketEntry, { startMs, endMs }: MarketChange): { startMs: number; endMs: number } {
    return { startMs: startMs ?? this.#states.startMs(index), endMs: endMs ?? this.#states.endMs(index) };
  }
}

/** New probabilities are stored together with the old ones as previous. */
function changedDetails(before: MarketDetails, change: Partial<MarketDetails>): MarketDetails {
  const after = { ...before, ...change };
  const isNewEstimate = change.outcome_probabilities !== undefined && !('previous_outcome_probabilities' in change);
  if (!isNewEstimate) return after;
  const { previous_outcome_probabilities: _, ...others } = after;
  const previous = before.outcome_probabilities;
  return previous === undefined ? others : { ...others, previous_outcome_probabilities: previous };
}
