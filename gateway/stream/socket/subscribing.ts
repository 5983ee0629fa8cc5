/**
 * Carries out what a connection asks to be sent, and what it asks not to be sent any more.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   SUBSCRIBING-1  A message is carried out completely or not at all.
 */
import { ERRORS } from '../../../shared/base/errors.ts';
import type { Refusal } from '../../http/refusal.ts';
import type { Catalog, MarketEntry } from '../../store/catalog.ts';
import type { Views } from '../../views/index.ts';
import type { StreamFeeds } from '../feeds.ts';
import { MAX_MARKETS } from '../frames.ts';
import { type ChangeSelection, type ChangesHost, ChangesSubscription } from '../summary/changesSubscription.ts';
import type { Connection } from './connection.ts';
import type { MarketWanted, Named, Parsed, SubscribeData } from './requests.ts';
import { notAllowed } from './rights.ts';
import { MarketSubscription, UserSubscription } from './subscriptions.ts';

type SubscribingOptions = {
  readonly feeds: StreamFeeds;
  readonly views: Pick<Views, 'markets'>;
  readonly catalog: Pick<Catalog, 'byId' | 'eventById'>;
};
/** The things that were named, or why they are refused. */
type Found<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

const TOO_MANY: Refusal = { row: ERRORS.INVALID_REQUEST, message: `too many markets (max ${MAX_MARKETS})` };

export class Subscribing {
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

  /** SUBSCRIBING-1. */
  subscribe(connection: Connection, { id, data }: Parsed<'subscribe'>): void {
    const refusal = notAllowed(connection, data);
    if (refusal !== null) {
      connection.refuse(id, refusal);
      return;
    }
    const found = this.#marketsNamed(data.markets, 'markets');
    const changes = this.#selectionOf(data.market);
    if (!found.ok || !changes.ok) {
      connection.refuse(id, found.ok ? (changes as { refusal: Refusal }).refusal : found.refusal);
      return;
    }
    const markets = found.value;
    const added = [...markets.keys()].filter((index) => !connection.markets.has(index)).length;
    if (connection.markets.size + added > MAX_MARKETS || isTooMuch(connection.changes, changes.value)) {
      connection.refuse(id, TOO_MANY);
      return;
    }
    for (const market of markets.values()) this.#subscribeToMarket(connection, market, data);
    if (data.user === true) this.#subscribeToAccount(connection, data);
    if (data.market !== undefined) this.#subscribeToChanges(connection, changes.value, data.market);
    connection.answer('subscribed', id, this.#active(connection));
  }

  /** By index; only markets that their shards have opened are known. */
  #marketsNamed(names: readonly string[] = [], field: string): Found<Map<number, MarketEntry>> {
    const markets = new Map<number, MarketEntry>();
    for (const name of names) {
      const market = this.#options.catalog.byId(name.toLowerCase());
      if (market === undefined || !this.#options.views.markets.has(market.index)) {
        const details = { field: `data.${field}`, rule: 'known', value: name };
        return { ok: false, refusal: { row: ERRORS.MARKET_NOT_FOUND, details } };
      }
      markets.set(market.index, market);
    }
    return { ok: true, value: markets };
  }

