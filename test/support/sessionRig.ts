/** Sessions over a control.db of the test's own, with two accounts, on a clock that the test moves. */
import { join } from 'node:path';
import { AccessTokens } from '../../gateway/account/accessTokens.ts';
import { Accounts, type User } from '../../gateway/account/accounts.ts';
import { RefreshTokens } from '../../gateway/account/refreshTokens.ts';
import { SessionKeys } from '../../gateway/account/sessionKeysStore.ts';
import { type OpenedSession, Sessions } from '../../gateway/account/sessions.ts';
import { SessionStore } from '../../gateway/account/sessionsStore.ts';
import { type ControlDatabase, openControlDatabase } from '../../gateway/base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../../gateway/base/laterSync.ts';
import { temporaryDirectory } from './directory.ts';
import { ManualClock } from './manualClock.ts';

export const SESSION_START_MS = 1_790_000_000_000;
export const ISSUER = 'https://exchange.test';
export const SESSION_MASTER_KEY = Buffer.alloc(32, 3);
const NEW_USER = { displayName: null, email: null, role: 'user', referralCode: null, wallet: null };

export class SessionRig {
  readonly clock = new ManualClock(SESSION_START_MS);
  readonly database: ControlDatabase = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  readonly users: readonly [User, User];
  /** The accounts whose session has ended because of a token that two had. */
  readonly reused: number[] = [];
  timeoutMinutes: number | null = null;
  store!: SessionStore;
  sessions!: Sessions;
  keys!: SessionKeys;
  accessTokens!: AccessTokens;
  readonly accounts: Accounts;
  readonly #changes: Changes;

  constructor(changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.accounts = new Accounts(this.database);
    this.users = [this.accounts.signUp(NEW_USER, 1), this.accounts.signUp(NEW_USER, 2)];
    this.restart();
  }

  get nowMs(): number {
    return this.clock.nowMs();
  }

  /** Everything in memory is read again from control.db. */
  restart(): void {
    this.store = new SessionStore(this.database, (account) => this.accounts.idOf(account), this.#changes);
    this.sessions = new Sessions({
      store: this.store,
      tokens: new RefreshTokens(Buffer.alloc(32, 4)),
      timeoutMinutes: () => this.timeoutMinutes,
    });
    this.sessions.reused.subscribe((account) => this.reused.push(account));
    this.keys = new SessionKeys(this.database, SESSION_MASTER_KEY, this.nowMs);
    this.accessTokens = new AccessTokens({
      keys: this.keys,
      issuer: ISSUER,
      find: (id, nowMs) => this.sessions.find(id, nowMs),
    });
    this.store.ended.subscribe(({ sessionId }) => this.accessTokens.forget(sessionId));
  }

  open(user = this.users[0]): OpenedSession {
    return this.sessions.open(user, 'wallet', 'test', this.nowMs);
  }

  /** The next token, or the message of the refusal. */
  refresh(token: string, userAgent = 'a browser'): { readonly token: string } | { readonly refusal: string } {
    const result = this.sessions.refresh(token, userAgent, this.nowMs);
    return 'session' in result ? { token: result.refreshToken } : { refusal: result.message };
  }
}
