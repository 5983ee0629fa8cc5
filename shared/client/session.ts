/**
 * Signing in with a wallet, and the session that follows (RULES.md 15): its access token is renewed before it expires,
 * and once more if it is refused. Runs in browsers, where a cookie has the refresh token, and in Node.
 *
 * Invariants:
 *   SESSION-1  At most one renewal is under way, however many requests wait for it: a refresh token is used once.
 *   SESSION-2  A session is of one account for its life. When another account has signed in at the same place (the
 *              cookie of the browser, the store), the session ends instead of becoming that of the other.
 *   SESSION-3  Tokens are in private fields only: no error, no JSON and no inspection of a session shows them.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { memberOf } from '../base/memberOf.ts';
import { Addresses, type BaseUrl } from './addresses.ts';
import { isRefusal } from './answers.ts';
import { ApiError, DEFAULT_TIMEOUT_MS, sendRequest } from './http.ts';
import { type HeaderFields, prepareRequest, withQuery } from './request.ts';
import { MemoryTokens, type SessionTokens, TabTokens, type TokenStore } from './sessionTokens.ts';
import { INSPECT, type Inspecting, shown } from './shown.ts';
import { checkMessage, expectedDomains, type SignInWallet, textWalletOf } from './signInWallet.ts';
import type { Profile, SessionAnswer, WalletMessage } from './types.ts';

export type SessionOptions = {
  /** Of a cluster those of its members: the one that leads signs in and renews. */
  readonly baseUrl: BaseUrl;
  /** Where the refresh token is; by default the cookie in a browser, and the body of answers elsewhere. */
  readonly tokenDelivery?: TokenDelivery;
  /** Keeps the tokens that come in bodies; by default memory does. */
  readonly store?: TokenStore;
  readonly clock?: Clock;
  /** Called once, when the session has ended for whatever reason. */
  readonly onEnd?: (reason: Error) => void;
};

export type SignInOptions = SessionOptions & {
  readonly wallet: SignInWallet;
  /** The domain that the message may name besides those of `baseUrl` and the page: that of the exchange's pages. */
  readonly domain?: string | undefined;
  readonly referralCode?: string | undefined;
};

type ProviderOptions = SessionOptions & {
  readonly provider: string;
  readonly returned: Readonly<Record<string, string>>;
};
/** `redirectPath` is where the person wanted to go on. */
type ProviderSignIn = { readonly session: Session; readonly redirectPath: string };
type TokenDelivery = 'cookie' | 'body';

const UNAUTHORIZED = 401;
const SERVER_ERROR = 500;
/** A token is renewed this long before it expires. */
const EARLY_MS = 30_000;
const RENEWAL_ATTEMPTS = 3;
/** A renewal whose answer was lost is repeated once: a further repeat of a used token ends the session. */
const MOST_LOST = 2;
const RENEWAL_TIMEOUT_MS = 7000;
const PAUSE_MS = 250;
const REPLACED = 'another account has signed in';

/** Signs in, or up. @param options.wallet an account of viem, a private key, or an address with what signs texts. */
export async function signInWithWallet({ wallet, domain, referralCode, ...rest }: SignInOptions): Promise<Session> {
  const options = withDefaults(rest);
  const { address, signMessage } = await textWalletOf(wallet);
  const path = withQuery('/v1/auth/wallet/nonce', { address });
  const { message, origin } = await options.addresses.toLeader(async (asked) => {
    return { ...(await sendRequest<WalletMessage>(asked, prepareRequest('GET', path, undefined))), origin: asked };
  });
  checkMessage(message, address, expectedDomains(origin, domain));
  const signature = await signMessage(message);
  const proof = { message, signature, referral_code: referralCode };
  return (await openSession('/v1/auth/wallet', proof, options)).session;
}

/**
 * Ends a sign-in at a provider of OpenID Connect (RULES.md 15.34), in the browser that began it.
 * @param options.returned the query with which the provider has sent the browser back.
 */
export async function signInWithProvider({ provider, returned, ...rest }: ProviderOptions): Promise<ProviderSignIn> {
  const proof = { provider, ...returned };
  const { session, answer } = await openSession('/v1/auth/callback', proof, withDefaults(rest));
  return { session, redirectPath: answer.redirect_path ?? '/' };
}

