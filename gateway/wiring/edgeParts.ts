/** The parts of the edge that follow from the settings alone. */
import type { Clock } from '../../shared/base/clock.ts';
import { FrontThreads } from '../front/threads.ts';
import { ConnectionLimits } from '../limits/connectionLimits.ts';
import { holdersOf } from '../limits/socketTable.ts';
import type { Config } from '../process/config.ts';
import type { Logger } from '../process/log.ts';
import { MAX_ORDER_MESSAGE_BYTES } from '../stream/entry/limits.ts';
import { STREAM_PATH } from '../stream/socket/limits.ts';
import type { Stream } from '../stream/socket/stream.ts';

export function makeConnectionLimits(config: Config, clock: Clock): ConnectionLimits {
  return new ConnectionLimits({
    total: config.maxConnections,
    perAddress: config.rateLimits ? { open: config.connectionsPerIp, newInWindow: config.newConnectionsPerIp } : null,
    proxies: config.trustProxy,
    holders: holdersOf,
    clock,
  });
}

/** Null: the gateway thread has all connections. */
export function makeFronts({ gateways, tls }: Config, { behavior }: Stream, log: Logger): FrontThreads | null {
  if (gateways === 1) return null;
  return new FrontThreads({
    count: gateways - 1,
    tls,
    webSocket: { path: STREAM_PATH, behavior },
    longestMessageBytes: MAX_ORDER_MESSAGE_BYTES,
    log,
  });
}
