/**
 * Where the tokens of a session are kept. All that share the tokens renew them one at a time: each refresh token is
 * used once (RULES.md 15.4), and an answer that arrives late would put an older one in the place of a newer.
 */
import type { Profile } from './types.ts';

export type SessionTokens = {
  readonly accessToken: string;
  /** By the clock of this machine. */
  readonly expiresMs: number;
  /** Null: a cookie has it, which scripts cannot read. */
  readonly refreshToken: string | null;
  readonly user: Profile;
};

/** A program that outlives its process, or several that share a session, keep the tokens in a store of their own. */
export type TokenStore = {
  /** Null after a sign-out, by any of those who share the store. */
  read(): SessionTokens | null;
  write(tokens: SessionTokens | null): void;
  /** Calls `act` while no other who shares the store is in a call of its own. */
  alone<T>(act: () => Promise<T>): Promise<T>;
};

/** The part of the Web Locks API that is used. */
type Locks = { request<T>(name: string, options: { signal: AbortSignal }, act: () => Promise<T>): Promise<T> };

/** A tab that was stopped in the middle of its renewal does not hold up the others for ever. */
const LONGEST_WAIT_MS = 60_000;

/** For the tokens of one process. */
export class MemoryTokens implements TokenStore {
  #tokens: SessionTokens | null = null;

  read(): SessionTokens | null {
    return this.#tokens;
  }

  write(tokens: SessionTokens | null): void {
    this.#tokens = tokens;
  }

  alone<T>(act: () => Promise<T>): Promise<T> {
    return act();
  }
}

/** For a browser, whose tabs share the refresh token as a cookie; each has an access token of its own. */
export class TabTokens extends MemoryTokens {
  readonly #lock: string;

  constructor(origin: string) {
    super();
    this.#lock = `session of ${origin}`;
  }

  override alone<T>(act: () => Promise<T>): Promise<T> {
    const { locks } = (globalThis.navigator ?? {}) as { locks?: Locks };
    if (locks === undefined) return act();
    return locks.request(this.#lock, { signal: AbortSignal.timeout(LONGEST_WAIT_MS) }, act);
  }
}
