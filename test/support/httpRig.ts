/**
 * Routes on a real port over shards that run in the test's own thread: thousands of orders need no signatures, and the
 * effect of a handler on the event loop can be counted.
 */
import { Administrators } from '../../gateway/access/administrators.ts';
import { AdminToken } from '../../gateway/access/adminToken.ts';
import { Authenticator } from '../../gateway/access/authenticator.ts';
import { NonceMemory } from '../../gateway/access/nonces.ts';
import { createLogger } from '../../gateway/base/log.ts';
import type { ApiKey } from '../../gateway/base/principal.ts';
import { SCOPE } from '../../gateway/base/scopes.ts';
import type { Route } from '../../gateway/http/route.ts';
import { HttpServer } from '../../gateway/http/server.ts';
import type { Catalog, MarketEntry } from '../../gateway/markets/catalog.ts';
import { IdempotencyStage } from '../../gateway/shardlink/idempotencyStage.ts';
import type { Views } from '../../gateway/shardlink/views.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { apiKey, credentialsOf } from './apiKeys.ts';
import { type ClientRig, START_MS } from './clientRig.ts';
import { MemoryAnswers } from './memoryAnswers.ts';
import type { Scope } from './server.ts';

const ALL_SCOPES = Object.values(SCOPE).reduce((mask, bit) => mask | bit, 0);
const NONE_AHEAD = { aheadBeforeStart: () => 0, acceptedAhead: () => undefined };

export class HttpRig {
  readonly server: HttpServer;
  readonly #client: ClientRig;
  readonly #keys = new Map<string, ApiKey>();
  port = 0;

  private constructor(client: ClientRig, routes: Route[]) {
    this.#client = client;
    this.server = new HttpServer({
      config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null },
      routes,
      authenticator: new Authenticator(
        { find: (keyId) => this.#keys.get(keyId) },
        new NonceMemory(START_MS / 1000 - 1, NONE_AHEAD),
      ),
      administrators: new Administrators(new AdminToken('admin')),
      idempotency: new IdempotencyStage(new MemoryAnswers(), client.clock),
      limiter: null,
      clock: client.clock,
      log: createLogger('silent'),
      isReady: () => true,
      isPaused: () => false,
      placingRefusal: () => null,
      isDiskLow: () => false,
      timeoutEndMs: () => 0,
    });
  }

  static async start(scope: Scope, client: ClientRig, routes: Route[]): Promise<HttpRig> {
    const rig = new HttpRig(client, routes);
    rig.port = await rig.server.listen();
    scope.after(async () => {
      await rig.server.stop(0);
    });
    return rig;
  }

  marketId(index = 0): string {
    return this.#client.views.markets.id(index);
  }

  /** The header lines of a signed GET by a key of the account, which the first call makes. */
  signed(account: number, target: string): Record<string, string> {
    const keyId = `key-${account}`;
    const key = this.#keys.get(keyId) ?? apiKey(account, { keyId, scopes: ALL_SCOPES });
    this.#keys.set(keyId, key);
    return { ...new RequestSigner(credentialsOf(key), this.#client.clock).headers('GET', target, '') };
  }

  get(account: number, target: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${target}`, { headers: this.signed(account, target) });
  }
}

/** All that the routes of books and orders ask of the catalogue; market k is in shard k here. */
export function catalogOf({ markets }: Views): Catalog {
  const byId = (id: string): MarketEntry | undefined => {
    for (let index = 0; index < markets.count; index++) {
      if (markets.has(index) && markets.id(index) === id) return { index, id, shard: index } as MarketEntry;
    }
    return undefined;
  };
  return { byId } as Catalog;
}
