/**
 * Every operation of /openapi.json with values that its own schemas let through, and some that they do not: at their
 * ends, of the ids there are and of others. Every answer is one that the document has for the operation (the requests
 * of a test server are checked against it), none is a 500, no thread ends, and the ledger stays balanced.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fuzz/operations.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fileScope } from '../support/fileScope.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { type Json, startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';

const TURNS = timesOf({ suite: 4, soak: 200 });
const SEED = seedOr(20_261_129);
const NAUGHTY: readonly Json[] = [null, '', ' ', 0, -1, 1.5, 1e308, true, [], {}, '\u0000', '9'.repeat(400), '-1', '0'];
const EDGE_INTEGERS = [0, 1, 2, 59, 60, 100, 101, 10_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1];
const EDGE_DIGITS = ['1', '99', '100', '999999', '1000000', '1000001', '999999999999999', '1000000000000000'];
const UNKNOWN_UUID = '00000000-0000-4000-8000-000000000000';

const server = await startServer(fileScope, { SHARDS: '1' });
const document: Json = (await server.request('GET', '/openapi.json')).body;
const event = await server.admin.createEvent({ title: 'Rain' });
const markets = [await makeMarket(server, { event_id: event.id }), await makeMarket(server)];
const trader = await makeTrader(server);
const { order_hash: orderHash } = await trader.place(markets[0]!, { side: 'BUY', price: '0.50', size: '10' });

/** A person with a session, who signs in again once an operation has ended it. */
class Person {
  readonly wallet = makeWallet();
  headers: Record<string, string> = {};
  id = '';

  async signIn(): Promise<void> {
    const { body } = await signIn(server, this.wallet);
    this.headers = bearer(body);
    if (body.user !== undefined) this.id = body.user.id;
  }
}

type Schema = Json;

/** Draws values from the schemas of the document. */
class Drawing {
  readonly #random: Random;
  readonly #known: readonly string[];

  constructor(seed: number, known: string[]) {
    this.#random = new Random(seed);
    this.#known = known;
  }

  chance(percent: number): boolean {
    return this.#random.chance(percent);
  }

  /** Undefined is a value that is left out. */
  value(given: Schema, depth = 0): Json {
    const random = this.#random;
    const schema = this.#resolved(given);
    if (random.chance(4)) return random.pick(NAUGHTY);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return random.pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined && schema.properties === undefined) return this.value(random.pick(choices), depth);
    switch (Array.isArray(schema.type) ? random.pick(schema.type as string[]) : schema.type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, depth);
      case 'integer':
      case 'number':
        return this.#integer(schema);
      case 'boolean':
        return random.chance(50);
      case 'null':
        return null;
      default:
        return this.#text(schema);
    }
  }

  #resolved(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    return this.#resolved(document.components.schemas[schema.$ref.split('/').at(-1)]);
  }

  #object(schema: Schema, depth: number): Json {
    const random = this.#random;
    const entries: [string, Json][] = [];
    for (const [name, property] of Object.entries<Schema>(schema.properties ?? {})) {
      const isRequired = schema.required?.includes(name) === true;
      if (random.chance(isRequired ? 97 : depth > 2 ? 10 : 40)) entries.push([name, this.value(property, depth + 1)]);
    }
    if (random.chance(3)) entries.push([random.pick(['extra', '__proto__', 'constructor']), 1]);
    return Object.fromEntries(entries);
  }

  #array(schema: Schema, depth: number): Json {
    const random = this.#random;
    const least = schema.minItems ?? 0;
    const length = random.chance(80) ? least + random.below(3) : random.below(Math.min(schema.maxItems ?? 3, 40) + 2);
    return Array.from({ length }, () => this.value(schema.items ?? {}, depth + 1));
  }

  #integer({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER, multipleOf }: Schema): number {
    const random = this.#random;
    const within = EDGE_INTEGERS.filter((edge) => edge >= minimum && edge <= maximum);
    const drawn = random.pick([minimum, maximum, ...within, ...within]);
    return multipleOf === undefined ? drawn : drawn - (drawn % multipleOf);
  }

  #text(schema: Schema): string {
    const random = this.#random;
    const { format, pattern, maxLength = 80 } = schema;
    const isKnown = (text: string): boolean => pattern === undefined || new RegExp(pattern, 'u').test(text);
    if (random.chance(70)) {
      const known = this.#known.filter((text) => text.length <= maxLength && isKnown(text) && fits(text, format));
      if (known.length > 0) return random.pick(known);
    }
    if (format === 'uuid') return UNKNOWN_UUID;
    if (format?.startsWith('date-time')) return this.#time();
    if (format === 'date') return this.#time().slice(0, 10);
    const digits = EDGE_DIGITS.filter(isKnown);
    if (digits.length > 0 && (pattern !== undefined || random.chance(30))) return random.pick(digits);
    // The library draws from no pattern that looks ahead, and knows no properties of signs that stand alone (Cs).
    if (pattern?.includes('(?=') || pattern?.includes('(?!')) return random.pick(['12.34', '0.01', '1000000']);
    if (pattern !== undefined) {
      return this.#sample(fc.stringMatching(new RegExp(pattern.replaceAll('\\p{Cs}', ''), 'u')));
    }
    return this.#sample(fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength }));
  }

  #time(): string {
    const offsets = [0, 1, -1, 60, 86_400, -86_400, 31_536_000, -31_536_000, 10 ** 10];
    return new Date(Date.now() + 1000 * this.#random.pick(offsets)).toISOString();
  }

  #sample(arbitrary: fc.Arbitrary<string>): string {
    return fc.sample(arbitrary, { seed: this.#random.next(), numRuns: 1 })[0]!;
  }
}

