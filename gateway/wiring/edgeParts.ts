/** The parts of the edge that depend on the settings alone. */
import type { Clock } from '../../shared/base/clock.ts';
import { ConnectionLimits } from '../access/connectionLimits.ts';
import { Limiter } from '../access/limiter.ts';
import type { AheadTimestamps } from '../access/nonces.ts';
import { allowedOpenFiles, connectionsThatFit, ownFiles } from '../access/openFiles.ts';
import { Prefixes } from '../access/prefixes.ts';
import type { RedisCounterStore } from '../access/redisCounterStore.ts';
import { makeSharedCounts, SharedCounterStore } from '../access/sharedCounters.ts';
import { NETWORKS_PERIOD_MS, SharedNetworks } from '../access/sharedNetworks.ts';
import { holdersOf } from '../access/socketTable.ts';
import { LIMIT_CLASSES } from '../base/classes.ts';
import type { Config } from '../base/config.ts';
import type { Lines } from '../base/lineOutput.ts';
import type { Logger } from '../base/log.ts';
import type { MemberRole } from '../base/memberRole.ts';
import type { SharedLimits } from '../front/threadOptions.ts';
import { FrontThreads, type SharedReads } from '../front/threads.ts';
import type { AuditTrail } from '../http/stages.ts';
import { AuditStage } from '../operator/auditStage.ts';
import type { RefusedLogins } from '../operator/refusedLogins.ts';
import { MAX_ORDER_MESSAGE_BYTES } from '../stream/entryLimits.ts';
import { STREAM_PATH } from '../stream/limits.ts';
import type { Stream } from '../stream/stream.ts';
import type { Stores } from './stores.ts';
import { verifyThreadsOf } from './verifyThreads.ts';

/** The client of Redis is a tenth of all code, so a start without Redis does not load it. */
export async function openSharedCounters({ redisUrl }: Config, log: Logger): Promise<RedisCounterStore | null> {
  if (redisUrl === null) return null;
  const { RedisCounterStore } = await import('../access/redisCounterStore.ts');
  return new RedisCounterStore(redisUrl, log);
}

export function makeConnectionLimits(config: Config, shards: number, clock: Clock, log: Logger): ConnectionLimits {
  return new ConnectionLimits({
    total: mostConnections(config, shards, log),
    perAddress: config.rateLimits ? { open: config.connectionsPerIp, newInWindow: config.newConnectionsPerIp } : null,
    proxies: config.trustProxy,
    holders: holdersOf,
    clock,
  });
}

function mostConnections(config: Config, shards: number, log: Logger): number {
  const { maxConnections, gateways, adminDoor } = config;
  const verifyThreads = verifyThreadsOf(config, shards);
  const own = ownFiles({ shards, verifyThreads, gateways, hasAdminPort: adminDoor !== null });
  const allowed = allowedOpenFiles();
  const total = connectionsThatFit(maxConnections, allowed, own);
  if (total < maxConnections) {
    const facts = { open_files: allowed, connections: total, MAX_CONNECTIONS: maxConnections };
    log.warn(facts, 'the limit of open files leaves room for fewer connections: raise it (ulimit -n, LimitNOFILE)');
  }
  return total;
}

/** Records the changes of administrators, and the refused ones too. */
export function auditTrailOf({ audit, control }: Stores, refusedLogins: RefusedLogins): AuditTrail {
  const stage = new AuditStage({ log: audit, isInForce: (operatorId) => control.operators.isInForce(operatorId) });
  return {
    admit: (call, administrator) => stage.admit(call, administrator),
    countRefusedLogin: (address, fault, operator) => refusedLogins.count(address, fault, operator),
  };
}

/** A standby records nothing: it carries out no request that could be repeated. */
export function aheadTimestamps(member: MemberRole | null, keys: AheadTimestamps): AheadTimestamps {
  if (member === null) return keys;
  return {
    aheadBeforeStart: (keyId) => keys.aheadBeforeStart(keyId),
    acceptedAhead: (keyId, timestampSec) => {
      if (member.isLeading) keys.acceptedAhead(keyId, timestampSec);
    },
  };
}

/**
 * The limits that the gateway thread shares with the fronts; null if there are no fronts, or if limits are counted
 * elsewhere.
 */
export function makeSharedLimits({ gateways, rateLimits, redisUrl }: Config): SharedLimits | null {
  if (gateways === 1 || !rateLimits || redisUrl !== null) return null;
  return { unlisted: makeSharedCounts(), networks: SharedNetworks.create() };
}

/** The limiter of the gateway thread; null if nothing is limited. */
export function makeLimiter(
  { rateLimits }: Config,
  redis: RedisCounterStore | null,
  shared: SharedLimits | null,
): Limiter | null {
  if (!rateLimits) return null;
  if (shared === null) return Limiter.in(redis);
  const unlisted = new SharedCounterStore(shared.unlisted, LIMIT_CLASSES.unlisted);
  return Limiter.in(null, unlisted, new Prefixes(NETWORKS_PERIOD_MS, new SharedNetworks(shared.networks)));
}

type FrontDeps = {
  readonly config: Config;
  readonly stream: Stream;
  readonly stores: Stores;
  readonly shards: SharedReads['shards'];
  readonly limits: SharedLimits | null;
  readonly keep: SharedReads['keep'];
  /** Null without a cluster. */
  readonly member: MemberRole | null;
  readonly log: Logger;
  readonly lines: Lines;
};

/** Makes the front threads. Null: the gateway thread has all connections. */
export function makeFronts(deps: FrontDeps): FrontThreads | null {
  const { config, stream, member, log, lines } = deps;
  if (config.gateways === 1) return null;
  return new FrontThreads({
    count: config.gateways - 1,
    tls: config.tls,
    isHttps: config.isHttps,
    webSocket: { path: STREAM_PATH, behavior: stream.behavior },
    longestMessageBytes: MAX_ORDER_MESSAGE_BYTES,
    origins: config.corsOrigins,
    log,
    lines,
    role: member?.buffers ?? null,
    reads: readsOf(deps),
  });
}

/** Null if the gateway thread answers all calls: a counter in Redis has only one connection. */
function readsOf({ config, stores, shards, limits, keep }: FrontDeps): SharedReads | null {
  if (config.rateLimits && limits === null) return null;
  const { control, progressMemory, views } = stores;
  return {
    options: {
      shards: control.shards,
      progress: progressMemory,
      limits,
      trustProxy: config.trustProxy,
      slowRequestMs: config.slowRequestMs,
      logLevel: config.logLevel,
    },
    shards,
    markets: control.catalog.markets,
    isOpen: ({ index }) => views.markets.has(index),
    keep,
  };
}
