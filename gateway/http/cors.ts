/**
 * Web pages that may read answers (RULES.md 6.9): none, unless the settings name their origins. Only a page whose
 * origin is named may send cookies (15.8). The routes of administrators and operators are never available to pages.
 */
import { AUTH_HEADER } from '../../shared/crypto/hmac.ts';

const ANY = '*';
const MAX_AGE_SEC = 600;
const ASKED_HEADERS = [
  'authorization',
  'content-type',
  'idempotency-key',
  'x-svc-deadline',
  'if-none-match',
  ...Object.values(AUTH_HEADER),
].join(', ');
const SHOWN_HEADERS = ['Decision', 'Limit', 'Window-Seconds', 'Remaining', 'Reset'].map(
  (name) => `X-RateLimit-${name}`,
);
/** Headers of answers that a page could not read otherwise. */
const SHOWN = [
  ...['Retry-After', 'Allow', 'Date', 'Location', 'Content-Length', 'Idempotency-Replayed', 'Keep-Alive', 'ETag'],
  ...['X-Request-Id', 'X-SVC-Role', 'X-SVC-Stale-Ms', 'X-SVC-Leader'],
];
/** Paths that pages may never use, whatever the method. */
const NOT_FOR_PAGES = /^\/(?:admin|metrics)(?:\/|$)/;
const EXPOSED = `Access-Control-Expose-Headers: ${[...SHOWN, ...SHOWN_HEADERS].join(', ')}`;

export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** `https://example.org`, or `*` for all. */
  constructor(origins: Iterable<string>) {
    this.#origins = new Set(origins);
  }

  /** Header lines for an answer to a page of this origin (the first line without its name, which is Vary), or none. */
  linesFor(origin: string, path: string): string {
    if (NOT_FOR_PAGES.test(path)) return '';
    if (!this.#allows(origin)) return 'Origin';
    const credentials = this.names(origin) ? '\r\nAccess-Control-Allow-Credentials: true' : '';
    return `Origin\r\nAccess-Control-Allow-Origin: ${origin}${credentials}\r\n${EXPOSED}`;
  }

  /** The header lines for a browser's preflight request; null if the page may not send the request. */
  preflightLinesFor(origin: string, path: string, methods: string): string | null {
    if (!this.#allows(origin)) return null;
    const lines = [
      this.linesFor(origin, path),
      `Access-Control-Allow-Methods: ${methods}`,
      `Access-Control-Allow-Headers: ${ASKED_HEADERS}`,
      `Access-Control-Max-Age: ${MAX_AGE_SEC}`,
    ];
    return lines.join('\r\n');
  }

  /** True if the settings list exactly this origin. */
  names(origin: string): boolean {
    return origin !== ANY && this.#origins.has(origin);
  }

  #allows(origin: string): boolean {
    return origin !== '' && (this.#origins.has(origin) || this.#origins.has(ANY));
  }
}
