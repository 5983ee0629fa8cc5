/**
 * The stream on a real port over a shard that runs when the test says so: every frame is caused by a command, the clock
 * is the test's, and thousands of commands take no signatures.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { Administrators } from '../../gateway/access/administrators.ts';
import { AdminToken } from '../../gateway/access/adminToken.ts';
import { Authenticator } from '../../gateway/access/authenticator.ts';
import { NonceMemory } from '../../gateway/access/nonces.ts';
import { createLogger } from '../../gateway/base/log.ts';
import type { ApiKey } from '../../gateway/base/principal.ts';
import { SCOPE } from '../../gateway/base/scopes.ts';
import { HttpServer } from '../../gateway/http/server.ts';
import type { MarketEntry } from '../../gateway/markets/catalog.ts';
import { bookLevels } from '../../gateway/shardlink/bookLevels.ts';
import { IdempotencyStage } from '../../gateway/shardlink/idempotencyStage.ts';
import { Outbox } from '../../gateway/shardlink/outbox.ts';
import { Views } from '../../gateway/shardlink/views.ts';
import { StreamFeeds } from '../../gateway/stream/feeds.ts';
import { STREAM_PATH } from '../../gateway/stream/limits.ts';
import { PrivateLog } from '../../gateway/stream/privateLog.ts';
import { Stream } from '../../gateway/stream/stream.ts';
import { streamRoutes } from '../../gateway/stream/streamRoutes.ts';
import { Tickets } from '../../gateway/stream/tickets.ts';
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { E, ERRORS, OK } from '../../shared/base/errors.ts';
import type { Credentials } from '../../shared/client/credentials.ts';
import type { HeaderFields } from '../../shared/client/request.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { decodeEvent } from '../../shared/wire/events.ts';
import { RingConsumer } from '../../shared/wire/ring.ts';
import { apiKey, credentialsOf } from './apiKeys.ts';
import { temporaryDirectory } from './directory.ts';
import { CommandFlow, FLOW_TICKS_PER_UNIT } from './flow.ts';
import { InThreadShard } from './inThreadShard.ts';
import { ManualClock } from './manualClock.ts';
import { MemoryAnswers } from './memoryAnswers.ts';
import { OwingShards, reply } from './owingShards.ts';
import type { Json, Scope } from './server.ts';

const START_MS = 1_790_000_000_000;
const ALL_SCOPES = Object.values(SCOPE).reduce((mask, bit) => mask | bit, 0);

export class StreamRig {
  readonly clock = new ManualClock(START_MS);
  readonly views = new Views(1);
  readonly feeds: StreamFeeds;
  readonly stream: Stream;
  /** The cancels sent at the end of a connection: account and shard. */
  readonly cancelled: { account: number; shard: number }[] = [];
  /** Answers each waiting command. */
  readonly answers: ((code: number) => void)[] = [];
  /** False: the shard has no room for commands. */
  hasRoom = true;
  flow: CommandFlow;
  baseUrl = '';
  #shard = new InThreadShard(new Balances(createBalances(1), 0));
  #events = new RingConsumer(this.#shard.eventRing);
  readonly #seed: number;
  isStandby = false;
  /** The link would look at it. */
  readonly owed = new OwingShards(1);
  readonly #keys = new Map<string, ApiKey>();
  readonly #server: HttpServer;
  readonly #directory = temporaryDirectory();

  /** @param maxBufferedBytes what may wait for all clients together. */
  static async start(scope: Scope, seed: number, maxBufferedBytes?: number, isMember = false): Promise<StreamRig> {
    const rig = new StreamRig(seed, isMember, maxBufferedBytes);
    rig.baseUrl = `http://127.0.0.1:${await rig.#server.listen()}`;
    scope.after(async () => {
      await rig.#server.stop(0);
      await rig.feeds.close();
    });
    rig.views.recovering(0);
    rig.#shard.describe();
    rig.drain();
    rig.flow.openMarkets();
    rig.#run();
    rig.flow.fundAccounts();
    rig.#run();
    return rig;
  }

  private constructor(seed: number, isMember: boolean, maxBufferedBytes?: number) {
    this.#seed = seed;
    this.flow = new CommandFlow(this.#shard.commandRing, seed);
    const { clock, views } = this;
    const log = createLogger('silent');
    const entryOf = (id: string) => FLOW_TICKS_PER_UNIT.findIndex((_, index) => views.markets.id(index) === id);
    this.feeds = new StreamFeeds({
      views,
      groups: { nameOf: (group) => (group === 0 ? undefined : `group-${group}`) },
      eventOf: () => null,
      queries: { ofStream: async () => null, ofPublic: async () => ({ ok: false, row: ERRORS.ENGINE_BUSY }) },
      privateLog: new PrivateLog({ directory: this.#directory, shards: 1 }),
      // There is no history: records that a lost shard did not publish are gone.
      privateSource: { privateTail: async () => ({ start: 1, records: [], isLast: true }) },
      progress: { setLogged: () => undefined },
      clock,
      log,
    });
    this.stream = new Stream({
      ...(maxBufferedBytes === undefined ? {} : { maxBufferedBytes }),
      feeds: this.feeds,
      views,
      engine: {
        batch: (enqueue) => enqueue(),
        cancelMany: (shard, account, _orders, onReply, context) => {
          if (!this.hasRoom) return E.ENGINE_BUSY;
          this.cancelled.push({ account, shard });
          this.answers.push((code) => reply(onReply, context, shard, code));
          return OK;
        },
      },
      outbox: new Outbox(views.orders.length, this.owed),
      catalog: {
        byToken: () => undefined,
        byId: (id) => {
          const index = entryOf(id);
          // All that the stream asks of a market of the catalogue.
          return index < 0 ? undefined : ({ index, id } as MarketEntry);
        },
        eventById: () => undefined,
      },
      isStandby: () => this.isStandby,
      isMember,
      clock,
      log,
      calls: () => this.#server.calls,
    });
    const keys = { find: (keyId: string) => this.#keys.get(keyId) };
    const noneAhead = { aheadBeforeStart: () => 0, acceptedAhead: () => undefined };
    this.#server = new HttpServer({
      config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null },
      routes: streamRoutes({
        stream: this.stream,
        tickets: new Tickets({ find: () => null }),
        trustProxy: null,
        clock,
      }),
      authenticator: new Authenticator(keys, new NonceMemory(START_MS / 1000 - 1, noneAhead)),
      administrators: new Administrators(new AdminToken('admin')),
      idempotency: new IdempotencyStage(new MemoryAnswers(), clock),
      limiter: null,
      clock,
      log,
      isReady: () => true,
      isPaused: () => false,
      placingRefusal: () => null,
      isDiskLow: () => false,
      timeoutEndMs: () => 0,
      webSocket: { path: STREAM_PATH, behavior: this.stream.behavior, close: () => this.stream.close() },
    });
  }

  /** The journal of the shard. */
  get records(): readonly JournalRecord[] {
    return this.#shard.records;
  }

  marketId(index = 0): string {
    return this.views.markets.id(index);
  }

  /** The book as GET /v1/orders/book shows it. */
  shown(index = 0, outcome: Outcome = OUTCOME.YES): Json {
    const levels = bookLevels(this.views.books.of(index), outcome, Number.MAX_SAFE_INTEGER);
    return { ...levels, sequence: this.views.markets.sequence(index) };
  }

  /** Headers of an upgrade by a key of this account. */
  headers(account: number, keyId = `key-${account}`, changes: Partial<ApiKey> = {}): HeaderFields {
    return this.signer(account, keyId, changes).headers('GET', STREAM_PATH, '');
  }

  signer(account: number, keyId = `key-${account}`, changes: Partial<ApiKey> = {}): RequestSigner {
    return new RequestSigner(this.credentials(account, keyId, changes), this.clock);
  }

  /** A key of this account, made by the first call. */
  credentials(account: number, keyId = `key-${account}`, changes: Partial<ApiKey> = {}): Credentials {
    const known = Object.keys(changes).length === 0 ? this.#keys.get(keyId) : undefined;
    const key = known ?? apiKey(account, { keyId, scopes: ALL_SCOPES, ...changes });
    this.#keys.set(keyId, key);
    return credentialsOf(key);
  }

  /** Runs random commands, in pump batches of one command each. */
  run(commands: number): void {
    for (let i = 0; i < commands; i++) {
      this.flow.next();
      this.#run();
    }
  }

  /** The same with `perBatch` commands in a batch, letting the sockets work in between. */
  async runBatches(batches: number, perBatch: number): Promise<void> {
    for (let batch = 0; batch < batches; batch++) {
      for (let i = 0; i < perBatch; i++) {
        this.flow.next();
        this.#shard.step();
      }
      this.drain();
      await nextTurn();
    }
  }

  /** The shard commits commands and dies before it has published them, and its next thread takes over. */
  loseShard(commands: number): void {
    for (let i = 0; i < commands; i++) {
      this.flow.next();
      this.#shard.step();
    }
    this.views.recovering(0);
    this.#shard = this.#shard.rebuilt();
    this.#events = new RingConsumer(this.#shard.eventRing);
    this.flow = new CommandFlow(this.#shard.commandRing, this.#seed + 1000);
    this.#shard.describe();
    this.drain();
  }

  #run(): void {
    this.#shard.step();
    this.drain();
  }

  /** Does the work of the shard link's pump. */
  drain(): void {
    const { words } = this.#events;
    for (let word = this.#events.next(); word >= 0; word = this.#events.next()) {
      const event = decodeEvent(words, word);
      if (event.name === 'ORDER') this.flow.remember(new Uint32Array(event.hash.buffer));
      if (event.name === 'READY') {
        const { shardSequence } = event;
        this.views.recovered(0, shardSequence);
        this.feeds.recovered(0, shardSequence);
      } else if (event.name === 'REPLY') {
        this.views.replied(0);
      } else {
        this.views.apply(0, words, word);
        this.feeds.applied(0, this.views.resultOf(0), words, word);
      }
    }
    this.#events.release();
    this.feeds.flush();
  }
}
