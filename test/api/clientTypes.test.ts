/**
 * The types of the client equal those of the published document, for the answers of every method and for the bodies
 * that it takes. The methods are called to learn their routes, the document is read from a running exchange, and the
 * compiler compares.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AdminClient, ExchangeClient } from '../../shared/client/index.ts';
import { compile, programDirectory } from '../support/compiledClient.ts';
import { typeOf } from '../support/schemaTypes.ts';
import { type Json, sharedServer } from '../support/server.ts';

const server = await sharedServer();
// The compiler keeps this process busy until connections that were open before it are closed.
const { body: openapi } = await server.request('GET', '/openapi.json');
const { body: asyncapi } = await server.request('GET', '/asyncapi.json');
const CREDENTIALS = { keyId: 'k', secret: 'c2VjcmV0', passphrase: 'p' };
const X = 'x';

/** Methods that are more than one request, or whose result is not the answer. */
const COMPOSED = [
  'with',
  'close',
  'place',
  'signOrder',
  'signAndPlace',
  'openStream',
  'overSocket',
  'previewMarket',
  'buy',
  'sell',
  'fills',
  'eachCandle',
  'startHeartbeats',
  'orderMarket',
  'refreshConfig',
  'signingDomain',
  'measureClock',
  'prepareSigned',
];
/** Bytes as they come, and lines that are no JSON document. */
const RAW = ['open', 'openStatement', 'exportCatalogue', 'importCatalogue', 'metrics'];
/** The path has other answers, which other methods have. */
const NARROWER = [
  'book',
  'bothBooks',
  'bookOrders',
  'cancelOrder',
  'cancelByClientId',
  'statement',
  'cancelEverSigned',
];

type Method = { readonly type: string; readonly name: string; readonly request: string };

/** The methods of a client and of its parts, each with the request that it sends. */
async function methodsOf(t: TestContext, client: object, type: string): Promise<Method[]> {
  const found: Method[] = [];
  for (let level = Object.getPrototypeOf(client); level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (name === 'constructor' || typeof value !== 'function' || COMPOSED.includes(name) || RAW.includes(name))
        continue;
      const request = await requestOf(t, client, name);
      if (request !== null) found.push({ type, name, request });
    }
  }
  for (const [name, part] of Object.entries(client)) {
    const isPart = typeof part === 'object' && part !== null && /Client$/.test(part.constructor.name);
    if (isPart) found.push(...(await methodsOf(t, part, `${type}['${name}']`)));
  }
  return found;
}

async function requestOf(t: TestContext, client: object, name: string): Promise<string | null> {
  for (const args of [
    [X, X, X],
    [X, 1],
  ]) {
    let request: string | null = null;
    const { mock } = t.mock.method(globalThis, 'fetch', async (url: string, { method }: RequestInit) => {
      request ??= `${method} ${new URL(url).pathname}`;
      return new Response('{}');
    });
    await Promise.resolve()
      .then(() => (client as Json)[name](...args))
      .catch(() => {});
    mock.restore();
    if (request !== null) return request;
  }
  return null;
}

/** The operation whose path fits: a segment `x` stands for a parameter, or for one of a few words. */
function operationOf(document: Json, request: string): Json {
  const [method, path] = request.split(' ');
  const parts = path.split('/');
  const fitting = Object.keys(document.paths).filter((template) => {
    const wanted = template.split('/');
    const fits = wanted.every((part, at) => parts[at] === X || part === parts[at]);
    return wanted.length === parts.length && fits && document.paths[template][method.toLowerCase()] !== undefined;
  });
  const parameters = (template: string): number => template.split('{').length;
  const [best] = fitting.sort((a, b) => parameters(b) - parameters(a));
  assert.ok(best !== undefined, `the document has no ${request}`);
  return document.paths[best][method.toLowerCase()];
}

function answerOf(document: Json, request: string): string {
  const { responses } = operationOf(document, request);
  const done = Object.keys(responses).filter((status) => status === '200' || status === '201');
  // A request that only begins something has no other answer.
  const answers = done.length > 0 ? done : Object.keys(responses).filter((status) => status === '202');
  assert.ok(answers.length > 0, request);
  const schemas = answers.map((status) => {
    const { $ref } = responses[status];
    const answer = $ref === undefined ? responses[status] : document.components.responses[$ref.split('/').at(-1)];
    return answer.content?.['application/json']?.schema;
  });
  return schemas.map((schema) => typeOf(schema ?? {}, document)).join(' | ');
}

