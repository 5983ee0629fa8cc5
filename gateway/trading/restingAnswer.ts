/**
 * Writes the answer that most placements get (the order rests, nothing of it is filled, and it has no tags) from the
 * views into prepared bytes, in which only id, hash and amount change. As text it would be put together from fifteen
 * parts, and encoded again for the socket.
 * Owner: the gateway thread. The bytes hold the answer that was written last.
 *
 * Invariant:
 *   RESTINGANSWER-1  The bytes are those of placementText (placementResponse.ts) for the same order.
 */
import { ORDER_STATUS, ORDER_STATUS_NAMES } from '../../shared/base/codes.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { ID_KIND, writeTimeOrderedId } from '../../shared/base/ids.ts';
import { HASH_WORDS } from '../../shared/base/openOrderIndex.ts';
import type { ShardReply } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { Order } from './order.ts';

type Answered = Pick<Order, 'clientId' | 'groupName' | 'makerAmount'>;

const DIGIT_0 = 0x30;
const HEX_DIGITS = Buffer.from('0123456789abcdef');
const MOST_AMOUNT_DIGITS = 16;

const BEFORE_ID = '{"order_id":"';
/** The lengths of the parts of a UUID, in bytes. */
const ID_PARTS = [4, 2, 2, 2, 6];
const BEFORE_HASH = '","order_hash":"0x';
const OPEN = ORDER_STATUS_NAMES[ORDER_STATUS.OPEN];
const BEFORE_AMOUNT = `","status":"${OPEN}","matches":0,"fills":[],"remaining":"`;
const AFTER_AMOUNT = '","remaining_status":"open"}';

const ID = ID_PARTS.map((bytes) => ' '.repeat(2 * bytes)).join('-');
const HASH = ' '.repeat(HASH_WORDS * 8);
const HASH_AT = BEFORE_ID.length + ID.length + BEFORE_HASH.length;
const AMOUNT_AT = HASH_AT + HASH.length + BEFORE_AMOUNT.length;

/** By the number of digits of the amount. */
const ANSWERS = Array.from({ length: 1 + MOST_AMOUNT_DIGITS }, (_, digits) =>
  Buffer.from(BEFORE_ID + ID + BEFORE_HASH + HASH + BEFORE_AMOUNT + ' '.repeat(digits) + AFTER_AMOUNT),
);
const id = new Uint8Array(UUID_BYTES);

/** The answer to an accepted order that rests whole and has no tags; null for any other order. */
export function restingAnswer(views: Views, { shard, result }: ShardReply, order: Answered): Buffer | null {
  const { clientId, groupName, makerAmount } = order;
  if (result.status() !== ORDER_STATUS.OPEN || clientId !== undefined || groupName !== undefined) return null;
  const orders = views.orders[shard];
  const { slot } = result;
  const answer = ANSWERS[digitsOf(makerAmount)];
  writeTimeOrderedId(id, 0, orders.createdMs[slot], shard, ID_KIND.ORDER, orders.orderSequence[slot]);
  writeId(answer);
  writeHash(answer, orders.hash, slot * HASH_WORDS);
  // Nothing is filled, so everything that the order gives remains.
  writeAmount(answer, makerAmount);
  return answer;
}

function writeId(answer: Buffer): void {
  let at = BEFORE_ID.length;
  let from = 0;
  for (const bytes of ID_PARTS) {
    for (const end = from + bytes; from < end; from++, at += 2) writeByte(answer, at, id[from]);
    at++;
  }
}

function writeHash(answer: Buffer, hash: Uint32Array, from: number): void {
  for (let byte = 0; byte < HASH_WORDS * 4; byte++) {
    writeByte(answer, HASH_AT + 2 * byte, (hash[from + (byte >>> 2)] >>> (8 * (byte & 3))) & 0xff);
  }
}

function writeByte(answer: Buffer, at: number, byte: number): void {
  answer[at] = HEX_DIGITS[byte >>> 4];
  answer[at + 1] = HEX_DIGITS[byte & 0xf];
}

function digitsOf(amount: number): number {
  let digits = 1;
  for (let least = 10; amount >= least; least *= 10) digits++;
  return digits;
}

function writeAmount(answer: Buffer, amount: number): void {
  let rest = amount;
  for (let at = answer.length - AFTER_AMOUNT.length - 1; at >= AMOUNT_AT; at--) {
    const tenth = Math.floor(rest / 10);
    answer[at] = DIGIT_0 + rest - tenth * 10;
    rest = tenth;
  }
}
