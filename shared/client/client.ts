/** The trading client: one method per route, with an API key or a session where the route asks for one. */
import { AccountClient } from './account.ts';
import { AccountRequests, type CallOptions, type ClientOptions, type SendAuthorized } from './accountRequests.ts';
import { AccountRoutes } from './accountRoutes.ts';
import { leavesOpen } from './answers.ts';
import { FiatClient } from './fiat.ts';
import { GamingClient } from './gaming.ts';
import { type HeartbeatOptions, Heartbeats } from './heartbeats.ts';
import { HistoryClient } from './history/historyClient.ts';
import { ApiError } from './http.ts';
import { LedgerClient } from './ledger.ts';
import type { KeptConfig } from './marketData.ts';
import { checkBook, type MarketBuy, type MarketPreview, type MarketSell, marketPreview } from './marketOrder.ts';
import type { OrderDraft, SignedOrder, SigningOptions } from './order.ts';
import { changedIntent, isSized, type OrderChanges, sizeLeft } from './orderChanges.ts';
import type { OrderSigning } from './orderSigning.ts';
import { OrderTracker } from './orderTracker.ts';
import { type Change, type PlacedAnswer, PlacedOrder, UnknownOutcomeError } from './placedOrder.ts';
import { type PlaceIntent, Placer } from './placer.ts';
import type { PlacingOptions, ReplacingOptions } from './placingOptions.ts';
import { PositionsClient } from './positions.ts';
import { SessionsClient } from './sessions.ts';
import { INSPECT, type Inspecting, shown } from './shown.ts';
import type { StreamOptions } from './stream/connect.ts';
import type { ExchangeStream } from './stream/exchangeStream.ts';
import type { OrderSocketOptions } from './stream/orderSocket.ts';
import type { Side } from './sweep.ts';
import type { PlacementBody, PlacementResponse } from './types.ts';
import { WalletsClient } from './wallets.ts';

export type { PlacingOptions, ReplacingOptions };
export type PlaceOptions = PlacingOptions & SigningOptions;

/** Shared by all clients made from one by `with`. */
type Shared = KeptConfig & { readonly placer: Placer; readonly tracker: OrderTracker };

const BEAT_TIMEOUT_MS = 4000;
/** An answer has at most this many levels. */
const MOST_LEVELS = 100;
/** The stream has them from the client. */
type AccessField = 'baseUrl' | 'signer' | 'session';

export class ExchangeClient extends AccountRoutes {
  /** The past of the account's balances. */
  readonly ledger: LedgerClient;
  readonly history: HistoryClient;
  readonly positions: PositionsClient;
  readonly account: AccountClient;
  readonly sessions: SessionsClient;
  readonly wallets: WalletsClient;
  /** Cashing in and out. */
  readonly fiat: FiatClient;
  readonly gaming: GamingClient;
  readonly #options: ClientOptions;
  readonly #shared: Shared;

  /** @param parent the client whose clock, config and stream this one shares; `with` gives it */
  constructor(options: ClientOptions, parent?: ExchangeClient) {
    const requests = new AccountRequests(options, parent?.requests.clock);
    const shared: Shared =
      parent !== undefined
        ? parent.#shared
        : {
            config: undefined,
            placer: new Placer(options.wallet),
            tracker: new OrderTracker({ openStream: () => this.openStream(), read: (hash) => this.getOrder(hash) }),
          };
    super(requests, shared, options.idempotencyKeys);
    const send: SendAuthorized = (method, path) => requests.send(method, path);
    this.#options = options;
    this.#shared = shared;
    this.ledger = new LedgerClient({
      get: (path) => send('GET', path),
      send: (method, path, body) => requests.send(method, path, body),
      open: (path) => requests.open(path),
    });
    this.history = new HistoryClient({
      get: (path) => requests.read(path),
      open: (path, headers) => requests.openPublic(path, headers),
    });
    this.positions = new PositionsClient(send);
    this.account = new AccountClient(send);
    this.sessions = new SessionsClient(send);
    this.wallets = new WalletsClient(requests, options.domain);
    this.fiat = new FiatClient(requests);
    this.gaming = new GamingClient(requests);
  }

