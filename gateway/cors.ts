/**
 * Which web pages may read answers (RULES.md 6.9): none, unless the settings name their origins. The administrator's
 * routes and those for operators are never among what they may ask.
 */
import { AUTH_HEADER } from '../shared/hmac.ts';

const ANY = '*';
const MAX_AGE_SEC = 600;
const ASKED_HEADERS = ['content-type', 'idempotency-key', 'x-svc-deadline', ...Object.values(AUTH_HEADER)].join(', ');
const SHOWN_HEADERS = ['Decision', 'Limit', 'Window-Seconds', 'Remaining', 'Reset'].map(
  (name) => `X-RateLimit-${name}`,
);
const EXPOSED = `Access-Control-Expose-Headers: ${['Retry-After', ...SHOWN_HEADERS].join(', ')}`;

export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** `https://example.org`, or `*` for all. */
  constructor(origins: Iterable<string>) {
    this.#origins = new Set(origins);
  }

  /** Header lines for an answer to a page of this origin, the first without its name, which is Vary. */
  linesFor(origin: string): string {
    return this.#allows(origin) ? `Origin\r\nAccess-Control-Allow-Origin: ${origin}\r\n${EXPOSED}` : 'Origin';
  }

  /** The same for the question that a browser asks first; null when the answer is no. */
  preflightLinesFor(origin: string, methods: string): string | null {
    if (!this.#allows(origin)) return null;
    const lines = [
      this.linesFor(origin),
      `Access-Control-Allow-Methods: ${methods}`,
      `Access-Control-Allow-Headers: ${ASKED_HEADERS}`,
      `Access-Control-Max-Age: ${MAX_AGE_SEC}`,
    ];
    return lines.join('\r\n');
  }

  #allows(origin: string): boolean {
    return origin !== '' && (this.#origins.has(origin) || this.#origins.has(ANY));
  }
}
