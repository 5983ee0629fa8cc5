import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestHeaders } from '../../../../gateway/http/headers.ts';
import type { IdempotencyHold, StoredReply } from '../../../../gateway/http/hold.ts';
import { okBytes } from '../../../../gateway/http/respond.ts';
import { TestCall } from '../../../support/calls.ts';

test('bytes that change after an answer was given are sent as they were, at once and in the next turn', async () => {
  for (const closesConnection of [false, true]) {
    const asked = new TestCall({ method: 'GET', path: '/v1/markets' });
    asked.call.transport.closesConnection = closesConnection;
    const bytes = Buffer.from('{"timestamp":1}');
    okBytes(asked.call, bytes);
    bytes.write('{"timestamp":2}');
    await asked.answered;
    assert.deepEqual(asked.json, { timestamp: 1 });
  }
});

test('bytes of an answer that is kept with an idempotency key are stored as text first', async () => {
  const asked = new TestCall({ method: 'POST', path: '/v1/orders' });
  const stored: StoredReply[] = [];
  let whenStored: (isStored: boolean) => void = () => {};
  asked.call.idempotencyHold = {
    toStore: (reply) => reply,
    store: (reply, done) => {
      stored.push(reply);
      whenStored = done;
    },
  } as Pick<IdempotencyHold, 'toStore' | 'store'> as IdempotencyHold;
  const bytes = Buffer.from('{"order":1}');
  okBytes(asked.call, bytes);
  bytes.fill(' ');
  assert.deepEqual(stored, [{ status: 200, body: '{"order":1}' }]);
  assert.equal(asked.text, '');
  whenStored(true);
  await asked.answered;
  assert.equal(asked.text, '{"order":1}');
});

test('every answer has the id of its own request, on connections that stay open and on others', async () => {
  const texts: string[] = [];
  for (const [id, isKeptAlive] of [
    ['00000000000000a1', true],
    ['00000000000000b2', false],
    ['00000000000000c3', true],
  ] as const) {
    const asked = new TestCall({ method: 'GET', path: '/v1/markets', id });
    const headers = new RequestHeaders();
    headers.isKeptAlive = isKeptAlive;
    asked.call.headers = headers;
    okBytes(asked.call, Buffer.from('{}'));
    await asked.answered;
    texts.push(asked.headers.get('Content-Type')!);
  }
  assert.match(texts[0]!, /^application\/json\r\n(.+\r\n)+Keep-Alive: timeout=8\r\nX-Request-Id: 00000000000000a1$/);
  assert.match(
    texts[1]!,
    /^application\/json\r\n(.+\r\n)+Referrer-Policy: no-referrer\r\nX-Request-Id: 00000000000000b2$/,
  );
  assert.equal(texts[2], texts[0]!.replace('a1', 'c3'));
});
