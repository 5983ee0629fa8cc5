/**
 * The part of a message that concerns the channels `market`, `ticker` and `candle` (RULES.md 8.23 to 8.25). Owner: the
 * gateway thread.
 */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import { CandleSubscription } from './candleSubscription.ts';
import { type ChangeSelection, type ChangesHost, ChangesSubscription } from './changesSubscription.ts';
import type { Connection } from './connection.ts';
import { MAX_CANDLES, MAX_MARKETS } from './frames.ts';
import { type Found, givenFor, marketsNamed, type SubscribingOptions, TOO_MANY_MARKETS } from './namedMarkets.ts';
import type { Named, SeriesNamed, SubscribeData, UnsubscribeData } from './requests.ts';
import type { Subscription } from './subscriptions.ts';
import type { SeriesName } from './summaryCandles.ts';
import { TickerSubscription } from './summaryTickers.ts';

/** Carries out a part of a message. */
type Follow = () => void;

const TOO_MANY_CANDLES: Refusal = { row: ERRORS.INVALID_REQUEST, message: `too many candles (max ${MAX_CANDLES})` };
const NOTHING: Found<Follow> = { ok: true, value: () => {} };

export class ChannelSubscribing {
  readonly #options: SubscribingOptions;
  readonly #changes: ChangesHost;

