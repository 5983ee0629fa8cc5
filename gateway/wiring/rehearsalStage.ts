/**
 * The gateway's side of the exchange that a rehearsal plays on: its link, its HTTP server, and made-up accounts and
 * markets.
 * Owner: the gateway thread.
 */
import { randomUUID } from 'node:crypto';
import { SCOPE_NAMES } from '../../shared/api/accounts.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { MARKET_STATUS, MOVEMENT, SELF_TRADE } from '../../shared/base/codes.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor, type OrderHasher } from '../../shared/crypto/eip712.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { Config } from '../base/config.ts';
import { createLogger } from '../base/log.ts';
import { toScopeMask } from '../base/scopes.ts';
import type { MarketDetails, MarketEntry } from '../markets/catalog.ts';
import { AdminFeed } from '../operator/feed.ts';
import { Edge } from './edge.ts';
import { Lifecycle } from './lifecycle.ts';
import { Connection } from './rehearsal/connection.ts';
import { Flow, sendAll, type Trader } from './rehearsal/flow.ts';
import { QuickSigner } from './rehearsal/quickSigner.ts';
import { RecordSocket, STREAM_PATH, upgradeRequest } from './rehearsal/recordSocket.ts';
import { takeTour } from './rehearsal/tour.ts';
import { LEDGER_SIDE } from './settlementSide.ts';
import { ShardFronts } from './shardFronts.ts';
import type { Stores } from './stores.ts';
import { Trading } from './trading.ts';
import { waitingPlacements } from './verifyThreads.ts';

/** The rings of a shard. */
export type Lane = { readonly commandRing: SharedArrayBuffer; readonly eventRing: SharedArrayBuffer };

const MOST_TRADING_MS = 2000;
const CONNECTIONS = 32;
const SOCKETS = 2;
const ANSWER_WITHIN_MS = 50;
const FUNDS_MICRO = 1_000_000_000_000;
const DAY_MS = 86_400_000;
const MIN_ORDER_ATOMIC = 1_000_000;
const FEE_BPS = 50;
/** Far above any pace; the quota of a key is counted as usual. */
const LIMIT = { requests: 1_000_000, windowSec: 1 };
/** The private keys of the two accounts (rehearsal/quickSigner.ts). */
const MAKER_KEY = 0x5eed1;
const TAKER_KEY = 0x5eed2;

const DETAILS: MarketDetails = {
  title: 'rehearsal',
  subtitle: '',
  description: '',
  outcomes: ['Yes', 'No'],
  category: 'rehearsal',
  external_source: '',
};

export class Stage {
  readonly #stores: Stores;
  readonly #trading: Trading;
  readonly #edge: Edge;
  readonly #lifecycle = new Lifecycle();
  #connections: readonly Connection[] = [];
  #sockets: readonly RecordSocket[] = [];
  #isClosed = false;

