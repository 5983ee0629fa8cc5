/**
 * The JSON Schemas of the HTTP interface, and the TypeScript types derived from them. A schema is written once: the
 * gateway checks requests with it, `/openapi.json` publishes it, and handlers and clients get their types from it.
 *
 * `FromSchema` covers only the keywords that are used here. The types are part of the published client, so they must
 * not need a package that only development installs. A general translation of JSON Schema would take the compiler
 * seconds; this one takes milliseconds.
 */
export type JsonSchema = {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Properties;
  /** Texts; by type also numbers, since members may be called 0 and 1. */
  readonly required?: readonly PropertyKey[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly format?: string;
  readonly description?: string;
};
type Properties = Readonly<Record<string, JsonSchema>>;

/** The type of the values that a schema accepts. A query's parameter with a default is always present. */
export type FromSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] }
      ? FromSchema<A>
      : S extends { readonly type: readonly (infer T)[] }
        ? FromType<T, S>
        : S extends { readonly type: infer T }
          ? FromType<T, S>
          : unknown;

type FromType<T, S> = T extends 'string'
  ? string
  : T extends 'integer' | 'number'
    ? number
    : T extends 'boolean'
      ? boolean
      : T extends 'null'
        ? null
        : T extends 'array'
          ? FromArray<S>
          : T extends 'object'
            ? FromObject<S>
            : never;

/** Exactly two items form a pair; every other array has any length. */
type FromArray<S> = S extends { readonly items: infer I; readonly minItems: 2; readonly maxItems: 2 }
  ? readonly [FromSchema<I>, FromSchema<I>]
  : S extends { readonly items: infer I }
    ? readonly FromSchema<I>[]
    : readonly unknown[];

type FromObject<S> = S extends { readonly properties: infer P }
  ? Flat<
      { readonly [K in keyof P as IsGiven<S, P, K> extends true ? K : never]: FromSchema<P[K]> } & {
        readonly [K in keyof P as IsGiven<S, P, K> extends true ? never : K]?: FromSchema<P[K]>;
      }
    >
  : S extends { readonly additionalProperties: infer A extends JsonSchema }
    ? Readonly<Record<string, FromSchema<A>>>
    : Readonly<Record<string, unknown>>;

type IsGiven<S, P, K extends keyof P> = S extends { readonly required: readonly (infer R)[] }
  ? K extends R
    ? true
    : HasDefault<P[K]>
  : HasDefault<P[K]>;
type HasDefault<S> = S extends { readonly default: unknown } ? true : false;

/** A query as a caller writes it: a member that is absent or undefined is not sent. */
export type QueryOf<S> = Optional<FromSchema<S>>;
/** All members may be absent or undefined. */
export type Optional<T> = { [K in keyof T]?: T[K] | undefined };

type Flat<T> = { [K in keyof T]: T[K] };

type ObjectSchema<R, O> = {
  readonly type: 'object';
  readonly required: readonly (keyof R)[];
  readonly properties: R & O;
};

/** The schema of an object with these members. An answer's object may get more members in later versions. */
export function object<const R extends Properties, const O extends Properties = Record<never, never>>(
  required: R,
  optional?: O,
): ObjectSchema<R, O> {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } as R & O };
}

export function arrayOf<const I extends JsonSchema>(items: I): { readonly type: 'array'; readonly items: I } {
  return { type: 'array', items };
}

export function orNull<const S extends JsonSchema>(schema: S): { readonly anyOf: readonly [S, typeof NULL] } {
  return { anyOf: [schema, NULL] };
}

/** The same schema with another description. */
export function described<const S extends JsonSchema>(schema: S, description: string): S {
  return { ...schema, description };
}

/** Returns the schema with a unit of its own, for fields whose name has none or suggests a wrong one. */
export function inUnit<const S extends JsonSchema>(schema: S, unit: string): S & { readonly 'x-unit': string } {
  return { ...schema, 'x-unit': unit };
}

const NULL = { type: 'null' } as const;
