/**
 * Hostile input against a running server: whatever comes, the answer is a documented one or a closed connection, no
 * thread dies, memory stays flat, and an honest order goes through afterwards.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fuzz/http.test.ts
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, describe, it } from 'node:test';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import fc from 'fast-check';
import type { PlacementBody } from '../../shared/client/types.ts';
import { fileScope } from '../support/fileScope.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { type HeaderLines, onWire, requestBytes, signedHeaders, type WireAnswer } from '../support/wire.ts';

const RUNS = timesOf({ suite: 150, soak: 5000 });
const SEED = seedOr(20_261_123);
const DOCUMENTED = new Set([200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 416, 422, 423, 429, 503]);
/** The answers of the HTTP parser itself to bytes that are not a request. */
const OF_PARSER = new Set([...DOCUMENTED, 431, 505]);
const MAX_GROWTH_KIB = 96 * 1024;
const MAX_BODY_BYTES = 65_536;
const NO_BODY = Buffer.alloc(0);
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;

const server = await startServer(fileScope, { SHARDS: '1' });
const port = Number(new URL(server.baseUrl).port);
const market = await makeMarket(server);
const trader = await makeTrader(server, { depositMicro: 1_000_000_000_000 });
const issued = await server.admin.createApiKey(trader.userId, {
  scopes: ['read:account', 'trade:orders', 'trade:bulk', 'manage:account'],
});
const credentials = { keyId: issued.key_id, secret: issued.secret, passphrase: issued.passphrase };

/** A number as JSON writes it, past what JSON.stringify can say. */
class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const EDGE_NUMBERS = ['0', '1', '2', '99', '100', '101', '999999', '1000000', '1000001', '4294967295', '4294967296']
  .concat(['999999999999999', '1000000000000000', '1000000000000001', '9007199254740991', '9007199254740992'])
  .concat(['9007199254740993', '18446744073709551616', `${2n ** 256n - 1n}`, `${2n ** 256n}`]);
const edgeText = fc.oneof(
  fc.constantFrom(...EDGE_NUMBERS, ...EDGE_NUMBERS.map((text) => `-${text}`)),
  fc.constantFrom('', ' ', '01', '+1', '1.0', '1e3', '0x10', ' 12 ', '12\n', '١٢', '1_000', 'NaN', 'Infinity', '--1'),
  fc.constantFrom('9'.repeat(78), '9'.repeat(79), '9'.repeat(60_000), '0'.repeat(1000)),
);
const hexText = fc
  .tuple(fc.constantFrom('0x', '', '0X'), fc.nat(140), fc.constantFrom('0', 'f', 'F', 'a', 'g'))
  .map(([prefix, digits, digit]) => prefix + digit.repeat(digits));
const anyText = fc.oneof(edgeText, hexText, fc.string({ unit: 'binary', maxLength: 40 }), fc.uuid());
const anyNumber = fc
  .oneof(
    fc.constantFrom(...EDGE_NUMBERS, '-1', '-0', '0.5', '1.0', '1e3', '1e400', '-1e-7', '9'.repeat(1000)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  )
  .map((text) => new Literal(text));
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: anyText },
  { weight: 4, arbitrary: anyNumber },
  fc.constantFrom(null, true, false, [], {}, [[]], { toString: 1 }, ['BUY'], 'GTC', 'FOK', 'FAK', 'GTD', 'SELL', 'BUY'),
);
const FIELDS = ['market_id', 'token_id', 'maker', 'signer', 'taker', 'salt', 'nonce', 'expiration', 'fee_rate_bps']
  .concat(['signature', 'outcome_index', 'post_only', 'min_taker_net', 'self_trade_prevention', 'side'])
  .concat(['maker_amount', 'taker_amount', 'time_in_force', 'extra', 'constructor', '__proto__']);
/** Header values as they can travel: no line ends, no control characters. */
const headerValue = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 80 }),
  fc.constantFrom(
    '',
    '0',
    '1',
    '2',
    '3',
    '-1',
    '1e9',
    '9'.repeat(15),
    '9'.repeat(16),
    '9'.repeat(400),
    '\xff\xfe',
    'a, b',
  ),
);

const settings = (runs = RUNS): fc.Parameters<unknown> => ({ seed: SEED, numRuns: runs });

