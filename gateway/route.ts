/**
 * A route is data: the wrapper in server.ts reads the row and does limits, authentication, scope, idempotency and
 * validation, so that a handler sees only calls it may carry out. The same rows describe the interface to a generator
 * of OpenAPI, which is why schemas are plain JSON Schema.
 *
 * A handler answers every call exactly once through respond.ts, now or later, aborted or not: the answer of an aborted
 * call reaches nobody but still ends its idempotency key and lets the server drain.
 */
import { SCOPE, type Scope } from './auth/scopes.ts';
import type { Call } from './call.ts';
import type { LimitClass } from './limits/classes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * `authenticated` is a key that may read the account, and for a write one that may manage it (RULES.md 4). `operator`
 * is whoever asks from this machine, and the administrator.
 */
export type Access = 'public' | 'admin' | 'operator' | 'authenticated' | Scope;

export type Route = Readonly<{
  method: Method;
  /** Segments starting with a colon are parameters: `/v1/orders/:hash`. */
  path: string;
  /** Its parameters may be percent-encoded; the handler decodes them. */
  hasEncodedParams?: boolean;
  access: Access;
  limit: LimitClass;
  handler: (call: Call) => void | Promise<void>;
  /** A public route where a key that is offered has to hold; elsewhere a refused one counts as none. */
  strictKey?: boolean;
  /** Honours the Idempotency-Key header. */
  idempotent?: boolean;
  /** Heeds the X-SVC-DEADLINE header. */
  hasDeadline?: boolean;
  /** Takes new risk, so it is refused while the platform is paused; cancels are not placing. */
  placing?: boolean;
  /** Of a placing route that only takes risk away: a trading timeout of the account leaves it open. */
  reducing?: boolean;
  /** Adds to what is kept for good: refused while the disk is nearly full, as placing is. */
  storing?: boolean;
  /** Answers also before recovery is done and while draining. */
  probe?: boolean;
  /** Default: 64 KiB. */
  maxBodyBytes?: number;
  /** An object schema whose properties have one scalar type each; without it the query string is ignored. */
  query?: JsonSchema;
  /** Without it a body is counted and signed but not read. */
  body?: JsonSchema;
  /** No body at all is the empty object. */
  bodyOptional?: boolean;
}>;

/** The scope bits a key needs; zero where keys are not asked for. */
export function requiredScope(route: Route): number {
  switch (route.access) {
    case 'public':
    case 'admin':
    case 'operator':
      return 0;
    case 'authenticated':
      return route.method === 'GET' ? SCOPE['read:account'] : SCOPE['manage:account'];
    default:
      return SCOPE[route.access];
  }
}
