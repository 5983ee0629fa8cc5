/** The end of every sign-in (RULES.md 15.1): a session, its answer, and the cookie that may come with it. */
import { ERRORS } from '../../shared/base/errors.ts';
import { clientSubject } from '../base/clientAddress.ts';
import type { Call } from '../http/call.ts';
import { cookieLine, cookieOf, isOfOtherPage } from '../http/cookies.ts';
import { applyLimit } from '../http/counting.ts';
import { ok, refuse } from '../http/respond.ts';
import { profileOf } from './profileJson.ts';
import { ACCESS_TOKEN_SEC } from './sessionKeysStore.ts';
import { IDLE_MS, type OpenedSession } from './sessions.ts';
import type { Proof } from './signIn.ts';
import type { AuthDeps } from './signInDeps.ts';

export type TokenDelivery = 'cookie' | 'body';

export const REFRESH_COOKIE = 'svc_refresh';
const REFERRAL_COOKIE = 'svc_referral';
export const COOKIE_PATH = '/v1/auth';

type Opened = OpenedSession & {
  readonly isNew: boolean;
  readonly delivery: TokenDelivery;
  readonly redirectPath?: string | undefined;
};

/** The options of a sign-in besides the proof. */
type Wishes = {
  readonly referral_code?: string | undefined;
  readonly token_delivery?: TokenDelivery | undefined;
  /** The path at which the page continues. */
  readonly redirect_path?: string | undefined;
};

/**
 * Signs the person in or up, and answers the call. The proof has been checked, `isRefusedPage` was called before, and
 * the route has `cookies`.
 */
export async function answerSignIn(call: Call, proof: Proof, wishes: Wishes, deps: AuthDeps): Promise<void> {
  const browser = call.headers;
  if (!deps.signIn.isKnown(proof) && !(await isSignUpAdmitted(call, deps))) return;
  const referralCode = wishes.referral_code ?? cookieOf(browser, REFERRAL_COOKIE);
  const opened = deps.signIn.open(proof, referralCode, browser.userAgent, deps.clock.nowMs());
  if ('row' in opened) refuse(call, opened);
  else {
    const { token_delivery: delivery = 'cookie', redirect_path: redirectPath } = wishes;
    await answerSession(call, { ...opened, delivery, redirectPath }, deps);
  }
}

/** Accounts are kept for ever, so one address may not create an unlimited number of them. */
async function isSignUpAdmitted(call: Call, { limiter, trustProxy, clock }: AuthDeps): Promise<boolean> {
  if (limiter === null) return true;
  const { transport } = call;
  const subject = clientSubject(transport.peer(), transport.forwardedFor, trustProxy);
  const { rateLimitHeaders } = transport;
  if (!(await applyLimit(call, limiter.countSignUp(subject, clock.nowMs()), () => clock.nowMs()))) return false;
  // The answer shows the remainder of the endpoint's own limit, which clients follow.
  transport.rateLimitHeaders = rateLimitHeaders;
  return true;
}

/** Answers once the session is durable. */
export async function answerSession(call: Call, opened: Opened, deps: AuthDeps): Promise<void> {
  const { accounts, accountStates, sessions, accessTokens, clock } = deps;
  const { session, refreshToken, isNew, delivery, redirectPath } = opened;
  const { principal } = session;
  await sessions.durable();
  const access_token = await accessTokens.sign(principal, clock.nowMs());
  const user = profileOf(accounts.byIndex(principal.accountIndex), accountStates);
  const answer = {
    access_token,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_SEC,
    user,
    is_new: isNew,
    ...(redirectPath === undefined ? {} : { redirect_path: redirectPath }),
  };
  if (delivery === 'cookie') addCookie(call, refreshCookie(refreshToken, IDLE_MS / 1000, deps));
  ok(call, delivery === 'cookie' ? answer : { ...answer, refresh_token: refreshToken });
}

/** Adds one more Set-Cookie line. */
export function addCookie(call: Call, line: string): void {
  call.transport.setCookie += call.transport.setCookie === '' ? line : `\r\nSet-Cookie: ${line}`;
}

/** Makes the browser forget its refresh token. */
export function clearRefreshCookie(call: Call, deps: AuthDeps): void {
  call.transport.setCookie = refreshCookie('', 0, deps);
}

/**
 * True if the call was refused: otherwise a page of another site could sign its visitor in to the site's own account.
 * @param delivery a token in the body reaches only a page that may read the answer
 */
export function isRefusedPage(call: Call, delivery: TokenDelivery, { pages }: AuthDeps): boolean {
  if (delivery === 'body' || !isOfOtherPage(call.headers, pages)) return false;
  refuse(call, { row: ERRORS.OTHER_SITE });
  return true;
}

function refreshCookie(value: string, maxAgeSec: number, { areCookiesSecure: isSecure }: AuthDeps): string {
  return cookieLine(REFRESH_COOKIE, value, { path: COOKIE_PATH, maxAgeSec, sameSite: 'Strict', isSecure });
}
