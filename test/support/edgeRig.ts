/**
 * The HTTP server with its stages in the test's own thread, over a small route table. It listens on a port of its own
 * and trusts this machine as a proxy: a test names the address of each caller.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { Administrators } from '../../gateway/access/administrators.ts';
import { AdminToken } from '../../gateway/access/adminToken.ts';
import { Authenticator } from '../../gateway/access/authenticator.ts';
import { Limiter } from '../../gateway/access/limiter.ts';
import { NonceMemory } from '../../gateway/access/nonces.ts';
import { createLogger } from '../../gateway/base/log.ts';
import { tryParseNetworks } from '../../gateway/base/networks.ts';
import type { ApiKey } from '../../gateway/base/principal.ts';
import type { Route } from '../../gateway/http/route.ts';
import { HttpServer, type ServerOptions } from '../../gateway/http/server.ts';
import { IdempotencyStage } from '../../gateway/shardlink/idempotencyStage.ts';
import { ManualClock } from './manualClock.ts';
import { MemoryAnswers } from './memoryAnswers.ts';
import type { Json, Scope } from './server.ts';

export const EDGE_START_MS = 1_790_000_000_000;
const ADMIN_TOKEN = 'admin-token-of-the-edge-rig';

type Sent = { readonly headers?: Record<string, string>; readonly body?: string; readonly address?: string };
type EdgeAnswer = { readonly status: number; readonly headers: Record<string, unknown>; readonly body: Json };

type EdgeRig = {
  readonly clock: ManualClock;
  readonly port: number;
  readonly server: HttpServer;
  readonly nonces: NonceMemory;
  /** A request from `address`, 203.0.113.1 by default. */
  send(method: string, path: string, sent?: Sent): Promise<EdgeAnswer>;
  /** The same with the administrator's token, or another token. */
  asAdministrator(method: string, path: string, token?: string): Promise<EdgeAnswer>;
};

export async function startEdge(
  scope: Scope,
  routes: readonly Route[],
  keys: readonly ApiKey[],
  options: Partial<ServerOptions> = {},
): Promise<EdgeRig> {
  const clock = new ManualClock(EDGE_START_MS);
  const byId = new Map(keys.map((key) => [key.keyId, key]));
  const ahead = { aheadBeforeStart: () => 0, acceptedAhead: () => {} };
  const nonces = new NonceMemory(EDGE_START_MS / 1000 - 60, ahead);
  const http = new HttpServer({
    config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: tryParseNetworks(['127.0.0.1']) },
    routes,
    authenticator: new Authenticator({ find: (keyId) => byId.get(keyId) }, nonces),
    administrators: new Administrators(new AdminToken(ADMIN_TOKEN)),
    idempotency: new IdempotencyStage(new MemoryAnswers(), clock),
    limiter: new Limiter(),
    clock,
    log: createLogger('silent'),
    isReady: () => true,
    isPaused: () => false,
    placingRefusal: () => null,
    isDiskLow: () => false,
    timeoutEndMs: () => 0,
    ...options,
  });
  const port = await http.listen();
  scope.after(async () => void (await http.stop(0)));
  const send = (method: string, path: string, { headers, body = '', address = '203.0.113.1' }: Sent = {}) =>
    exchange(port, method, path, { ...headers, 'x-forwarded-for': address }, body);
  const asAdministrator = (method: string, path: string, token = ADMIN_TOKEN) =>
    send(method, path, { headers: { authorization: `Bearer ${token}` } });
  return { clock, port, server: http, nonces, send, asAdministrator };
}

/** Unlike fetch, this sends bodies with any method. */
async function exchange(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<EdgeAnswer> {
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers: { ...headers, ...length } });
  outgoing.end(body);
  const [incoming] = await once(outgoing, 'response');
  let text = '';
  for await (const chunk of incoming) text += chunk;
  return { status: incoming.statusCode, headers: incoming.headers, body: text === '' ? null : JSON.parse(text) };
}
