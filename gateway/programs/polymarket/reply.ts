/** Requests and answers, and the errors in the shape that Polymarket's clients read: `{ error }` with a status. */

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The headers that sign a request; an empty text where one is missing. */
  readonly headers: Readonly<ReturnType<typeof signingHeaders>>;
  readonly body: string;
};

export function signingHeaders(header: (name: string) => string) {
  return {
    poly_address: header('poly_address'),
    poly_signature: header('poly_signature'),
    poly_timestamp: header('poly_timestamp'),
    poly_nonce: header('poly_nonce'),
    poly_api_key: header('poly_api_key'),
    poly_passphrase: header('poly_passphrase'),
  };
}

export type Reply = { readonly status: number; readonly body: unknown };

/** Answers a request that is not carried out. People read its text, programs the word before the colon. */
export class Refusal extends Error {
  readonly status: number;
  readonly more: object;

  constructor(status: number, message: string, more: object = {}) {
    super(message);
    this.status = status;
    this.more = more;
  }
}

/** Answers one path; a name that begins with ':' stands for one segment. */
export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly answer: (asked: Asked, segment: string) => unknown;
};

export const FIRST_CURSOR = 'MA==';
export const LAST_CURSOR = 'LTE=';

/** A page of a list that is whole in memory, as their clients read it to its end. */
export function pageOf<T>(rows: readonly T[], query: URLSearchParams, limit: number): object {
  const from = offsetOf(query.get('next_cursor') ?? FIRST_CURSOR);
  const data = rows.slice(from, from + limit);
  const isLast = from + limit >= rows.length;
  const next_cursor = isLast ? LAST_CURSOR : Buffer.from(String(from + limit)).toString('base64');
  return { limit, count: data.length, next_cursor, data };
}

function offsetOf(cursor: string): number {
  if (cursor === LAST_CURSOR) return Number.MAX_SAFE_INTEGER;
  const text = Buffer.from(cursor, 'base64').toString();
  if (!/^\d{1,9}$/.test(text)) throw new Refusal(400, 'next_cursor: not one of a page');
  return Number(text);
}

/** The body as JSON of any kind; 400 for what is none. */
export function jsonOf({ body }: Asked): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Refusal(400, 'Invalid payload: the body is no JSON');
  }
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Refusal(400, 'Invalid payload: expected an object');
}

export function listOf(value: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new Refusal(400, 'Invalid payload: expected a list');
  if (value.length > most) throw new Refusal(400, `Invalid payload: at most ${most} at once`);
  return value;
}
