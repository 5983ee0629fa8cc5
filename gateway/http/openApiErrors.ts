/**
 * The refusals in the document of the interface: which ones a route can answer, and the responses that describe them.
 * Operations share a response where they answer the same refusals with a status, which most do: the stages give them.
 */
import { ERRORS, type ErrorKey } from '../../shared/base/errors.ts';
import { namesOf } from '../../shared/base/namesOf.ts';
import { LIMIT_CLASSES } from '../base/classes.ts';
import { changesSomething } from '../base/role.ts';
import { type FullSpec, isForOperators } from './spec.ts';

type Document = Readonly<Record<string, unknown>>;

const ALL_ERRORS = namesOf(ERRORS);
const OPERATOR_ERRORS: readonly ErrorKey[] = ['INVALID_ADMIN_TOKEN', 'INSUFFICIENT_ROLE'];
/** Those of single routes: their handlers answer them. */
const HANDLER_ERRORS: readonly ErrorKey[] = [
  'INVALID_REFRESH_TOKEN',
  'INVALID_TICKET',
  'SESSION_REQUIRED',
  'OTHER_SITE',
  'WALLET_REMOVED',
  'PROVIDER_UNAVAILABLE',
  'INVALID_CODE',
];
const IDENTITY_ERRORS = ALL_ERRORS.filter((key) => {
  return isIdentity(ERRORS[key].number) && !OPERATOR_ERRORS.includes(key) && !HANDLER_ERRORS.includes(key);
});

/** Every operation can answer these, so they are its `default`. */
const ANYWHERE: readonly ErrorKey[] = ['PAYLOAD_TOO_LARGE', 'INTERNAL_ERROR'];
/** The names of what many operations answer with one status; any other set is named after the first that has it. */
const NAMED: Readonly<Record<string, readonly ErrorKey[]>> = {
  Other: ANYWHERE,
  WrongToken: ['INVALID_ADMIN_TOKEN'],
  WrongRole: ['INSUFFICIENT_ROLE'],
  NotFound: ['RESOURCE_NOT_FOUND'],
  NoFile: ['NO_HISTORY', 'RESOURCE_NOT_FOUND'],
  Busy: ['ENGINE_BUSY'],
  MalformedCall: ['MALFORMED_REQUEST', 'TWO_CREDENTIALS'],
  BadRequest: ['MALFORMED_REQUEST', 'TWO_CREDENTIALS', 'VALIDATION_ERROR'],
  BadRequestWithKey: ['MALFORMED_REQUEST', 'TWO_CREDENTIALS', 'IDEMPOTENCY_KEY_MALFORMED', 'VALIDATION_ERROR'],
  BadSearch: ['MALFORMED_REQUEST', 'TWO_CREDENTIALS', 'SEARCH_TOO_BROAD', 'VALIDATION_ERROR'],
  BadAdminRequest: ['MALFORMED_REQUEST', 'VALIDATION_ERROR'],
  Unauthorized: IDENTITY_ERRORS.filter((key) => ERRORS[key].status === 401),
  Forbidden: ['STEP_UP_REQUIRED', 'IP_BLOCKED', 'INSUFFICIENT_SCOPE'],
  ForbiddenToFrozen: ['STEP_UP_REQUIRED', 'IP_BLOCKED', 'INSUFFICIENT_SCOPE', 'ACCOUNT_FROZEN'],
  Limited: ['RATE_LIMITED', 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE'],
  IdempotencyConflict: ['IDEMPOTENCY_KEY_PAYLOAD_MISMATCH', 'IDEMPOTENCY_KEY_IN_PROGRESS'],
  ConflictOfStatus: ['CONFLICT', 'INVALID_TRANSITION'],
  Unavailable: ['NOT_MATCHING_LEADER', 'ENGINE_BUSY', 'OUTCOME_UNKNOWN'],
};
const NAMES = new Map(Object.entries(NAMED).map(([name, keys]) => [keys.join(), name]));
const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  422: 'Unprocessable',
  503: 'Unavailable',
};
const LIMIT_HEADERS = ['Decision', 'Limit', 'Window-Seconds', 'Remaining', 'Reset'].map(
  (name) => `X-RateLimit-${name}`,
);
const HEADERS: Readonly<Record<number, readonly string[]>> = {
  423: ['Retry-After'],
  429: ['Retry-After', ...LIMIT_HEADERS],
  503: ['Retry-After'],
};
const ERROR_NAME = 'Error';
const CODE_NAME = 'ErrorCode';

