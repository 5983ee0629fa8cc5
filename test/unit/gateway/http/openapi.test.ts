/** The OpenAPI document made from declarations: each member of it, for a few routes of all kinds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorsOf } from '../../../../gateway/http/openApiErrors.ts';
import { openApiPieces } from '../../../../gateway/http/openapi.ts';
import type { FullSpec } from '../../../../gateway/http/spec.ts';
import { exampleOf } from '../../../../shared/api/example.ts';
import type { JsonSchema } from '../../../../shared/api/schema.ts';
import type { ErrorKey } from '../../../../shared/base/errors.ts';
import type { Json } from '../../../support/server.ts';

const TEXT = { type: 'string', examples: ['x'] } as const;
const NAMED = { type: 'object', required: ['a'], properties: { a: TEXT, b: { type: 'integer', minimum: 3 } } } as const;

const spec = (method: FullSpec['method'], path: string, access: FullSpec['access'], more = {}): FullSpec => ({
  method,
  path,
  id: `${method.toLowerCase()}It`,
  summary: `${method} ${path}`,
  access,
  limit: 'unlimited',
  answers: { 200: {} },
  ...more,
});

const PLACE = spec('POST', '/v1/orders/:hash/amend-it', 'trade:orders', {
  limit: 'placeOrder',
  risk: 'taken',
  hasDeadline: true,
  idempotency: 1,
  params: { hash: TEXT },
  query: { type: 'object', properties: { limit: { type: 'integer', minimum: 1 } } },
  body: NAMED,
  answers: { 201: { type: 'array', items: NAMED }, 202: {} },
  errors: ['ORDER_NOT_FOUND'],
});
const TEXT_ROUTE = spec('GET', '/metrics', 'operator', {
  probe: true,
  contentType: 'text/plain',
  answers: { 200: { type: 'string' } },
});

const documentOf = (...routes: FullSpec[]): Json => {
  return JSON.parse([...openApiPieces(routes, new Map([[NAMED, 'Named']]))].join(''));
};

test('an operation has everything that its route declares', () => {
  const document = documentOf(PLACE, spec('GET', '/v1/orders/:hash/amend-it', 'public'));
  const { get, post } = document.paths['/v1/orders/{hash}/amend-it'];
  assert.equal(document.openapi, '3.1.0');
  assert.deepEqual(document.servers, [{ url: '/' }]);
  assert.deepEqual([get.operationId, post.operationId], ['getIt', 'postIt']);
  assert.deepEqual([post.tags, post.summary], [['orders'], 'POST /v1/orders/:hash/amend-it']);
  assert.equal(post['x-rate-limit'], 'placeOrder');
  assert.deepEqual(document['x-rate-limits'].placeOrder, { requests: 10, window_seconds: 1, keys: 'by tier' });
  assert.equal(get['x-rate-limit'], null);
  assert.deepEqual(
    document.tags.map(({ name }: Json) => name),
    ['orders'],
  );
  assert.deepEqual(document['x-rate-limit-tiers'].premium, { requests: 50, window_seconds: 1 });
  assert.deepEqual(
    post.parameters.map(({ name, in: place, required }: Json) => [name, place, required]),
    [
      ['hash', 'path', true],
      ['limit', 'query', undefined],
      ['Idempotency-Key', 'header', undefined],
      ['X-SVC-DEADLINE', 'header', undefined],
    ],
  );
  assert.deepEqual(post.parameters[1].schema, { type: 'integer', minimum: 1 });
  assert.deepEqual(post.parameters[3].schema, { type: 'integer', minimum: 1 });
  assert.equal('parameters' in get, false);
  const reference = { $ref: '#/components/schemas/Named' };
  assert.deepEqual(post.requestBody, {
    required: true,
    content: { 'application/json': { schema: reference, example: { a: 'x' } } },
  });
  assert.equal('requestBody' in get, false);
  const { 201: created, 202: accepted } = post.responses;
  assert.deepEqual(created.content['application/json'], { schema: { type: 'array', items: reference } });
  assert.equal('headers' in created, false);
  assert.equal('content' in accepted, false, 'an empty schema is an answer without a body');
  assert.deepEqual(Object.keys(document.components.schemas), ['Named', 'Error', 'ErrorCode']);
  assert.deepEqual(document.components.schemas.Named.properties.b, { type: 'integer', minimum: 3 });
});

test('operations refer to what they answer to a refused request, which is in the document once', () => {
  const { paths, components } = documentOf(PLACE, {
    ...PLACE,
    path: '/v1/orders',
    id: 'placeAgain',
    answers: { 503: NAMED },
  });
  const of = (path: string, status: number | string): string =>
    paths[path].post.responses[status].$ref.split('/').at(-1);
  const [first, second] = ['/v1/orders/{hash}/amend-it', '/v1/orders'];
  for (const status of [400, 401, 404, 409, 423, 429, 'default']) assert.equal(of(first!, status), of(second!, status));
  assert.equal(of(first!, 404), 'OrderNotFound', 'by its one refusal');
  assert.equal(of(first!, 401), 'Unauthorized', 'by the stages that answer it');
  assert.equal(of(first!, 503), 'PostItUnavailable', 'by the operation that has it alone');
  assert.ok('content' in paths[second!].post.responses[503], 'an answer of its own stands before the refusals');
  const alone = documentOf({ ...PLACE, answers: { 503: NAMED } });
  assert.ok(!('PostItUnavailable' in alone.components.responses), 'which is not written then');
  const { OrderNotFound: missing, Limited: limited, TradingTimeoutActive: locked } = components.responses;
  assert.equal(missing.description, 'order not found');
  const { schema } = missing.content['application/json'];
  assert.deepEqual(schema, { $ref: '#/components/schemas/Error', properties: { code: { enum: ['NOT_FOUND'] } } });
  assert.match(components.responses.Unauthorized.description, /^missing [^:]*signing version · /);
  assert.deepEqual(
    [missing, locked, limited].map(({ headers = {} }) => Object.keys(headers).length),
    [0, 1, 6],
  );
  assert.ok(components.schemas.ErrorCode.enum.includes('ORDER_TOMBSTONED'));
});

test('a parameter that several operations have is written once, and has a name that says what it is', () => {
  const uuid = { type: 'string', format: 'uuid' };
  const query = (maximum: number, more = {}): object => ({
    type: 'object',
    properties: { limit: { type: 'integer', maximum, default: 5 }, ...more },
  });
  const routes = [
    spec('GET', '/v1/markets/:id', 'public', { params: { id: uuid }, query: query(10) }),
    spec('POST', '/v1/markets/:id', 'public', { params: { id: uuid }, query: query(10, { side: { type: 'string' } }) }),
    spec('GET', '/v1/events/:id', 'public', { params: { id: uuid }, query: query(20) }),
    spec('POST', '/v1/events/:id', 'public', { params: { id: uuid }, query: query(20) }),
  ];
  const { paths, components } = documentOf(...routes);
  assert.deepEqual(Object.keys(components.parameters), ['EventId', 'Limit5Of10', 'Limit5Of20', 'MarketId']);
  assert.deepEqual(components.parameters.MarketId, {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The market.',
    schema: uuid,
  });
  const reference = (name: string): object => ({ $ref: `#/components/parameters/${name}` });
  assert.deepEqual(paths['/v1/markets/{id}'].post.parameters, [
    reference('MarketId'),
    reference('Limit5Of10'),
    { name: 'side', in: 'query', schema: { type: 'string' } },
  ]);
});

test('an example stands beside a body where it is not what readers make of all members', () => {
  const body = (required: readonly string[]): JsonSchema => ({ ...NAMED, required });
  const content = (schema: JsonSchema): Json => {
    const { paths } = documentOf(spec('POST', '/v1/a', 'public', { body: schema }));
    return paths['/v1/a'].post.requestBody.content['application/json'];
  };
  assert.deepEqual(content(body(['a'])).example, { a: 'x' });
  assert.equal('example' in content(body(['a', 'b'])), false);
});

test('a text or null refers to the text that has a name', () => {
  const line = { type: 'string', maxLength: 3, pattern: '^a*$' } as const;
  const answer = { type: 'object', properties: { a: { ...line, type: ['string', 'null'], examples: [null] } } };
  const routes = [spec('GET', '/v1/a', 'public', { answers: { 200: answer } })];
  const { paths }: Json = JSON.parse([...openApiPieces(routes, new Map([[line, 'Line']]))].join(''));
  const { properties } = paths['/v1/a'].get.responses[200].content['application/json'].schema;
  assert.deepEqual(properties.a, { anyOf: [{ $ref: '#/components/schemas/Line' }, { type: 'null' }] });
});

test('a schema with a name is written once, and copies of it refer to it with what they say themselves', () => {
  const hash = { type: 'string', format: 'hash' } as const;
  const words = ['a', 'b'];
  const named = new Map<JsonSchema, string>([
    [NAMED, 'Named'],
    [hash, 'Hash'],
    [{ type: 'string', enum: words }, 'Word'],
  ]);
  const answer = {
    type: 'object',
    properties: {
      copy: { ...NAMED, description: 'Its own.' },
      narrower: { ...NAMED, required: ['a', 'b'] },
      word: { type: 'string', enum: words },
      no_hash: { type: 'string', format: 'hash', minLength: 3 },
      hash: { type: 'string', format: 'hash', examples: ['0x1'] },
    },
  };
  const routes = [spec('GET', '/v1/a', 'public', { answers: { 200: answer } })];
  const { paths, components }: Json = JSON.parse([...openApiPieces(routes, named)].join(''));
  const { properties } = paths['/v1/a'].get.responses[200].content['application/json'].schema;
  assert.deepEqual(properties.copy, { $ref: '#/components/schemas/Named', description: 'Its own.' });
  assert.deepEqual([properties.narrower.$ref, properties.narrower.required], [undefined, ['a', 'b']]);
  assert.deepEqual(properties.word, { $ref: '#/components/schemas/Word' });
  assert.equal(properties.no_hash.minLength, 3);
  assert.deepEqual(properties.hash, { $ref: '#/components/schemas/Hash', examples: ['0x1'] });
  assert.deepEqual(components.schemas.Word, { type: 'string', enum: words });
});

test('an answer that is no JSON has its type; formats of this interface are patterns', () => {
  const address = { type: 'string', format: 'address' };
  const route = spec('GET', '/v1/a', 'public', { answers: { 200: { anyOf: [address, { type: 'null' }] } } });
  const { paths } = documentOf(TEXT_ROUTE, route);
  assert.deepEqual(paths['/metrics'].get.responses[200].content, { 'text/plain': { schema: { type: 'string' } } });
  assert.deepEqual(paths['/metrics'].get.tags, ['platform']);
  const [first] = paths['/v1/a'].get.responses[200].content['application/json'].schema.anyOf;
  assert.deepEqual(first, { ...address, pattern: '^0x[0-9a-fA-F]{40}$' });
});

test('a limit says whom it counts: an address, an account, or keys in the same way (RULES.md 4.6)', () => {
  const limit = (route: FullSpec): Json => Object.values<Json>(documentOf(route).paths)[0][route.method.toLowerCase()];
  const open = limit(spec('GET', '/v1/a', 'public', { limit: 'market' }));
  assert.equal(open['x-rate-limit'], 'market');
  const { 'x-rate-limits': all, info } = documentOf();
  assert.match(info.description, /counts sessions by account, requests without a key and wrong tokens by address/);
  assert.deepEqual([all.market.requests, all.market.window_seconds], [200, 60]);
  assert.deepEqual([all.placeOrder.requests, all.placeOrder.window_seconds], [10, 1]);
  assert.deepEqual([all.heartbeat.keys, all.market.keys], ['the same', 'by tier']);
  assert.deepEqual(all.unlisted, { requests: 30, window_seconds: 60, keys: 'by tier' });
  const usual = limit(spec('GET', '/v1/a', 'public', { limit: 'unlisted' }));
  assert.equal('x-rate-limit' in usual, false, 'it has that of most');
  const admin = limit(spec('POST', '/admin/a', 'treasury', { limit: 'createMarket' }));
  assert.equal(admin['x-rate-limit'], 'createMarket');
});

test('operations that answer the same share it, under the name of its schema', () => {
  const shows = (path: string, schema: JsonSchema): FullSpec =>
    spec('GET', path, 'public', { answers: { 200: schema } });
  const lines = { type: 'array', items: NAMED } as const;
  const { components, paths } = documentOf(
    ...[shows('/v1/a', NAMED), shows('/v1/b', NAMED)],
    ...[shows('/v1/c', lines), shows('/v1/d', lines)],
  );
  for (const path of ['/v1/a', '/v1/b'])
    assert.deepEqual(paths[path].get.responses[200], { $ref: '#/components/responses/Named' });
  const schema = { $ref: '#/components/schemas/Named' };
  assert.deepEqual(components.responses.Named, { description: 'OK', content: { 'application/json': { schema } } });
  assert.ok('content' in paths['/v1/c'].get.responses[200], 'what has no name stands where it is answered');
});

test('numbers say their unit, also in a schema with a name', () => {
  const price = { type: 'object', properties: { price: TEXT, fee_bps: { type: 'integer' }, index: TEXT } } as const;
  const { paths } = documentOf(spec('GET', '/v1/a', 'public', { answers: { 200: price } }));
  const { properties } = paths['/v1/a'].get.responses[200].content['application/json'].schema;
  assert.deepEqual(
    Object.values<Json>(properties).map((member) => member['x-unit']),
    ['USDC per token', 'basis points', undefined],
  );
});

test('the schemes of an operation are those that open it', () => {
  const security = (route: FullSpec): Json => {
    const [operations] = Object.values(documentOf(route).paths) as Json[];
    return operations[route.method.toLowerCase()].security;
  };
  const key = (scopes: string[], isV2: boolean) => ({
    apiKey: scopes,
    passphrase: [],
    timestamp: [],
    signature: [],
    ...(isV2 ? { signingVersion: [], nonce: [] } : {}),
  });
  const byKey = (scope: string) => [key([scope], true), key([scope], false)];
  const signed = (scope: string) => [...byKey(scope), { session: [scope] }];
  assert.deepEqual(security(PLACE), signed('trade:orders'));
  assert.deepEqual(security(spec('POST', '/v1/a', 'trade:bulk')), byKey('trade:bulk'), 'no session trades in bulk');
  const mass = spec('DELETE', '/v1/a', 'trade:bulk', { sessionScope: 'trade:orders' });
  assert.deepEqual(security(mass), [...byKey('trade:bulk'), { session: ['trade:orders'] }]);
  assert.equal(security(spec('GET', '/v1/a', 'authenticated')), undefined, 'as the whole document says');
  assert.equal(security(spec('GET', '/v1/a', 'read:account')), undefined, 'likewise');
  assert.deepEqual(documentOf().security, signed('read:account'));
  assert.deepEqual(security(spec('POST', '/v1/a', 'authenticated')), signed('manage:account'));
  assert.deepEqual(security(spec('GET', '/v1/a', 'public')), []);
  assert.deepEqual(security(spec('GET', '/v1/a', 'public', { strictKey: true })), [{}, key([], true), key([], false)]);
  assert.deepEqual(security(TEXT_ROUTE), [{}, { adminToken: [] }]);
  assert.deepEqual(security(spec('GET', '/admin/a', 'treasury')), [{ adminToken: ['treasury'] }]);
});

test('the refusals of a route are those of the stages that it passes, and its own', () => {
  const always: ErrorKey[] = ['PAYLOAD_TOO_LARGE', 'MALFORMED_REQUEST', 'INTERNAL_ERROR'];
  const besides = (route: FullSpec): string[] => {
    return errorsOf(route).filter((key) => !always.includes(key) && key !== 'TWO_CREDENTIALS');
  };
  assert.ok(errorsOf(PLACE).includes('TWO_CREDENTIALS') && !errorsOf(TEXT_ROUTE).includes('TWO_CREDENTIALS'));
  for (const route of [PLACE, TEXT_ROUTE]) for (const key of always) assert.ok(errorsOf(route).includes(key), key);
  assert.deepEqual(besides(TEXT_ROUTE), ['INVALID_ADMIN_TOKEN', 'INSUFFICIENT_ROLE']);
  assert.deepEqual(besides(spec('GET', '/a', 'public')), ['ENGINE_BUSY']);
  assert.deepEqual(besides(spec('GET', '/a', 'public', { limit: 'market' })), [
    'RATE_LIMITED',
    'RATE_LIMIT_DEPENDENCY_UNAVAILABLE',
    'ENGINE_BUSY',
  ]);
  assert.deepEqual(besides(spec('GET', '/a', 'public', { query: {} })), ['VALIDATION_ERROR', 'ENGINE_BUSY']);
  const placing = besides(PLACE);
  for (const key of ['INVALID_HMAC_SIGNATURE', 'PLATFORM_PAUSED', 'TRADING_TIMEOUT_ACTIVE', 'OUTCOME_UNKNOWN']) {
    assert.ok(placing.includes(key), key);
  }
  assert.ok(!placing.includes('INVALID_ADMIN_TOKEN'));
  const reducing = besides({ ...PLACE, risk: 'reduced' });
  assert.deepEqual(
    reducing,
    placing.filter((key) => key !== 'TRADING_TIMEOUT_ACTIVE'),
  );
});

test('an example is made of the examples of its fields', () => {
  const cases: [object, unknown][] = [
    [{ examples: [7], default: 1 }, 7],
    [{ const: 2 }, 2],
    [{ default: false, enum: [true] }, false],
    [{ enum: ['a', 'b'] }, 'a'],
    [{ anyOf: [{ const: 1 }, { type: 'null' }] }, 1],
    [{ type: ['boolean', 'null'] }, false],
    [{ type: 'integer', minimum: 4 }, 4],
    [{ type: 'array', items: { const: 1 } }, [1]],
    [{ type: 'array', minItems: 0, items: { const: 1 } }, [1]],
    [{ type: 'array', minItems: 2, items: { const: 1 } }, [1, 1]],
    [{ type: 'object', properties: { a: { const: 1 }, b: {} } }, { a: 1 }],
    [{ type: 'object', required: ['b'], properties: { a: { const: 1 }, b: { const: 2 } } }, { b: 2 }],
    [{ type: 'object' }, {}],
    [{}, undefined],
    [{ $ref: '#/components/schemas/One', description: 'Named.' }, 1],
  ];
  const schemas = { One: { const: 1 } };
  for (const [schema, example] of cases) {
    assert.deepEqual(exampleOf(schema as never, schemas), example, JSON.stringify(schema));
  }
});
