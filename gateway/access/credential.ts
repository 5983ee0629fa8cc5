/**
 * A credential: what a request or an open socket shows of those on whose behalf it comes. API keys and sessions are one
 * object each (keyCredential.ts, sessionCredential.ts) with everything in which they differ: before the body of a
 * request, after it, and on a socket. Another scheme is another object and a line in credentialOf.ts, the only file
 * that asks of which kind a principal is. An administrator's token proves everything by the headers, so administrators
 * have only the half of that: `Admission`.
 *
 *   headers ──admit──► offered ──the body──► identify ──► principal ──► entered, lacks, count; giveBack if refused
 *   socket  ───────────────────────────────► isInForce ─► principal ──► entered, lacks, count
 *
 * Invariants:
 *   CREDENTIAL-1  `admit` needs the headers alone and is cheap: a body is received only after it.
 *   CREDENTIAL-2  A principal that `identify` returns is in force, and its proof fits this very request.
 *   CREDENTIAL-3  Who waits, for a signature or a shared counter, is asked for again afterwards: it may have ended.
 */
import type { OperatorRole } from '../../shared/api/operators.ts';
import type { KeyQuota } from '../base/classes.ts';
import type { Config } from '../base/config.ts';
import type { AccountPrincipal, Principal } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import type { SessionTokens } from '../base/sessionTokens.ts';
import type { Authenticator, Credentials, Unauthenticated } from './authenticator.ts';
import type { ConnectionLimits } from './connectionLimits.ts';
import type { Endpoint, Limiter, LimitResult } from './limiter.ts';

/** The parts of the exchange that know which credentials are right and in force. */
export type Gate = {
  readonly config: Pick<Config, 'trustProxy'>;
  readonly authenticator: Authenticator;
  /** Absent if every bearer token is refused. */
  readonly sessions?: SessionTokens;
  readonly connectionLimits?: ConnectionLimits;
  /** True while no correct clock can sign an acceptable request; absent if that never happens. */
  readonly isSetBack?: () => boolean;
  /** A heartbeat of the account was refused, although its signature is valid and its client's clock good enough. */
  readonly onRefusedBeat?: (account: number) => void;
};

/** The headers in which credentials are offered; an absent one is empty. */
export type Offering = Credentials & { readonly authorization: string };

/** A request whose headers are read, as far as credentials need it; its body is complete when it is identified. */
export type Asked = {
  readonly method: string;
  readonly target: string;
  readonly bodyBytes: Uint8Array;
  readonly startedMs: number;
  /** Empty on a socket. */
  readonly headers: Credentials;
  /** If a front thread has read it, that says which secret has signed it. */
  readonly ahead: { readonly kind: string; readonly verifiedWith?: number } | null;
  readonly transport: { readonly forwardedFor: string; peer(): Uint8Array };
};

/** The ways to treat a request that was signed before the start of the exchange (http/spec.ts). */
export type Early = 'carriedOut' | 'whileSetBack' | 'noted';

/** The scopes and the role that a route asks for. */
export type Rights = {
  /** The scope bits that a key needs; zero if no key is required. */
  readonly scope: number;
  /** The same for a session. */
  readonly sessionScope: number;
  /** The role that an administrator needs. */
  readonly role: OperatorRole;
};

type CalledRoute = Endpoint & { readonly early?: Early; readonly countsItself?: boolean };

/** A route with its rights, which are computed once. */
type CalledRow = { readonly route: CalledRoute; readonly rights: Rights };

/** A principal, or why there is none. */
export type Identified<P> = P | Unauthenticated;

/** The half that comes before the body. */
export type Admission<P extends Principal> = {
  /** The principal has come in with this request. */
  entered(gate: Gate, principal: P, asked: Asked): void;
  /** The refusal of a principal that may not do what the route does; null if it may. */
  lacks(principal: P, rights: Rights): Refusal | null;
};

/** @typeParam O what is kept of the headers until the body is complete */
export type Credential<P extends AccountPrincipal, O> = Admission<P> & {
  /** Of a principal that is no longer in force. */
  readonly ended: Unauthenticated;
  /** The most open sockets of one `socketOwner`. */
  readonly mostSockets: number;
  /** @param mayBeEarly true if `identify` judges a timestamp from before the start */
  admit(gate: Gate, offering: Offering, nowMs: number, mayBeEarly: boolean): Identified<O>;
  identify(gate: Gate, offered: O, asked: Asked, row: CalledRow): Identified<P> | Promise<Identified<P>>;
  isInForce(gate: Gate, principal: P, nowMs: number): boolean;
  /** Null: nothing is counted there. */
  count(limiter: Limiter, principal: P, route: CalledRoute, nowMs: number): LimitResult | Promise<LimitResult> | null;
  /** The identified request was refused before it had any effect: it may be sent again unchanged. */
  giveBack(gate: Gate, principal: P, asked: Asked): void;
  /** Null if the principal has the limits of each endpoint. */
  ownQuota(principal: P): KeyQuota | null;
  socketOwner(principal: P): string;
  /** When the person or program last proved who it is. */
  provedMs(principal: P, nowMs: number): number;
};

/** True if there is no principal. */
export function isUnauthenticated<P extends object>(identified: Identified<P>): identified is Unauthenticated {
  return 'row' in identified;
}
