/**
 * The client's session: when it renews its tokens, what it shares with others, and that it reveals none (RULES.md 15).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { privateKeyToAccount } from 'viem/accounts';
import {
  ApiError,
  ExchangeClient,
  resumeSession,
  type SessionTokens,
  type SignInOptions,
  signInWithProvider,
  signInWithWallet,
  type TokenStore,
} from '../../../../shared/client/index.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import type { Json } from '../../../support/server.ts';

const KEY = `0x${'5e'.repeat(32)}` as const;
const ACCOUNT = privateKeyToAccount(KEY);
const START_MS = 1_790_000_000_000;
const LIFE_MS = 900_000;
const NO_TOKEN = { error: 'access token has expired', code: 'UNAUTHORIZED', details: { step: 'access_token' } };
const ENDED = { error: 'session has ended', code: 'UNAUTHORIZED', details: { step: 'refresh_token' } };

/**
 * An exchange that accepts only its newest access token, until its life ends by `now`; a reused refresh token is
 * recorded. Each answer is decided before its pause.
 */
class Exchange {
  readonly clock = new ManualClock(START_MS);
  readonly asked: { readonly path: string; readonly body: Json; readonly authorization: string | undefined }[] = [];
  baseUrl = '';
  user = 'user-1';
  domain: string | null = null;
  /** The address of the leader while this one is a standby. */
  leader: string | null = null;
  generation = 0;
  /** The access token that is right. */
  accepted = '';
  expiresMs = 0;
  isEnded = false;
  /** Refreshes whose answers are lost. */
  lost = 0;
  reused = 0;
  pause: () => Promise<unknown> = async () => {};

  static async start(t: TestContext): Promise<Exchange> {
    const exchange = new Exchange();
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      const body = text === '' ? null : JSON.parse(text);
      const path = request.url!.split('?')[0]!;
      exchange.asked.push({ path, body, authorization: request.headers.authorization });
      const answer = exchange.#answer(path, body, request.headers.authorization);
      await exchange.pause();
      if (answer === null) return void response.socket!.destroy();
      response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    exchange.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return exchange;
  }

  signIn(options: Partial<SignInOptions> = {}) {
    return signInWithWallet({ baseUrl: this.baseUrl, wallet: KEY, clock: this.clock, ...options });
  }

  count(path: string): number {
    return this.asked.filter((each) => each.path === path).length;
  }

  /** The requests since the last call. */
  take() {
    return this.asked.splice(0);
  }