async function openSession(path: string, proof: object, options: Settled) {
  const { addresses, store, clock, tokenDelivery } = options;
  const askedMs = clock.nowMs();
  const answer = await sendAuth<SessionAnswer>(addresses, path, { ...proof, token_delivery: tokenDelivery });
  const tokens = tokensOf(answer, askedMs);
  store.write(tokens);
  return { session: new Session(tokens, options), answer };
}

/** Continues the session of the browser's cookie, or that of `store`; 401 if there is none that is in force. */
export async function resumeSession(options: SessionOptions): Promise<Session> {
  const settled = withDefaults(options);
  const { store, addresses, clock } = settled;
  const kept = store.read();
  if (kept !== null) return new Session(kept, settled);
  if (settled.tokenDelivery === 'body') throw noSession('there is no session to continue');
  return store.alone(async () => {
    const shared = (await store.ask?.()) ?? null;
    if (shared !== null && isFresh(shared, clock)) return new Session(shared, settled);
    const tokens = await renewedTokens(addresses, null, clock);
    store.write(tokens);
    return new Session(tokens, settled);
  });
}

export class Session {
  readonly #addresses: Addresses;
  readonly #store: TokenStore;
  readonly #clock: Clock;
  readonly #onEnd: (reason: Error) => void;
  #tokens: SessionTokens;
  #renewal: Promise<SessionTokens> | null = null;
  #end: Error | null = null;