const SAME = `
import type * as Client from 'pmx-client';
import type { AdminClient, ExchangeClient } from 'pmx-client';
type IsAny<T> = 0 extends 1 & T ? true : false;
type Fits<A, B> = IsAny<A> extends true ? 'any' : [A] extends [B] ? true : A;
type Same<A, B> = Fits<A, B> extends true ? ([B] extends [A] ? true : { missing: B }) : Fits<A, B>;
type Answer<M> = M extends (...args: never[]) => Promise<infer A> ? A : never;
export declare function isTrue<_ extends true>(): void;
`;

test('every method of the client answers as the document says', async (t) => {
  const baseUrl = 'http://exchange';
  const options = { baseUrl, credentials: CREDENTIALS, retry: false, wallet: `0x${'0'.repeat(63)}1` } as const;
  const methods = [
    ...(await methodsOf(t, new ExchangeClient(options), 'ExchangeClient')),
    ...(await methodsOf(t, new AdminClient({ baseUrl, token: 'token', retry: false }), 'AdminClient')),
  ];
  assert.ok(methods.length > 100, `${methods.length} methods`);
  const lines = methods.map(({ type, name, request }) => {
    const compared = NARROWER.includes(name) ? 'Fits' : 'Same';
    return `isTrue<${compared}<Answer<${type}['${name}']>, ${answerOf(openapi, request)}>>(); // ${name}: ${request}`;
  });
  const bodies = BODIES.map(([name, request]) => {
    const { schema } = operationOf(openapi, request).requestBody.content['application/json'];
    return `isTrue<Same<Client.${name}, ${typeOf(schema, openapi)}>>(); // ${name}: ${request}`;
  });
  checkTypes('answers.ts', [...lines, ...bodies]);
});

test('every frame of the client has the form that the document of the stream gives', () => {
  const { messages } = asyncapi.components;
  const lines = FRAMES.map(([frame, message]) => {
    const type = typeOf(messages[message].payload, asyncapi);
    const compared = WIDER.includes(message) ? `Fits<${type}, ${frame}>` : `Same<${frame}, ${type}>`;
    return `isTrue<${compared}>(); // ${message}`;
  });
  checkTypes('frames.ts', lines);
});

function checkTypes(name: string, lines: readonly string[]): void {
  writeFileSync(join(programDirectory(), name), [SAME, ...lines].join('\n'));
  const options = ['--noEmit', '--strict', '--target', 'ES2023', '--module', 'NodeNext', '--types', 'node'];
  compile(programDirectory(), ...options, '--skipLibCheck', name);
}

/**
 * Frames of which the client knows less: two sums of a level that a delta does not have, and words that it passes on.
 */
const WIDER = ['book', 'order_status', 'error'];
const FRAMES: readonly (readonly [string, string])[] = [
  ['Client.BookFrame', 'book'],
  ['Client.DeltaFrame', 'book_delta'],
  ['Client.TradeFrame', 'trade'],
  ['Client.BboFrame', 'bbo'],
  ['Client.FillFrame', 'fill'],
  ['Client.OrderStatusFrame', 'order_status'],
  ['Client.HeartbeatFrame', 'heartbeat'],
  ["Extract<Client.AnswerFrame, { channel: 'pong' }>", 'pong'],
  ["Extract<Client.AnswerFrame, { channel: 'error' }>", 'error'],
];

/** The bodies that have names of their own. */
const BODIES: readonly (readonly [string, string])[] = [
  ['PlacementBody', 'POST /v1/orders'],
  ['OrderGroupSettings', 'PUT /v1/user/order-groups/x'],
  ['NewUser', 'POST /admin/users'],
  ['NewApiKey', 'POST /admin/users/x/api-keys'],
  ['NewMovement', 'POST /admin/users/x/deposits'],
  ['NewEvent', 'POST /admin/events'],
  ['NewMarket', 'POST /admin/markets'],
  ['MarketPatch', 'PATCH /admin/markets/x'],
  ['Resolution', 'POST /admin/markets/x/resolve'],
  ['NewContracts', 'POST /admin/platform/contracts'],
  ['NewOperator', 'POST /admin/operators'],
];
