/**
 * The parts that sign people in and manage their sessions, made once for the routes, the stages and the stream.
 * Owner: the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { AccessTokens } from '../account/accessTokens.ts';
import { OAuthStates } from '../account/oauthState.ts';
import { OidcProvider } from '../account/oidcProvider.ts';
import { PrivyTokens } from '../account/privyTokens.ts';
import { RefreshTokens } from '../account/refreshTokens.ts';
import { Sessions } from '../account/sessions.ts';
import { SignIn } from '../account/signIn.ts';
import { WalletProofs } from '../account/walletProofs.ts';
import type { Config } from '../base/config.ts';
import { isLoopback } from '../base/exposure.ts';
import type { Logger } from '../base/log.ts';
import type { OwnPages } from '../http/cookies.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import { Tickets } from '../stream/tickets.ts';
import type { Control } from './control.ts';

/** The claim `iss` if the settings name no origin: the address of this machine can change with every start. */
const NAMELESS_ISSUER = 'urn:open-prediction-exchange';

const ANY_ORIGIN = '*';

const REUSED_TITLE = 'A session was ended';
const REUSED_BODY =
  'A refresh token of a session was used a second time, so another program may have had it. The session has ended. ' +
  'Sign in again, and look through the list of your sessions.';

const DOWN_NOTE_MS = 60_000;

type UserSessionsOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly control: Control;
  readonly log: Logger;
  /** The origin at which browsers reach the exchange; known once it listens. */
  readonly publicUrl: () => string;
  readonly settlement: Pick<SettlementPort, 'ask'>;
};

export class UserSessions {
  readonly sessions: Sessions;
  readonly accessTokens: AccessTokens;
  readonly tickets: Tickets;
  readonly signIn: SignIn;
  readonly walletProofs: WalletProofs;
  /** Null if the settings name no app of Privy. */
  readonly privy: PrivyTokens | null;
  /** Providers of OpenID Connect, by name. */
  readonly oidc: ReadonlyMap<string, OidcProvider>;
  readonly oauthStates: OAuthStates;
  readonly publicUrl: () => string;
  readonly pages: OwnPages;
  readonly areCookiesSecure: boolean;
  readonly #clock: Clock;
  readonly #log: Logger;
  #isFailing = false;
  /** By provider: when the log last said that it is down. */
  readonly #downMs = new Map<string, number>();

  constructor({ config, clock, control, log, publicUrl, settlement }: UserSessionsOptions) {
    const { accounts, contracts, identities, notices, tradingTimeouts } = control;
    this.#clock = clock;
    this.#log = log;
    this.sessions = new Sessions({
      store: control.sessions,
      tokens: new RefreshTokens(control.sessionSecret),
      timeoutMinutes: (account) => tradingTimeouts.preferences(account).sessionTimeoutMinutes,
    });
    this.accessTokens = new AccessTokens({
      keys: control.sessionKeys,
      issuer: config.publicUrl ?? NAMELESS_ISSUER,
      find: (id, nowMs) => this.sessions.find(id, nowMs),
    });
    this.tickets = new Tickets({ find: (id, nowMs) => this.sessions.find(id, nowMs)?.principal ?? null });
    this.signIn = new SignIn({ accounts, identities, sessions: this.sessions });
    const named = new Set(config.corsOrigins.filter((origin) => origin !== ANY_ORIGIN));
    this.pages = { isOwn: (origin) => origin === publicUrl() || named.has(origin) };
    this.walletProofs = new WalletProofs({
      chainId: () => contracts.current.chainId,
      publicUrl,
      isOwnPage: (origin) => this.pages.isOwn(origin),
      isSignedByContract: (address, digest, signature) => settlement.ask('railSigned', { address, digest, signature }),
    });
    const onDown = (provider: string, error: Error): void => this.#noteDown(provider, error);
    this.privy =
      config.privy === null ? null : new PrivyTokens({ ...config.privy, onDown: (error) => onDown('privy', error) });
    this.oidc = new Map(config.oidc.map((each) => [each.name, new OidcProvider({ ...each, onDown })]));
    this.oauthStates = new OAuthStates(control.sessionSecret);
    this.publicUrl = publicUrl;
    this.areCookiesSecure = isReachedByOthers(config);
    control.sessions.ended.subscribe(({ sessionId }) => this.accessTokens.forget(sessionId));
    this.sessions.reused.subscribe((account) => {
      notices.add(account, 'security', REUSED_TITLE, REUSED_BODY, clock.nowMs());
    });
  }

  /** Logs this once a minute, however many people wait for the provider. */
  #noteDown(provider: string, error: Error): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - (this.#downMs.get(provider) ?? Number.NEGATIVE_INFINITY) < DOWN_NOTE_MS) return;
    this.#downMs.set(provider, nowMs);
    this.#log.warn(
      { provider, reason: error.message },
      'an identity provider does not answer: people cannot sign in with it',
    );
  }

  /** Called from time to time. */
  tick(): void {
    const nowMs = this.#clock.nowMs();
    this.tickets.tick(nowMs);
    try {
      this.sessions.tick(nowMs);
      this.#isFailing = false;
    } catch (error) {
      // If the disk is full, ended sessions are deleted from control.db later; they have ended all the same.
      if (!this.#isFailing)
        this.#log.warn({ err: error }, 'ended sessions could not be deleted from control.db; tried again later');
      this.#isFailing = true;
    }
  }
}

/** Browsers treat loopback as safe without TLS, and tools on this machine speak without. */
function isReachedByOthers({ publicUrl, host }: Config): boolean {
  return !isLoopback(publicUrl === null ? host : new URL(publicUrl).hostname.replace(/^\[|\]$/g, ''));
}
