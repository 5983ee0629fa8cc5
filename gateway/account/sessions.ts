/**
 * The life of a session (RULES.md 15.4 to 15.6): opened by a sign-in, extended by refresh tokens, each of which is used
 * once, and ended by its person, by time, or by a token that two parties have used.
 *
 *   token n ──refresh──► token n+1 ──refresh──► token n+2
 *      └─ once more within 30 s: the newest     └─ a third time, or later: the session ends
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SESSIONS-1  A refresh token is exchanged once. The first repeat within RACE_MS of its use, by another tab of the
 *               same browser, gets the newest token. A second repeat, a later repeat, or a repeat by a program with
 *               another name shows that two parties have the token, and ends the session.
 *   SESSIONS-2  Only a token that this exchange has issued ends a session.
 *   SESSIONS-3  A session ends at the latest IDLE_MS after its last refresh, LONGEST_MS after its sign-in, and at the
 *               session timeout that its person has set.
 */

import { assert } from '../../shared/base/assert.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { Signal } from '../../shared/base/signal.ts';
import type { User } from './accounts.ts';
import { hashOf, openSuccessor, type RefreshTokens, sealSuccessor } from './refreshTokens.ts';
import type { Session, SessionStore, UsedToken } from './sessionsStore.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const RACE_MS = 30_000;
export const IDLE_MS = 30 * DAY_MS;
const LONGEST_MS = 90 * DAY_MS;
/** Sessions checked in each tick. */
const SWEEP_STEPS = 100;
const MAX_USER_AGENT_CHARACTERS = 200;

type SessionsOptions = {
  readonly store: SessionStore;
  readonly tokens: RefreshTokens;
  /** Null if the person of this account has set none. */
  readonly timeoutMinutes: (account: number) => number | null;
};

export type OpenedSession = { readonly session: Session; readonly refreshToken: string };

export class Sessions {
  /** Emits the account whose session ended because a refresh token was used twice. */
  readonly reused = new Signal<number>();
  readonly #store: SessionStore;
  readonly #tokens: RefreshTokens;
  readonly #timeoutMinutes: SessionsOptions['timeoutMinutes'];
  #sweep: Iterator<Session> | null = null;
  /**
   * The time of the first tick, from which requests are answered. Before, an earlier process may have used a token
   * last.
   */
  #readyMs = 0;

  constructor({ store, tokens, timeoutMinutes }: SessionsOptions) {
    this.#store = store;
    this.#tokens = tokens;
    this.#timeoutMinutes = timeoutMinutes;
  }