  #answer(path: string, body: Json, authorization: string | undefined): readonly [number, object] | null {
    if (this.leader !== null) {
      return [503, { error: 'not the leader', code: 'NOT_MATCHING_LEADER', details: { leader: this.leader } }];
    }
    if (path === '/v1/auth/wallet/nonce') return [200, { message: this.#message() }];
    if (path === '/v1/auth/wallet') return [200, this.#issue(body.token_delivery)];
    if (path === '/v1/auth/callback')
      return [200, { ...this.#issue(body.token_delivery), redirect_path: '/portfolio' }];
    if (path === '/v1/auth/revoke') return [200, { message: 'session ended' }];
    if (path === '/v1/auth/refresh') {
      const given = body.refresh_token;
      if (this.isEnded) return [401, ENDED];
      if (given !== undefined && given !== `refresh-${this.generation}`) this.reused++;
      if (this.lost > 0) {
        this.lost--;
        return null;
      }
      return [200, this.#issue(given === undefined ? 'cookie' : 'body')];
    }
    const isRight = authorization === `Bearer ${this.accepted}` && this.clock.nowMs() < this.expiresMs;
    return isRight ? [200, { ticket: `ticket-${this.asked.length}` }] : [401, NO_TOKEN];
  }

  #message(): string {
    const domain = this.domain ?? new URL(this.baseUrl).host;
    return `${domain} wants you to sign in with your Ethereum account:\n${ACCOUNT.address}\n\nSign in.`;
  }

  #issue(delivery: string): object {
    this.generation++;
    this.expiresMs = this.clock.nowMs() + LIFE_MS;
    const refresh_token = delivery === 'body' ? `refresh-${this.generation}` : undefined;
    const access_token = `access-${this.generation}`;
    this.accepted = access_token;
    return { access_token, expires_in: LIFE_MS / 1000, user: { id: this.user }, refresh_token };
  }
}

/** Tokens that several sessions share, one at a time. */
class SharedTokens implements TokenStore {
  tokens: SessionTokens | null = null;
  #last: Promise<unknown> = Promise.resolve();

  read(): SessionTokens | null {
    return this.tokens;
  }

  write(tokens: SessionTokens | null): void {
    this.tokens = tokens;
  }

  alone<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

test('an account of viem, a private key and any object that signs texts sign in with the same signature', async (t) => {
  const exchange = await Exchange.start(t);
  const own = { address: ACCOUNT.address, signMessage: (text: string) => ACCOUNT.signMessage({ message: text }) };
  for (const wallet of [ACCOUNT, KEY, own]) {
    const session = await exchange.signIn({ wallet, referralCode: 'H7K2M9QX' });
    assert.equal(session.user.id, 'user-1');
  }
  const bodies = exchange.take().filter(({ path }) => path === '/v1/auth/wallet');
  assert.equal(new Set(bodies.map(({ body }) => JSON.stringify(body))).size, 1);
  assert.deepEqual([bodies[0]!.body.token_delivery, bodies[0]!.body.referral_code], ['body', 'H7K2M9QX']);
});

test('15.34: a sign-in at a provider ends in a session as well', async (t) => {
  const { baseUrl, clock, ...exchange } = await Exchange.start(t);
  const options = { baseUrl, clock, tokenDelivery: 'cookie', provider: 'google' } as const;
  const { session, redirectPath } = await signInWithProvider({ ...options, returned: { code: 'c', state: 's' } });
  assert.deepEqual([session.user.id, redirectPath], ['user-1', '/portfolio']);
  const sent = { provider: 'google', code: 'c', state: 's', token_delivery: 'cookie' };
  assert.deepEqual(exchange.asked[0]!.body, sent);
});

test('SIGNINWALLET-1: a wallet signs no sign-in to another domain or of another wallet', async (t) => {
  const exchange = await Exchange.start(t);
  exchange.domain = 'bank.example';
  await assert.rejects(exchange.signIn(), /offers a message for bank\.example, not for 127\.0\.0\.1:\d+/);
  assert.equal((await exchange.signIn({ domain: 'bank.example' })).user.id, 'user-1');
  exchange.domain = `localhost:${new URL(exchange.baseUrl).port}`;
  assert.equal((await exchange.signIn()).user.id, 'user-1', 'the names of loopback are one');
  const other = privateKeyToAccount(`0x${'5f'.repeat(32)}`);
  await assert.rejects(exchange.signIn({ wallet: other }), /not for this wallet/);
  await assert.rejects(exchange.signIn({ wallet: `${KEY}0` }), (error: Error) => !error.message.includes('5e5e'));
});

test('SESSION-1: however many requests meet an expired or a refused token, it is renewed once', async (t) => {
  const exchange = await Exchange.start(t);
  const session = await exchange.signIn();
  const client = new ExchangeClient({ baseUrl: exchange.baseUrl, session });
  const wait = (turns: number) => async () => {
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
  };
  const cases = fc.asyncProperty(fc.constantFrom('expired', 'refused'), fc.nat(3), async (cause, turns) => {
    exchange.take();
    exchange.pause = wait(turns);
    if (cause === 'expired') exchange.clock.advance(LIFE_MS);
    else exchange.accepted = '';
    await Promise.all(Array.from({ length: 100 }, () => client.balances()));
    assert.equal(exchange.count('/v1/auth/refresh'), 1);
    assert.equal(exchange.count('/v1/user/balances'), cause === 'expired' ? 100 : 200);
  });
  await fc.assert(cases, { numRuns: 6 });
});

test('a token is renewed half a minute before it expires, and a lost answer is asked for again', async (t) => {
  const exchange = await Exchange.start(t);
  const session = await exchange.signIn();
  const client = new ExchangeClient({ baseUrl: exchange.baseUrl, session, retry: false });
  exchange.clock.advance(LIFE_MS - 30_001);
  await client.balances();
  assert.equal(exchange.count('/v1/auth/refresh'), 0);
  exchange.clock.advance(1);
  exchange.lost = 1;
  await client.balances();
  assert.equal(exchange.count('/v1/auth/refresh'), 2);
  assert.equal(exchange.reused, 0);
  exchange.clock.advance(LIFE_MS);
  // A used token has one repeat.
  exchange.lost = 2;
  await assert.rejects(client.balances());
  await client.balances();
  assert.equal(exchange.count('/v1/auth/refresh'), 5, 'one that failed is not the last');
});

test('a session that has ended says so once, and asks for nothing more', async (t) => {
  const exchange = await Exchange.start(t);
  const reasons: string[] = [];
  const session = await exchange.signIn({ onEnd: ({ message }) => reasons.push(message) });
  const client = new ExchangeClient({ baseUrl: exchange.baseUrl, session });
  exchange.isEnded = true;
  exchange.clock.advance(LIFE_MS);
  await assert.rejects(client.balances(), new ApiError(401, 'UNAUTHORIZED', ENDED.error, ENDED.details, null));
  exchange.take();
  await assert.rejects(client.balances(), { message: 'session has ended' });
  await session.signOut();
  assert.deepEqual([reasons, exchange.take(), session.user.id], [['session has ended'], [], 'user-1']);
});

test('signing out ends the session with the refresh token, and every later request', async (t) => {
  const exchange = await Exchange.start(t);
  const session = await exchange.signIn();
  exchange.clock.advance(LIFE_MS);
  const waiting = session.ticket();
  await session.signOut();
  await waiting.catch(() => {});
  const revoked = exchange.take().filter(({ path }) => path === '/v1/auth/revoke');
  assert.deepEqual(revoked[0]!.body, { refresh_token: 'refresh-2' }, 'the newest one');
  await assert.rejects(session.ticket(), { message: 'signed out', status: 401 });
});

test('clients that share a store renew one at a time, and use a token that another has renewed', async (t) => {
  const exchange = await Exchange.start(t);
  const store = new SharedTokens();
  const first = await exchange.signIn({ store });
  const options = { baseUrl: exchange.baseUrl, clock: exchange.clock, store };
  const sessions = [first, ...(await Promise.all([1, 2, 3].map(() => resumeSession(options))))];
  for (let round = 0; round < 3; round++) {
    exchange.take();
    exchange.clock.advance(LIFE_MS);
    await Promise.all(sessions.map((session) => session.ticket()));
    assert.deepEqual([exchange.count('/v1/auth/refresh'), exchange.reused], [1, 0]);
  }
  await sessions[1]!.signOut();
  assert.equal(store.tokens, null);
  exchange.clock.advance(LIFE_MS);
  await assert.rejects(first.ticket(), { message: 'signed out' });
  await assert.rejects(resumeSession(options), { message: 'there is no session to continue', status: 401 });
});

test("SESSION-2: a session never becomes another account's; the other account stays signed in", async (t) => {
  const exchange = await Exchange.start(t);
  const store = new SharedTokens();
  const first = await exchange.signIn({ store });
  exchange.user = 'user-2';
  const second = await exchange.signIn({ store });
  exchange.clock.advance(LIFE_MS);
  await assert.rejects(first.ticket(), { message: 'another account has signed in', status: 401 });
  assert.equal(exchange.count('/v1/auth/refresh'), 0, 'nor does it use the token of the other');
  await second.ticket();
  assert.equal(store.tokens?.user.id, 'user-2');

  const tab = await exchange.signIn({ tokenDelivery: 'cookie' });
  exchange.user = 'user-3';
  exchange.clock.advance(LIFE_MS);
  await assert.rejects(tab.ticket(), { message: 'another account has signed in' });
});

test('with a cookie no refresh token is in a body, and tabs renew under the lock of the browser', async (t) => {
  const exchange = await Exchange.start(t);
  const names: string[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const locks = {
    request: (name: string, _: object, act: () => Promise<unknown>) => {
      names.push(name);
      last = last.then(act, act);
      return last;
    },
  };
  const navigator = Object.getOwnPropertyDescriptor(globalThis, 'navigator')!;
  Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true });
  t.after(() => Object.defineProperty(globalThis, 'navigator', navigator));
  const options = { baseUrl: exchange.baseUrl, clock: exchange.clock, tokenDelivery: 'cookie' } as const;
  const [one, two] = await Promise.all([resumeSession(options), resumeSession(options)]);
  exchange.clock.advance(LIFE_MS);
  let most = 0;
  let now = 0;
  exchange.pause = async () => {
    most = Math.max(most, ++now);
    await new Promise(setImmediate);
    now--;
  };
  exchange.take();
  await Promise.allSettled([one.authorize(async () => {}), two.authorize(async () => {})]);
  assert.deepEqual(
    exchange.take().map(({ path, body }) => [path, body]),
    Array.from({ length: 2 }, () => ['/v1/auth/refresh', {}]),
  );
  assert.equal(most, 1);
  assert.deepEqual(new Set(names), new Set([`session of ${exchange.baseUrl}`]));
  await one.signOut();
  assert.deepEqual(exchange.take()[0]?.body, {});
});

test('SESSION-3: neither inspection nor JSON nor an error of a session shows a secret', async (t) => {
  const exchange = await Exchange.start(t);
  const session = await exchange.signIn();
  const client = new ExchangeClient({ baseUrl: exchange.baseUrl, session, retry: false });
  const errors: unknown[] = [];
  exchange.clock.advance(LIFE_MS);
  exchange.lost = 2;
  await client.balances().catch((error) => errors.push(error));
  exchange.isEnded = true;
  await client.balances().catch((error) => errors.push(error));
  assert.equal(errors.length, 2);
  const live = await exchange.signIn();
  for (const value of [
    session,
    live,
    client,
    new ExchangeClient({ baseUrl: exchange.baseUrl, session: live }),
    ...errors,
  ]) {
    const shown = inspect(value, { showHidden: true, depth: 10 }) + JSON.stringify(value) + String(value);
    assert.doesNotMatch(shown, /access-\d|refresh-\d|5e5e/);
  }
});

test('ACCOUNTREQUESTS-1: a client takes a session of its own exchange only, and no key beside it', async (t) => {
  const exchange = await Exchange.start(t);
  const session = await exchange.signIn();
  const client = new ExchangeClient({ baseUrl: exchange.baseUrl, session });
  exchange.clock.advance(LIFE_MS);
  const statement = await new Response(await client.ledger.openStatement({ format: 'csv' })).text();
  assert.match(statement, /ticket/, 'long answers are of the session as well');
  const baseUrl = 'https://other.example';
  assert.throws(() => new ExchangeClient({ baseUrl, session }), /not of https:\/\/other\.example/);
  const credentials = { keyId: 'k', secret: 'c2VjcmV0', passphrase: 'p' };
  assert.throws(
    () => new ExchangeClient({ baseUrl: exchange.baseUrl, session, credentials }),
    /an API key or a session/,
  );
  exchange.take();
  const refused = { error: 'invalid nonce', code: 'UNAUTHORIZED', details: { step: 'nonce' } };
  const fail = session.authorize(() =>
    Promise.reject(new ApiError(401, refused.code, refused.error, refused.details, null)),
  );
  await assert.rejects(fail, { message: 'invalid nonce' });
  assert.deepEqual(exchange.take(), [], 'what is not about the token renews none');
});

test('the client loads without modules of Node', () => {
  const seen = new Set<string>();
  const visit = (url: URL): void => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    for (const [, kind, name] of text.matchAll(/^(import|export) (?!type)[^;]*?from '([^']+)';/gms)) {
      assert.ok(!name!.startsWith('node:'), `${url.pathname} has ${kind} of ${name}`);
      if (name!.startsWith('.')) visit(new URL(name!, url));
    }
  };
  for (const file of ['session.ts', 'client.ts', 'stream/exchangeStream.ts']) {
    visit(new URL(`../../../../shared/client/${file}`, import.meta.url));
  }
  assert.ok(seen.size > 10);
});

test('a session of a cluster signs in, renews, opens sockets and ends where the leader is', async (t) => {
  const [leader, standby] = [await Exchange.start(t), await Exchange.start(t)];
  standby.leader = leader.baseUrl;
  const session = await leader.signIn({ baseUrl: [standby.baseUrl, leader.baseUrl] });
  assert.deepEqual(session.origins, [standby.baseUrl, leader.baseUrl]);
  assert.equal(standby.count('/v1/auth/wallet'), 0, 'the leader is known from the first answer on');
  leader.clock.advance(LIFE_MS);
  assert.match(await session.ticket(), /^ticket-/);
  assert.equal(leader.count('/v1/auth/refresh'), 1);
  assert.match(await session.ticket(leader.baseUrl), /^ticket-/);
  await assert.rejects(session.ticket(standby.baseUrl), { code: 'NOT_MATCHING_LEADER' });
  await assert.rejects(session.ticket('http://elsewhere'), /the session is one of .* not of http:\/\/elsewhere/);
  await session.signOut();
  assert.equal(leader.count('/v1/auth/revoke'), 1);
});

test('a client uses only the addresses of its session, and a cookie belongs to one address', async (t) => {
  const [one, two] = [await Exchange.start(t), await Exchange.start(t)];
  const session = await one.signIn();
  assert.throws(() => new ExchangeClient({ baseUrl: [one.baseUrl, two.baseUrl], session }), /the session is one of/);
  const both = [one.baseUrl, two.baseUrl];
  await assert.rejects(resumeSession({ baseUrl: both, tokenDelivery: 'cookie' }), /a cookie is one of one address/);
});
