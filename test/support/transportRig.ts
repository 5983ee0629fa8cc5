/** The HTTP server over a real socket, in the thread of the test, with routes that show one behaviour each. */
import { createHash, createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach } from 'node:test';
import { Administrators } from '../../gateway/access/administrators.ts';
import { AdminToken } from '../../gateway/access/adminToken.ts';
import { Authenticator } from '../../gateway/access/authenticator.ts';
import { Limiter } from '../../gateway/access/limiter.ts';
import { NonceMemory } from '../../gateway/access/nonces.ts';
import { createLogger } from '../../gateway/base/log.ts';
import { isAccount } from '../../gateway/base/principal.ts';
import { SCOPE } from '../../gateway/base/scopes.ts';
import type { Call } from '../../gateway/http/call.ts';
import { ok } from '../../gateway/http/respond.ts';
import type { Route } from '../../gateway/http/route.ts';
import type { Params } from '../../gateway/http/router.ts';
import { HttpServer, type ServerOptions } from '../../gateway/http/server.ts';
import { IdempotencyStage } from '../../gateway/shardlink/idempotencyStage.ts';
import { EXT_ROUTE } from '../../shared/wire/commands.ts';
import { apiKey, PASSPHRASE, SECRET } from './apiKeys.ts';
import { ManualClock } from './manualClock.ts';
import { MemoryAnswers } from './memoryAnswers.ts';

export const START_MS = 1_790_000_000_000;

export const KEY = apiKey(1, { scopes: SCOPE['trade:orders'] });

const ECHO_BODY = {
  type: 'object',
  additionalProperties: false,
  properties: { side: { type: 'string', enum: ['BUY', 'SELL'] }, text: { type: 'string' } },
};

export const ANY_ARRAY = { type: 'array' };

export const answers = new MemoryAnswers();

/** Calls whose handler has not answered yet. */
export const waiting: Call[] = [];
let onWaiting: () => void = () => {};

/** No document shows the routes of this test. */
export const UNDOCUMENTED = { summary: '', answers: {} } as const;

export const ROUTES: Route[] = [
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/health',
    access: 'public',
    limit: 'unlimited',
    probe: true,
    handler: (call) => ok(call, { status: 'ok' }),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/time',
    access: 'public',
    limit: 'unlisted',
    handler: (call) => ok(call, { account: isAccount(call.principal) ? call.principal.accountIndex : null }),
  },
  {
    ...UNDOCUMENTED,
    method: 'POST',
    path: '/v1/echo',
    access: 'public',
    limit: 'unlimited',
    body: ECHO_BODY,
    handler: (call) => ok(call, call.body as object),
  },
  {
    ...UNDOCUMENTED,
    method: 'POST',
    path: '/v1/length',
    access: 'public',
    limit: 'unlimited',
    maxBodyBytes: 200_000,
    body: ANY_ARRAY,
    handler: (call) => ok(call, { bytes: call.bodyBytes.length, sha256: sha256(call.bodyBytes) }),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/orders/:hash',
    access: 'trade:orders',
    limit: 'orderByHash',
    handler: (call) => ok(call, { hash: (call.params as Params)['hash'] }),
  },
  {
    ...UNDOCUMENTED,
    method: 'POST',
    path: '/v1/orders',
    access: 'trade:orders',
    limit: 'placeOrder',
    risk: 'taken',
    idempotency: EXT_ROUTE.PLACE,
    body: ECHO_BODY,
    handler: (call) => wait(call),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/bulk',
    access: 'trade:bulk',
    limit: 'unlisted',
    handler: (call) => ok(call, {}),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/throws',
    access: 'public',
    limit: 'unlimited',
    handler: () => {
      throw new Error('a bug');
    },
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/rejects',
    access: 'public',
    limit: 'unlimited',
    handler: () => Promise.reject(new Error('a bug')),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/forgets',
    access: 'public',
    limit: 'unlimited',
    handler: () => Promise.resolve(),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/v1/waits',
    access: 'public',
    limit: 'unlimited',
    handler: (call) => wait(call),
  },
  {
    ...UNDOCUMENTED,
    method: 'GET',
    path: '/admin/ledger',
    access: 'viewer',
    limit: 'unlimited',
    handler: (call) => ok(call, { balanced: true }),
  },
];

function wait(call: Call): void {
  waiting.push(call);
  onWaiting();
}

export function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Resolves with the next call a handler leaves open. */
export function nextWaiting(): Promise<Call> {
  return new Promise((resolve) => {
    onWaiting = () => resolve(waiting.at(-1)!);
  });
}

