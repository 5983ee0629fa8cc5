/**
 * Static fixtures of the class of CCXT, in the form of CCXT's repository: `markets/pmx.json` are the markets that a
 * program has loaded, `request/pmx.json` says for each call the address and the body of its request, and
 * `response/pmx.json` what the class makes of an answer. The live suite records them from a real exchange:
 *
 *     CCXT_STATIC=write npm test -- peers/ccxtLive
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Json } from '../support/server.ts';

const FOLDER = new URL('./static/', import.meta.url);
/** The address of the description. */
const ADDRESS = 'http://127.0.0.1:8080';
const MOST_OF_METHOD = 3;
const IS_CALL = /^(?:fetch|create|edit|cancel)[A-Z]/;
/** These hold the time of the call, or a random number. */
const REQUEST_SKIPPED = ['salt', 'signature', 'from', 'to'];
const RESPONSE_SKIPPED = ['timestamp', 'datetime'];

type Sent = { readonly url: string; readonly body: string | undefined; readonly response: Json };
export type Fixture = {
  readonly description: string;
  readonly method: string;
  readonly input: readonly unknown[];
  readonly url?: string;
  readonly output?: string;
  readonly httpResponse?: Json;
  readonly parsedResponse?: Json;
};
export type Fixtures = {
  readonly exchange: string;
  readonly skipKeys: readonly string[];
  readonly privateKey?: string;
  readonly options: Json;
  readonly methods: Readonly<Record<string, readonly Fixture[]>>;
};
type Recorded = {
  readonly method: string;
  readonly input: readonly unknown[];
  readonly sent: Sent;
  readonly result: Json;
};

export class StaticRecorder {
  readonly #recorded: Recorded[] = [];
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** Calls of these methods are recorded where one request, and nothing beside it, has answered them. */
  wrap(exchange: Json): (name: string, method: (...input: unknown[]) => Json) => (...input: unknown[]) => Json {
    let sent: Sent[] = [];
    let underWay = 0;
    const fetch = exchange.fetch.bind(exchange);
    exchange.fetch = async (url: string, verb: string, headers: Json, body: string | undefined): Promise<Json> => {
      const response = await fetch(url, verb, headers, body);
      sent.push({ url: url.replace(this.#baseUrl, ADDRESS), body, response: copyOf(response) });
      return response;
    };
    return (name, method) => {
      if (!IS_CALL.test(name)) return method;
      return async (...input) => {
        const isAlone = ++underWay === 1;
        if (isAlone) sent = [];
        try {
          const result = await method(...input);
          const [only, more] = sent;
          if (isAlone && underWay === 1 && only !== undefined && more === undefined) {
            this.#recorded.push({ method: name, input: copyOf(input), sent: only, result: copyOf(result) });
          }
          return result;
        } finally {
          underWay--;
        }
      };
    };
  }

  get methods(): ReadonlySet<string> {
    return new Set(this.#recorded.map(({ method }) => method));
  }

  /** @param exchange one that has signed orders, and knows the market */
  write(exchange: Json, marketId: string): void {
    const { privateKey, options } = exchange;
    const head = { exchange: 'pmx', options: { domain: options.domain, feeRates: options.feeRates } };
    const of = (make: (recorded: Recorded) => object) => {
      const methods: Record<string, object[]> = {};
      for (const recorded of this.#recorded) {
        methods[recorded.method] ??= [];
        const rows = methods[recorded.method]!;
        const description = describe(recorded);
        const isKnown = rows.some((row) => 'description' in row && row.description === description);
        if (isKnown || rows.length >= MOST_OF_METHOD) continue;
        rows.push({ description, method: recorded.method, input: recorded.input, ...make(recorded) });
      }
      return Object.fromEntries(Object.entries(methods).sort(([a], [b]) => (a < b ? -1 : 1)));
    };
    const requests = of(({ sent: { url, body } }) => ({ url, ...(body === undefined ? {} : { output: body }) }));
    const answers = of(({ sent, result }) => ({ httpResponse: sent.response, parsedResponse: result }));
    // That of the handle: the rows by id are copies of an earlier moment.
    const market = exchange.market(exchange.markets_by_id[marketId][0].market);
    put('markets', { [market.market]: copyOf(market) });
    put('request', { ...head, privateKey, skipKeys: REQUEST_SKIPPED, outputType: 'json', methods: requests });
    put('response', { ...head, skipKeys: RESPONSE_SKIPPED, methods: answers });
  }
}

export function readFixtures(kind: 'request' | 'response'): Fixtures {
  return JSON.parse(readFileSync(new URL(`${kind}/pmx.json`, FOLDER), 'utf8'));
}

export function readMarkets(): Json {
  return JSON.parse(readFileSync(new URL('markets/pmx.json', FOLDER), 'utf8'));
}

/** Without these members, wherever they stand; what is undefined is null, as in a file. */
export function without(value: Json, skipped: readonly string[]): Json {
  const text = JSON.stringify(value, (name, part) => (skipped.includes(name) ? undefined : (part ?? null)));
  return text === undefined ? null : JSON.parse(text);
}

function copyOf(value: Json): Json {
  return without(value, []);
}

/** Two calls with members of the same names are of the same kind. */
function describe({ method, input }: Recorded): string {
  const last = input.at(-1);
  const names = typeof last === 'object' && last !== null && !Array.isArray(last) ? Object.keys(last) : [];
  const given = input
    .slice(0, names.length > 0 ? -1 : undefined)
    .map((value) => (Array.isArray(value) ? 'list' : value));
  const words = given.filter((value) => typeof value === 'string' && /^[a-z]+$/.test(value));
  const shown = [...words, `${given.filter((value) => value !== null).length} arguments`, ...names];
  return `${method}: ${shown.join(', ')}`;
}

function put(kind: string, content: Json): void {
  writeFileSync(new URL(`${kind}/pmx.json`, FOLDER), `${JSON.stringify(content, null, 2)}\n`);
}