  #selectionOf(named: Named | undefined): Found<ChangeSelection> {
    const found = this.#marketsNamed(named?.markets, 'market.markets');
    if (!found.ok) return found;
    const events: string[] = [];
    for (const name of named?.events ?? []) {
      const event = this.#options.catalog.eventById(name)?.id;
      if (event === undefined) {
        const details = { field: 'data.market.events', rule: 'known', value: name };
        return { ok: false, refusal: { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found', details } };
      }
      events.push(event);
    }
    return { ok: true, value: { markets: [...found.value.keys()], events, all: named?.all === true } };
  }

  #subscribeToChanges(connection: Connection, selection: ChangeSelection, { snapshot, after }: MarketWanted): void {
    connection.changes ??= new ChangesSubscription(this.#changes, (frame) => connection.push(frame));
    const { changes } = connection;
    changes.follow(selection);
    if (after !== undefined) changes.startAfter(after);
    else if (snapshot === true) changes.state(selection);
    if (!changes.isLive) connection.serve(changes);
  }

  #subscribeToMarket(connection: Connection, market: MarketEntry, data: SubscribeData): void {
    const wantsChecksum = data.checksum;
    let subscription = connection.markets.get(market.index);
    if (subscription === undefined) {
      const channel = this.#options.feeds.markets.channel(market.index);
      subscription = new MarketSubscription(channel, connection, wantsChecksum === true);
      connection.markets.set(market.index, subscription);
    } else if (wantsChecksum !== undefined) {
      subscription.setChecksum(wantsChecksum);
    }
    const from = fromSequence(data, market.id);
    if (from !== undefined) subscription.startAfter(from, this.#options.feeds.isBehind);
    else if (data.snapshot === true) subscription.startWithBook();
    else return;
    connection.serve(subscription);
  }

  #subscribeToAccount(connection: Connection, data: SubscribeData): void {
    const account = connection.principal!.accountIndex;
    if (connection.user === null) {
      connection.user = new UserSubscription(account, this.#options.feeds, connection);
    }
    const { user } = connection;
    if (data.cancel_on_disconnect !== undefined) user.cancelsOnDisconnect = data.cancel_on_disconnect;
    if (data.user_since === undefined) return;
    user.startAfter(data.user_since);
    connection.serve(user);
  }

  /** A market without a subscription is no error: the answer lists the subscriptions that are left. */
  unsubscribe(connection: Connection, { id, data }: Parsed<'unsubscribe'>): void {
    for (const name of data.markets ?? []) {
      const index = this.#options.catalog.byId(name.toLowerCase())?.index;
      const subscription = index === undefined ? undefined : connection.markets.get(index);
      if (subscription === undefined) continue;
      connection.markets.delete(index!);
      connection.forget(subscription);
      subscription.end();
    }
    if (data.user === true && connection.user !== null) {
      connection.user.end();
      connection.forget(connection.user);
      connection.user = null;
    }
    if (data.market !== undefined) this.#leaveChanges(connection, data.market);
    connection.answer('unsubscribed', id, this.#active(connection));
  }

  #leaveChanges(connection: Connection, { markets = [], events = [], all = false }: Named): void {
    const { changes } = connection;
    if (changes === null) return;
    const { catalog } = this.#options;
    changes.leave({
      markets: markets.flatMap((name) => catalog.byId(name.toLowerCase())?.index ?? []),
      events: events.flatMap((name) => catalog.eventById(name)?.id ?? []),
      all,
    });
    if (!changes.isEmpty) return;
    connection.changes = null;
    connection.forget(changes);
    changes.end();
  }

  #active({ markets, user, changes }: Connection): object {
    const { run } = this.#changes.changes;
    const { markets: views } = this.#options.views;
    return {
      markets: [...markets.values()].map(({ channel }) => channel.market.id),
      user: user !== null,
      user_sequence: user?.userSequence,
      cancel_on_disconnect: user?.cancelsOnDisconnect ?? false,
      market:
        changes === null
          ? undefined
          : {
              markets: [...changes.markets].map((market) => views.id(market)),
              events: [...changes.events],
              all: changes.isAll,
              ...{ run, sequence: changes.sequence },
            },
    };
  }
}

function fromSequence({ from_sequence }: SubscribeData, marketId: string): number | undefined {
  if (from_sequence === undefined) return undefined;
  const name = Object.keys(from_sequence).find((given) => given.toLowerCase() === marketId);
  return name === undefined ? undefined : from_sequence[name];
}

/** More names than a connection may follow. */
function isTooMuch(followed: ChangesSubscription | null, { markets, events }: ChangeSelection): boolean {
  const allMarkets = new Set([...(followed?.markets ?? []), ...markets]);
  const allEvents = new Set([...(followed?.events ?? []), ...events]);
  return allMarkets.size + allEvents.size > MAX_MARKETS;
}
