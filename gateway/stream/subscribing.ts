/**
 * Executes a connection's `subscribe` and `unsubscribe` messages. Owner: the gateway thread.
 *
 * Invariant:
 *   SUBSCRIBING-1  A message is carried out completely or not at all.
 */
import type { MarketEntry } from '../markets/catalog.ts';
import { ChannelSubscribing } from './channelSubscribing.ts';
import type { Connection } from './connection.ts';
import { MAX_MARKETS } from './frames.ts';
import { type Found, givenFor, marketsNamed, type SubscribingOptions, TOO_MANY_MARKETS } from './namedMarkets.ts';
import type { Parsed, SubscribeData } from './requests.ts';
import { notAllowed } from './rights.ts';
import { MarketSubscription, UserSubscription } from './subscriptions.ts';

export class Subscribing {
  readonly #options: SubscribingOptions;
  readonly #channels: ChannelSubscribing;

  constructor(options: SubscribingOptions) {
    this.#options = options;
    this.#channels = new ChannelSubscribing(options);
  }

  /** SUBSCRIBING-1. */
  subscribe(connection: Connection, { id, data }: Parsed<'subscribe'>): void {
    const refusal = notAllowed(connection, data);
    if (refusal !== null) {
      connection.refuse(id, refusal);
      return;
    }
    const found = this.#books(connection, data);
    const channels = this.#channels.find(connection, data);
    for (const part of [found, channels]) {
      if (part.ok) continue;
      connection.refuse(id, part.refusal);
      return;
    }
    const markets = found.ok ? found.value : [];
    for (const market of markets) this.#subscribeToMarket(connection, market, data);
    if (data.user === true) this.#subscribeToAccount(connection, data);
    if (channels.ok) for (const follow of channels.value) follow();
    connection.answer('subscribed', id, this.#active(connection));
  }

  /** The markets whose books and trades are asked for. */
  #books(connection: Connection, { markets: names }: SubscribeData): Found<MarketEntry[]> {
    const found = marketsNamed(this.#options, names, 'markets');
    if (!found.ok) return found;
    const added = [...found.value.keys()].filter((index) => !connection.markets.has(index)).length;
    if (connection.markets.size + added > MAX_MARKETS) return { ok: false, refusal: TOO_MANY_MARKETS };
    return { ok: true, value: [...found.value.values()] };
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
    const from = givenFor(data.from_sequence, market.id);
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

  /** Unsubscribing from a market that was not subscribed is no error: the answer lists the remaining subscriptions. */
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
    this.#channels.leave(connection, data);
    connection.answer('unsubscribed', id, this.#active(connection));
  }

  #active(connection: Connection): object {
    const { markets, user } = connection;
    return {
      markets: [...markets.values()].map(({ channel }) => channel.market.id),
      user: user !== null,
      user_sequence: user?.userSequence,
      cancel_on_disconnect: user?.cancelsOnDisconnect ?? false,
      ...this.#channels.active(connection),
    };
  }
}
