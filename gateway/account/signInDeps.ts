/** The parts of the exchange that the routes of people need. */
import type { BlockList } from 'node:net';
import type { Clock } from '../../shared/base/clock.ts';
import type { OwnPages } from '../http/cookies.ts';
import type { HandlerLimits } from '../http/counting.ts';
import type { AccessTokens } from './accessTokens.ts';
import type { AccountStates } from './accountStates.ts';
import type { Accounts } from './accounts.ts';
import type { Sessions } from './sessions.ts';
import type { SignIn } from './signIn.ts';

export type AuthDeps = {
  readonly accounts: Accounts;
  readonly accountStates: AccountStates;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly accessTokens: AccessTokens;
  /** The pages that may use cookies. */
  readonly pages: OwnPages;
  /** False where browsers reach the exchange on loopback, without TLS. */
  readonly areCookiesSecure: boolean;
  readonly limiter: HandlerLimits;
  readonly trustProxy: BlockList | null;
  readonly clock: Clock;
};
