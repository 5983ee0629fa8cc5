/** Sign-in with the providers of OpenID Connect (RULES.md 15.33, 15.34). */
import { OAUTH_CALLBACK, OAUTH_PARAMS, OAUTH_QUERY, OAUTH_REDIRECT, SESSION } from '../../shared/api/sessions.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from '../http/call.ts';
import { cookieLine, cookieOf } from '../http/cookies.ts';
import { redirect, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { LIFETIME_SEC, type OAuthStates } from './oauthState.ts';
import type { OidcProvider } from './oidcProvider.ts';
import { addCookie, answerSignIn, COOKIE_PATH, isRefusedPage } from './sessionAnswer.ts';
import type { AuthDeps } from './signInDeps.ts';

const BEGIN = {
  method: 'GET',
  path: '/v1/auth/oauth/:provider',
  id: 'beginOauth',
  summary: 'Sends the browser to the provider, where its person signs in.',
  changes: true,
  access: 'public',
  limit: 'signIn',
  cookies: true,
  params: OAUTH_PARAMS,
  query: OAUTH_QUERY,
  answers: { 302: OAUTH_REDIRECT },
  errors: ['RESOURCE_NOT_FOUND', 'PROVIDER_UNAVAILABLE'],
} as const satisfies RouteSpec;

const FINISH = {
  method: 'POST',
  path: '/v1/auth/callback',
  id: 'finishOauth',
  summary: 'Opens a session for the person whom the provider has sent back, whose account is made if there is none.',
  access: 'public',
  limit: 'signIn',
  cookies: true,
  storing: true,
  body: OAUTH_CALLBACK,
  answers: { 200: SESSION },
  errors: ['RESOURCE_NOT_FOUND', 'INVALID_CODE', 'OTHER_SITE', 'PROVIDER_UNAVAILABLE'],
} as const satisfies RouteSpec;

const STATE_COOKIE = 'svc_oauth';
/** The page that ends a sign-in (gateway/web/pageRoutes.ts). */
const CALLBACK_PAGE = '/auth/callback';
/** A path of this origin in any browser's reading: no second slash, no backslash, no characters that browsers skip. */
const LOCAL_PATH = /^\/(?!\/)[!-[\]-~]*$/;

type OAuthDeps = AuthDeps & {
  /** By name. */
  readonly oidc: ReadonlyMap<string, OidcProvider>;
  readonly oauthStates: OAuthStates;
  /** The origin of the exchange. */
  readonly publicUrl: () => string;
};

export function oauthRoutes(deps: OAuthDeps): Route[] {
  return [route(BEGIN, (call) => begin(call, deps)), route(FINISH, (call) => finish(call, deps))];
}

async function begin(call: CallOf<typeof BEGIN>, deps: OAuthDeps): Promise<void> {
  const provider = providerOf(call, call.params.provider, deps);
  if (provider === null) return;
  const { redirect_path: redirectPath = '/', referral_code: referralCode = null } = call.query;
  if (!LOCAL_PATH.test(redirectPath)) {
    refuseField(call, 'redirect_path', 'local_path');
    return;
  }
  const begun = await provider.begin(redirectUri(provider, deps));
  if ('row' in begun) return refuse(call, begun);
  const kept = { provider: provider.name, ...begun.checks, redirectPath, referralCode };
  addCookie(call, stateCookie(deps.oauthStates.seal(kept, deps.clock.nowMs()), LIFETIME_SEC, deps));
  redirect(call, begun.url);
}

async function finish(call: CallOf<typeof FINISH>, deps: OAuthDeps): Promise<void> {
  const { provider: name, code, state, iss, token_delivery } = call.body;
  const provider = providerOf(call, name, deps);
  if (provider === null || isRefusedPage(call, token_delivery ?? 'cookie', deps)) return;
  const kept = deps.oauthStates.open(cookieOf(call.headers, STATE_COOKIE) ?? '', deps.clock.nowMs());
  if (kept === null || kept.provider !== provider.name || kept.state !== state)
    return refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid state', details: { field: 'state' } });
  const proof = await provider.finish({ code, state, iss }, kept, redirectUri(provider, deps));
  if ('row' in proof) return refuse(call, proof);
  addCookie(call, stateCookie('', 0, deps));
  const referral_code = kept.referralCode ?? undefined;
  await answerSignIn(call, proof, { token_delivery, referral_code, redirect_path: kept.redirectPath }, deps);
}

/** Null when the call was refused. */
function providerOf(call: Call, name: string, { oidc }: OAuthDeps): OidcProvider | null {
  const provider = oidc.get(name) ?? null;
  if (provider === null) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'unknown provider' });
  return provider;
}

/** Each provider has its own redirect URI, so that one provider's answer cannot pass for another's. */
function redirectUri({ name }: OidcProvider, { publicUrl }: OAuthDeps): string {
  return `${publicUrl()}${CALLBACK_PAGE}/${name}`;
}

/** SameSite=Lax, because the browser returns from another site. */
function stateCookie(value: string, maxAgeSec: number, { areCookiesSecure: isSecure }: OAuthDeps): string {
  return cookieLine(STATE_COOKIE, value, { path: COOKIE_PATH, maxAgeSec, sameSite: 'Lax', isSecure });
}
