/** The part of the client for the sessions of an account (RULES.md 15.6). */
import type { SendAuthorized } from './accountRequests.ts';
import type { OwnSessions, RevokedSessions, SessionMessage } from './types.ts';

export class SessionsClient {
  readonly #send: SendAuthorized;

  constructor(send: SendAuthorized) {
    this.#send = send;
  }

  /** Those in force, the one opened last first. */
  list(): Promise<OwnSessions> {
    return this.#send('GET', '/v1/auth/sessions');
  }

  end(id: string): Promise<SessionMessage> {
    return this.#send('DELETE', `/v1/auth/sessions/${encodeURIComponent(id)}`);
  }

  /** Ends all of them, also the one that asks. */
  revokeAll(): Promise<RevokedSessions> {
    return this.#send('POST', '/v1/auth/revoke-all');
  }
}
