/**
 * The OpenAPI 3.1 document of the route table. Everything in it follows from the declarations of the routes and from
 * the error table: the refusals of the stages from access, limit and flags, those of the handler from its list, the
 * examples from those of the single fields.
 */
import { isDeepStrictEqual } from 'node:util';
import { exampleOf } from '../../shared/api/example.ts';
import type { JsonSchema } from '../../shared/api/schema.ts';
import { LIMIT_CLASSES, type Limit, TIER_LIMITS } from '../base/classes.ts';
import { SESSION_SCOPES } from '../base/scopes.ts';
import { AnswerResponses, JSON_TYPE } from './openApiAnswers.ts';
import { ERROR_SCHEMAS, ErrorResponses } from './openApiErrors.ts';
import { SharedParameters } from './openApiParameters.ts';
import { BEARER_SCHEMES, KEY_SCHEMES } from './securitySchemes.ts';
import { type FullSpec, isForOperators, rightsOf } from './spec.ts';
import { tagOf, tagsOf } from './tags.ts';
import { unitOf } from './units.ts';

/** The schemas that get a name of their own in the document. */
export type NamedSchemas = ReadonlyMap<JsonSchema, string>;

type Writers = {
  readonly schemas: SchemaWriter;
  readonly errors: ErrorResponses;
  readonly answers: AnswerResponses;
  readonly parameters: SharedParameters;
};
type Document = Readonly<Record<string, unknown>>;

/** RULES.md 4.6. */
const TIERS = Object.fromEntries(
  Object.entries(TIER_LIMITS).map(([tier, { requests, windowSec }]) => [tier, { requests, window_seconds: windowSec }]),
);
/** The limit of operations that say nothing about theirs. */
const UNLISTED = 'unlisted';
/** The limits by the names that operations say. */
const LIMITS = Object.fromEntries(
  Object.entries<Limit | null>(LIMIT_CLASSES).flatMap(([name, limit]) => {
    if (limit === null) return [];
    const keys = name === 'heartbeat' ? 'the same' : 'by tier';
    return [[name, { requests: limit.requests, window_seconds: limit.windowSec, keys }]];
  }),
);
/** Keywords that may stand beside a reference: they change nothing of what is let through. */
const ANNOTATIONS = ['description', 'default', 'examples', 'x-unit'];

/** Texts that many members have or null: the choice has a name, too, like PriceOrNull. */
const OFTEN_NULL = ['Hash', 'LineOrEmpty', 'Price', 'Time', 'Units', 'Uuid'];

/** Formats of this interface as patterns, for readers that do not know them. */
const PATTERNS: Readonly<Record<string, string>> = {
  address: '^0x[0-9a-fA-F]{40}$',
  hash: '^0x[0-9a-fA-F]{64}$',
  uint256: '^(?:0|[1-9][0-9]{0,77})$',
  amount: '^[1-9][0-9]{0,15}$',
  'date-time-or-utc':
    '^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?$',
};

const INFO = {
  title: 'Prediction market exchange',
  version: '1',
  license: { name: 'MIT', identifier: 'MIT' },
  description:
    'Requests of accounts are signed with an API key (HMAC-SHA256, signing version 1 or 2), or carry the access ' +
    'token of a session; orders are signed by a wallet as well (EIP-712). Amounts are atomic units as decimal ' +
    'text: micro-USDC and millionths of a token. Every refusal has a code of the error table; a 503 always carries ' +
    'Retry-After. Every answer has X-Request-Id, which the log of the exchange names too, and one that a limit has ' +
    'counted has the headers that are described with 429. Paths without an operation are answered 404, other methods ' +
    '405. `x-rate-limit` of an operation names one of `x-rate-limits`, by default `unlisted`, and is null without a ' +
    'limit: it counts sessions by account, requests without a key and wrong tokens by address, and keys by their ' +
    'tier. The WebSocket stream has a document of its own, /asyncapi.json.',
};

