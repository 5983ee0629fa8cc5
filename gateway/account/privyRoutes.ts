/** Sign-in with the tokens of Privy (RULES.md 15.31). */
import { PRIVY_SIGN_IN, SESSION } from '../../shared/api/sessions.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { PrivyTokens } from './privyTokens.ts';
import { answerSignIn, isRefusedPage } from './sessionAnswer.ts';
import type { AuthDeps } from './signInDeps.ts';

const SIGN_IN = {
  method: 'POST',
  path: '/v1/auth/privy',
  id: 'signInWithPrivy',
  summary: 'Opens a session for the person whom the tokens of Privy name, whose account is made if there is none.',
  access: 'public',
  limit: 'signIn',
  cookies: true,
  storing: true,
  body: PRIVY_SIGN_IN,
  answers: { 200: SESSION },
  errors: ['INVALID_ACCESS_TOKEN', 'ACCESS_TOKEN_EXPIRED', 'OTHER_SITE', 'RESOURCE_NOT_FOUND', 'PROVIDER_UNAVAILABLE'],
} as const satisfies RouteSpec;

type PrivyDeps = AuthDeps & {
  /** Null if the exchange accepts no Privy tokens. */
  readonly privy: PrivyTokens | null;
};

export function privyRoutes(deps: PrivyDeps): Route[] {
  return [route(SIGN_IN, (call) => signIn(call, deps))];
}

async function signIn(call: CallOf<typeof SIGN_IN>, deps: PrivyDeps): Promise<void> {
  const { access_token, identity_token, ...wishes } = call.body;
  if (deps.privy === null) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'unknown provider' });
  if (isRefusedPage(call, wishes.token_delivery ?? 'cookie', deps)) return;
  const proof = await deps.privy.check(access_token, identity_token, deps.clock.nowMs());
  if ('row' in proof) refuse(call, proof);
  else await answerSignIn(call, proof, wishes, deps);
}
