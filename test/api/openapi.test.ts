/** /openapi.json: valid for a validator that is not ours, complete, and with examples that its own schemas accept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { errorsOf } from '../../gateway/http/openApiErrors.ts';
import { compileBody } from '../../gateway/http/validate.ts';
import { routeTable } from '../../gateway/wiring/routeTable.ts';
import { exampleOf, REFERENCE } from '../../shared/api/example.ts';
import { UNITS, USD } from '../../shared/api/fields.ts';
import { PLACEMENT } from '../../shared/api/orders.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { anything } from '../support/anything.ts';
import { type Json, sharedServer } from '../support/server.ts';

const server = await sharedServer();
const document: Json = (await server.request('GET', '/openapi.json')).body;
const isScheme = (name: string): boolean => name in document.components.securitySchemes;
const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, operation })),
);
const parametersOf = ({ parameters = [] }: Json): Json[] => {
  return parameters.map((row: Json) => (row.$ref ? document.components.parameters[row.$ref.split('/').at(-1)] : row));
};
/** In bytes: a generator of clients reads all of it. */
const LARGEST = 400_000;

test('the document has at most 400 kB, and says nothing twice that parts of it can share', async () => {
  const text = Buffer.from(await (await fetch(`${server.baseUrl}/openapi.json`)).arrayBuffer());
  assert.ok(text.length <= LARGEST, `${text.length} bytes`);
  const rows = operations.flatMap(({ operation }) => operation.parameters ?? []).filter(({ $ref }: Json) => !$ref);
  const texts = rows.map((row: Json) => JSON.stringify(row));
  assert.equal(new Set(texts).size, texts.length, 'a parameter of two operations stands in components');
  const used = JSON.stringify(document.paths);
  for (const kind of ['parameters', 'responses']) {
    for (const name of Object.keys(document.components[kind])) {
      assert.ok(used.includes(`"#/components/${kind}/${name}"`), `no operation has ${name} of ${kind}`);
    }
  }
});

test('an independent validator accepts the document as OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  assert.deepEqual(result.errors, undefined);
  assert.equal(result.valid, true);
  assert.equal(validator.version, '3.1');
});

test('every operation has a readable id of its own, a summary, its path parameters, an answer and its errors', () => {
  assert.ok(operations.length > 50);
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  for (const { name, path, operation } of operations) {
    assert.match(operation.summary, /\.$/, name);
    // A verb and its object; operations of administrators are beside those of accounts in one client.
    assert.match(
      operation.operationId,
      path.startsWith('/admin/') ? /^admin(?:[A-Z][a-z]+)+$/ : /^[a-z]+(?:[A-Z][a-z]+)*$/,
    );
    assert.doesNotMatch(operation.operationId, /^(?:post|put|patch|delete)[A-Z]|By[A-Z](?!lientId)/, name);
    const declared = parametersOf(operation)
      .filter((row) => row.in === 'path')
      .map((row) => row.name);
    assert.deepEqual(
      [...path.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => parameter),
      declared,
      name,
    );
    const statuses = Object.keys(operation.responses).map(Number);
    assert.ok(
      statuses.some((status) => status < 400),
      name,
    );
    assert.equal(operation.responses.default.$ref, '#/components/responses/Other', name);
  }
});

test('every route is in it but the files of pages, and every file of a page is not', () => {
  // Only a demo has the route that gives out play money.
  const routes = routeTable(anything).filter(({ path }) => !path.startsWith('/v1/demo/'));
  const documented = new Set(operations.map(({ name }) => name.replaceAll(/\{([^}]+)\}/g, ':$1')));
  for (const { method, path, isFile } of routes) {
    assert.equal(documented.has(`${method.toLowerCase()} ${path}`), isFile !== true, `${method} ${path}`);
  }
  assert.equal(documented.size, routes.filter(({ isFile }) => !isFile).length);
});

test('every operation has a tag with a description, a limit or none on purpose, and says who may call it', () => {
  const tags = new Map<string, Json>(document.tags.map((tag: Json) => [tag.name, tag]));
  for (const { name, path, operation } of operations) {
    assert.ok(tags.get(operation.tags[0])?.description, name);
    const { 'x-rate-limit': limit = 'unlisted', security = document.security } = operation;
    assert.equal(limit === null, ['/health', '/health/polygon', '/ready', '/ready/metrics'].includes(path), name);
    assert.ok(limit === null || document['x-rate-limits'][limit].requests > 0, name);
    assert.ok(
      security.every((scheme: Json) => Object.keys(scheme).every(isScheme)),
      name,
    );
  }
});