/** The headers of answers: of some statuses, and those of the rate limit. */
const HEADERS = {
  ETag: { description: 'The name of this body, for If-None-Match.', schema: { type: 'string' } },
  Location: { description: 'Where the browser goes on; always with 302.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait; always with 503 and 429.', schema: { type: 'integer' } },
  'X-RateLimit-Decision': { schema: { enum: ['allowed', 'quota_denied', 'dependency_unavailable'] } },
  'X-RateLimit-Limit': { description: 'Requests of a window.', schema: { type: 'integer' } },
  'X-RateLimit-Window-Seconds': { schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Unix seconds.', schema: { type: 'integer' } },
};

/** Of operations that say nothing of their own: the reads of an account. */
const BY_ACCOUNTS = [...withKey(['read:account']), { session: ['read:account'] }];

/**
 * The text of the document in pieces, one for each path: it is long, and the thread that makes it has requests to
 * answer in between.
 */
export function* openApiPieces(routes: readonly FullSpec[], named: NamedSchemas): Generator<string> {
  const schemas = new SchemaWriter(named);
  const parameters = new SharedParameters(routes, (name, schema) => schemas.member(name, schema));
  const answers = new AnswerResponses(routes, (schema) => schemas.write(schema));
  const writers = { schemas, errors: new ErrorResponses(), answers, parameters };
  const head = {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/' }],
    externalDocs: { description: 'Guides, and what each error means.', url: '/docs' },
    tags: tagsOf(routes.map(({ path }) => path)),
    security: BY_ACCOUNTS,
    'x-rate-limits': LIMITS,
    'x-rate-limit-tiers': TIERS,
  };
  yield `${JSON.stringify(head).slice(0, -1)},"paths":{`;
  let separator = '';
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path.replaceAll(/:([^/]+)/g, '{$1}'))) {
    const operations = methods.map((route) => [route.method.toLowerCase(), operationOf(route, writers)] as const);
    yield `${separator}${JSON.stringify(path)}:${JSON.stringify(Object.fromEntries(operations))}`;
    separator = ',';
  }
  const securitySchemes = { ...KEY_SCHEMES, ...BEARER_SCHEMES };
  const components = {
    schemas: { ...schemas.components(), ...ERROR_SCHEMAS },
    responses: { ...answers.components(), ...writers.errors.components() },
    parameters: parameters.components(),
    securitySchemes,
    headers: HEADERS,
  };
  yield `},"components":${JSON.stringify(components)}}`;
}

/** The part of a schema by which copies of it are found: they may have another description and other examples. */
function essenceOf(schema: JsonSchema): unknown {
  const { properties, anyOf, enum: words, format, pattern } = schema;
  if (format === undefined && pattern === undefined) return properties ?? anyOf ?? words;
  return JSON.stringify(Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.includes(keyword)));
}

function placeOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Writes each named schema once, under its name, and a reference to it everywhere else. */
class SchemaWriter {
  readonly #named: ReadonlyMap<unknown, readonly [JsonSchema, string]>;
  readonly #written = new Map<string, unknown>();

  constructor(named: NamedSchemas) {
    this.#named = new Map([...named].map((row) => [essenceOf(row[0]), row]));
  }

  write(schema: JsonSchema): Document {
    const written = this.#reference(schema);
    const { anyOf, ...own } = written;
    const name = OFTEN_NULL.find((each) => isDeepStrictEqual(anyOf, [{ $ref: placeOf(each) }, { type: 'null' }]));
    if (name === undefined) return written;
    this.#written.set(`${name}OrNull`, { anyOf });
    return { $ref: placeOf(`${name}OrNull`), ...own };
  }

