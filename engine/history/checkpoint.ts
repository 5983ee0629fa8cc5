/**
 * The checkpoint of the history of a shard: the length of a text, its lines of JSON (where the history is, and each
 * market), and the open orders as records of one length. A million of these are 48 MB, written piece by piece.
 * Owner: the history thread.
 */
import { closeSync, existsSync, openSync } from 'node:fs';
import { assert } from '../../shared/base/assert.ts';
import { readSafe, writeSafe } from '../../shared/wire/record.ts';
import { JournalError } from '../journal/row.ts';
import { readWhole, replaceFile } from './files.ts';
import type { KeptMarket, KeptOrder } from './shardHistory.ts';

const FORMAT = 2;
/**
 * Words of an order: those of 64 bits take two. The flags are bits: side, outcome, bid, resting, and above them the
 * origin.
 */
const ORDER = {
  slot: 0,
  market: 1,
  yesTicks: 2,
  flags: 3,
  createdMs: 4,
  sequence: 6,
  priority: 8,
  lots: 10,
  WORDS: 12,
};
const PIECE_ORDERS = 5000;

/** The records of a day that is not published yet. */
export type ShardDay = { readonly first: number; last: number; readonly isWhole: boolean };

type Position = {
  readonly head: { readonly sequence: number; readonly chainLow: number; readonly chainHigh: number };
  /** The last record whose rows are in the spool: records up to it that come after the head are skipped. */
  readonly through: number;
  readonly timeMs: number;
  readonly dayMs: number;
  readonly isWhole: boolean;
  readonly days: Readonly<Record<string, ShardDay>>;
  /** Of the spool of the day. */
  readonly length: number;
};
export type Checkpoint = Position & {
  readonly markets: Iterable<KeptMarket>;
  readonly orders: Iterable<KeptOrder>;
};

export function saveCheckpoint(path: string, { markets, orders, ...position }: Checkpoint): void {
  replaceFile(path, chunks({ format: FORMAT, ...position }, markets, orders));
}

/** @returns null if there is none */
export function loadCheckpoint(path: string): Checkpoint | null {
  if (!existsSync(path)) return null;
  const fd = openSync(path, 'r');
  try {
    const length = new Uint32Array(1);
    assert(readWhole(fd, new Uint8Array(length.buffer), 0), `${path}: has a length`);
    const text = Buffer.alloc(length[0]);
    assert(readWhole(fd, text, length.byteLength), `${path}: has its markets`);
    const [first, ...markets] = text.toString().split('\n');
    const { format, ...position }: Position & { readonly format: number } = JSON.parse(first);
    if (format !== FORMAT) throw new JournalError(`${path}: format ${format} is of another version`);
    const orders = [...readOrders(fd, length.byteLength + text.length)];
    return { ...position, markets: markets.map((line): KeptMarket => JSON.parse(line)), orders };
  } finally {
    closeSync(fd);
  }
}

function* chunks(position: object, markets: Iterable<KeptMarket>, orders: Iterable<KeptOrder>): Generator<Uint8Array> {
  const lines = [JSON.stringify(position)];
  for (const market of markets) lines.push(JSON.stringify(market));
  const text = Buffer.from(lines.join('\n'));
  yield new Uint8Array(new Uint32Array([text.length]).buffer);
  yield text;
  const words = new Uint32Array(ORDER.WORDS * PIECE_ORDERS);
  let word = 0;
  for (const order of orders) {
    writeOrder(words, word, order);
    word += ORDER.WORDS;
    if (word < words.length) continue;
    yield new Uint8Array(words.buffer);
    word = 0;
  }
  yield new Uint8Array(words.buffer, 0, word * words.BYTES_PER_ELEMENT);
}

function writeOrder(words: Uint32Array, word: number, order: KeptOrder): void {
  words[word + ORDER.slot] = order.slot;
  words[word + ORDER.market] = order.market;
  words[word + ORDER.yesTicks] = order.yesTicks;
  words[word + ORDER.flags] =
    order.side |
    (order.outcome << 1) |
    (Number(order.isBid) << 2) |
    (Number(order.isResting) << 3) |
    (order.origin << 4);
  writeSafe(words, word + ORDER.createdMs, order.createdMs);
  writeSafe(words, word + ORDER.sequence, order.sequence);
  writeSafe(words, word + ORDER.priority, order.priority);
  writeSafe(words, word + ORDER.lots, order.remainingLots);
}

function* readOrders(fd: number, offset: number): Generator<KeptOrder> {
  const words = new Uint32Array(ORDER.WORDS);
  const bytes = new Uint8Array(words.buffer);
  for (let at = offset; readWhole(fd, bytes, at); at += bytes.length) {
    const flags = words[ORDER.flags];
    yield {
      slot: words[ORDER.slot],
      market: words[ORDER.market],
      side: flags & 1,
      outcome: (flags >>> 1) & 1,
      isBid: (flags & 4) !== 0,
      isResting: (flags & 8) !== 0,
      origin: flags >>> 4,
      createdMs: readSafe(words, ORDER.createdMs),
      sequence: readSafe(words, ORDER.sequence),
      yesTicks: words[ORDER.yesTicks],
      priority: readSafe(words, ORDER.priority),
      remainingLots: readSafe(words, ORDER.lots),
    };
  }
}
