/**
 * Cookies, and the check that a request with cookies comes from a page that may make it (RULES.md 15.8). Routes without
 * cookies need no check: a browser adds nothing to them that a page does not know.
 */
import type { Browser } from './headers.ts';

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
 * True if the request's cookie may be used: a form cannot send JSON, and the browser reports that the page belongs to
 * the exchange, or that no page made the request.
 */
export function isOfOwnPage({ origin, fetchSite, contentType }: Browser, pages: OwnPages): boolean {
  if (!JSON_TYPE.test(contentType)) return false;
  return fetchSite === 'same-origin' || fetchSite === 'none' || pages.isOwn(origin);
}

/** True if a page of another site made the request. A program without pages passes. */
export function isOfOtherPage(browser: Browser, pages: OwnPages): boolean {
  const isOfPage = browser.origin !== '' || browser.fetchSite !== '';
  return isOfPage && !isOfOwnPage(browser, pages);
}
