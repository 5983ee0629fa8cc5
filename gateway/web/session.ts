/**
 * The session of the visitor. The access token is kept in memory only; over a reload there is the cookie that renews
 * it, which scripts cannot read.
 *
 * Invariants:
 *   WEBSESSION-1  At most one renewal is under way, so two requests never use the same refresh token.
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, sendRequest } from '../../shared/client/http.ts';
import { prepareRequest } from '../../shared/client/request.ts';
import type { Profile } from '../../shared/client/types.ts';
import type { Wallet } from './wallet.ts';
import { forgetWallet, rememberWallet } from './wallets.ts';

type SessionAnswer = { access_token: string; expires_in: number; user: Profile; redirect_path?: string };
type Session = { readonly user: Profile; readonly token: string; readonly expiresMs: number };
/** `unknown` until the first renewal has been answered. */
type Visitor = { readonly kind: 'unknown' } | { readonly kind: 'anonymous' } | { kind: 'user'; user: Profile };

const UNAUTHORIZED = 401;
/** A token is renewed this long before it expires. */
const EARLY_MS = 30_000;
const SIGNED_IN_BEFORE = 'signed-in';

let session: Session | null = null;
let visitor: Visitor = { kind: localStorage.getItem(SIGNED_IN_BEFORE) === null ? 'anonymous' : 'unknown' };
let renewal: Promise<Session> | null = null;
const listeners = new Set<(visitor: Visitor) => void>();

export function useVisitor(): Visitor {
  const [shown, show] = useState(visitor);
  useEffect(() => {
    listeners.add(show);
    show(visitor);
    if (visitor.kind === 'unknown') renew().catch(() => {});
    return () => {
      listeners.delete(show);
    };
  }, []);
  return shown;
}

export async function signIn(wallet: Wallet): Promise<void> {
  const { message } = await send<{ message: string }>('GET', `/v1/auth/wallet/nonce?address=${wallet.address}`);
  const signature = await wallet.signMessage(message);
  keep(await send<SessionAnswer>('POST', '/v1/auth/wallet', { message, signature }));
  rememberWallet(wallet);
}

/** Ends a sign-in at a provider with what it has sent back. @returns the path at which the visitor wanted to go on. */
export async function signInFrom(provider: string, returned: Readonly<Record<string, string>>): Promise<string> {
  const answer = await send<SessionAnswer>('POST', '/v1/auth/callback', { provider, ...returned });
  keep(answer);
  return answer.redirect_path ?? '/';
}

export async function signOut(): Promise<void> {
  await send('POST', '/v1/auth/revoke', {}).catch(() => {});
  leave();
  forgetWallet();
}

/** A request of the signed-in account. One that is refused for its token is sent once more with a new one. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const { token } = await current();
  try {
    return await send<T>(method, path, body, token);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== UNAUTHORIZED) throw error;
    return send<T>(method, path, body, (await renew()).token);
  }
}

async function current(): Promise<Session> {
  return session !== null && session.expiresMs - Date.now() > EARLY_MS ? session : renew();
}

/** WEBSESSION-1. */
function renew(): Promise<Session> {
  renewal ??= send<SessionAnswer>('POST', '/v1/auth/refresh', {})
    .then(keep)
    .catch((error: unknown) => {
      if (error instanceof ApiError && error.status === UNAUTHORIZED) leave();
      throw error;
    })
    .finally(() => {
      renewal = null;
    });
  return renewal;
}

function keep({ access_token: token, expires_in, user }: SessionAnswer): Session {
  session = { user, token, expiresMs: Date.now() + expires_in * 1000 };
  localStorage.setItem(SIGNED_IN_BEFORE, 'yes');
  become({ kind: 'user', user });
  return session;
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

function send<T>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
  const headers = (): Record<string, string> => (token === undefined ? {} : { authorization: `Bearer ${token}` });
  return sendRequest<T>(location.origin, prepareRequest(method, path, body, headers));
}
