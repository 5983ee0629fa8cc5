/**
 * The session of the visitor. The access token is kept only in memory; after a reload a cookie, which scripts cannot
 * read, renews it.
 *
 * Invariants:
 *   WEBSESSION-1  All tabs show the same visitor: they share the cookie, so signing in or out in one tab does so in
 *                 all.
 */
import { useEffect, useState } from 'preact/hooks';
import { isRefusal } from '../../../shared/client/answers.ts';
import { ApiError, openBody, sendRequest } from '../../../shared/client/http.ts';
import { type HeaderFields, prepareRequest } from '../../../shared/client/request.ts';
import { resumeSession, type Session, signInWithProvider, signInWithWallet } from '../../../shared/client/session.ts';
import type { Profile } from '../../../shared/client/types.ts';
import { textOf } from './api.ts';
import { onOtherTab, read, remove, write } from './storage.ts';
import type { Wallet } from './wallet.ts';
import { forgetWallet, openWalletAnew, rememberWallet } from './wallets.ts';
import { useComing } from './whole.ts';

/** `unknown` until the cookie's session has been requested. */
type Visitor =
  /** After the first attempt, with the cause that keeps the visitor unknown. */
  | { readonly kind: 'unknown'; readonly cause: string | null }
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'user'; readonly user: Profile };

const UNKNOWN: Visitor = { kind: 'unknown', cause: null };

const UNAUTHORIZED = 401;
/** The account that was signed in when the page was last used, unless it signed out. */
const SIGNED_IN = 'signed-in';
const RETRY_SECONDS = 2;

let visitor: Visitor = read(SIGNED_IN) === null ? { kind: 'anonymous' } : UNKNOWN;
/** One request for the session, shared by all requests that wait for it. */
let session: Promise<Session> | null = null;
let isSettling = false;
/** Counts the sessions, so that the end of an old session is not mistaken for the end of its successor. */
let opened = 0;
const listeners = new Set<(visitor: Visitor) => void>();

export function useVisitor(): Visitor {
  const [shown, show] = useState(visitor);
  useEffect(() => {
    listeners.add(show);
    show(visitor);
    void settle();
    return () => {
      listeners.delete(show);
    };
  }, []);
  useComing(shown.kind === 'unknown' && shown.cause === null);
  return shown;
}

/** Finds out who an unknown visitor is, and tries until the exchange answers. */
async function settle(): Promise<void> {
  if (isSettling) return;
  isSettling = true;
  while (visitor.kind === 'unknown') {
    try {
      await current();
    } catch (error) {
      const seconds = (error instanceof ApiError ? error.retryAfter : null) ?? RETRY_SECONDS;
      if (visitor.kind !== 'unknown') break;
      become({ kind: 'unknown', cause: textOf(error) });
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }
  isSettling = false;
}

/** WEBSESSION-1. */
onOtherTab(SIGNED_IN, (accountId) => {
  if (visitor.kind === 'user' && visitor.user.id === accountId) return;
  opened += 1;
  session = null;
  openWalletAnew();
  become(accountId === null ? { kind: 'anonymous' } : UNKNOWN);
  void settle();
});

export async function signIn(wallet: Wallet): Promise<void> {
  await enterWith(wallet, async () => {});
}

/** In a demo: the account has its play money before the page shows what it can buy. */
export async function signInForPlay(wallet: Wallet): Promise<void> {
  await enterWith(wallet, (entered) => request(entered, 'POST', '/v1/demo/funds'));
}

async function enterWith(wallet: Wallet, prepare: (entered: Session) => Promise<void>): Promise<void> {
  const entered = await signInWithWallet({ ...options(), wallet });
  session = Promise.resolve(entered);
  rememberWallet(wallet);
  await prepare(entered).finally(() => enter(entered));
}

/**
 * Ends a sign-in at a provider with the code that it has sent.
 * @returns the path at which the visitor wanted to go on.
 */
export async function signInFrom(provider: string, returned: Readonly<Record<string, string>>): Promise<string> {
  const { session: entered, redirectPath } = await signInWithProvider({ ...options(), provider, returned });
  session = Promise.resolve(entered);
  enter(entered);
  return redirectPath;
}

/** Throws if the exchange may not have received it: then the browser's cookie is still valid. */
export async function signOut(): Promise<void> {
  const ending = session?.then((signedIn) => signedIn.signOut());
  forgetWallet();
  await ending?.finally(leave).catch(() => {
    throw new Error('Signed out in this browser only: the exchange does not answer.');
  });
}

/** Sends a request of the signed-in account. */
export async function ask<T>(method: string, path: string, body?: unknown, more: HeaderFields = {}): Promise<T> {
  return request(await current(), method, path, body, more);
}

function request<T>(own: Session, method: string, path: string, body?: unknown, more: HeaderFields = {}): Promise<T> {
  return own.authorize((headers) =>
    sendRequest<T>(
      location.origin,
      prepareRequest(method, path, body, () => ({ ...headers, ...more })),
    ),
  );
}

/** Saves an answer of the signed-in account as a file. */
export async function download(path: string, name: string): Promise<void> {
  const signedIn = await current();
  const body = await signedIn.authorize((headers) =>
    openBody(
      location.origin,
      prepareRequest('GET', path, undefined, () => headers),
    ),
  );
  const url = URL.createObjectURL(await new Response(body).blob());
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}

/** Gets a ticket that opens one private stream. */
export async function ticket(): Promise<string> {
  return (await current()).ticket();
}

function current(): Promise<Session> {
  session ??= resumeSession(options()).then(
    (resumed) => {
      enter(resumed);
      return resumed;
    },
    (error: unknown) => {
      session = null;
      if (isRefusal(error) && error.status === UNAUTHORIZED) leave();
      throw error;
    },
  );
  return session;
}

function options() {
  opened += 1;
  const own = opened;
  const onEnd = (): void => {
    if (own === opened) leave();
  };
  return { baseUrl: location.origin, tokenDelivery: 'cookie', onEnd } as const;
}

function enter({ user }: Session): void {
  write(SIGNED_IN, user.id);
  become({ kind: 'user', user });
}

function leave(): void {
  session = null;
  remove(SIGNED_IN);
  become({ kind: 'anonymous' });
}

function become(next: Visitor): void {
  visitor = next;
  for (const listener of listeners) listener(next);
}
