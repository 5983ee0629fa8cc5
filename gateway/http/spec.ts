/**
 * The declaration of a route: everything that is known of it without its handler. The pipeline reads the rows (limits,
 * authentication, scope, idempotency, validation), the types of the handler follow from it (route.ts), and so does
 * `/openapi.json` (openapi.ts).
 */
import type { Scope } from '../../shared/api/accounts.ts';
import type { OperatorRole } from '../../shared/api/operators.ts';
import type { JsonSchema } from '../../shared/api/schema.ts';
import type { ErrorKey } from '../../shared/base/errors.ts';
import type { LimitClass } from '../base/classes.ts';
import { isRole } from '../base/roles.ts';
import { SCOPE } from '../base/scopes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * `authenticated` is a key that may read the account, and for a write one that may manage it (RULES.md 4). `operator`
 * is any request from this machine, and every administrator. The name of a role is an administrator who has it: so no
 * route of administrators can be declared without the role that it needs.
 */
export type Access = 'public' | 'operator' | 'authenticated' | OperatorRole | Scope;

export type RouteSpec = Readonly<{
  method: Method;
  /** Segments starting with a colon are parameters: `/v1/orders/:hash`. */
  path: string;
  /** Its name in the document and in clients that are made from that: `placeOrder`. Files of pages have none. */
  id?: string;
  /** One sentence for the reader of the document. */
  summary: string;
  access: Access;
  /** Default: `unlisted`, that of all routes which no row of the limits names. */
  limit?: LimitClass;
  /** Its parameters may be percent-encoded; the handler decodes them. */
  hasEncodedParams?: boolean;
  /** A public route on which a key, when one is offered, has to be valid; elsewhere an invalid one counts as none. */
  strictKey?: boolean;
  /** A number of EXT_ROUTE: the route accepts the Idempotency-Key header, and keys are stored under this number. */
  idempotency?: number;
  /** The handler keeps the Idempotency-Key of a request with what the request makes, and recognises a repeat. */
  keepsKey?: true;
  /** The handler gets every header in `call.headers`, because what is signed is not known here. */
  hasForeignHeaders?: true;
  /** The route accepts the X-SVC-DEADLINE header. */
  hasDeadline?: boolean;
  /** The request takes new risk, so it is refused while the platform is paused; cancels are not placing. */
  placing?: boolean;
  /** A placing route that only reduces risk: a trading timeout of the account does not close it. */
  reducing?: boolean;
  /**
   * An exception for a request that was signed before the exchange started, or at a time that has come again since its
   * clock was set back (RULES.md 4.3): it is carried out, because a repeat has no effect; it is while no clock that is
   * right can sign any other; or it is refused, and counts as a sign of life (7.8).
   */
  early?: 'carriedOut' | 'whileSetBack' | 'noted';
  /** The request adds to what is stored for good, so it is refused while the disk is nearly full, as placing is. */
  storing?: boolean;
  /** The request changes something, or needs what only the leader knows; by default all but GET do. */
  changes?: boolean;
  /** The route reads or sets cookies: the handler gets what the browser says of itself in `call.browser`. */
  cookies?: true;
  /** Its answers have an entity tag: one that the client has already is not sent again (entityTags.ts). */
  hasEntityTag?: true;
  /** The handler counts the request, because only the body or a cookie says on whose behalf it is. */
  countsItself?: true;
  /** The route answers also before recovery is done and while the server drains. */
  probe?: boolean;
  /** Default: 64 KiB. */
  maxBodyBytes?: number;
  /** The schemas of the path parameters, for the document. Handlers check them: each has an answer of its own. */
  params?: Readonly<Record<string, JsonSchema>>;
  /** An object schema whose properties have one scalar type each; without it the query string is ignored. */
  query?: JsonSchema;
  /** Without it a body is refused, unless it is the empty object of a request that is no GET. */
  body?: JsonSchema;
  /** The schema in the document instead of `body`, if the handler checks more than the schema. */
  documentedBody?: JsonSchema;
  /**
   * The type of a body that is not one JSON value: it must not be empty, and the handler reads it from `bodyBytes`.
   * What one line of it looks like is in `documentedBody`.
   */
  bodyType?: string;
  /** A request without a body is a request with the empty object. */
  bodyOptional?: boolean;
  /** The schema of the body, by status; an empty schema is an answer without a body. */
  answers: Readonly<Record<number, JsonSchema>>;
  /** With a door for administrators it is found only there, as their routes are, although it asks for no token. */
  atAdminDoor?: true;
  /** A file that browsers show or run, which the document of the interface leaves out. */
  isFile?: boolean;
  /** Default: JSON. */
  contentType?: string;
  /** The errors of the handler; those of the stages follow from the other fields. */
  errors?: readonly ErrorKey[];
}>;

/** A route as the stages have it. */
export type FullSpec = RouteSpec & { readonly limit: LimitClass };

/** The scope bits that a key needs; zero where no key is required. */
export function requiredScope({ access, method }: RouteSpec): number {
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

/** The role that an administrator needs for the route. */
export function requiredRole({ access }: RouteSpec): OperatorRole {
  return isRole(access) ? access : 'viewer';
}

/** With a door for administrators the route is found only there. */
export function isBehindAdminDoor(route: RouteSpec): boolean {
  return isForOperators(route) || route.atAdminDoor === true;
}

/** Routes of administrators, and those that are open from this machine, which no API key opens. */
export function isForOperators({ access }: RouteSpec): boolean {
  return access === 'operator' || isRole(access);
}
