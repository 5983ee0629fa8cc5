/**
 * The addresses at which a client finds the exchange: a single address, or the members of a cluster, one of which leads
 * (RULES.md 18). A request that its address did not process goes to the next address.
 *
 * Invariant:
 *   ADDRESSES-1  Only addresses given by the caller are used, whatever an answer names: requests carry credentials of
 *                an account.
 */
import { memberOf } from '../base/memberOf.ts';
import { isNotConnected } from './answers.ts';
import { ApiError } from './http.ts';

/** One address, or several of the same exchange. */
export type BaseUrl = string | readonly string[];

/** Within this time a lost leader has been replaced. */
const FIND_MS = 10_000;
const PAUSE_MS = 250;
const NO_LEADER = 'NOT_MATCHING_LEADER';

export class Addresses {
  readonly origins: readonly string[];
  #current = 0;

  constructor(baseUrl: BaseUrl) {
    const urls = typeof baseUrl === 'string' ? [baseUrl] : baseUrl;
    if (urls.length === 0) throw new Error('a client needs the address of an exchange');
    this.origins = [...new Set(urls.map(originOf))];
  }

  /** The one that requests go to. */
  get current(): string {
    return this.origins[this.#current];
  }

  /** Addresses for a stream, which moves to the next one by itself. */
  startingHere(): BaseUrl {
    return [this.current, ...this.origins];
  }

  /** The address does not answer: makes the next one current, unless another request has already done so. */
  moveFrom(origin: string): void {
    if (this.current === origin) this.#current = (this.#current + 1) % this.origins.length;
  }

  /**
   * Sends a request to the leader. A request that a standby refused, or that was never sent, was not carried out, so it
   * is sent to another address, for up to FIND_MS. After every other failure the caller decides; if there was no
   * answer, the next attempt goes to another address.
   * @param send receives true if this is the first address tried
   */
  async toLeader<T>(send: (origin: string, isFirst: boolean) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const untilMs = performance.now() + FIND_MS;
    for (let attempt = 1; ; attempt++) {
      const origin = this.current;
      try {
        return await send(origin, attempt === 1);
      } catch (error) {
        if (this.origins.length === 1 || signal?.aborted) throw error;
        const isElsewhere = this.#isElsewhere(origin, error);
        if (!isElsewhere || performance.now() > untilMs) throw error;
        if (attempt % this.origins.length === 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  /** Moves on if the error calls for it. @returns true if the request was not carried out */
  #isElsewhere(origin: string, error: unknown): boolean {
    if (error instanceof ApiError) {
      if (error.code !== NO_LEADER) return false;
      const named = this.origins.indexOf(String(memberOf(error.details, 'leader')));
      // ADDRESSES-1.
      if (named < 0) this.moveFrom(origin);
      else if (this.current === origin) this.#current = named;
      return true;
    }
    this.moveFrom(origin);
    return isNotConnected(error);
  }
}

/**
 * An exchange has its own host name: a path would be cut off, and credentials would go to whatever else runs on that
 * host.
 */
export function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${address.replace(/^.*@/s, '…@')} is not the address of an exchange (https://…)`);
  }
  // The error message must not repeat a password.
  if (url.href !== `${url.origin}/`) {
    throw new Error(`${url.origin}: the address of an exchange ends with its host; no path, query or password follows`);
  }
  return url.origin;
}
