/**
 * The declaration of a route: everything about it except its handler. The pipeline reads it (limits, authentication,
 * scope, idempotency, validation); the types of the handler (route.ts) and `/openapi.json` (openapi.ts) are derived
 * from it.
 */
import type { Scope } from '../../shared/api/accounts.ts';
import type { OperatorRole } from '../../shared/api/operators.ts';
import type { JsonSchema } from '../../shared/api/schema.ts';
import type { ErrorKey } from '../../shared/base/errors.ts';
import type { Early, Rights } from '../access/credential.ts';
import type { LimitClass } from '../base/classes.ts';
import { isRole } from '../base/roles.ts';
import { SCOPE } from '../base/scopes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * `authenticated`: a key that may read the account or, for a write, may manage it (RULES.md 4). `operator`: any request
 * from this machine, and every administrator. The name of a role: an administrator who has it. So no route of
 * administrators can be declared without the role that it needs.
 */
export type Access = 'public' | 'operator' | 'authenticated' | OperatorRole | Scope;

export type RouteSpec = Readonly<{
  method: Method;
  /** Segments starting with a colon are parameters: `/v1/orders/:hash`. */
  path: string;
  /** The name in the document and in clients generated from it: `placeOrder`. Files of pages have none. */
  id?: string;
  /** One sentence for the reader of the document. */
  summary: string;
  access: Access;
  /** Default: `unlisted`, the limit of all routes that the table of limits does not name. */
  limit?: LimitClass;
  /** True if its parameters may be percent-encoded; the handler decodes them. */
  hasEncodedParams?: boolean;
  /**
   * A public route on which a key, if one is sent, has to be valid; on other public routes an invalid key is ignored.
   */
  strictKey?: boolean;
  /** A number of EXT_ROUTE: the route accepts the Idempotency-Key header, and keys are stored under this number. */
  idempotency?: number;
  /**
   * The handler stores the Idempotency-Key of a request with the thing that the request makes, and recognises a repeat.
   */
  keepsKey?: true;
  /** The handler gets every header in `call.headers.foreign`, because it is not known here which of them are signed. */
  hasForeignHeaders?: true;
  /** The route accepts the X-SVC-DEADLINE header. */
  hasDeadline?: boolean;
  /**
   * Orders and full sets change what an account risks, so both are refused while the platform is paused; cancels are
   * not. `reduced`: the request never takes new risk, and a trading timeout of the account does not block it.
   */
  risk?: 'taken' | 'reduced';
  /**
   * An exception for a request that was signed before the exchange started, or at a time that has come again since its
   * clock was set back (RULES.md 4.3). `carriedOut`: it is carried out, because a repeat has no effect. `whileSetBack`:
   * it is carried out as long as no right clock can sign any other request. `noted`: it is refused, but counts as a
   * sign of life (7.8).
   */
  early?: Early;
  /**
   * True if the request adds to permanently stored data, so it is refused while the disk is nearly full, as placing is.
   */
  storing?: boolean;
  /** True if the request changes something, or needs the leader; by default all except GET do. */
  changes?: boolean;
  /** The scope that a session needs in place of that of a key (RULES.md 15.3). */
  sessionScope?: Scope;
  /** True if the route reads or sets cookies: they are in `call.headers`. */
  cookies?: true;
  /**
   * True if its answers have an entity tag: an answer that the client has already is not sent again (entityTags.ts).
   */
  hasEntityTag?: true;
  /** True if the handler counts the request itself, because only the body or a cookie names its sender. */
  countsItself?: true;
  /** True if the route answers even before recovery is done and while the server drains. */
  probe?: boolean;
  /** Default: 64 KiB. */
  maxBodyBytes?: number;
  /**
   * The schemas of the path parameters, for the document only. Handlers check the parameters, because each has an
   * answer of its own.
   */
  params?: Readonly<Record<string, JsonSchema>>;
  /** An object schema whose properties have one scalar type each; without it, the query string is ignored. */
  query?: JsonSchema;
  /** Without it, a body is refused, unless it is the empty object of a request other than GET. */
  body?: JsonSchema;
  /** The schema in the document instead of `body`, if the handler checks more than that schema. */
  documentedBody?: JsonSchema;
  /**
   * The content type of a body that is not one JSON value: it must not be empty, and the handler reads it from
   * `bodyBytes`. `documentedBody` describes one line of it.
   */
  bodyType?: string;
  /** A request without a body is a request with the empty object. */
  bodyOptional?: boolean;
  /** The schema of the body, by status; an empty schema means an answer without a body. */
  answers: Readonly<Record<number, JsonSchema>>;
  /**
   * If administrators have a door of their own, the route is found only there, like their routes, although it needs no
   * token.
   */
  atAdminDoor?: true;
  /** True for a file that browsers show or run, which the document of the interface leaves out. */
  isFile?: boolean;
  /** Default: JSON. */
  contentType?: string;
  /** The errors of the handler; the errors of the stages follow from the other fields. */
  errors?: readonly ErrorKey[];
}>;

/** A route with all defaults, as the stages use it. */
export type FullSpec = RouteSpec & { readonly limit: LimitClass };

/** The rights that the route asks for. */
export function rightsOf(route: RouteSpec): Rights {
  const scope = requiredScope(route);
  const sessionScope = route.sessionScope === undefined ? scope : SCOPE[route.sessionScope];
  return { scope, sessionScope, role: isRole(route.access) ? route.access : 'viewer' };
}

function requiredScope({ access, method }: RouteSpec): number {
  switch (access) {
    case 'public':
    case 'operator':
      return 0;
    case 'authenticated':
      return method === 'GET' ? SCOPE['read:account'] : SCOPE['manage:account'];
    default:
      return isRole(access) ? 0 : SCOPE[access];
  }
}

/** True if the route is found only at the administrators' door, if there is one. */
export function isBehindAdminDoor(route: RouteSpec): boolean {
  return isForOperators(route) || route.atAdminDoor === true;
}

/** True for routes of administrators and for routes that are open from this machine; no API key opens these. */
export function isForOperators({ access }: RouteSpec): boolean {
  return access === 'operator' || isRole(access);
}