/** Every refusal that is no success has this form. */
export const ERROR_SCHEMAS = {
  [ERROR_NAME]: {
    type: 'object',
    required: ['error', 'code'],
    properties: {
      error: { type: 'string', description: 'For people.', examples: [ERRORS.MARKET_NOT_FOUND.message] },
      code: { $ref: `#/components/schemas/${CODE_NAME}` },
      details: {
        type: 'object',
        additionalProperties: true,
        description: 'The field and the rule, or the numbers, for a program to read.',
      },
    },
  },
  [CODE_NAME]: {
    type: 'string',
    enum: [...new Set(ALL_ERRORS.map((key) => ERRORS[key].code))],
    description: 'What a program decides by.',
  },
};

/** Every error that a route can answer, in the order of precedence. */
export function errorsOf(route: FullSpec): readonly ErrorKey[] {
  const { access, risk } = route;
  const isSigned = access !== 'public' && !isForOperators(route);
  const keys = new Set<ErrorKey>(['PAYLOAD_TOO_LARGE', 'MALFORMED_REQUEST', 'INTERNAL_ERROR']);
  const add = (isThere: unknown, ...more: readonly ErrorKey[]): void => {
    if (isThere) for (const key of more) keys.add(key);
  };
  add(!route.probe, 'ENGINE_BUSY');
  add(LIMIT_CLASSES[route.limit] !== null, 'RATE_LIMITED', 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE');
  add(isSigned || route.strictKey, ...IDENTITY_ERRORS);
  add(isForOperators(route), ...OPERATOR_ERRORS);
  add(!isForOperators(route), 'TWO_CREDENTIALS');
  add(risk !== undefined, 'PLATFORM_PAUSED', 'SETTLEMENT_UNHEALTHY');
  add(changesSomething(route), 'NOT_MATCHING_LEADER', 'ENGINE_BUSY', 'OUTCOME_UNKNOWN');
  add(risk === 'taken', 'TRADING_TIMEOUT_ACTIVE');
  add(route.idempotency, 'IDEMPOTENCY_KEY_MALFORMED', 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
  add(route.idempotency, 'IDEMPOTENCY_KEY_IN_PROGRESS', 'OUTCOME_UNKNOWN');
  add(route.keepsKey, 'IDEMPOTENCY_KEY_MALFORMED', 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
  add(route.query ?? route.body ?? route.hasDeadline, 'VALIDATION_ERROR');
  add(true, ...(route.errors ?? []));
  return ALL_ERRORS.filter((key) => keys.has(key));
}

/** Writes each kind of refusal once, and a reference to it in every operation that answers it. */
export class ErrorResponses {
  readonly #names = new Map<string, string>();
  readonly #written: Record<string, unknown> = {};

  /** By status: what the operation of the route answers if it is refused, but where it has an answer of its own. */
  of(route: FullSpec): Document {
    const refusals = errorsOf(route).filter((key) => !(ERRORS[key].status in route.answers));
    const byStatus = Map.groupBy(refusals, (key) => (ANYWHERE.includes(key) ? 'default' : ERRORS[key].status));
    return Object.fromEntries([...byStatus].map(([status, keys]) => [status, this.#reference(route, status, keys)]));
  }

  components(): Document {
    return Object.fromEntries(Object.entries(this.#written).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #reference({ id }: FullSpec, status: number | 'default', keys: readonly ErrorKey[]): Document {
    const all = keys.join();
    let name = this.#names.get(all);
    if (name === undefined) {
      const [only] = keys;
      const ofOperation = `${id!.replace(/^./, (first) => first.toUpperCase())}${STATUS_WORDS[Number(status)]}`;
      name = NAMES.get(all) ?? (keys.length === 1 ? toPascalCase(only) : ofOperation);
      this.#names.set(all, name);
      this.#written[name] = responseOf(status, keys);
    }
    return { $ref: `#/components/responses/${name}` };
  }
}

function responseOf(status: number | 'default', keys: readonly ErrorKey[]): Document {
  const rows = keys.map((key) => ERRORS[key]);
  const codes = [...new Set(rows.map(({ code }) => code))];
  const headers = HEADERS[Number(status)]?.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const);
  // Beside the reference: which of the codes of the whole interface these are.
  const schema = { $ref: `#/components/schemas/${ERROR_NAME}`, properties: { code: { enum: codes } } };
  return {
    // In the order of their codes, which the schema has.
    description: rows.map(({ message }) => message).join(' · '),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(headers) }),
    content: { 'application/json': { schema } },
  };
}

function toPascalCase(key: string): string {
  return key.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}

function isIdentity(number: number): boolean {
  return number >= 200 && number < 300;
}
