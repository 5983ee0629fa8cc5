/** The records of `svc.bin.1` and bytes that Python made from the drawings in RECORDS.md (RULES.md 8.17 to 8.22). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BinaryOrder } from '../../../../gateway/trading/binaryOrder.ts';
import { OrderRecords } from '../../../../gateway/trading/order.ts';
import { TokenTexts } from '../../../../gateway/trading/tokenTexts.ts';
import * as records from '../../../../shared/client/stream/orderRecords.ts';
import type { PlacementBody } from '../../../../shared/client/types.ts';
import { COMMAND } from '../../../../shared/wire/commands.ts';
import type { Json } from '../../../support/server.ts';

const vectors: { requests: { name: string; request: Json; hex: string }[]; answers: Json[] } = JSON.parse(
  readFileSync(new URL('../../../vectors/orderEntry.json', import.meta.url), 'utf8'),
);

function encoded({ action, id, order, order_hash, tombstone, market_id, outcome_index, ...more }: Json): Uint8Array {
  const options = { idempotencyKey: more.idempotency_key ?? null, deadlineMs: more.deadline };
  switch (action) {
    case 'place':
      return records.placeRecord(id, order, options);
    case 'amend':
      return records.replaceRecord(id, order_hash, order, 'AMEND');
    case 'cancel_replace':
      return records.replaceRecord(id, order_hash, order, 'CANCEL_REPLACE');
    case 'cancel':
      return records.cancelRecord(id, order_hash, tombstone);
    case 'cancel_all':
      return records.cancelAllRecord(id);
    case 'cancel_market':
      return records.cancelMarketRecord(id, market_id, outcome_index);
    default:
      return records.heartbeatRecord(id);
  }
}

test('requests are the bytes of the vectors', () => {
  for (const { name, request, hex } of vectors.requests) {
    assert.equal(Buffer.from(encoded(request)).toString('hex'), hex, name);
  }
});

test('the gateway reads from the bytes of an order the JSON that was encoded, member for member', () => {
  for (const { name, request, hex } of vectors.requests.filter(({ request: { order } }) => order !== undefined)) {
    const bytes = new Uint8Array(Buffer.from(hex, 'hex'));
    const isExtended = bytes.length !== COMMAND.PLACE.BYTES;
    const record = new BinaryOrder(new OrderRecords(new Uint32Array(bytes.buffer), bytes), 0, isExtended);
    assert.equal(record.refuseForm(), null, name);
    const order = record.order(new TokenTexts(), null);
    const catalog = {
      byToken: (token: string) => (token === request.order.token_id ? { id: 'm' } : undefined) as never,
    };
    assert.equal(order.marketIn({ ...catalog, byId: assert.fail })?.id, 'm');
    assert.equal(
      JSON.stringify(record.bodyOf(order, catalog)),
      JSON.stringify({ market_id: 'm', ...request.order }),
      name,
    );
    assert.equal(record.idempotencyKey, request.idempotency_key ?? '', name);
    assert.equal(record.deadlineMs, request.deadline ?? 0, name);
  }
});

test('answers are read as the vectors say, also several of one message', () => {
  for (const { name, hex, answer } of vectors.answers) {
    assert.deepEqual(records.answersIn(Buffer.from(hex, 'hex')), [answer], name);
  }
  const all = Buffer.from(vectors.answers.map(({ hex }) => hex).join(''), 'hex');
  assert.deepEqual(
    records.answersIn(all),
    vectors.answers.map(({ answer }) => answer),
  );
});

test('the client refuses to encode values that a record cannot hold', () => {
  const { order } = vectors.requests[0]!.request;
  for (const changes of [
    { order_group: 'g' },
    { salt: '-1' },
    { maker: '0x12' },
    { client_order_id: 'x'.repeat(65) },
  ]) {
    assert.throws(() => records.placeRecord(1, { ...order, ...changes } as PlacementBody), TypeError);
  }
});
