import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Incoming } from '../../../../gateway/front/incoming.ts';
import { Outgoing } from '../../../../gateway/front/outgoing.ts';
import { ANY_FRONT } from '../../../../gateway/front/records.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { eventually } from '../../../support/eventually.ts';
import { Random } from '../../../support/random.ts';

const SEED = Number(process.env['SEED'] ?? 20261123);

test(`OUTGOING-1: records arrive whole and in order, however full the ring is (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const ring = createRingBuffer(4096);
  let rooms = 0;
  const out = new Outgoing(ring, () => rooms++);
  const incoming = new Incoming(ring);
  const received: string[] = [];
  const sent: string[] = [];
  const send = (): void => {
    const text = 'ä'.repeat(random.below(400));
    const bytes = Buffer.byteLength(text);
    const word = out.claim(1 + random.below(5), sent.length, bytes, ANY_FRONT.BYTES + bytes);
    out.bytes.write(text, (word + ANY_FRONT.WORDS) * 4);
    out.publish();
    sent.push(`${sent.length} ${text}`);
  };
  const read = (_type: number, word: number): void => {
    const at = (word + ANY_FRONT.WORDS) * 4;
    const { words, bytes } = incoming;
    const length = words[word + ANY_FRONT.serial]!;
    received.push(`${words[word + ANY_FRONT.slot]} ${bytes.toString('utf8', at, at + length)}`);
  };
  let most = 0;
  for (let round = 0; round < 200; round++) {
    for (let count = random.below(20); count > 0; count--) send();
    most = Math.max(most, out.waitingBytes);
    for (let turn = random.below(4); turn > 0; turn--) {
      incoming.drain(read, 1 + random.below(10));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  assert.ok(most > 0, 'the ring was full at times');
  await eventually('the rest', async () => {
    incoming.drain(read);
    return received.length === sent.length;
  });
  assert.deepEqual(received, sent);
  assert.equal(out.waitingBytes, 0);
  assert.ok(rooms > 0, 'the sender learns of the room');
});

test('messages to an ended thread are not kept', () => {
  const out = new Outgoing(createRingBuffer(4096));
  for (let count = 0; count < 10; count++) out.claim(1, 0, 0, 1024);
  assert.ok(out.waitingBytes > 0);
  out.end();
  for (let count = 0; count < 10; count++) out.send(1, 0, 0);
  assert.equal(out.waitingBytes, 0);
});
