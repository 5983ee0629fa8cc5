/** Sign-in with a wallet, which needs no provider (RULES.md 15.10). */
import { SESSION, WALLET_MESSAGE, WALLET_MESSAGE_QUERY, WALLET_SIGN_IN } from '../../shared/api/sessions.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { answerSignIn, isRefusedPage } from './sessionAnswer.ts';
import type { AuthDeps } from './signInDeps.ts';
import type { WalletProofs } from './walletProofs.ts';

const OFFER_MESSAGE = {
  method: 'GET',
  path: '/v1/auth/wallet/nonce',
  id: 'getSignInMessage',
  summary: 'The message with which a wallet signs in, with a nonce that is good once.',
  changes: true,
  access: 'public',
  limit: 'signIn',
  cookies: true,
  query: WALLET_MESSAGE_QUERY,
  answers: { 200: WALLET_MESSAGE },
} as const satisfies RouteSpec;

const SIGN_IN = {
  method: 'POST',
  path: '/v1/auth/wallet',
  id: 'signInWithWallet',
  summary: 'Opens a session for the account of the wallet that has signed the message, which is made if there is none.',
  access: 'public',
  limit: 'signIn',
  cookies: true,
  storing: true,
  body: WALLET_SIGN_IN,
  answers: { 200: SESSION },
  errors: ['INVALID_NONCE', 'NONCE_USED', 'INVALID_HMAC_SIGNATURE', 'OTHER_SITE', 'WALLET_REMOVED'],
} as const satisfies RouteSpec;

const PURPOSE = { account: 0, act: '', statement: 'Sign in to the exchange.' };

type WalletDeps = AuthDeps & { readonly walletProofs: WalletProofs };

export function walletSignInRoutes(deps: WalletDeps): Route[] {
  return [route(OFFER_MESSAGE, (call) => offerMessage(call, deps)), route(SIGN_IN, (call) => signIn(call, deps))];
}

function offerMessage(call: CallOf<typeof OFFER_MESSAGE>, { walletProofs, clock }: WalletDeps): void {
  const address = call.query.address.toLowerCase();
  const { nonce, message, expiresMs } = walletProofs.offer(address, call.headers.origin, PURPOSE, clock.nowMs());
  ok(call, { nonce, message, expires_at: new Date(expiresMs).toISOString() });
}

async function signIn(call: CallOf<typeof SIGN_IN>, deps: WalletDeps): Promise<void> {
  const { message, signature, ...wishes } = call.body;
  if (isRefusedPage(call, wishes.token_delivery ?? 'cookie', deps)) return;
  const wallet = deps.walletProofs.check(message, signature, PURPOSE, deps.clock.nowMs());
  if (typeof wallet !== 'string') return refuse(call, wallet);
  const proof = { method: 'wallet', wallet, identity: null, email: null, displayName: null };
  await answerSignIn(call, proof, wishes, deps);
}
