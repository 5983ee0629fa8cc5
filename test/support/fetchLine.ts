/** A `fetch` that a test answers, in place of a server. */

export type Sent = { method: string; path: string; headers: Headers; body: string };
/** An answer, or an error that `fetch` rejects with. */
export type Outcome = Response | Error;

export function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

export function refusal(status: number, code: string, retryAfter?: number): Response {
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  return answer(status, { error: 'refused', code }, headers);
}

export function lost(code = 'UND_ERR_SOCKET'): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('gone'), { code }) });
}

/** A `fetch` whose outcomes are these in turn, the last one from then on. */
export function line(outcomes: (() => Outcome)[]): { sent: Sent[]; fetch: typeof fetch } {
  const sent: Sent[] = [];
  return {
    sent,
    fetch: async (url, { method, headers, body } = {}) => {
      const path = String(url).replace('http://exchange', '');
      sent.push({ method: method!, path, headers: new Headers(headers), body: String(body ?? '') });
      const outcome = outcomes[Math.min(sent.length, outcomes.length) - 1]();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  };
}