  /** The schema, or a reference to the named one and what differs from it. */
  #reference(schema: JsonSchema): Document {
    const [original, name] = this.#named.get(essenceOf(schema)) ?? [];
    if (original === undefined || name === undefined) return this.#orNull(schema) ?? this.#inline(schema);
    const own = Object.entries(schema).filter(([keyword, value]) => original[keyword] !== value);
    if (own.some(([keyword]) => !ANNOTATIONS.includes(keyword))) return this.#inline(schema);
    if (!this.#written.has(name)) {
      this.#written.set(name, null);
      this.#written.set(name, this.#inline(original));
    }
    return { $ref: placeOf(name), ...Object.fromEntries(own) };
  }

  components(): Document {
    return Object.fromEntries([...this.#written].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  member(name: string, schema: JsonSchema): unknown {
    const unit = unitOf(name, schema);
    const written = this.write(schema);
    return unit === undefined ? written : { ...written, 'x-unit': unit };
  }

  /** A text or null, where the text has a name. */
  #orNull({ type, examples, description, ...rest }: JsonSchema): Document | undefined {
    if (!Array.isArray(type) || type[1] !== 'null' || 'enum' in rest) return undefined;
    const schema = { type: type[0], ...rest };
    if (!this.#named.has(essenceOf(schema))) return undefined;
    const own = description === undefined ? {} : { description };
    return { anyOf: [this.write(schema), { type: 'null' }], ...own };
  }

  #inline(schema: JsonSchema): Document {
    const { properties, items, anyOf, format, additionalProperties: others } = schema;
    const written: Record<string, unknown> = { ...schema };
    if (properties !== undefined) {
      const entries = Object.entries(properties);
      const members = entries.map(([name, property]) => [name, this.member(name, property)] as const);
      written['properties'] = Object.fromEntries(members);
    }
    if (items !== undefined) written['items'] = this.write(items);
    // A map: its values are of one schema.
    if (typeof others === 'object') written['additionalProperties'] = this.write(others);
    if (anyOf !== undefined) written['anyOf'] = anyOf.map((option) => this.write(option));
    const pattern = PATTERNS[String(format)];
    return pattern === undefined ? written : { ...written, pattern };
  }
}

function operationOf(route: FullSpec, writers: Writers): Document {
  const body = route.documentedBody ?? route.body;
  const parameters = writers.parameters.of(route);
  return {
    operationId: route.id,
    summary: route.summary,
    tags: [tagOf(route.path)],
    ...limitOf(route),
    ...securityOf(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(route, body, writers.schemas) }),
    responses: { ...writers.errors.of(route), ...writers.answers.of(route) },
  };
}

/**
 * RULES.md 4.6. An operation that says nothing has the limit of those that are not listed there. The right token of an
 * administrator is not counted, and the scheme of tokens says how wrong ones are.
 */
function limitOf(route: FullSpec): Document {
  if (route.limit === UNLISTED) return {};
  return { 'x-rate-limit': LIMIT_CLASSES[route.limit] === null ? null : route.limit };
}

/** Nothing for an operation that has what the whole document says. */
function securityOf(route: FullSpec): Document {
  const { access, strictKey } = route;
  if (access === 'operator') return { security: [{}, { adminToken: [] }] };
  if (isForOperators(route)) return { security: [{ adminToken: [rightsOf(route).role] }] };
  if (access === 'public') return { security: strictKey ? [{}, ...withKey([])] : [] };
  if (access === 'authenticated' && route.method === 'GET') return {};
  const scopes = [access === 'authenticated' ? 'manage:account' : access];
  const isOfSessions = (rightsOf(route).sessionScope & SESSION_SCOPES) !== 0;
  const session = { session: route.sessionScope === undefined ? scopes : [route.sessionScope] };
  const security = isOfSessions ? [...withKey(scopes), session] : withKey(scopes);
  return isDeepStrictEqual(security, BY_ACCOUNTS) ? {} : { security };
}

function withKey(scopes: readonly string[]): readonly Document[] {
  const [first, ...rest] = ['apiKey', 'passphrase', 'timestamp', 'signature'];
  const version1 = { [first]: scopes, ...Object.fromEntries(rest.map((name) => [name, []])) };
  return [{ ...version1, signingVersion: [], nonce: [] }, version1];
}

function requestBody(route: FullSpec, body: JsonSchema, writer: SchemaWriter): Document {
  const schema = writer.write(body);
  const content = isOfAllMembers(body) ? { schema } : { schema, example: exampleOf(body) };
  return { required: !route.bodyOptional, content: { [route.bodyType ?? JSON_TYPE]: content } };
}

/** An example of every member, which readers make of those of the members. */
function isOfAllMembers({ type, required, properties = {} }: JsonSchema): boolean {
  if (type !== 'object') return false;
  return required === undefined || required.length === Object.keys(properties).length;
}
