/** An HTTP server with real front threads, in the test's own thread; a test can make one of them fail. */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { Config } from '../../gateway/base/config.ts';
import { createLogger } from '../../gateway/base/log.ts';
import type { MemberRole } from '../../gateway/base/memberRole.ts';
import { FrontThreads, launchFront, type SharedReads } from '../../gateway/front/threads.ts';
import type { WebSocketEndpoint } from '../../gateway/http/door.ts';
import type { Route } from '../../gateway/http/route.ts';
import type { HttpServer, ServerOptions } from '../../gateway/http/server.ts';
import { startEdge } from './edgeRig.ts';
import type { Scope } from './server.ts';

const NO_SOCKETS: WebSocketEndpoint = { path: '/ws', behavior: {}, close: () => undefined };

type FrontRig = {
  readonly fronts: FrontThreads;
  readonly server: HttpServer;
  readonly port: number;
  /** Makes a thread fail, and resolves when it has ended. */
  fail(index: number): Promise<void>;
  /** Threads that start from now on are heard late. @returns what hears them, or null before they have said anything */
  holdMessages(): () => (() => void) | null;
};

export async function startFronts(
  scope: Scope,
  count: number,
  routes: readonly Route[],
  webSocket: WebSocketEndpoint = NO_SOCKETS,
  options: Partial<ServerOptions> & {
    readonly tls?: Config['tls'];
    readonly reads?: SharedReads;
    readonly role?: MemberRole;
    readonly origins?: readonly string[];
  } = {},
): Promise<FrontRig> {
  const workers: Worker[] = [];
  let held: (() => void)[] | null = null;
  const { tls = null, reads = null, origins = [], ...rest } = options;
  const fronts = new FrontThreads({
    count,
    tls,
    isHttps: tls !== null,
    webSocket,
    longestMessageBytes: 65_536,
    origins,
    role: rest.role?.buffers ?? null,
    reads,
    log: createLogger('silent'),
    lines: { write: () => {} },
    launch: (given) => {
      const worker = launchFront(given);
      workers[given.index] = worker;
      if (held !== null) hold(worker, held);
      return worker;
    },
  });
  const config = { host: '127.0.0.1', port: 0, tls, trustProxy: null };
  const { server, port } = await startEdge(scope, routes, [], { config, limiter: null, webSocket, fronts, ...rest });
  const fail = async (index: number): Promise<void> => {
    const worker = workers[index]!;
    // A request that no front knows: an unexpected request is a failure.
    worker.postMessage('nonsense');
    await once(worker, 'exit');
  };
  const holdMessages = () => {
    const late: (() => void)[] = [];
    held = late;
    return () => {
      if (late.length === 0) return null;
      return () => {
        held = null;
        for (const deliver of late.splice(0)) deliver();
      };
    };
  };
  return { fronts, server, port, fail, holdMessages };
}

/** The messages that a thread has sent until they are delivered. */
function hold(worker: Worker, late: (() => void)[]): void {
  const emit = worker.emit.bind(worker);
  let isHeld = true;
  worker.emit = ((name: string, ...values: unknown[]) => {
    if (name !== 'message' || !isHeld) return emit(name, ...values);
    late.push(() => {
      isHeld = false;
      emit(name, ...values);
    });
    return true;
  }) as typeof worker.emit;
}
