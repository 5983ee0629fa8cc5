/** For a call that a front thread has read, the stages get exactly what they would have read themselves. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { FrontCall } from '../../../../gateway/front/frontCall.ts';
import { FrontReader } from '../../../../gateway/front/frontReader.ts';
import { Incoming } from '../../../../gateway/front/incoming.ts';
import { Outgoing } from '../../../../gateway/front/outgoing.ts';
import { CallReadByFront, type RequestLine } from '../../../../gateway/front/readByFront.ts';
import { ANY_FRONT, FROM_FRONT, RING_BYTES, TO_FRONT } from '../../../../gateway/front/records.ts';
import { RequestHeaders } from '../../../../gateway/http/headers.ts';
import { AUTH_HEADER, stringToSignV1 } from '../../../../shared/crypto/hmac.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { apiKey, PASSPHRASE, SECRET } from '../../../support/apiKeys.ts';

const { KEY } = TO_FRONT;
const { READ_CALL, KEY_WANTED } = FROM_FRONT;
const API_KEY = apiKey(1);
const PEER = Uint8Array.of(203, 0, 113, 9);
const CALL = { slot: 3, serial: 7 } as FrontCall;

type Lines = readonly (readonly [name: string, value: string])[];

/** Both ends of a ring: a front that reads, and the records that it has sent. */
function rig(isKeyKnown = true) {
  const ring = createRingBuffer(RING_BYTES);
  const reader = new FrontReader(new Outgoing(ring));
  const incoming = new Incoming(ring);
  if (isKeyKnown) sendKey(reader);
  const records = (): { type: number; slot: number; serial: number; word: number }[] => {
    const found: ReturnType<typeof records> = [];
    incoming.drain((type, word) => {
      const [slot, serial] = [incoming.words[word + ANY_FRONT.slot]!, incoming.words[word + ANY_FRONT.serial]!];
      found.push({ type, slot, serial, word });
    });
    return found;
  };
  return { reader, incoming, records };
}

/** Sends the key as the gateway thread does (lane.ts). */
function sendKey(reader: FrontReader): void {
  const { number, innerBlock, outerBlock } = API_KEY.secret.copy;
  const out = new Outgoing(createRingBuffer(RING_BYTES));
  const word = out.claim(KEY.TYPE, 0, 0, KEY.BYTES + API_KEY.keyId.length);
  out.words[word + KEY.number] = number;
  out.words[word + KEY.idBytes] = API_KEY.keyId.length;
  out.bytes.set(innerBlock, (word + KEY.innerBlock) * 4);
  out.bytes.set(outerBlock, (word + KEY.outerBlock) * 4);
  out.bytes.write(API_KEY.keyId, (word + KEY.WORDS) * 4, 'latin1');
  reader.keep(out.words, out.bytes, word);
}

function headersOf(lines: Lines): RequestHeaders {
  return RequestHeaders.of({ forEach: (each) => lines.forEach(([name, value]) => void each(name, value)) });
}

function signed({ method, path, query }: RequestLine, body: string, more: Lines): Lines {
  const target = query === null ? path : `${path}?${query}`;
  const text = stringToSignV1('1790000000', method, target) + body;
  return [
    ['content-length', String(Buffer.byteLength(body))],
    [AUTH_HEADER.API_KEY, API_KEY.keyId],
    [AUTH_HEADER.PASSPHRASE, PASSPHRASE],
    [AUTH_HEADER.TIMESTAMP, '1790000000'],
    [AUTH_HEADER.SIGNATURE, createHmac('sha256', SECRET).update(text).digest('base64url')],
    ...more,
  ];
}

