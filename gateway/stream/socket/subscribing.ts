/**
 * Carries out what a connection asks to be sent, and what it asks not to be sent any more.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   SUBSCRIBING-1  A message is carried out completely or not at all.
 */
import { ERRORS } from '../../../shared/base/errors.ts';
import type { Catalog, MarketEntry } from '../../store/catalog.ts';
import type { Views } from '../../views/index.ts';
import type { StreamFeeds } from '../feeds.ts';
import { MAX_MARKETS } from '../frames.ts';
import type { Connection } from './connection.ts';
import type { Parsed, SubscribeData } from './requests.ts';
import { notAllowed } from './rights.ts';
import { MarketSubscription, UserSubscription } from './subscriptions.ts';

type SubscribingOptions = {
  readonly feeds: StreamFeeds;
  readonly views: Pick<Views, 'markets'>;
  readonly catalog: Pick<Catalog, 'byId'>;
};

export class Subscribing {
  readonly #options: SubscribingOptions;

  constructor(options: SubscribingOptions) {
    this.#options = options;
  }

  /** SUBSCRIBING-1. */
  subscribe(connection: Connection, { id, data }: Parsed<'subscribe'>): void {
    const refusal = notAllowed(connection, data);
    if (refusal !== null) {
      connection.refuse(id, refusal);
      return;
    }
    const markets = new Map<number, MarketEntry>();
    for (const name of data.markets ?? []) {
      const market = this.#options.catalog.byId(name.toLowerCase());
      if (market === undefined || !this.#options.views.markets.has(market.index)) {
        const details = { field: 'data.markets', rule: 'known', value: name };
        connection.refuse(id, { row: ERRORS.MARKET_NOT_FOUND, details });
        return;
      }
      markets.set(market.index, market);
    }
    const added = [...markets.keys()].filter((index) => !connection.markets.has(index)).length;
    if (connection.markets.size + added > MAX_MARKETS) {
      connection.refuse(id, { row: ERRORS.INVALID_REQUEST, message: `too many markets (max ${MAX_MARKETS})` });
      return;
    }
    for (const market of markets.values()) this.#subscribeToMarket(connection, market, data);
    if (data.user === true) this.#subscribeToAccount(connection, data);
    connection.answer('subscribed', id, active(connection));
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
    connection.answer('unsubscribed', id, active(connection));
  }
}

function fromSequence({ from_sequence }: SubscribeData, marketId: string): number | undefined {
  if (from_sequence === undefined) return undefined;
  const name = Object.keys(from_sequence).find((given) => given.toLowerCase() === marketId);
  return name === undefined ? undefined : from_sequence[name];
}

function active({ markets, user }: Connection): object {
  return {
    markets: [...markets.values()].map(({ channel }) => channel.market.id),
    user: user !== null,
    user_sequence: user?.userSequence,
    cancel_on_disconnect: user?.cancelsOnDisconnect ?? false,
  };
}
