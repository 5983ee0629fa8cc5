/**
 * The session of the visitor. The access token is kept in memory only; over a reload there is the cookie that renews
 * it, which scripts cannot read.
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, sendRequest } from '../../shared/client/http.ts';
import { prepareRequest } from '../../shared/client/request.ts';
import { resumeSession, type Session, signInWithProvider, signInWithWallet } from '../../shared/client/session.ts';
import type { Profile } from '../../shared/client/types.ts';
import type { Wallet } from './wallet.ts';
import { forgetWallet, rememberWallet } from './wallets.ts';

/** `unknown` until the session of the cookie has been asked for. */
type Visitor = { readonly kind: 'unknown' } | { readonly kind: 'anonymous' } | { kind: 'user'; user: Profile };

const UNAUTHORIZED = 401;
const SIGNED_IN_BEFORE = 'signed-in';
const OPTIONS = { baseUrl: location.origin, tokenDelivery: 'cookie', onEnd: leave } as const;

let visitor: Visitor = { kind: localStorage.getItem(SIGNED_IN_BEFORE) === null ? 'anonymous' : 'unknown' };
/** One for all requests that wait for it. */
let session: Promise<Session> | null = null;
const listeners = new Set<(visitor: Visitor) => void>();

export function useVisitor(): Visitor {
  const [shown, show] = useState(visitor);
  useEffect(() => {
    listeners.add(show);
    show(visitor);
    if (visitor.kind === 'unknown') current().catch(() => {});
    return () => {
      listeners.delete(show);
    };
  }, []);
  return shown;
}

export async function signIn(wallet: Wallet): Promise<void> {
  const opened = await signInWithWallet({ ...OPTIONS, wallet });
  session = Promise.resolve(opened);
  enter(opened);
  rememberWallet(wallet);
}

/** Ends a sign-in at a provider with what it has sent back. @returns the path at which the visitor wanted to go on. */
export async function signInFrom(provider: string, returned: Readonly<Record<string, string>>): Promise<string> {
  const { session: opened, redirectPath } = await signInWithProvider({ ...OPTIONS, provider, returned });
  session = Promise.resolve(opened);
  enter(opened);
  return redirectPath;
}

export async function signOut(): Promise<void> {
  await session?.then((opened) => opened.signOut()).catch(() => {});
  leave();
  forgetWallet();
}

/** A request of the signed-in account. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const opened = await current();
  return opened.authorize((headers) =>
    sendRequest<T>(
      location.origin,
      prepareRequest(method, path, body, () => headers),
    ),
  );
}

function current(): Promise<Session> {
  session ??= resumeSession(OPTIONS).then(
    (resumed) => {
      enter(resumed);
      return resumed;
    },
    (error: unknown) => {
      session = null;
      if (error instanceof ApiError && error.status === UNAUTHORIZED) leave();
      throw error;
    },
  );
  return session;
}

function enter({ user }: Session): void {
  localStorage.setItem(SIGNED_IN_BEFORE, 'yes');
  become({ kind: 'user', user });
}

function leave(): void {
  session = null;
  localStorage.removeItem(SIGNED_IN_BEFORE);
  become({ kind: 'anonymous' });
}

function become(next: Visitor): void {
  visitor = next;
  for (const listener of listeners) listener(next);
}
