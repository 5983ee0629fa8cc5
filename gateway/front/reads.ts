/**
 * The calls that a front thread answers by itself: public reads of one market, from views of its own, which the shards
 * feed over rings of its own. They run through the same stages and handlers as in the gateway thread. A call that this
 * thread cannot decide exactly as that one would is passed on: an unknown market, a call with credentials, a shard of
 * which the last records are not here yet, an IPv6 network that has not asked anything in this minute.
 * Owner: the front thread.
 *
 * Invariants:
 *   FRONTREADS-1  An answer shows every record that was committed when its call came, so also every one that any thread
 *                 had acknowledged or shown.
 *   FRONTREADS-2  A market that is known here is one that its shard has opened: neither its number nor what is copied
 *                 of it ever changes.
 *   FRONTREADS-3  A limit is one limit: it is counted in memory that all threads share, and as the subject that the
 *                 gateway thread would count.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { systemClock } from '../../shared/base/clock.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { Authenticator } from '../access/authenticator.ts';
import { Limiter } from '../access/limiter.ts';
import { NonceMemory } from '../access/nonces.ts';
import { SharedCounterStore } from '../access/sharedCounters.ts';
import { SharedNetworks } from '../access/sharedNetworks.ts';
import { LIMIT_CLASSES } from '../base/classes.ts';
import { clientSubject, peerSubject } from '../base/clientAddress.ts';
import { createLogger } from '../base/log.ts';
import { Call } from '../http/call.ts';
import type { Cors } from '../http/cors.ts';
import { RequestHeaders } from '../http/headers.ts';
import { HttpTransport } from '../http/httpTransport.ts';
import { imageOf } from '../http/metersImage.ts';
import { Pipeline } from '../http/pipeline.ts';
import type { Route } from '../http/route.ts';
import { Router } from '../http/router.ts';
import { TurnLimit } from '../http/turnLimit.ts';
import { bookRoutes } from '../markets/booksRoutes.ts';
import type { TradedMarket } from '../markets/catalogEntries.ts';
import { marketDataRoutes } from '../markets/marketDataRoutes.ts';
import { ShardLink } from '../shardlink/link.ts';
import type { ShardNews } from '../shardlink/shardNews.ts';
import { Views } from '../shardlink/views.ts';
import type { FrontRole } from './frontRole.ts';
import type { FrontImage, ReadsOptions } from './threadOptions.ts';

const IPV6_SEPARATOR = ':';

export class FrontReads {
  readonly #options: ReadsOptions;
  readonly #gate: Int32Array;
  readonly #progress: Progress;
  readonly #views: Views;
  readonly #link: ShardLink;
  readonly #markets = new Map<string, TradedMarket>();
  readonly #router = new Router<true>();
  readonly #limiter: Limiter | null;
  /** Null: nothing is counted. */
  readonly #networks: SharedNetworks | null;
  readonly #pipeline: Pipeline;
  readonly #turnLimit = new TurnLimit();
  #answered = 0;
  /** The views can no longer be trusted. */
  #isBroken = false;

  /**
   * @param role null without a cluster; noted before a call comes here (FRONTROLE-1)
   * @param writeLine gets lines of the log
   * @param onFatal the thread has to end: nothing is answered from its views any more
   */
  constructor(
    options: ReadsOptions,
    isHttps: boolean,
    role: FrontRole | null,
    cors: Cors | null,
    writeLine: (line: string) => void,
    onFatal: (error: unknown) => void,
  ) {
    const { shards, limits, trustProxy, slowRequestMs, logLevel } = options;
    const clock = systemClock;
    this.#options = options;
    this.#gate = new Int32Array(options.gate);
    this.#progress = new Progress(options.progress);
    this.#views = new Views(shards);
    const fail = (error: unknown): void => {
      this.#isBroken = true;
      onFatal(error);
    };
    this.#link = new ShardLink({
      shards,
      views: this.#views,
      follower: null,
      // It sends no commands.
      waitingPlacements: 0,
      clock,
      isFront: true,
      onHandlerError: fail,
      onFatal: fail,
    });
    const deps = { catalog: { byId: (id: string) => this.#markets.get(id) }, views: this.#views, clock };
    const routes = [...bookRoutes(deps), ...marketDataRoutes(deps)].filter(isRead);
    for (const { method, path } of routes) this.#router.add(method, path, true);
    this.#networks = limits && new SharedNetworks(limits.networks);
    this.#limiter =
      limits && Limiter.in(null, new SharedCounterStore(limits.unlisted, LIMIT_CLASSES.unlisted), AS_THEMSELVES);
    this.#pipeline = new Pipeline({
      config: { trustProxy, slowRequestMs, isHttps },
      routes,
      ...WITHOUT_CREDENTIALS,
      ...WITHOUT_CHANGES,
      limiter: this.#limiter,
      ...(role === null ? {} : { role }),
      ...(cors === null ? {} : { cors }),
      clock,
      log: createLogger(logLevel, { write: writeLine }),
      isReady: () => true,
    });
  }

  /** Markets that their shards have opened. */
  add(markets: readonly TradedMarket[]): void {
    for (const market of markets) this.#markets.set(market.id, market);
  }

  follow(news: ShardNews): void {
    if ('attached' in news) void this.#link.attach(news.attached, news.rings, news.state);
    else this.#link.shardLost(news.lost);
  }

  /** Resolves when every answer has been written, also one in many pieces, or after `deadlineMs`. */
  async stop(deadlineMs: number): Promise<void> {
    await this.#pipeline.drain(deadlineMs);
    this.#link.stop();
  }

  /** For the metrics. */
  image(): FrontImage {
    return {
      answered: this.#answered,
      meters: imageOf(this.#pipeline.meters),
      decisions: { ...this.#limiter?.decisions },
    };
  }

  /** @returns false when the call has to be passed on; nothing has been done then. */
  tryAnswer(
    response: HttpResponse,
    request: HttpRequest,
    method: string,
    path: string,
    query: string | null,
    peer: Uint8Array,
  ): boolean {
    if (!this.#knows(method, path)) return false;
    const headers = RequestHeaders.of(request);
    const nowMs = systemClock.nowMs();
    if (!this.#isPlain(headers, peer, nowMs)) return false;
    const transport = new HttpTransport(response, true);
    const call = new Call(transport, method, path, query, nowMs, this.#pipeline);
    if (!this.#turnLimit.admits(this)) call.transport.keptFor = 'nobody';
    this.#answered++;
    this.#pipeline.run(call, request, headers);
    transport.handled(() => this.#pipeline.abort(call));
    return true;
  }

  /** FRONTREADS-1, FRONTREADS-2. */
  #knows(method: string, path: string): boolean {
    if (Atomics.load(this.#gate, 0) === 0 || (method !== 'GET' && method !== 'HEAD')) return false;
    const id = this.#router.find(path)?.params['market_id'];
    const market = id === undefined ? undefined : this.#markets.get(id.toLowerCase());
    if (market === undefined) return false;
    return this.#link.shows(market.shard, this.#progress.committed(market.shard)) && !this.#isBroken;
  }

  /** True if the gateway thread would treat the call as one without credentials, under a limit that is counted here. */
  #isPlain(headers: RequestHeaders, peer: Uint8Array, nowMs: number): boolean {
    if (peer.length === 0 || headers.bodyBytes !== 0) return false;
    if (headers.offersKey || headers.authorization !== '') return false;
    if (this.#networks === null) return true;
    const subject = this.#subjectOf(headers, peer);
    return !subject.includes(IPV6_SEPARATOR) || this.#networks.has(subject, nowMs);
  }

  #subjectOf({ forwardedFor }: RequestHeaders, peer: Uint8Array): string {
    const { trustProxy } = this.#options;
    return trustProxy === null ? peerSubject(peer) : clientSubject(peer, forwardedFor, trustProxy);
  }
}

function isRead({ method, access }: Route): boolean {
  return method === 'GET' && access === 'public';
}

/** The addresses that are counted here: as what others are counted the gateway thread decides (access/prefixes.ts). */
const AS_THEMSELVES = { subjectOf: (address: string) => address };

/** For the stages of credentials: a front has no keys, and passes on whatever offers one. */
const WITHOUT_CREDENTIALS = {
  authenticator: new Authenticator(
    { find: () => undefined },
    new NonceMemory(0, { aheadBeforeStart: () => 0, acceptedAhead: () => {} }),
  ),
  administrators: { identify: () => null },
} as const;

/** For the stages of placing, storing and idempotency keys, to which no read comes. */
const WITHOUT_CHANGES = {
  idempotency: { isDiskFull: false, tryHold: () => 'held' as const, release: () => {} },
  isPaused: () => false,
  placingRefusal: () => null,
  isDiskLow: () => false,
  timeoutEndMs: () => 0,
} as const;