  constructor(tokens: SessionTokens, { addresses, store, clock, onEnd }: Settled) {
    this.#addresses = addresses;
    this.#tokens = tokens;
    this.#store = store;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** The addresses that get the tokens of the session. */
  get origins(): readonly string[] {
    return this.#addresses.origins;
  }

  /** The account as it was at the sign-in or the last renewal. */
  get user(): Profile {
    return this.#tokens.user;
  }

  /** Calls `send` with the headers of the session, and once more with those of a new token if the first is refused. */
  async authorize<T>(send: (headers: HeaderFields) => Promise<T>): Promise<T> {
    const tokens = await this.#current();
    try {
      return await send(bearer(tokens));
    } catch (error) {
      if (!isTokenRefused(error)) throw error;
      // Another request may have had the same refusal, and the renewal behind it.
      return send(bearer(this.#tokens === tokens ? await this.#renew() : await this.#current()));
    }
  }

  /** Opens one socket within 30 seconds (RULES.md 15.7), at this address of the session; by default at the leader's. */
  async ticket(at?: string): Promise<string> {
    if (at !== undefined && !this.origins.includes(at)) {
      throw new Error(`the session is one of ${this.origins.join()}, not of ${at}`);
    }
    const { ticket } = await this.authorize((headers) => {
      const request = prepareRequest('POST', '/v1/auth/ws-ticket', undefined, () => headers);
      const send = (origin: string) => sendRequest<{ ticket: string }>(origin, request);
      return at === undefined ? this.#addresses.toLeader(send) : send(at);
    });
    return ticket;
  }

  [INSPECT](...inspecting: Inspecting): string {
    const { origins, user } = this;
    return shown('Session', { of: user.id, origins, hasEnded: this.#end !== null }, inspecting);
  }

  /** Ends the session here in any case; an error says that the exchange may not know. */
  async signOut(): Promise<void> {
    if (this.#end !== null) return;
    await this.#renewal?.catch(() => {});
    await this.#store.alone(async () => {
      const kept = this.#store.read();
      const { refreshToken } = kept !== null && this.#isOwn(kept) ? kept : this.#tokens;
      this.#ended(noSession('signed out'));
      await sendAuth(this.#addresses, '/v1/auth/revoke', refreshBody(refreshToken));
    });
  }

  async #current(): Promise<SessionTokens> {
    if (this.#end !== null) throw this.#end;
    return isFresh(this.#tokens, this.#clock) ? this.#tokens : this.#renew();
  }

  /** SESSION-1. */
  #renew(): Promise<SessionTokens> {
    this.#renewal ??= this.#store
      .alone(() => this.#renewAlone())
      .finally(() => {
        this.#renewal = null;
      });
    return this.#renewal;
  }

  async #renewAlone(): Promise<SessionTokens> {
    if (this.#end !== null) throw this.#end;
    const kept = this.#store.read();
    if (kept === null) throw this.#ended(noSession('signed out'));
    if (!this.#isOwn(kept)) throw this.#ended(noSession(REPLACED));
    const isRenewedByOther = kept.accessToken !== this.#tokens.accessToken && isFresh(kept, this.#clock);
    const tokens = isRenewedByOther ? kept : await this.#renewed(kept);
    if (!this.#isOwn(tokens)) throw this.#ended(noSession(REPLACED));
    if (!isRenewedByOther) this.#store.write(tokens);
    this.#tokens = tokens;
    return tokens;
  }

  async #renewed({ refreshToken }: SessionTokens): Promise<SessionTokens> {
    try {
      return await renewedTokens(this.#addresses, refreshToken, this.#clock);
    } catch (error) {
      throw isRefusal(error) && error.status === UNAUTHORIZED ? this.#ended(error) : error;
    }
  }

  /** SESSION-2. */
  #isOwn({ user }: SessionTokens): boolean {
    return user.id === this.#tokens.user.id;
  }

  /** The store may have the tokens of another account by now; these stay. */
  #ended(reason: Error): Error {
    const kept = this.#store.read();
    if (kept !== null && this.#isOwn(kept)) this.#store.write(null);
    // The account may still be shown; its tokens are of no use any more.
    this.#tokens = { ...this.#tokens, accessToken: '', refreshToken: null };
    this.#end = reason;
    this.#onEnd(reason);
    return reason;
  }
}

type Settled = Required<Omit<SessionOptions, 'baseUrl'>> & { readonly addresses: Addresses };

function withDefaults({ baseUrl, tokenDelivery, store, clock, onEnd }: SessionOptions): Settled {
  const addresses = new Addresses(baseUrl);
  const delivery = tokenDelivery ?? (store !== undefined || isNode() ? 'body' : 'cookie');
  if (delivery === 'cookie' && store !== undefined) throw new Error('a store cannot keep the token of a cookie');
  if (delivery === 'cookie' && addresses.origins.length > 1) throw new Error('a cookie is one of one address');
  return {
    addresses,
    tokenDelivery: delivery,
    store: store ?? (delivery === 'cookie' ? new TabTokens(addresses.current) : new MemoryTokens()),
    clock: clock ?? systemClock,
    onEnd: onEnd ?? (() => {}),
  };
}

function isNode(): boolean {
  return typeof process === 'object' && process.versions?.node !== undefined;
}

function isFresh({ expiresMs }: SessionTokens, clock: Clock): boolean {
  return expiresMs - clock.nowMs() > EARLY_MS;
}

/** An answer of the exchange to the request itself, such as a wrong signature, is none about the token. */
function isTokenRefused(error: unknown): boolean {
  if (!isRefusal(error) || error.status !== UNAUTHORIZED) return false;
  return memberOf(error.details, 'step') === 'access_token';
}

function bearer({ accessToken }: SessionTokens): HeaderFields {
  return { authorization: `Bearer ${accessToken}` };
}

/** @param askedMs the moment before the request: the token cannot expire earlier than is counted from it. */
function tokensOf({ access_token, expires_in, refresh_token, user }: SessionAnswer, askedMs: number): SessionTokens {
  const refreshToken = refresh_token ?? null;
  return { accessToken: access_token, expiresMs: askedMs + expires_in * 1000, refreshToken, user };
}

async function renewedTokens(addresses: Addresses, refreshToken: string | null, clock: Clock): Promise<SessionTokens> {
  for (let attempt = 1, lost = 0; ; attempt++) {
    const askedMs = clock.nowMs();
    try {
      const body = refreshBody(refreshToken);
      return tokensOf(await sendAuth<SessionAnswer>(addresses, '/v1/auth/refresh', body, RENEWAL_TIMEOUT_MS), askedMs);
    } catch (error) {
      const isFinal = isRefusal(error) && error.status < SERVER_ERROR;
      if (!isRefusal(error)) lost++;
      if (isFinal || lost === MOST_LOST || attempt === RENEWAL_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

function refreshBody(refreshToken: string | null): object {
  return refreshToken === null ? {} : { refresh_token: refreshToken };
}

/** With the cookie also where the page is of another origin than the exchange, one that the exchange names. */
function sendAuth<T>(addresses: Addresses, path: string, body: object, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<T> {
  const request = prepareRequest('POST', path, body);
  return addresses.toLeader((origin) => sendRequest(origin, request, { timeoutMs, credentials: 'include' }));
}

function noSession(message: string): ApiError {
  return new ApiError(UNAUTHORIZED, 'UNAUTHORIZED', message, undefined, null);
}
