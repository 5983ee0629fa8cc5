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
  /** The tokens of those who share the session but not this store, before it is renewed for a new one. */
  ask?(): Promise<SessionTokens | null>;
  /** Calls `act` while no other who shares the store is in a call of its own. */
  alone<T>(act: () => Promise<T>): Promise<T>;
};

/** The part of the Web Locks API that is used. */
type Locks = {
  request<T>(name: string, options: { signal?: AbortSignal; mode?: 'shared' }, act: () => Promise<T>): Promise<T>;
  query?(): Promise<{ held?: readonly { readonly name?: string }[] }>;
};

const ASKED = 'asked';
type Message = typeof ASKED | { readonly tokens: SessionTokens | null };
/** The part of a BroadcastChannel that is used. */
type Channel = { postMessage(message: Message): void; onmessage: ((event: { data: Message }) => void) | null };

/** A tab that was stopped in the middle of its renewal does not hold up the others for ever. */
const LONGEST_WAIT_MS = 60_000;
/** A tab in the background answers at once; one that the browser has frozen does not. */
const ANSWER_WITHIN_MS = 2000;

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

/**
 * For a browser, whose tabs share the refresh token as a cookie, and send each other the access token: a tab that opens
 * takes that of another one, so that any number of tabs renew as often as one does (RULES.md 15.4). Nothing is stored:
 * the tokens are in the memory of tabs of one origin.
 */
export class TabTokens extends MemoryTokens {
  readonly #lock: string;
  readonly #present: string;
  readonly #channel: Channel | null;
  readonly #waiting = new Set<(tokens: SessionTokens | null) => void>();

  /** @param channel to the other tabs; null where there is none */
  constructor(origin: string, channel: Channel | null = openChannel(`session of ${origin}`)) {
    super();
    this.#lock = `session of ${origin}`;
    this.#present = `tab with a session of ${origin}`;
    this.#channel = channel;
    if (channel === null) return;
    channel.onmessage = ({ data }) => this.#received(data);
    // A new tab waits for an answer only where there is another one. The lock is held as long as the tab is open.
    void locksOf()?.request(this.#present, { mode: 'shared' }, () => new Promise(() => {}));
  }

  override write(tokens: SessionTokens | null): void {
    super.write(tokens);
    this.#channel?.postMessage({ tokens });
  }

  /** The tokens of another tab; null if none has any, or none answers. */
  async ask(): Promise<SessionTokens | null> {
    const channel = this.#channel;
    if (channel === null || !(await this.#hasOthers())) return null;
    return new Promise((resolve) => {
      const end = (tokens: SessionTokens | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve(tokens);
      };
      const timer = setTimeout(() => end(null), ANSWER_WITHIN_MS);
      this.#waiting.add(end);
      channel.postMessage(ASKED);
    });
  }

  override alone<T>(act: () => Promise<T>): Promise<T> {
    const locks = locksOf();
    if (locks === undefined) return act();
    return locks.request(this.#lock, { signal: AbortSignal.timeout(LONGEST_WAIT_MS) }, act);
  }

  #received(message: Message): void {
    const own = this.read();
    if (message === ASKED) {
      if (own !== null) this.#channel!.postMessage({ tokens: own });
      return;
    }
    const { tokens } = message;
    // The answer of a tab that does not have the newest one yet.
    if (tokens !== null && own !== null && tokens.expiresMs < own.expiresMs) return;
    super.write(tokens);
    for (const end of this.#waiting) end(tokens);
  }

  /** One of the locks is this tab's. */
  async #hasOthers(): Promise<boolean> {
    const { held = [] } = (await locksOf()?.query?.()) ?? {};
    return held.filter(({ name }) => name === this.#present).length > 1;
  }
}

/** Of pages alone: a program in Node has a store of its own, and its threads have sessions of their own. */
function openChannel(name: string): Channel | null {
  if (!('document' in globalThis) || typeof BroadcastChannel === 'undefined') return null;
  return new BroadcastChannel(name) as unknown as Channel;
}

function locksOf(): Locks | undefined {
  return ((globalThis.navigator ?? {}) as { locks?: Locks }).locks;
}
