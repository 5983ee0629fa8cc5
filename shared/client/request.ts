/**
 * Builds requests without sending them, so that a load generator can prepare many ahead. Nothing here is Node's alone.
 */

export type HeaderFields = Record<string, string>;
export type Query = Record<string, string | number | boolean | undefined>;

/** Makes the headers that authenticate a request with this method, path and body. */
export type Signer = { headers(method: string, path: string, body: string): HeaderFields };

/** `body` is the exact text that was signed and must be sent; empty for none. */
export type PreparedRequest = { method: string; path: string; body: string; headers: HeaderFields };

/** `authenticate` gets the exact method, path and body; public requests need none. */
export function prepareRequest(
  method: string,
  path: string,
  payload: unknown,
  authenticate?: (method: string, path: string, body: string) => HeaderFields,
): PreparedRequest {
  const body = payload === undefined ? '' : JSON.stringify(payload);
  const headers: HeaderFields = { ...authenticate?.(method, path, body) };
  if (body !== '') headers['content-type'] = 'application/json';
  return { method, path, body, headers };
}

/** Appends a query to a path; undefined values are omitted. */
export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Encodes a path segment, so that a value from outside cannot address another route. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}
