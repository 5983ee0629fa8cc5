/**
 * Requests to one external provider, such as one that identifies people or pays out. It may hang, be down, or answer
 * anything. Owner: the gateway thread.
 *
 * Invariants:
 *   CALLS-1  A request ends in TIMEOUT_MS with its body, or when its caller aborts it, follows no redirection by
 *            itself, and reads MAX_BYTES at most.
 *   CALLS-2  At most MAX_CALLS are in flight: one more fails at once, so that a hanging provider does not use up
 *            memory.
 */

import { memberOf } from '../../shared/base/memberOf.ts';
import { errorOf } from '../../shared/base/thrown.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
const MAX_CALLS = 32;

/** The provider gave no valid answer. The message contains no address and no token. */
export class ProviderDown extends Error {
  override readonly name = 'ProviderDown';
}

/** The parts of a request that libraries choose. */
type Sent = Pick<RequestInit, 'method' | 'headers' | 'body' | 'redirect' | 'signal'>;

type ProviderCallsOptions = { readonly timeoutMs?: number; readonly maxCalls?: number };

export class ProviderCalls {
  readonly #timeoutMs: number;
  readonly #maxCalls: number;
  #underway = 0;

  constructor({ timeoutMs = TIMEOUT_MS, maxCalls = MAX_CALLS }: ProviderCallsOptions = {}) {
    this.#timeoutMs = timeoutMs;
    this.#maxCalls = maxCalls;
  }

  /** In place of `fetch`; throws only ProviderDown. */
  readonly send = async (url: string | URL, { signal: given, ...rest }: Sent): Promise<Response> => {
    if (this.#underway >= this.#maxCalls) throw new ProviderDown('too many requests are under way');
    this.#underway++;
    try {
      const timeout = AbortSignal.timeout(this.#timeoutMs);
      const signal = given ? AbortSignal.any([given, timeout]) : timeout;
      return await whole(await fetch(url, { ...rest, redirect: 'manual', signal }));
    } catch (error) {
      if (error instanceof ProviderDown) throw error;
      throw new ProviderDown(reasonOf(error));
    } finally {
      this.#underway--;
    }
  };
}

/** CALLS-1: the answer with its body in memory. */
async function whole(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (status >= 500 || status === 429) {
    await response.body?.cancel();
    throw new ProviderDown(`status ${status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new ProviderDown('the answer is too long');
    chunks.push(chunk);
  }
  const hasBody = status !== 204 && status !== 304;
  const kept = new Headers(headers);
  // The body was decoded when it was read.
  kept.delete('content-encoding');
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers: kept });
}

/** The code of the system, such as ECONNREFUSED, or the name of the error. */
function reasonOf(error: unknown): string {
  const { name, cause } = errorOf(error);
  const code = memberOf(cause, 'code');
  return typeof code === 'string' ? code : name;
}