type TestServer = {
  readonly http: HttpServer;
  readonly clock: ManualClock;
  readonly port: number;
  isReady: boolean;
  isPaused: boolean;
  isDiskLow: boolean;
};

export async function startTransport(changes: Partial<ServerOptions> = {}): Promise<TestServer> {
  const made = makeTransport(changes);
  return Object.assign(made, { port: await made.http.listen() });
}

/** It does not listen yet. */
export function makeTransport(changes: Partial<ServerOptions> = {}): Omit<TestServer, 'port'> {
  const clock = new ManualClock(START_MS);
  const flags = { isReady: true, isPaused: false, isDiskLow: false };
  const keys = new Map([[KEY.keyId, KEY]]);
  const http = new HttpServer({
    config: { host: '127.0.0.1', port: 0, tls: null, trustProxy: null },
    routes: ROUTES,
    authenticator: new Authenticator(
      { find: (keyId) => keys.get(keyId) },
      new NonceMemory(START_MS / 1000 - 60, {
        aheadBeforeStart: () => 0,
        acceptedAhead: () => {},
      }),
    ),
    administrators: new Administrators(new AdminToken('admin-token')),
    idempotency: new IdempotencyStage(answers, clock),
    limiter: new Limiter(),
    clock,
    log: createLogger('silent'),
    isReady: () => flags.isReady,
    isPaused: () => flags.isPaused,
    placingRefusal: () => null,
    isDiskLow: () => flags.isDiskLow,
    timeoutEndMs: () => 0,
    ...changes,
  });
  return Object.assign(flags, { http, clock });
}

/** A server that tests share, and what clients send to it. */
export class TransportRig {
  #server: TestServer | null = null;
  #nonceCount = 0;

  /** Made in a `describe`: the server is for the tests in there. */
  constructor() {
    before(async () => {
      this.#server = await startTransport();
    });
    beforeEach(() => {
      waiting.length = 0;
      // Past every window, so no test counts against another.
      this.server.clock.advance(120_000);
    });
    after(async () => {
      await this.server.http.stop(1000);
    });
  }

  /** The present server, even while a test has its own. */
  get server(): TestServer {
    return this.#server!;
  }

  /** For a test that ends its server or needs another one: the other tests keep theirs. */
  async withOwnServer(changes: Partial<ServerOptions>, run: () => Promise<void>): Promise<void> {
    const common = this.#server;
    this.#server = await startTransport(changes);
    try {
      await run();
    } finally {
      await this.#server!.http.stop(1000);
      this.#server = common;
    }
  }

  async call(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ) {
    const response = await fetch(`http://127.0.0.1:${this.server.port}${path}`, {
      method,
      body: body ?? null,
      headers,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) };
  }

  sign(method: string, path: string, body = '', changes: Record<string, string> = {}): Record<string, string> {
    const timestamp = changes['x-svc-timestamp'] ?? String(Math.floor(this.server.clock.nowMs() / 1000));
    const nonce = changes['x-svc-nonce'] ?? `nonce-${String(this.#nonceCount++).padStart(16, '0')}`;
    const text = `v2\n${timestamp}\n${nonce}\n${method}\n${path}\n${sha256(body)}`;
    return {
      'x-svc-api-key': KEY.keyId,
      'x-svc-passphrase': PASSPHRASE,
      'x-svc-timestamp': timestamp,
      'x-svc-signature': createHmac('sha256', SECRET).update(text).digest('base64url'),
      'x-svc-signing-version': '2',
      'x-svc-nonce': nonce,
      ...changes,
    };
  }

  /** Everything a connection receives until the server closes it or `enough` holds. */
  receive(
    socket: Socket,
    enough: (received: string) => boolean = () => false,
  ): Promise<{ text: string; closed: boolean }> {
    return new Promise((resolve) => {
      let text = '';
      socket.setEncoding('latin1');
      socket.on('data', (chunk) => {
        text += chunk;
        if (!enough(text)) return;
        socket.destroy();
        resolve({ text, closed: false });
      });
      socket.on('close', () => resolve({ text, closed: true }));
    });
  }

  async raw(bytes: string, enough?: (received: string) => boolean): Promise<{ text: string; closed: boolean }> {
    return this.receive(await this.open(bytes), enough);
  }

  /** A connection on which these bytes have been written; a reset after that is the server's right. */
  open(bytes: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.server.port, '127.0.0.1', () => {
        socket.write(bytes);
        resolve(socket);
      });
      socket.on('error', reject);
    });
  }

  async isHealthy(): Promise<boolean> {
    return (await this.call('GET', '/health')).status === 200;
  }
}
