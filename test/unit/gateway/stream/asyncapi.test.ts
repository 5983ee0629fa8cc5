/** /asyncapi.json: valid by the schema of AsyncAPI itself, with examples that its own schemas accept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import specifications from '@asyncapi/specs';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { asyncApiDocument } from '../../../../gateway/stream/asyncapi.ts';
import { CLIENT_MESSAGES, SERVER_FRAMES } from '../../../../gateway/stream/frames.ts';
import { crc32OfText } from '../../../../shared/base/crc32.ts';
import type { Json } from '../../../support/server.ts';

const document: Json = asyncApiDocument();
const messages = Object.entries<Json>(document.components.messages);

test('the schema of the AsyncAPI initiative accepts the document', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false, code: { optimize: false } });
  const validate = ajv.compile(specifications.schemasWithoutId['3.0.0'] as object);
  assert.ok(validate(document), ajv.errorsText(validate.errors));
  assert.equal(
    validate(Object.assign({}, document, { operations: { request: { action: 'neither' } } })),
    false,
    'it can refuse',
  );
});

test('every message of the stream is in it, and every operation names its messages', () => {
  const names = [...Object.keys(CLIENT_MESSAGES), ...Object.keys(SERVER_FRAMES)];
  assert.deepEqual(
    messages.map(([name]) => name),
    names,
  );
  assert.deepEqual(Object.keys(document.channels.stream.messages), names);
  const { request, follow } = document.operations;
  assert.equal(request.messages.length + follow.messages.length, names.length);
  assert.equal(document.channels.stream.address, '/v1/ws');
});

test('every example is one that its schema accepts', () => {
  const ajv = new Ajv2020({ strict: false, formats: { uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/ } });
  for (const [name, { payload, examples }] of messages) {
    assert.equal(examples.length, 1, name);
    assert.ok(ajv.validate(payload, examples[0].payload), `${name}: ${ajv.errorsText()}`);
  }
  const { outcome_0: yes, checksum } = document.components.messages.book.examples[0].payload.data;
  const text = [...yes.bids, ...yes.asks]
    .map((level: Json) => `${level.price}:${level.token_quantity_atomic}`)
    .join('|');
  assert.equal(checksum, crc32OfText(text), 'RULES.md 8.8');
});

test('amounts and prices of frames say their unit', () => {
  const { data } = document.components.messages.trade.payload.properties;
  assert.equal(data.properties.notional_usdc_micro['x-unit'], 'micro-USDC');
  assert.equal(data.properties.price['x-unit'], 'USDC per token');
  const level = document.components.messages.book.payload.properties.data.properties.outcome_0.properties.bids.items;
  assert.equal(level.properties.token_quantity_atomic['x-unit'], 'atomic tokens (10^-6)');
});