test('amounts of money and tokens say their unit', () => {
  const { Amount: amount, Units: units, Usd: usd } = document.components.schemas;
  assert.deepEqual([amount.format, units.pattern, usd.pattern], ['amount', UNITS.pattern, USD.pattern]);
  const forms = ['Amount', 'Units', 'UnitsOrNull', 'Usd'].map((name) => `${REFERENCE}${name}`);
  const walk = (value: Json, name: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (forms.includes(value.$ref)) assert.ok('x-unit' in value, `${name} has no unit`);
    for (const [member, inner] of Object.entries(value)) {
      // A field that may be null has its unit beside `anyOf`, or beside the reference to it.
      if (!('x-unit' in value && member === 'anyOf') && member !== 'UnitsOrNull') walk(inner, member);
    }
  };
  walk(document, 'document');
});

test('schemas accept their examples, and also the examples that readers build from those of the fields', () => {
  const ajv = new Ajv2020({ strict: false, meta: false, validateSchema: false, code: { optimize: false } });
  for (const format of ['address', 'hash', 'uint256', 'amount', 'date-time-or-utc', 'uuid'])
    ajv.addFormat(format, true);
  ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
  ajv.addSchema(document, 'openapi');
  const { schemas } = document.components;
  const accepted = new Set<string>();
  const accepts = (schema: Json, example: unknown, name: string): void => {
    const both = JSON.stringify([schema, example]);
    if (accepted.has(both)) return;
    accepted.add(both);
    const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/'));
    assert.ok(ajv.validate(local, example), `${name}: ${ajv.errorsText()} ${JSON.stringify(example)}`);
  };
  const walk = (value: Json, name: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value.examples)) for (const example of value.examples) accepts(value, example, name);
    for (const [member, inner] of Object.entries<Json>(value)) {
      if (member === 'application/json') accepts(inner.schema, inner.example ?? exampleOf(inner.schema, schemas), name);
      if (member !== 'examples' && member !== 'example') walk(inner, `${name}/${member}`);
    }
  };
  walk(document, '');
  assert.ok(accepted.size > 200, `${accepted.size}`);
  const named = Object.entries<Json>(schemas);
  for (const [name, schema] of named) accepts(schema, exampleOf(schema, schemas), name);
});

test('what operations answer and take has a name, and many share what they answer to a refused request', () => {
  const shared = Object.values<Json>(document.components.responses);
  const refusals = shared.filter(({ content }) => content['application/json'].schema.$ref.endsWith('/Error'));
  assert.ok(refusals.length < 80, `${refusals.length}`);
  for (const { name, operation } of operations) {
    for (const [status, response] of Object.entries<Json>(operation.responses)) {
      const content = response.content?.['application/json'];
      assert.ok(Number(status) < 400 || response.$ref !== undefined || content?.schema.$ref !== undefined, name);
      if (content !== undefined) assert.ok(content.schema.properties === undefined, `${name} ${status} has no name`);
    }
    const body = operation.requestBody?.content['application/json']?.schema;
    assert.ok(body?.properties === undefined, `the body of ${name} has no name`);
  }
  assert.doesNotMatch(Object.keys(document.components.schemas).join(' '), /Documented/);
});

test('an object has members that are named, or says that it may have any', () => {
  const walk = (value: Json, name: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const isOpen =
      value.type === 'object' && value.properties === undefined && value.additionalProperties === undefined;
    assert.ok(!isOpen, name);
    for (const [member, inner] of Object.entries(value)) walk(inner, `${name}/${member}`);
  };
  walk(document, '');
});

test('the server would accept the example of a placement', () => {
  const { example } = document.paths['/v1/orders'].post.requestBody.content['application/json'];
  assert.equal(compileBody(PLACEMENT)(example), null);
});

test('the refusals of the stages follow from the declaration of a route', () => {
  const place = errorsOf({
    method: 'POST',
    path: '/v1/orders',
    summary: '',
    access: 'trade:orders',
    limit: 'placeOrder',
    idempotency: 1,
    risk: 'taken',
    body: PLACEMENT,
    answers: {},
    errors: ['DUPLICATE_ORDER'],
  });
  for (const key of ['INVALID_HMAC_SIGNATURE', 'RATE_LIMITED', 'PLATFORM_PAUSED', 'TRADING_TIMEOUT_ACTIVE'] as const) {
    assert.ok(place.includes(key), key);
  }
  assert.ok(!place.includes('INVALID_ADMIN_TOKEN'));
  const numbers = place.map((key) => Object.keys(ERRORS).indexOf(key));
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
});
