/**
 * Front threads that answer reads, in front of a shard whose engine, journal and link are in the test's own thread: the
 * test says when a batch is committed and when its events leave.
 */
import { Gateways } from '../../engine/shard/gateways.ts';
import { Outlet } from '../../engine/shard/outlet.ts';
import { Limiter } from '../../gateway/access/limiter.ts';
import { Prefixes } from '../../gateway/access/prefixes.ts';
import { makeSharedCounts, SharedCounterStore } from '../../gateway/access/sharedCounters.ts';
import { NETWORKS_PERIOD_MS, SharedNetworks } from '../../gateway/access/sharedNetworks.ts';
import { LIMIT_CLASSES } from '../../gateway/base/classes.ts';
import type { MemberRole } from '../../gateway/base/memberRole.ts';
import { tryParseNetworks } from '../../gateway/base/networks.ts';
import type { FrontImage } from '../../gateway/front/threadOptions.ts';
import type { HttpServer } from '../../gateway/http/server.ts';
import { bookRoutes } from '../../gateway/markets/booksRoutes.ts';
import type { TradedMarket } from '../../gateway/markets/catalogEntries.ts';
import { marketDataRoutes } from '../../gateway/markets/marketDataRoutes.ts';
import { ShardLink } from '../../gateway/shardlink/link.ts';
import { Views } from '../../gateway/shardlink/views.ts';
import { ShardFronts } from '../../gateway/wiring/shardFronts.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { ANY_COMMAND, NO_REQUEST } from '../../shared/wire/commands.ts';
import { ANY_EVENT } from '../../shared/wire/events.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { FrontRings, ShardMessage } from '../../shared/wire/threads.ts';
import { MemoryJournal, makeEngine } from './engine.ts';
import { eventually } from './eventually.ts';
import { CommandFlow, FLOW_TICKS_PER_UNIT } from './flow.ts';
import { startFronts } from './frontRig.ts';
import type { Scope } from './server.ts';

const RING_BYTES = 1 << 20;

export const READ_MARKETS: readonly TradedMarket[] = FLOW_TICKS_PER_UNIT.map((ticksPerUnit, index) => ({
  index,
  id: `0190b1c2-0000-7000-8000-00000000000${index}`,
  shard: 0,
  ticksPerUnit,
  minOrderAtomic: ticksPerUnit,
}));

type ReadsRig = {
  readonly port: number;
  readonly server: HttpServer;
  readonly shard: ReadsShard;
  /** By thread: the reads that it has answered itself since the start. */
  answered(): Promise<number[]>;
  /** Makes a thread fail, and resolves when it has ended. */
  fail(index: number): Promise<void>;
  /** Threads that have ended by themselves. */
  failures(): number;
  /** The counts of threads that have ended. */
  readonly kept: FrontImage[];
};

class ReadsShard {
  readonly engine = makeEngine(new Balances(createBalances()), new MemoryJournal(), true);
  readonly progressMemory = Progress.create(1);
  readonly progress = new Progress(this.progressMemory);
  readonly views = new Views(1);
  readonly link: ShardLink;
  readonly flow: CommandFlow;
  readonly fronts: ShardFronts;
  /** If true, the next state for a front has an impossible event. */
  spoilsNextState = false;
  readonly #rings: FrontRings = { commandRing: createRingBuffer(RING_BYTES), eventRing: createRingBuffer(RING_BYTES) };
  readonly #gateways = new Gateways(this.#rings, (message, transfer) => this.#reported(message, transfer));
  readonly #outlet = new Outlet(this.engine, this.#gateways);
  readonly #command = new RecordBuffer(4096);