  constructor(config: Config, stores: Stores) {
    this.#stores = stores;
    const log = createLogger('silent');
    const feed = new AdminFeed();
    const lifecycle = this.#lifecycle;
    // A request that has failed stays unanswered, and the rehearsal ends late.
    const onError = (): void => {};
    this.#trading = new Trading({
      stores,
      clock: systemClock,
      log,
      feed,
      lifecycle,
      defaultFeeBps: FEE_BPS,
      waitingPlacements: waitingPlacements(config.verifier),
      cluster: null,
      // There is no read model and no history.
      privateSource: { privateTail: async (_shard, start) => ({ start, records: [], isLast: true }) },
      onHandlerError: onError,
      settlement: LEDGER_SIDE,
      isAccepting: () => true,
      onFatal: onError,
    });
    this.#edge = new Edge({
      config,
      clock: systemClock,
      log,
      lines: { dropped: 0, write: () => {} },
      stores,
      trading: this.#trading,
      threads: {
        // There are no fronts that would need a shard.
        shards: { problem: () => null, verifierOf: () => undefined, fronts: new ShardFronts(() => undefined) },
        positionDifferences: 0,
        readModelProblem: null,
      },
      feed,
      lifecycle,
      // No process has used its keys before.
      startedSec: 0,
      member: null,
      cluster: null,
      sharedCounters: null,
      settlement: LEDGER_SIDE,
      baseUrl: () => '',
      onError,
    });
  }

  /** Trades for MOST_TRADING_MS at most, once the shards have come. @returns the number of orders. */
  async play(lanes: readonly Lane[], turns: number): Promise<number> {
    const { link, feeds } = this.#trading;
    await Promise.all(lanes.map((rings, shard) => link.attach(shard, rings)));
    // Shards may come while the stage is being closed. A play that began then would have no end.
    if (this.#isClosed) return 0;
    feeds.start();
    this.#edge.stream.start();
    this.#lifecycle.phase = 'ready';
    const port = await this.#edge.listen();
    await this.#edge.disk.start();
    const markets = await this.#openMarkets(lanes.length);
    const { chainId, exchange: verifyingContract } = this.#stores.control.contracts.current;
    const domain = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId, verifyingContract };
    const hasher = hasherFor(domain, await createKeccak());
    const maker = await this.#trader(MAKER_KEY, hasher);
    const flow = new Flow(maker, await this.#trader(TAKER_KEY, hasher), markets);
    const baseUrl = `http://127.0.0.1:${port}`;
    this.#connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(baseUrl)));
    const upgrade = (): Buffer => upgradeRequest(maker.requests.headers('GET', STREAM_PATH, ''));
    this.#sockets = await Promise.all(Array.from({ length: SOCKETS }, () => RecordSocket.open(baseUrl, upgrade())));
    const tour = { baseUrl, token: this.#stores.control.adminToken.token, trader: maker, market: markets[0] };
    const untilMs = performance.now() + MOST_TRADING_MS;
    let placed = 0;
    for (let turn = 0; turn < turns * lanes.length && performance.now() < untilMs; turn++) {
      const { requests, orders } = flow.turn();
      const frames = this.#sockets.map(() => flow.frames());
      const answered = this.#sockets.map((socket, index) => socket.exchange(frames[index]));
      await Promise.all([sendAll(this.#connections, requests), ...answered]);
      placed += orders + frames.flat().length;
      // Not before this turn: one of the tour's answers is long only if there are open orders.
      if (turn === 0) await takeTour({ ...tour, connections: this.#connections });
    }
    return placed;
  }

  wakeShards(): void {
    this.#trading.link.tick();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close();
    for (const socket of this.#sockets) socket.close();
    this.#lifecycle.isDraining = true;
    await this.#edge.drain(ANSWER_WITHIN_MS);
    await this.#edge.stop();
    await this.#trading.stop();
  }

  /** Opens one market in each shard. */
  async #openMarkets(shards: number): Promise<MarketEntry[]> {
    const markets = new Map<number, MarketEntry>();
    const nowMs = systemClock.nowMs();
    while (markets.size < shards) {
      const opened = await this.#trading.marketCommands.open({
        eventId: null,
        ticksPerUnit: 100,
        minOrderAtomic: MIN_ORDER_ATOMIC,
        tokenIds: null,
        opening: { status: MARKET_STATUS.ACTIVE, feeBps: FEE_BPS, startMs: nowMs, endMs: nowMs + DAY_MS },
        details: DETAILS,
      });
      if (!('market' in opened)) throw new Error(opened.refusal.row.code);
      markets.set(opened.market.shard, opened.market);
    }
    return [...markets.values()];
  }

  async #trader(privateKey: number, hasher: OrderHasher): Promise<Trader> {
    const { accounts, keys } = this.#stores.control;
    const orders = new QuickSigner(privateKey, hasher);
    const nowMs = systemClock.nowMs();
    const user = accounts.signUp(
      {
        displayName: 'rehearsal',
        email: null,
        role: 'market_maker',
        referralCode: null,
        wallet: orders.address.toLowerCase(),
      },
      nowMs,
    );
    await accounts.durable();
    const { key, secret, passphrase } = keys.issue(
      user,
      {
        scopes: toScopeMask(SCOPE_NAMES),
        tier: 'market_maker',
        rateLimitOverride: LIMIT,
        requireSigningVersion: 2,
        selfTradePrevention: SELF_TRADE.NONE,
      },
      null,
      nowMs,
    );
    await this.#trading.funding.move(user.index, MOVEMENT.DEPOSIT, FUNDS_MICRO, randomUUID());
    return { id: user.id, orders, requests: new RequestSigner({ keyId: key.keyId, secret, passphrase }) };
  }
}