describe(`hostile input (SEED=${SEED}, ${RUNS} runs each)`, () => {
  let baselineKib = 0;

  afterEach(async () => {
    assert.equal((await ask('GET', '/ready', [], NO_BODY)).status, 200, 'every thread is there');
    assert.equal((await place(honestBody())).status, 200, 'an honest order goes through');
    baselineKib ||= residentKib();
  });

  it('fields of an order of any type and size', async () => {
    const property = fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...FIELDS), anyValue, { minKeys: 1, maxKeys: 3 }),
      async (changes) => {
        assertDocumented(await place(jsonOf({ ...honestBody(), ...changes })));
      },
    );
    await fc.assert(property, settings());
  });

  it('amounts at every edge, correctly signed', async () => {
    const amounts = fc.constantFrom(...EDGE_NUMBERS.filter((text) => Number(text) <= Number.MAX_SAFE_INTEGER));
    const property = fc.asyncProperty(
      amounts,
      amounts,
      fc.boolean(),
      fc.constantFrom('GTC', 'FOK', 'FAK'),
      async (makerAmount, takerAmount, isBuy, timeInForce) => {
        const intent = { side: isBuy ? 'BUY' : 'SELL', price: '0.50', size: '2', timeInForce } as const;
        const body = trader.bodyOf(market, intent, Number(makerAmount), Number(takerAmount));
        assertDocumented(await place(body));
      },
    );
    await fc.assert(property, settings(Math.min(RUNS, 100_000)));
    const ledger = await server.admin.ledger();
    assert.ok(ledger.balanced, JSON.stringify(ledger));
  });

  it('a changed signature is never accepted, and the order it belongs to still is', async () => {
    const body = honestBody();
    const property = fc.asyncProperty(changedSignature(body.signature), async (signature) => {
      const answer = await place({ ...body, signature });
      assertDocumented(answer);
      assert.equal(answer.status, 400, signature);
      assert.match(answer.body, /INVALID_SIGNATURE/);
    });
    await fc.assert(property, settings());
    assert.equal((await place(body)).status, 200);
  });

  it('JSON with a key twice, too deep, cut off, or not in UTF-8', async () => {
    const property = fc.asyncProperty(damagedJson(JSON.stringify(honestBody())), async (body) => {
      const bytes = Buffer.from(body, 'latin1');
      const headers = signedHeaders(credentials, 'POST', '/v1/orders', bytes);
      const [answer] = await onWire(port, requestBytes('POST', '/v1/orders', headers, bytes), 'first');
      const isTooLarge = bytes.length > MAX_BODY_BYTES;
      // A client that still sends when it is refused may find the connection reset before it reads the answer.
      if (answer === undefined) assert.ok(isTooLarge, 'no answer');
      else assert.equal(answer.status, isTooLarge ? 413 : 400);
    });
    await fc.assert(property, settings());
  });

  it('authentication headers with anything in them', async () => {
    const names = signedHeaders(credentials, 'GET', '/v1/user/balances', NO_BODY).map(([name]) => name);
    const property = fc.asyncProperty(
      fc.constantFrom(...names),
      headerValue,
      fc.constantFrom('replace', 'add', 'drop'),
      async (name, value, how) => {
        const headers = signedHeaders(credentials, 'GET', '/v1/user/balances', NO_BODY);
        const original = headers.find(([own]) => own === name)![1];
        const others = headers.filter(([own]) => own !== name);
        const changed: HeaderLines =
          how === 'drop' ? others : how === 'add' ? [...headers, [name, value]] : [...others, [name, value]];
        const answer = await ask('GET', '/v1/user/balances', changed, NO_BODY);
        assertDocumented(answer);
        if (how === 'drop' || (how === 'replace' && value.trim() !== original)) assert.equal(answer.status, 401);
      },
    );
    await fc.assert(property, settings());
  });

  it('every order route with any path, query and body', async () => {
    const segment = fc.oneof(
      fc.constantFrom(
        UNKNOWN_HASH,
        market.id,
        'cancel-all',
        'cancel-market',
        'open',
        'book',
        '..',
        '%2e%2e',
        '%',
        '%00',
        '',
      ),
      hexText,
      fc.webSegment(),
      fc.nat(9000).map((length) => 'a'.repeat(length)),
    );
    const target = fc
      .tuple(
        fc.constantFrom('/v1/orders/', '/v1/orders/open/', '/v1/orders/book/', '/v1/user/orders/', '/v1/user/trades/'),
        segment,
        fc.oneof(
          fc.constant(''),
          fc.webQueryParameters().map((query) => `?${query}`),
          edgeText.map(
            (text) => `?limit=${encodeURIComponent(text)}&levels=${encodeURIComponent(text)}&offset=1&offset=2`,
          ),
        ),
      )
      .map((parts) => parts.join(''));
    const splits = fc.constantFrom('split', 'merge').map((name) => `/v1/markets/${market.id}/${name}`);
    const method = fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'BREW');
    const body = fc.oneof(
      fc.constant(NO_BODY),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      anyValue.map((amount) => Buffer.from(jsonOf({ amount }))),
      anyValue.map((market_id) => Buffer.from(jsonOf({ market_id }))),
    );
    const property = fc.asyncProperty(method, fc.oneof(target, splits), body, async (verb, path, bytes) => {
      const answer = await signedAsk(verb, path, bytes);
      assert.ok(OF_PARSER.has(answer.status), `${verb} ${path}: ${answer.status} ${answer.body}`);
    });
    await fc.assert(property, settings());
  });

  it('bytes that are no HTTP, or nearly', async () => {
    const property = fc.asyncProperty(nearlyHttp(), async (text) => {
      for (const { status, head } of await onWire(port, Buffer.from(text, 'latin1'), 'all')) {
        assert.ok(OF_PARSER.has(status), `answered ${head}`);
      }
    });
    await fc.assert(property, settings());
  });

  it('leaves memory as it was', (t) => {
    t.diagnostic(`${baselineKib} KiB became ${residentKib()} KiB`);
    assert.ok(residentKib() - baselineKib < MAX_GROWTH_KIB, `${baselineKib} KiB became ${residentKib()} KiB`);
  });
});