const MORE: Record<string, Lines> = {
  'nothing more': [],
  'an idempotency key': [['idempotency-key', '5f0c8e86-2d07-4d0c-9d6a-0a86e6f7d7e1']],
  'two idempotency keys, which no check passes': [
    ['idempotency-key', 'a'],
    ['idempotency-key', 'b'],
  ],
  'a deadline': [['x-svc-deadline', '1790000001000']],
  'the addresses that proxies have added': [
    ['x-forwarded-for', '198.51.100.7'],
    ['x-forwarded-for', '10.0.0.1'],
  ],
  'a page, an encoding and the end of its connection': [
    ['origin', 'https://other.example'],
    ['accept-encoding', 'gzip'],
    ['connection', 'close'],
  ],
};

for (const [what, more] of Object.entries(MORE)) {
  for (const line of [
    { method: 'POST', path: '/v1/orders', query: null },
    { method: 'DELETE', path: '/v1/orders/0xab', query: '' },
    { method: 'POST', path: '/v1/orders/batch', query: 'a=%31' },
  ]) {
    test(`${line.method} ${line.path} with ${what} arrives as it was sent`, () => {
      const { reader, incoming, records } = rig();
      const body = line.method === 'DELETE' ? '' : '{"side":"ü"}';
      const headers = headersOf(signed(line, body, more));
      assert.ok(reader.canTake(line.method, line.path, headers));
      assert.ok(reader.trySend(CALL, { line, text: '', headers, peer: PEER }, Buffer.from(body)));
      const [{ type, slot, serial, word } = assert.fail(), ...others] = records();
      assert.deepEqual([type, slot, serial, others.length], [READ_CALL.TYPE, CALL.slot, CALL.serial, 0]);
      const call = new CallReadByFront(incoming.words, incoming.bytes, word);
      assert.deepEqual([call.method, call.path, call.query, String(call.body)], [...Object.values(line), body]);
      assert.deepEqual(call.headers, headers);
      assert.equal(call.headers.bodyBytes, headers.bodyBytes);
      assert.equal(call.verifiedWith, API_KEY.secret.number);
      assert.deepEqual(
        incoming.bytes.subarray((word + READ_CALL.peer) * 4).subarray(0, incoming.words[word + READ_CALL.peerBytes]),
        Buffer.from(PEER),
      );
      assert.equal(call.scanned, null, 'no body of these can be scanned');
    });
  }
}

test('a front reads nothing without the key, with a wrong signature, or of what the record cannot say', () => {
  const line = { method: 'POST', path: '/v1/orders', query: null };
  const good = signed(line, '{}', []);
  const cases: [what: string, isKeyKnown: boolean, lines: Lines, body: string, isKeyWanted: boolean][] = [
    ['an unknown key', false, good, '{}', true],
    ['another body than was signed', true, good, '{ }', true],
    ['a header that is not ASCII', true, signed(line, '{}', [['origin', 'https://€.example']]), '{}', false],
  ];
  for (const [what, isKeyKnown, lines, body, isKeyWanted] of cases) {
    const { reader, records } = rig(isKeyKnown);
    const held = { line, text: '', headers: headersOf(lines), peer: PEER };
    assert.equal(reader.trySend(CALL, held, Buffer.from(body)), false, what);
    assert.deepEqual(
      records().map(({ type }) => type),
      isKeyWanted ? [KEY_WANTED.TYPE] : [],
      what,
    );
  }
});

test('a call with two credentials, without a key or with a body of unknown length is left to the stages', () => {
  const { reader } = rig();
  const line = { method: 'POST', path: '/v1/orders', query: null };
  const good = signed(line, '{}', []);
  const without = (name: string): Lines => good.filter(([each]) => each !== name);
  for (const [what, path, lines] of [
    ['a bearer token as well', '/v1/orders', [...good, ['authorization', 'Bearer token']]],
    ['no key', '/v1/orders', without(AUTH_HEADER.API_KEY)],
    ['chunks', '/v1/orders', [...without('content-length'), ['transfer-encoding', 'chunked']]],
    ['another path', '/v1/markets', good],
  ] as [string, string, Lines][]) {
    assert.equal(reader.canTake('POST', path, headersOf(lines)), false, what);
  }
  assert.equal(reader.canTake('GET', '/v1/orders', headersOf(good)), false);
});
