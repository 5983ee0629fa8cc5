/**
 * The stream on a real port over a shard that runs when the test says so: every frame is caused by a command, the clock
 * is the test's, and thousands of commands take no signatures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AdminToken } from '../../gateway/auth/adminToken.ts';
import { type ApiKey, Authenticator } from '../../gateway/auth/apiKeys.ts';
import { HmacKey } from '../../gateway/auth/hmacKey.ts';
import { NonceMemory } from '../../gateway/auth/nonces.ts';
import { Passphrase, sealPassphrase } from '../../gateway/auth/passphrase.ts';
import { SCOPE } from '../../gateway/auth/scopes.ts';
import type { MarketEntry } from '../../gateway/control/catalog.ts';
import { createLogger } from '../../gateway/log.ts';
import { streamRoutes } from '../../gateway/routes/stream.ts';
import { HttpServer } from '../../gateway/server.ts';
import { STREAM_PATH } from '../../gateway/stream/limits.ts';
import { PrivateLog } from '../../gateway/stream/privateLog.ts';
import { Stream } from '../../gateway/stream/stream.ts';
import { bookLevels } from '../../gateway/views/bookLevels.ts';
import { Views } from '../../gateway/views/index.ts';
import { Balances, createBalances } from '../../shared/balances.ts';
import { ManualClock } from '../../shared/clock.ts';
import { OUTCOME, type Outcome } from '../../shared/codes.ts';
import * as ev from '../../shared/events.ts';
import { readSafe } from '../../shared/record.ts';
import { RingConsumer } from '../../shared/ring.ts';
import { type Credentials, type HeaderFields, RequestSigner } from '../../shared/sdk/request.ts';
import { CommandFlow, FLOW_TICKS_PER_UNIT } from './flow.ts';
import { InThreadShard } from './inThreadShard.ts';
import { MemoryAnswers } from './memoryAnswers.ts';
import type { Json } from './server.ts';

const START_MS = 1_790_000_000_000;
const SECRET = Buffer.alloc(32, 7);
const PASSPHRASE = 'a-passphrase';
const ALL_SCOPES = Object.values(SCOPE).reduce((mask, bit) => mask | bit, 0);

type AfterScope = { after(cleanUp: () => void | Promise<void>): void };

export class StreamRig {
  readonly clock = new ManualClock(START_MS);
  readonly views = new Views(1);
  readonly stream: Stream;
  /** What a connection's end has cancelled: account and shard. */
  readonly cancelled: { account: number; shard: number }[] = [];
  flow: CommandFlow;
  baseUrl = '';
  #shard = new InThreadShard(new Balances(createBalances(1), 0));
  #events = new RingConsumer(this.#shard.eventRing);
  readonly #seed: number;
  readonly #keys = new Map<string, ApiKey>();
  readonly #server: HttpServer;
  readonly #directory = mkdtempSync(join(tmpdir(), 'stream-'));

  static async start(scope: AfterScope, seed: number): Promise<StreamRig> {
    const rig = new StreamRig(seed);
    rig.baseUrl = `http://127.0.0.1:${await rig.#server.listen()}`;
    scope.after(async () => {
      await rig.#server.stop(0);
      await rig.stream.finish();
      rmSync(rig.#directory, { recursive: true });
    });
    rig.views.begin(0);
    rig.#shard.describe();
    rig.drain();
    rig.flow.openMarkets();
    rig.#run();
    rig.flow.fundAccounts();
    rig.#run();
    return rig;
  }

  private constructor(seed: number) {
    this.#seed = seed;
    this.flow = new CommandFlow(this.#shard.commandRing, seed);
    const { clock, views } = this;
    const log = createLogger('silent');
    const entryOf = (id: string) => FLOW_TICKS_PER_UNIT.findIndex((_, index) => views.markets.id(index) === id);
    this.stream = new Stream({
      views,
      engine: {
        cancelMarket: (shard, account) => {
          this.cancelled.push({ account, shard });
          return 0;
        },
      },
      catalog: {
        byId: (id) => {
          const index = entryOf(id);
          // All that the stream asks of a market of the catalogue.
          return index < 0 ? undefined : ({ index, id } as MarketEntry);
        },
      },
      groups: { nameOf: (group) => (group === 0 ? undefined : `group-${group}`) },
      privateLog: new PrivateLog({ directory: this.#directory, shards: 1 }),
      // Nothing is kept of what a lost shard did not publish.
      privateSource: { privateTail: async () => ({ start: 1, records: [], isLast: true }) },
      progress: { setTold: () => undefined },
      clock,
      log,
    });
    const keys = { find: (keyId: string) => this.#keys.get(keyId) };
    const noneAhead = { aheadBeforeStart: () => 0, acceptedAhead: () => undefined };
    this.#server = new HttpServer({
      config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null },
      routes: streamRoutes({ stream: this.stream, trustProxy: null }),
      authenticator: new Authenticator(keys, new NonceMemory(START_MS / 1000 - 1, noneAhead)),
      adminToken: new AdminToken('admin'),
      answers: new MemoryAnswers(),
      limiter: null,
      clock,
      log,
      isReady: () => true,
      isPaused: () => false,
      drill: () => null,
      isDiskLow: () => false,
      timeoutEndMs: () => 0,
      webSocket: { path: STREAM_PATH, behavior: this.stream.behavior, close: () => this.stream.close() },
    });
  }

  marketId(index = 0): string {
    return this.views.markets.id(index);
  }

  /** As GET /v1/orders/book shows it. */
  shown(index = 0, outcome: Outcome = OUTCOME.YES): Json {
    const levels = bookLevels(this.views.books.of(index), outcome, Number.MAX_SAFE_INTEGER);
    return { ...levels, sequence: this.views.markets.sequence(index) };
  }

  /** Headers of an upgrade by a key of this account. */
  headers(account: number, keyId = `key-${account}`, scopes = ALL_SCOPES): HeaderFields {
    return new RequestSigner(this.credentials(account, keyId, scopes), this.clock).headers('GET', STREAM_PATH, '');
  }

  /** A key of this account, made by the first call. */
  credentials(account: number, keyId = `key-${account}`, scopes = ALL_SCOPES): Credentials {
    const key: ApiKey = {
      keyId,
      accountIndex: account,
      userId: `user-${account}`,
      secret: new HmacKey(SECRET),
      passphrase: new Passphrase(sealPassphrase(PASSPHRASE)),
      scopes,
      revoked: false,
      expiresAtMs: null,
      requireSigningVersion: null,
      tier: 'standard',
      rateLimitOverride: null,
      selfTradePrevention: 0,
      allowedNetworks: null,
    };
    this.#keys.set(keyId, key);
    return { keyId, secret: SECRET.toString('base64url'), passphrase: PASSPHRASE };
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
    this.views.begin(0);
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

  /** What the engine link's pump does. */
  drain(): void {
    const { words } = this.#events;
    for (let word = this.#events.next(); word >= 0; word = this.#events.next()) {
      const type = ev.typeOf(words[word + ev.EV_TYPE]!);
      if (type === ev.EVENT.ORDER) this.flow.remember(words.slice(word + ev.ORDER_HASH, word + ev.ORDER_HASH + 8));
      if (type === ev.EVENT.READY) this.views.recovered(0, readSafe(words, word + ev.READY_SEQUENCE));
      else if (type === ev.EVENT.REPLY) this.views.outcomes[0]!.clear();
      else this.views.apply(0, words, word);
    }
    this.#events.release();
    this.stream.flush();
  }
}
