/**
 * The addresses at which a client finds the exchange: one, or those of the members of a cluster, of which one leads
 * (RULES.md 18). A request that its address did not look at goes to the next one.
 *
 * Invariant:
 *   ADDRESSES-1  Only addresses that the caller has given are used, whatever an answer names: requests carry what
 *                identifies an account.
 */
import { isNotConnected } from './answers.ts';
import { ApiError } from './http.ts';

/** One, or several of the same exchange. */
export type BaseUrl = string | readonly string[];

/** A leader that is lost has been replaced by then. */
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

  /** For a stream, which moves on by itself. */
  startingHere(): BaseUrl {
    return [this.current, ...this.origins];
  }

  /** The address does not answer: the next one is current, unless another request has moved on already. */
  moveFrom(origin: string): void {
    if (this.current === origin) this.#current = (this.#current + 1) % this.origins.length;
  }

  /**
   * Sends a request to the leader. One that was refused by a standby, or did not leave, was not carried out and is sent
   * to another address, for FIND_MS. After every other failure the caller decides: where there was no answer, the
   * next attempt goes elsewhere.
   * @param send gets whether this address is the first that is tried
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

  /** Moves on where the error says so. @returns whether the request was not carried out. */
  #isElsewhere(origin: string, error: unknown): boolean {
    if (error instanceof ApiError) {
      if (error.code !== NO_LEADER) return false;
      const { leader } = (error.details ?? {}) as { leader?: unknown };
      const named = this.origins.indexOf(String(leader));
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
 * An exchange has a host name of its own: a path would be cut off, and what identifies an account would go to whatever
 * else is at that host.
 */
export function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${address} is not the address of an exchange (https://…)`);
  }
  // Neither a path, a query nor a password, which nothing here says again.
  if (url.href !== `${url.origin}/`) throw new Error(`${url.origin}: the address of an exchange ends with its host`);
  return url.origin;
}