function honestBody(): PlacementBody {
  return trader.body(market, { price: '0.50', size: '1' });
}

function place(body: PlacementBody | string): Promise<WireAnswer> {
  return signedAsk('POST', '/v1/orders', Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}

function signedAsk(method: string, target: string, body: Buffer): Promise<WireAnswer> {
  return ask(method, target, signedHeaders(credentials, method, target, body), body);
}

/** A whole request always gets an answer. */
async function ask(method: string, target: string, headers: HeaderLines, body: Buffer): Promise<WireAnswer> {
  const [answer] = await onWire(port, requestBytes(method, target, headers, body), 'first');
  assert.ok(answer !== undefined, `${method} ${target}: no answer`);
  return answer;
}

function assertDocumented({ status, body }: WireAnswer): void {
  assert.ok(DOCUMENTED.has(status), `${status} ${body}`);
  if (status < 400) return;
  const { error, code } = JSON.parse(body);
  assert.ok(typeof error === 'string' && /^[A-Z_]+$/.test(code), body);
}

/** JSON.stringify, but a Literal is written as it is and `__proto__` is a name like any other. */
function jsonOf(value: unknown): string {
  if (value instanceof Literal) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`)
    .join(',')}}`;
}

/** The other half of the curve, other recovery ids, numbers outside the field, other lengths, single bits. */
function changedSignature(signature: string): fc.Arbitrary<string> {
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
  const order = secp256k1.Point.Fn.ORDER;
  const word = (value: bigint): string => value.toString(16).padStart(64, '0');
  const outside = fc.constantFrom(0n, order, order + 1n, 2n ** 256n - 1n).map(word);
  const otherV = v === '1b' ? '1c' : '1b';
  return fc.oneof(
    fc.constantFrom(`0x${r}${word(order - BigInt(`0x${s}`))}${otherV}`, `0x${r}${word(order - BigInt(`0x${s}`))}${v}`),
    fc.constantFrom(`0x${r}${s}${otherV}`, `0x${s}${r}${v}`, `0x${r}${s}`, `${r}${s}${v}`, '0x', ''),
    outside.map((value) => `0x${value}${s}${v}`),
    outside.map((value) => `0x${r}${value}${v}`),
    fc
      .integer({ min: 2, max: 255 })
      .filter((id) => id !== 27 && id !== 28)
      .map((id) => `0x${r}${s}${id.toString(16).padStart(2, '0')}`),
    fc.nat(64 * 8 - 1).map((bit) => flipped(signature, bit)),
    fc
      .nat(300)
      .filter((length) => length !== 132)
      .map((length) => signature.padEnd(300, '0').slice(0, length)),
  );
}

function flipped(signature: string, bit: number): string {
  const bytes = Buffer.from(signature.slice(2), 'hex');
  bytes[bit >> 3] ^= 1 << (bit & 7);
  return `0x${bytes.toString('hex')}`;
}

/** None of these bodies is acceptable. Bytes as latin1 text, so that a counterexample is readable. */
function damagedJson(good: string): fc.Arbitrary<string> {
  const inside = good.slice(1, -1);
  const names = Object.keys(JSON.parse(good));
  const texts = fc
    .oneof(
      fc.constantFrom(...names).map((name) => `{${inside},${JSON.stringify(name)}:1}`),
      fc
        .constantFrom(...names)
        .map((name) => `{"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}":"",${inside}}`),
      fc
        .constantFrom('__proto__', 'constructor', 'prototype', 'toString')
        .map((name) => `{${inside},"${name}":{"a":1}}`),
      fc.integer({ min: 8, max: 30_000 }).map((depth) => `{${inside},"salt":${'['.repeat(depth)}${']'.repeat(depth)}}`),
      fc.integer({ min: 8, max: 10_000 }).map((depth) => '{"a":'.repeat(depth)),
      fc.integer({ min: 1, max: good.length - 1 }).map((length) => good.slice(0, length)),
      fc.constantFrom(
        `${good},`,
        `${good}${good}`,
        `[${good}]`,
        `\uFEFF${good}`,
        'null',
        '1',
        '""',
        '[]',
        '{}',
        'NaN',
        '{"a":}',
      ),
      fc.integer({ min: 65_537, max: 1_100_000 }).map((digits) => `{${inside},"salt":${'9'.repeat(digits)}}`),
    )
    .map((text) => Buffer.from(text).toString('latin1'));
  const notUtf8 = fc
    .tuple(fc.nat(good.length), fc.constantFrom('\xff', '\xc0\xaf', '\xed\xa0\x80', '\x80', '\xf5\x80\x80\x80'))
    .map(([at, bytes]) => good.slice(0, at) + bytes + good.slice(at));
  return fc.oneof({ weight: 4, arbitrary: texts }, notUtf8);
}

/** Pieces of requests in any order, with lengths that lie, chunks that are none, and noise between them. */
function nearlyHttp(): fc.Arbitrary<string> {
  const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  const line = fc
    .tuple(
      fc.constantFrom('GET', 'POST', 'get', 'G ET', '', '\0', 'PRI'),
      fc.constantFrom('/health', '/v1/orders', '*', 'http://a/health', '//', '/\0', '/ a', ''),
      fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9', 'HTTP/1.1 x', ''),
      fc.constantFrom('\r\n', '\n', '\r', '\r\n\r\n'),
    )
    .map(([method, target, version, end]) => `${method} ${target} ${version}${end}`);
  const header = fc.constantFrom(
    'Host: a\r\n',
    'Host: a\r\nHost: b\r\n',
    'Content-Length: 5\r\n',
    'Content-Length: 5\r\nContent-Length: 6\r\n',
    'Content-Length: -1\r\n',
    'Content-Length: 99999999999999999999\r\n',
    'Content-Length: 0x5\r\n',
    'Content-Length: \r\n',
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: gzip, chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n',
    ' folded: a\r\n',
    'No colon\r\n',
    ': empty\r\n',
    'A:b\n',
    'X: \0\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: websocket\r\n',
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n',
    `X: ${'x'.repeat(5000)}\r\n`,
    'y: z\r\n'.repeat(120),
  );
  const body = fc.constantFrom(
    '\r\n',
    '\r\n{"a":1}',
    '\r\n5\r\nhello\r\n0\r\n\r\n',
    '\r\nffffffffffffffff\r\n',
    '\r\n-1\r\n',
    '\r\nzz\r\n',
    '\r\n0\r\n',
    '5;ext=1\r\nhello\r\n',
  );
  const whole = fc.constantFrom(
    'GET /health HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST /v1/orders HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}',
  );
  return fc
    .array(fc.oneof(whole, line, header, body, noise), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join(''));
}

function residentKib(): number {
  return Number(/VmRSS:\s+([0-9]+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]);
}
