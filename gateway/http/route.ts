/**
 * A route: its declaration and its handler, whose call has the types that follow from the declaration.
 *
 * A handler answers every call exactly once through respond.ts, now or later, aborted or not: the answer of an aborted
 * call reaches no client but still ends its idempotency key and lets the server drain.
 */
import type { OperatorRole } from '../../shared/api/operators.ts';
import type { FromSchema } from '../../shared/api/schema.ts';
import type { AccountPrincipal, Administrator, Anonymous, Principal } from '../base/principal.ts';
import type { Call } from './call.ts';
import type { Access, FullSpec, RouteSpec } from './spec.ts';

export type Route = FullSpec & {
  readonly handler: (call: Call) => void | Promise<void>;
  readonly scan?: Scan | undefined;
};

/**
 * Scans a body: reads it without JSON.parse and the schema, and its result stands for a body that passes both. If it
 * returns null, the stages parse the body.
 * @param ahead what a front thread or a socket has scanned already; null if nothing
 */
export type Scan = (body: Buffer, ahead: object | null) => object | null;

/** A call as the handler of a route with this declaration gets it. */
export type CallOf<S extends RouteSpec> = Call & {
  readonly params: Readonly<Record<ParameterOf<S['path']>, string>>;
  readonly query: S extends { readonly query: infer Q } ? FromSchema<Q> : unknown;
  readonly body: S extends { readonly body: infer B } ? FromSchema<B> : unknown;
  readonly principal: PrincipalOf<S['access']>;
};

/** A request on a route that only principals with an account reach. */
export type AccountCall = Call & { readonly principal: AccountPrincipal };

export type Handler<S extends RouteSpec> = (call: CallOf<S>) => void | Promise<void>;

type ParameterOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<Rest>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

type PrincipalOf<A extends Access> = A extends 'public'
  ? AccountPrincipal | Anonymous
  : A extends OperatorRole
    ? Administrator
    : A extends 'operator'
      ? Principal
      : AccountPrincipal;

/** The stages have checked everything that the types of the handler's call promise: hence the one cast. */
export function route<S extends RouteSpec>(spec: S, handler: Handler<S>, scan?: Scan): Route {
  return { limit: 'unlisted', ...spec, handler: handler as Route['handler'], scan };
}

type Group = (deps: never) => Route[];

/** The parts of the exchange that several groups of routes need together. */
export type DepsOf<G extends readonly Group[]> = G[number] extends (deps: infer D) => Route[] ? D : never;
