/**
 * Cookies, and whether a request that a browser adds them to by itself comes from a page that may make it (RULES.md
 * 15.8). The routes without cookies need none of this: a browser adds nothing to them that a page does not know.
 */
import type { Browser } from './call.ts';

type CookieOptions = {
  readonly path: string;
  readonly maxAgeSec: number;
  readonly sameSite: 'Strict' | 'Lax';
  /** False on loopback, which browsers and tools reach without TLS. */
  readonly isSecure: boolean;
};

/** The pages of the exchange itself: its own origin, and those that CORS_ORIGINS names. */
export type OwnPages = { isOwn(origin: string): boolean };

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** The first value of this name; null when there is none. */
export function cookieOf({ cookie }: Pick<Browser, 'cookie'>, name: string): string | null {
  for (const pair of cookie.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

/** A value of Set-Cookie. @param value of characters that need no quotes. */
export function cookieLine(
  name: string,
  value: string,
  { path, maxAgeSec, sameSite, isSecure }: CookieOptions,
): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; HttpOnly${secure}; SameSite=${sameSite}; Path=${path}; Max-Age=${maxAgeSec}`;
}

/**
 * True if a cookie may be used for the request: no form can send JSON, and the browser says that the page is of the
 * exchange, or that no page is behind the request.
 */
export function isOfOwnPage({ origin, fetchSite, contentType }: Browser, pages: OwnPages): boolean {
  if (!JSON_TYPE.test(contentType)) return false;
  return fetchSite === 'same-origin' || fetchSite === 'none' || pages.isOwn(origin);
}

/** True if the request is of a page, and the page is not of the exchange. A program without pages passes. */
export function isOfOtherPage(browser: Browser, pages: OwnPages): boolean {
  const isOfPage = browser.origin !== '' || browser.fetchSite !== '';
  return isOfPage && !isOfOwnPage(browser, pages);
}