function fits(text: string, format: string | undefined): boolean {
  if (format === 'uuid') return text.includes('-');
  if (format === 'address') return text.startsWith('0x') && text.length === 42;
  if (format === 'hash') return text.startsWith('0x') && text.length === 66;
  return format === undefined;
}

type Operation = { readonly method: string; readonly path: string; readonly operation: Json };

/** Its answer goes on until the reader leaves: those have tests of their own. */
const isStream = ({ operation }: Operation): boolean =>
  'text/event-stream' in (operation.responses[200]?.content ?? {});

const parametersOf = ({ parameters = [] }: Json): Json[] => {
  return parameters.map((row: Json) => (row.$ref ? document.components.parameters[row.$ref.split('/').at(-1)] : row));
};

const operations = Object.entries<Json>(document.paths)
  .flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]): Operation => {
      return { method: method.toUpperCase(), path, operation };
    }),
  )
  .filter((operation) => !isStream(operation));

const persons = [new Person(), new Person()];
for (const person of persons) await person.signIn();
const known = [
  ...markets.flatMap(({ id, yes_token_id, no_token_id }) => [id, yes_token_id, no_token_id]),
  ...persons.flatMap(({ id, wallet }) => [id, wallet.address]),
  ...[event.id, event.slug, orderHash, trader.userId, 'https://example.com/a?b=1'],
];

function requestOf({ path, operation }: Operation, drawing: Drawing): { target: string; body?: string } {
  let target = path;
  const query: string[] = [];
  for (const { in: where, name, schema, required } of parametersOf(operation)) {
    if (where === 'header' || (where === 'query' && !required && !drawing.chance(50))) continue;
    const text = encodeURIComponent(String(drawing.value(schema)).toWellFormed());
    if (where === 'path') target = target.replace(`{${name}}`, text === '' ? '%20' : text);
    else query.push(`${name}=${text}`);
  }
  if (query.length > 0) target += `?${query.join('&')}`;
  const content = Object.values<Json>(operation.requestBody?.content ?? {})[0];
  if (content === undefined) return { target };
  return { target, body: JSON.stringify(drawing.value(content.schema)) };
}

async function send(one: Operation, drawing: Drawing, person: Person): Promise<number> {
  const { target, body } = requestOf(one, drawing);
  const isAdmin = (one.operation.security ?? []).some((scheme: Json) => 'adminToken' in scheme);
  const type = Object.keys(one.operation.requestBody?.content ?? {})[0];
  const credentials = isAdmin ? { authorization: `Bearer ${server.adminToken}` } : person.headers;
  const headers = { ...credentials, ...(type === undefined ? {} : { 'content-type': type }) };
  const answer = await fetch(server.baseUrl + target, {
    method: one.method,
    headers,
    body: body ?? null,
    redirect: 'manual',
  });
  const text = await answer.text();
  assert.notEqual(answer.status, 500, `${one.method} ${target} ${body}: ${text}`);
  return answer.status;
}

test(`every operation answers as its document says, whatever its schemas let through (SEED=${SEED})`, async () => {
  const statuses = new Map<number, number>();
  for (let turn = 0; turn < TURNS; turn++) {
    const drawing = new Drawing(SEED + turn, known);
    for (const one of operations) {
      const person = persons[turn % persons.length]!;
      const status = await send(one, drawing, person).catch((error) => {
        throw new Error(`turn ${turn}, ${one.method} ${one.path}`, { cause: error });
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 401 && !one.path.startsWith('/admin')) await person.signIn();
    }
    await server.adminRequest('POST', '/admin/platform/resume');
    await server.adminRequest('POST', '/admin/platform/stage', { stage: 'open' });
  }
  const lines = [...server.stdout, ...server.stderr].filter((line) => /"level":"(error|fatal)"/.test(line));
  assert.deepEqual(lines, [], 'nothing ended');
  assert.equal((await server.request('GET', '/ready')).status, 200);
  const ledger = await server.admin.ledger();
  assert.ok(ledger.balanced, JSON.stringify(ledger));
  for (const status of [200, 400, 404]) assert.ok((statuses.get(status) ?? 0) > operations.length / 10, `${status}`);
});