  constructor(options: SubscribingOptions) {
    const { feeds, views, catalog } = options;
    this.#options = options;
    this.#changes = {
      changes: feeds.changes,
      views: views.markets,
      eventOf: feeds.eventOf,
      marketsOf: (event) => {
        const markets = catalog.eventById(event)?.markets ?? [];
        return markets.flatMap(({ index }) => (views.markets.has(index) ? [index] : []));
      },
    };
  }

  /** Checks this part of the message; nothing has been executed yet. */
  find(connection: Connection, data: SubscribeData): Found<readonly Follow[]> {
    const found = [this.#market(connection, data), this.#ticker(connection, data), this.#candle(connection, data)];
    const follows: Follow[] = [];
    for (const part of found) {
      if (!part.ok) return part;
      follows.push(part.value);
    }
    return { ok: true, value: follows };
  }

  leave(connection: Connection, { market, ticker, candle }: UnsubscribeData): void {
    const { changes, tickers, candles } = connection;
    if (market !== undefined && changes !== null) {
      changes.leave(this.#known(market));
      if (changes.isEmpty) connection.changes = ended(connection, changes);
    }
    if (ticker !== undefined && tickers !== null) {
      tickers.leave(this.#known(ticker).markets, ticker.all === true);
      if (tickers.isEmpty) connection.tickers = ended(connection, tickers);
    }
    if (candle !== undefined && candles !== null) {
      for (const name of seriesOf(this.#known(candle).markets, candle)) candles.leave(name);
      if (candles.size === 0) connection.candles = ended(connection, candles);
    }
  }

  active({ changes, tickers, candles }: Connection): object {
    const idOf = (market: number): string => this.#options.views.markets.id(market);
    const { run } = this.#changes.changes;
    const market = changes && {
      markets: [...changes.markets].map(idOf),
      events: [...changes.events],
      all: changes.isAll,
      ...{ run, sequence: changes.sequence },
    };
    const ticker = tickers && { markets: [...tickers.markets].map(idOf), all: tickers.isAll };
    const candle =
      candles &&
      [...candles.names()].map((name) => {
        return { market_id: idOf(name.market), outcome_index: name.outcome, interval: name.interval };
      });
    return { market: market ?? undefined, ticker: ticker ?? undefined, candle: candle ?? undefined };
  }

  #market(connection: Connection, { market: wanted }: SubscribeData): Found<Follow> {
    if (wanted === undefined) return NOTHING;
    const markets = marketsNamed(this.#options, wanted.markets, 'market.markets');
    if (!markets.ok) return markets;
    const events: string[] = [];
    for (const name of wanted.events ?? []) {
      const event = this.#options.catalog.eventById(name)?.id;
      if (event === undefined) {
        const details = { field: 'data.market.events', rule: 'known', value: name };
        return { ok: false, refusal: { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found', details } };
      }
      events.push(event);
    }
    const selection: ChangeSelection = { markets: [...markets.value.keys()], events, all: wanted.all === true };
    const { changes } = connection;
    const count = united(changes?.markets, selection.markets) + united(changes?.events, events);
    if (count > MAX_MARKETS) return { ok: false, refusal: TOO_MANY_MARKETS };
    const follow = (): void => {
      connection.changes ??= new ChangesSubscription(this.#changes, (frame) => connection.push(frame));
      connection.changes.follow(selection);
      if (wanted.after !== undefined) connection.changes.startAfter(wanted.after);
      else if (wanted.snapshot === true) connection.changes.state(selection);
      if (!connection.changes.isLive) connection.serve(connection.changes);
    };
    return { ok: true, value: follow };
  }

  #ticker(connection: Connection, { ticker: wanted }: SubscribeData): Found<Follow> {
    if (wanted === undefined) return NOTHING;
    const markets = marketsNamed(this.#options, wanted.markets, 'ticker.markets');
    if (!markets.ok) return markets;
    const named = [...markets.value.keys()];
    const isTooMuch = united(connection.tickers?.markets, named) > MAX_MARKETS;
    if (isTooMuch) return { ok: false, refusal: TOO_MANY_MARKETS };
    const { tickers } = this.#options.feeds.summaries;
    const follow = (): void => {
      const sink = connection.sinkOf(() => connection.tickers);
      connection.tickers ??= new TickerSubscription(tickers, sink);
      connection.tickers.follow(named, wanted.all === true);
      if (!connection.tickers.isLive) connection.serve(connection.tickers);
    };
    return { ok: true, value: follow };
  }

  #candle(connection: Connection, { candle: wanted }: SubscribeData): Found<Follow> {
    if (wanted === undefined) return NOTHING;
    const markets = marketsNamed(this.#options, wanted.markets, 'candle.markets');
    if (!markets.ok) return markets;
    const names = seriesOf([...markets.value.keys()], wanted);
    const added = names.filter((name) => connection.candles?.has(name) !== true).length;
    if ((connection.candles?.size ?? 0) + added > MAX_CANDLES) return { ok: false, refusal: TOO_MANY_CANDLES };
    const { candles } = this.#options.feeds.summaries;
    const follow = (): void => {
      const sink = connection.sinkOf(() => connection.candles);
      connection.candles ??= new CandleSubscription(candles, sink, askerOf(connection));
      for (const name of names) {
        const id = this.#options.views.markets.id(name.market);
        connection.candles.follow(name, givenFor(wanted.after, id) ?? null);
      }
      connection.serve(connection.candles);
    };
    return { ok: true, value: follow };
  }

  /** The names that exist; the others are not followed. */
  #known({ markets = [], events = [], all = false }: Named): ChangeSelection {
    const { catalog } = this.#options;
    return {
      markets: markets.flatMap((name) => catalog.byId(name.toLowerCase())?.index ?? []),
      events: events.flatMap((name) => catalog.eventById(name)?.id ?? []),
      all,
    };
  }
}

function ended(connection: Connection, subscription: Subscription & { end(): void }): null {
  connection.forget(subscription);
  subscription.end();
  return null;
}

function seriesOf(markets: readonly number[], { interval, outcome_index = 0 }: SeriesNamed): SeriesName[] {
  return markets.map((market) => ({ market, interval, outcome: outcome_index }));
}

/** The size of the union. */
function united<T>(some: ReadonlySet<T> | undefined, others: readonly T[]): number {
  return new Set([...(some ?? []), ...others]).size;
}

/** The connection's reads share turns with the requests of the same account or address. */
function askerOf(connection: Connection): { readonly lane: number | string; readonly isGone: boolean } {
  const { principal, origin } = connection;
  return {
    lane: principal?.accountIndex ?? origin.subject,
    get isGone() {
      return !connection.isOpen;
    },
  };
}