  /** Durable once `durable` resolves. @param method how the person signed in. @param userAgent empty when not named. */
  open(user: Pick<User, 'index' | 'id'>, method: string, userAgent: string, nowMs: number): OpenedSession {
    let refreshToken = '';
    const name = userAgent === '' ? null : userAgent.slice(0, MAX_USER_AGENT_CHARACTERS);
    const session = this.#store.open(user, { method, userAgent: name }, nowMs, (id) => {
      refreshToken = this.#tokens.make(id, 0);
      return hashOf(refreshToken);
    });
    return { session, refreshToken };
  }

  /** The session, if it is valid. */
  find(id: string, nowMs: number): Session | null {
    const session = this.#store.find(id);
    return session !== undefined && nowMs < this.endMs(session) ? session : null;
  }

  /** The valid session to which a refresh token was issued; the token is not used up. */
  ofToken(token: string, nowMs: number): Session | null {
    const parsed = this.#tokens.parse(token);
    return parsed === null ? null : this.find(parsed.sessionId, nowMs);
  }

  /**
   * Durable once `durable` resolves, even if refused: the session may have ended.
   * @param userAgent the name that the program sending the token gives itself
   */
  refresh(token: string, userAgent: string, nowMs: number): OpenedSession | ErrorRow {
    const parsed = this.#tokens.parse(token);
    if (parsed === null) return ERRORS.INVALID_REFRESH_TOKEN;
    const session = this.find(parsed.sessionId, nowMs);
    if (session === null) return ERRORS.SESSION_ENDED;
    const given = hashOf(token);
    if (parsed.generation === session.generation && given.equals(session.tokenHash)) {
      return { session, refreshToken: this.#rotate(session, token, given, userAgent, nowMs) };
    }
    const newest = this.#newestAfter(session, token, given, userAgent, nowMs);
    if (newest !== null) return { session, refreshToken: newest };
    this.#store.end(parsed.sessionId);
    this.reused.notify(session.principal.accountIndex);
    return ERRORS.SESSION_ENDED;
  }

  end(id: string): void {
    this.#store.end(id);
  }

  /** @returns the number of sessions ended */
  endAll(account: number, nowMs: number): number {
    const sessions = this.of(account, nowMs);
    this.#store.end(...sessions.map(({ principal }) => principal.sessionId));
    return sessions.length;
  }

  /** The valid sessions of the account. */
  of(account: number, nowMs: number): Session[] {
    return this.#store.of(account).filter((session) => nowMs < this.endMs(session));
  }

  /** The person has proved their identity again, by a wallet's signature. */
  authenticated(id: string, nowMs: number): void {
    const session = this.find(id, nowMs);
    if (session !== null) this.#store.authenticated(session, nowMs);
  }

  /** SESSIONS-3. The time at which the session ends without another refresh. */
  endMs({ principal, createdMs, rotatedMs }: Session): number {
    const minutes = this.#timeoutMinutes(principal.accountIndex);
    const byTime = Math.min(createdMs + LONGEST_MS, rotatedMs + IDLE_MS);
    return minutes === null ? byTime : Math.min(byTime, createdMs + minutes * MINUTE_MS);
  }

  /** Resolves when every change so far is durable. */
  durable(): Promise<void> {
    return this.#store.durable();
  }

  /**
   * Called from time to time: forgets sessions that have expired, and used tokens whose repeat no longer counts as a
   * race.
   */
  tick(nowMs: number): void {
    if (this.#readyMs === 0) this.#readyMs = nowMs;
    this.#store.end(...this.#endedByTime(nowMs));
    this.#store.forgetUsed(this.#beyondRaces(nowMs));
  }

  /** SESSIONS-3. Checks the next SWEEP_STEPS sessions. */
  #endedByTime(nowMs: number): string[] {
    const ended: string[] = [];
    for (let step = 0; step < SWEEP_STEPS; step++) {
      this.#sweep ??= this.#store.all();
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = null;
        break;
      }
      if (nowMs >= this.endMs(next.value)) ended.push(next.value.principal.sessionId);
    }
    return ended;
  }

  /** SESSIONROWS-4: the first that was refreshed lately ends the search. */
  #beyondRaces(nowMs: number): Session[] {
    const beyond: Session[] = [];
    for (const session of this.#store.refreshed()) {
      if (beyond.length === SWEEP_STEPS || this.#isRace(session.used.at(-1)!, nowMs)) break;
      beyond.push(session);
    }
    return beyond;
  }

  #rotate(session: Session, token: string, hash: Buffer, usedBy: string, nowMs: number): string {
    const { generation, principal } = session;
    const successor = this.#tokens.make(principal.sessionId, generation + 1);
    const used = { generation, hash, usedMs: nowMs, successorSealed: sealSuccessor(token, successor), usedBy };
    const firstKept = session.used.findIndex((each) => this.#isRace(each, nowMs));
    this.#store.rotate(session, used, hashOf(successor), firstKept < 0 ? [] : session.used.slice(firstKept));
    return successor;
  }

  /**
   * An answer that was lost with the process can be requested again for the same time, counted from the start. Tokens
   * used long before the process stopped are no longer stored.
   */
  #isRace({ usedMs }: UsedToken, nowMs: number): boolean {
    return nowMs - Math.max(usedMs, this.#readyMs) < RACE_MS;
  }

  /**
   * SESSIONS-1: each successor opens the one after it. Null if the token was not used a short time ago, was used by
   * another program, or was repeated since.
   */
  #newestAfter(session: Session, token: string, hash: Buffer, usedBy: string, nowMs: number): string | null {
    const { used } = session;
    const first = used.findIndex((each) => each.hash.equals(hash));
    if (first < 0 || !this.#isRace(used[first], nowMs)) return null;
    if (used[first].usedBy !== null && used[first].usedBy !== usedBy) return null;
    let newest = token;
    for (const link of used.slice(first)) {
      assert(link.hash.equals(hashOf(newest)), 'SESSIONS-1: each used token seals the one that was used next');
      newest = openSuccessor(newest, link.successorSealed);
    }
    this.#store.repeated(session, used[first]);
    return newest;
  }
}
