/** Assembles `npm run polymarket`: an exchange that the clients of Polymarket can use as they are. */
import type { Clock } from '../../../shared/base/clock.ts';
import { AdminClient } from '../../../shared/client/admin.ts';
import { ExchangeClient } from '../../../shared/client/client.ts';
import type { Credentials } from '../../../shared/client/credentials.ts';
import type { MarketChangeEvent } from '../../../shared/client/stream/channelStream.ts';
import type { ExchangeStream } from '../../../shared/client/stream/exchangeStream.ts';
import type { Scope } from '../../../shared/client/types.ts';
import { accountRoutes } from './accountRoutes.ts';
import { Accounts } from './accounts.ts';
import { Auth } from './auth.ts';
import { Catalogue } from './catalogue.ts';
import { counterpartRoutes } from './counterparts.ts';
import { dataRoutes, MarketData } from './dataRoutes.ts';
import { Faults } from './faults.ts';
import { PolymarketHeartbeats } from './heartbeats.ts';
import { keyRoutes } from './keyRoutes.ts';
import { MarketChannel } from './marketChannel.ts';
import { MarketNews } from './marketNews.ts';
import { marketRoutes } from './marketRoutes.ts';
import { orderRoutes } from './orderRoutes.ts';
import { Placing } from './placing.ts';
import { PolymarketServer } from './server.ts';
import type { PolymarketSettings } from './settings.ts';
import { Sockets } from './sockets.ts';
import type { PolymarketStore } from './store.ts';
import { Transactions } from './transactions.ts';
import { UserChannel } from './userChannel.ts';

const READER = 'reader';
const READS: readonly Scope[] = ['read:account', 'stream:market'];
/** The reads of all its clients are those of one key. */
const READ_LIMIT = { requests: 100_000, window_seconds: 1 } as const;
const DELEGATE = 'delegate';
/** The first reads are those of every market, on an exchange that may have just started. */
const READ_MS = 60_000;

type Options = {
  readonly settings: Omit<PolymarketSettings, 'url' | 'file'>;
  readonly store: PolymarketStore;
  readonly clock: Clock;
  readonly randomHex: (bytes: number) => string;
  readonly onError: (error: unknown) => void;
};

type Parts = { readonly server: PolymarketServer; readonly endings: readonly (() => void)[] };

export class Polymarket {
  readonly #server: PolymarketServer;
  readonly #endings: readonly (() => void)[];

  private constructor({ server, endings }: Parts) {
    this.#server = server;
    this.#endings = endings;
  }

  /** Makes its keys at the first start. Rejects while the exchange does not answer. */
  static async open({ settings, store, clock, randomHex, onError }: Options): Promise<Polymarket> {
    const { exchangeUrl, adminUrl, adminToken, orderVersion, chainId, hasFaults, isPlay } = settings;
    const baseUrl = exchangeUrl.origin;
    const admin = new AdminClient({ baseUrl: adminUrl.origin, token: adminToken });
    const privateKey = delegateKey(store, randomHex);
    const { playMicro, mostAccounts } = settings;
    const reads = new ExchangeClient({ baseUrl, credentials: await readerKey(store, admin), timeoutMs: READ_MS });
    const accounts = new Accounts({ store, admin, baseUrl, privateKey, isPlay, playMicro, mostAccounts });
    const auth = new Auth(store, clock, chainId);
    const catalogue = new Catalogue(reads, clock, orderVersion);
    const sockets = new Sockets(onError);
    const faults = new Faults(clock, () => sockets.disconnect());
    const placing = new Placing({ store, accounts, catalogue, clock, chainId });
    const heartbeats = new PolymarketHeartbeats(auth, accounts, onError);
    const trading = { auth, accounts, store, catalogue, placing, faults, transactions: new Transactions() };
    const server = new PolymarketServer({
      routes: [
        ...dataRoutes(new MarketData(reads, catalogue), clock),
        ...marketRoutes(catalogue, orderVersion, clock),
        ...keyRoutes(auth, accounts, store),
        ...orderRoutes(trading),
        ...accountRoutes(trading),
        ...heartbeats.routes(),
        ...counterpartRoutes(auth),
        ...(hasFaults ? faults.routes() : []),
      ],
      requestsPerSecond: settings.requestsPerSecond,
      clock,
      fault: faults.beforeRequest,
      onError,
    });
    // A whole catalogue is read before the first client asks.
    await catalogue.all();
    const stream: ExchangeStream = await reads.openStream();
    const news = new MarketNews(catalogue, onError);
    const onEvent = (event: MarketChangeEvent): void => {
      if (event.type !== 'change') return;
      catalogue.changed();
      news.changed(event.frame);
    };
    stream.openMarketChanges({ all: true, onEvent });
    const user = new UserChannel(trading, onError);
    sockets.add(server.app, '/ws/market', new MarketChannel(catalogue, stream, news));
    sockets.add(server.app, '/ws/user', user);
    const endings = [heartbeats, user, stream, accounts, reads, store].map((part) => () => part.close());
    return new Polymarket({ server, endings });
  }

  listen(host: string, port: number): Promise<number> {
    return this.#server.listen(host, port);
  }

  close(): void {
    this.#server.close();
    for (const end of this.#endings) end();
  }
}

/** The key that signs for all accounts, made once. */
function delegateKey(store: PolymarketStore, randomHex: (bytes: number) => string): string {
  const known = store.setting(DELEGATE);
  if (known !== undefined) return known;
  const made = `0x${randomHex(32)}`;
  store.setSetting(DELEGATE, made);
  return made;
}

/** An account without money, with whose key markets are read. */
async function readerKey(store: PolymarketStore, admin: AdminClient): Promise<Credentials> {
  const known = store.setting(READER);
  if (known !== undefined) return keyIn(known);
  const { id } = await admin.createUser({ display_name: 'npm run polymarket' });
  const made = await admin.createApiKey(id, { scopes: [...READS], rate_limit_override: READ_LIMIT });
  const key = { keyId: made.key_id, secret: made.secret, passphrase: made.passphrase };
  store.setSetting(READER, JSON.stringify(key));
  return key;
}

function keyIn(text: string): Credentials {
  const { keyId, secret, passphrase } = JSON.parse(text);
  return { keyId, secret, passphrase };
}