  /** The same client with another time-out, signal or policy of retries: `client.with({ signal }).balances()`. */
  with(call: CallOptions): ExchangeClient {
    return new ExchangeClient({ ...this.#options, ...call }, this);
  }

  /**
   * Signs an order with the client's wallet and places it. Rejects with an ApiError if it is refused, and with an
   * UnknownOutcomeError (which holds the order) if the exchange did not answer. Each call is a separate order, unless
   * `options.salt` makes it the same one.
   */
  place(intent: PlaceIntent, options: PlaceOptions = {}): Promise<PlacedOrder> {
    return this.#placed(intent, options, (body) => this.placeOrder(body, options));
  }

  /**
   * The order that `place` would send, for `placeOrders`, `cancelReplace` and `amendOrder`, or to keep before sending.
   */
  signOrder(intent: PlaceIntent, options: SigningOptions = {}): Promise<SignedOrder> {
    return this.#shared.placer.sign(this, intent, options);
  }

  /** Computes exactly what a market order would fill in the present book. */
  async previewMarket(side: Side, marketId: string, order: MarketBuy | MarketSell): Promise<MarketPreview> {
    const { outcomeIndex = 0, book } = order;
    if (book !== undefined) checkBook(book, marketId);
    const [market, levels] = await Promise.all([
      this.#shared.placer.market(this, marketId),
      book?.levels(outcomeIndex) ?? this.book(marketId, { outcome_index: outcomeIndex, levels: MOST_LEVELS }),
    ]);
    return marketPreview(side, market, levels, order);
  }

  /**
   * Buys at the market, for an amount in dollars or in tokens, as in `previewMarket`: the quantity that does not fill
   * at once within `maxSlippage` is cancelled. 422 `FAK_NO_FILL` if nothing fills.
   */
  async buy(marketId: string, order: MarketBuy, options?: PlaceOptions): Promise<PlacedOrder> {
    return this.place((await this.previewMarket('BUY', marketId, order)).intent, options);
  }

  /** Sells at the market in the same way. */
  async sell(marketId: string, order: MarketSell, options?: PlaceOptions): Promise<PlacedOrder> {
    return this.place((await this.previewMarket('SELL', marketId, order)).intent, options);
  }

  /** A stream of the same account: books and private events. Its owner closes it. */
  async openStream(options: Omit<StreamOptions, AccessField> = {}): Promise<ExchangeStream> {
    const { ExchangeStream } = await import('./stream/exchangeStream.ts');
    return new ExchangeStream({ baseUrl: this.requests.addresses.startingHere(), ...this.requests.access, ...options });
  }

  /**
   * A client with the same methods that sends order requests over a socket: signed once, answered as over HTTP, and
   * sent over HTTP while the socket is away or if `form` cannot carry them. Its `close` closes the socket.
   */
  async overSocket(options: OrderSocketOptions & Omit<StreamOptions, AccessField> = {}): Promise<ExchangeClient> {
    const { OrderSocket } = await import('./stream/orderSocket.ts');
    const orderSocket = new OrderSocket(
      { ...options, baseUrl: this.requests.addresses.startingHere(), ...this.requests.access },
      options,
    );
    await orderSocket.ready(this.#options.timeoutMs);
    return new ExchangeClient({ ...this.#options, orderSocket }, this);
  }

  /** Arms the dead man's switch of the whole account, and keeps it from going off until the result is closed. */
  startHeartbeats(options?: HeartbeatOptions): Promise<Heartbeats> {
    const single = this.with({ retry: false, timeoutMs: BEAT_TIMEOUT_MS });
    return Heartbeats.start(() => single.heartbeat(), options);
  }

  /** Ends waits for `order.done`, which reject, and the socket for orders. HTTP requests are still answered. */
  close(): void {
    this.#options.orderSocket?.close();
    this.#shared.tracker.close();
  }

  /**
   * Signs and places an order. When the exchange has changed its contracts since the domain was read, `signer` gets the
   * new domain, and the order is signed for it and sent once more.
   */
  async signAndPlace(signer: OrderSigning, draft: OrderDraft, options?: SigningOptions): Promise<PlacementResponse> {
    try {
      return await this.placeOrder((await signer.sign(draft, options)).body);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'INVALID_SIGNATURE') throw error;
      await this.refreshConfig();
      if (!signer.useDomain(await this.signingDomain())) throw error;
      return this.placeOrder((await signer.sign(draft, options)).body);
    }
  }

  [INSPECT](...inspecting: Inspecting): string {
    const { credentials, session } = this.#options;
    const by = credentials === undefined ? (session?.user.id ?? null) : `key ${credentials.keyId}`;
    return shown('ExchangeClient', { baseUrl: this.requests.addresses.origins.join(), by }, inspecting);
  }

  #placed(
    intent: PlaceIntent,
    options: PlaceOptions,
    send: (body: PlacementBody) => Promise<PlacedAnswer>,
  ): Promise<PlacedOrder> {
    const { placer, tracker } = this.#shared;
    const { signal } = this.requests;
    return placer.place(this, intent, options, async (order) => {
      const change: Change = (way, changes, { maker = options.maker, ...rest }: PlaceOptions & ReplacingOptions) =>
        this.#changed(order, intent, way, changes, { maker, ...rest });
      const parts = { orders: this, tracker, signal, change };
      try {
        return new PlacedOrder(order, await send(order.body), parts);
      } catch (error) {
        if (!leavesOpen(error) && !signal?.aborted) throw error;
        throw new UnknownOutcomeError(new PlacedOrder(order, null, parts), error);
      }
    });
  }

  async #changed(
    { orderHash, body: before }: SignedOrder,
    intent: PlaceIntent,
    way: Parameters<Change>[0],
    changes: OrderChanges,
    options: SigningOptions & ReplacingOptions,
  ): Promise<PlacedOrder> {
    const record = isSized(changes) ? null : await this.getOrder(orderHash);
    const size = record === null ? null : sizeLeft(before, record);
    const next = changedIntent(intent, size === null ? changes : { ...changes, size });
    const expecting = size === null ? options : { expectedRemaining: record!.remaining, ...options };
    return this.#placed(next, options, async (body) => {
      if (way === 'amend') return this.amendOrder(orderHash, body, expecting);
      return (await this.cancelReplace(orderHash, body, expecting)).order;
    });
  }
}