  constructor(seed: number) {
    const fail = (error: unknown): never => {
      throw error;
    };
    this.link = new ShardLink({
      ...{ shards: 1, views: this.views, follower: null, waitingPlacements: 4096, clock: systemClock },
      ...{ onHandlerError: fail, onFatal: fail },
    });
    this.flow = new CommandFlow(this.#rings.commandRing, seed);
    this.fronts = new ShardFronts((_, request) => {
      if ('attach' in request) this.#outlet.attach(request.attach.front, request.attach.rings);
      else this.#gateways.remove(this.#gateways.leave(request.detach)!);
      this.publish();
    });
    this.engine.goLive();
  }

  async start(): Promise<void> {
    const ready = this.link.attach(0, this.#rings);
    this.engine.describe(() => this.publish());
    this.publish();
    await ready;
    this.flow.openMarkets();
    this.run();
    this.flow.fundAccounts();
    this.run();
    await eventually('the markets', async () => this.views.markets.has(FLOW_TICKS_PER_UNIT.length - 1));
    this.fronts.shardReady(0, this.#rings.commandRing);
  }

  /** Runs the sent commands as one batch. */
  run(): void {
    this.commit();
    this.publish();
  }

  commit(): void {
    for (let gateway = this.#gateways.next(); gateway !== null; gateway = this.#gateways.next()) {
      const { words } = gateway.commands;
      this.#command.clear();
      this.#command.appendRecords(words, gateway.word, words[gateway.word]!);
      // No one waits for its reply.
      this.#command.words[ANY_COMMAND.requestId] = NO_REQUEST;
      this.engine.gateway = gateway.number;
      this.engine.submit(this.#command.words, this.#command.bytes, 0);
    }
    for (const { commands } of this.#gateways.list) commands.release();
    this.engine.state.ledger.releaseCredits();
    this.progress.setCommitted(0, this.engine.sequence);
  }

  publish(): void {
    this.#outlet.publish();
  }

  /** A shard is a thread of its own: its messages come later. */
  #reported(message: ShardMessage, transfer: ArrayBuffer[] | undefined): void {
    const given = structuredClone(message, { transfer: transfer ?? [] });
    if ('attached' in given && this.spoilsNextState) {
      this.spoilsNextState = false;
      new Uint32Array(given.state[0]!)[ANY_EVENT.type] = 0xffff;
    }
    setImmediate(() => {
      if ('attached' in given) this.fronts.attached(given.attached, given.state);
    });
  }
}

export async function startReads(
  scope: Scope,
  options: {
    readonly seed: number;
    readonly threads: number;
    readonly isLimited?: boolean;
    /** This machine is a proxy: a test names the address of each caller. */
    readonly isProxied?: boolean;
    readonly role?: MemberRole;
  },
): Promise<ReadsRig> {
  const shard = new ReadsShard(options.seed);
  scope.after(() => shard.link.stop());
  await shard.start();
  const limits =
    options.isLimited === true ? { unlisted: makeSharedCounts(), networks: SharedNetworks.create() } : null;
  const limiter =
    limits &&
    Limiter.in(
      null,
      new SharedCounterStore(limits.unlisted, LIMIT_CLASSES.unlisted),
      new Prefixes(NETWORKS_PERIOD_MS, new SharedNetworks(limits.networks)),
    );
  const catalog = { byId: (id: string) => READ_MARKETS.find((market) => market.id === id) };
  const trustProxy = options.isProxied === true ? tryParseNetworks(['127.0.0.1']) : null;
  const deps = { catalog, views: shard.views, clock: systemClock };
  const kept: FrontImage[] = [];
  const reads = {
    options: {
      shards: 1,
      progress: shard.progressMemory,
      limits,
      trustProxy,
      slowRequestMs: 0,
      logLevel: 'silent',
    },
    shards: shard.fronts,
    markets: READ_MARKETS,
    isOpen: ({ index }: TradedMarket) => shard.views.markets.has(index),
    keep: (image: FrontImage) => void kept.push(image),
  } as const;
  const routes = [...bookRoutes(deps), ...marketDataRoutes(deps)];
  const { fronts, server, port, fail } = await startFronts(scope, options.threads, routes, undefined, {
    config: { host: '127.0.0.1', port: 0, tls: null, trustProxy },
    limiter,
    clock: systemClock,
    ...(options.role === undefined ? {} : { role: options.role }),
    catchUp: () => shard.link.catchUp(),
    reads,
  });
  const answered = async (): Promise<number[]> => {
    await fronts.refresh();
    return fronts.counts().map((each) => each.answered);
  };
  return { port, server, shard, answered, fail, failures: () => fronts.failures, kept };
}
