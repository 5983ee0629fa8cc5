/** The part of the client for limits that a person sets themselves: reminders and trading timeouts (RULES.md 11). */
import type { AccountRequests } from './accountRequests.ts';
import type { CancelledTimeout, NewTimeout, Preferences, TradingTimeout } from './types.ts';

export class GamingClient {
  readonly #requests: Pick<AccountRequests, 'send'>;

  constructor(requests: Pick<AccountRequests, 'send'>) {
    this.#requests = requests;
  }

  preferences(): Promise<Preferences> {
    return this.#requests.send('GET', '/v1/user/rg/preferences');
  }

  /** A field that is left out stays as it is; null is no reminder. */
  setPreferences(change: Partial<Preferences>): Promise<Preferences> {
    return this.#requests.send('PUT', '/v1/user/rg/preferences', change);
  }

  /** The timeout in force, or null. */
  timeout(): Promise<TradingTimeout | null> {
    return this.#requests.send('GET', '/v1/user/rg/timeout');
  }

  /** Until it ends the account can only reduce its risk. */
  startTimeout(timeout: NewTimeout): Promise<TradingTimeout> {
    return this.#requests.send('POST', '/v1/user/rg/timeout', timeout);
  }

  cancelTimeout(): Promise<CancelledTimeout> {
    return this.#requests.send('POST', '/v1/user/rg/timeout/cancel');
  }
}
