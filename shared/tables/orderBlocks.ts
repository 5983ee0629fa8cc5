/**
 * A block of orders as bytes: column by column, each in the form that takes least, and compressed. An order takes some
 * 50 bytes, 32 of which are its hash.
 *
 *   zstd( orders, then for each column of `orders`: form, length, values )      numbers in 7 bits a byte, lowest first
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { assert } from '../base/assert.ts';
import { ID_KIND, shardOfId, timeOrderedIdBytes } from '../base/ids.ts';
import { namesOf } from '../base/namesOf.ts';
import { errorMessage } from '../base/thrown.ts';
import { ORDERS } from './orders.ts';
import type { RowOf } from './table.ts';

export type Order = RowOf<typeof ORDERS>;
type Name = keyof Order;
type Value = Order[Name];

const NAMES: readonly Name[] = namesOf(ORDERS.columns);
/** Of the values of a column in a block. */
const FORM = {
  /** JSON: one value, which all orders have, or all values. */
  SAME: 0,
  JSON: 1,
  NUMBERS: 2,
  /** Differences to the order before. */
  STEPS: 3,
  /** Differences to the column in BESIDE. */
  BESIDE: 4,
  /** All of one length, one after the other. */
  BYTES: 5,
  /** Ids that follow from time, sequence and the shard in them: the shards, as JSON. */
  IDS: 6,
} as const;
/** The column to which another one is close. */
const BESIDE: Readonly<Partial<Record<Name, Name>>> = {
  maker_amount: 'lots',
  taker_amount: 'lots',
  remaining_lots: 'lots',
  shard_sequence: 'order_sequence',
  updated_ms: 'created_ms',
};
/** Larger differences would not be exact. */
const MOST_DIFFERENCE = 2 ** 52;
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 6, [constants.ZSTD_c_checksumFlag]: 1 };

/** @param orders by account and id */
export function encodeBlock(orders: readonly Order[]): Uint8Array {
  const parts: Uint8Array[] = [numbersOf([orders.length])];
  for (const name of NAMES) {
    const { form, bytes } = encoded(orders, name);
    parts.push(numbersOf([form, bytes.length]), bytes);
  }
  return zstdCompressSync(Buffer.concat(parts), { params: PARAMS });
}

/** The markets of these orders as bytes. */
export function encodeMarkets(orders: readonly Pick<Order, 'market'>[]): Uint8Array {
  const markets = [...new Set(orders.map(({ market }) => market))].sort((a, b) => a - b);
  return numbersOf(markets.map((market, index) => market - (markets[index - 1] ?? 0)));
}

export function hasMarket(markets: Uint8Array, market: number): boolean {
  const reader = new NumberReader(markets);
  let at = 0;
  while (!reader.isAtEnd) {
    at += reader.next();
    if (at >= market) return at === market;
  }
  return false;
}

export class OrderBlock {
  readonly orders: number;
  readonly #encoded = new Map<Name, Encoded>();
  readonly #decoded = new Map<Name, readonly Value[]>();

  constructor(data: Uint8Array) {
    const reader = new NumberReader(decompressed(data));
    this.orders = reader.next();
    for (const name of NAMES) {
      const form = reader.next();
      this.#encoded.set(name, { form, bytes: reader.bytes(reader.next()) });
    }
  }

  /** @param account null for any */
  isOf(index: number, account: number | null, market: number | null): boolean {
    return (
      (account === null || this.#column('account')[index] === account) &&
      (market === null || this.#column('market')[index] === market)
    );
  }

  /** In the order of the columns. */
  valuesAt(index: number): Value[] {
    return NAMES.map((name) => this.#column(name)[index]);
  }

  #column(name: Name): readonly Value[] {
    let values = this.#decoded.get(name);
    if (values === undefined) {
      values = this.#decode(name);
      this.#decoded.set(name, values);
    }
    return values;
  }

  #numbers(name: Name | undefined): readonly number[] {
    return name === undefined ? [] : numbersAmong(this.#column(name));
  }

  #decode(name: Name): readonly Value[] {
    const { form, bytes } = this.#encoded.get(name)!;
    switch (form) {
      case FORM.SAME:
        return new Array(this.orders).fill(jsonIn(bytes)[0]);
      case FORM.JSON:
        return jsonIn(bytes);
      case FORM.NUMBERS:
        return numbersIn(bytes, this.orders);
      case FORM.STEPS: {
        let sum = 0;
        return numbersIn(bytes, this.orders).map((step) => (sum += signed(step)));
      }
      case FORM.BESIDE: {
        const beside = this.#numbers(BESIDE[name]);
        return numbersIn(bytes, this.orders).map((difference, index) => beside[index] + signed(difference));
      }
      case FORM.BYTES: {
        const length = bytes.length / this.orders;
        return Array.from({ length: this.orders }, (_, index) => bytes.slice(index * length, (index + 1) * length));
      }
      case FORM.IDS: {
        const shards = numbersAmong(jsonIn(bytes));
        const [times, sequences] = [this.#numbers('created_ms'), this.#numbers('order_sequence')];
        return times.map((timeMs, index) => idOf(timeMs, shards[index % shards.length], sequences[index]));
      }
    }
    throw new Error(`order block: ${name} has the unknown form ${form}`);
  }
}

/** Blocks have a checksum. Throws, as for any other damaged file. */
function decompressed(data: Uint8Array): Uint8Array {
  try {
    return zstdDecompressSync(data);
  } catch (error) {
    throw new Error(`database disk image is malformed: a block of orders: ${errorMessage(error)}`);
  }
}

type Encoded = { readonly form: number; readonly bytes: Uint8Array };

function encoded(orders: readonly Order[], name: Name): Encoded {
  const values = orders.map((order) => order[name]);
  if (name === 'id') {
    const shards = orders.map(({ id }) => shardOfId(id));
    const follow = orders.every(({ id, created_ms, order_sequence }, index) => {
      return Buffer.compare(id, idOf(created_ms, shards[index], order_sequence)) === 0;
    });
    if (follow) return { form: FORM.IDS, bytes: json(areSame(shards) ? shards.slice(0, 1) : shards) };
  }
  const blobs = values.filter((value) => value instanceof Uint8Array);
  if (blobs.length > 0) return { form: FORM.BYTES, bytes: Buffer.concat(blobs) };
  if (areSame(values)) return { form: FORM.SAME, bytes: json(values.slice(0, 1)) };
  const forms = numberForms(orders, name);
  if (forms.length === 0) return { form: FORM.JSON, bytes: json(values) };
  return forms.reduce((least, form) => (form.bytes.length < least.bytes.length ? form : least));
}

/** None if one of the values is no number that these forms can have. */
function numberForms(orders: readonly Order[], name: Name): Encoded[] {
  const values = numbersAmong(orders.map((order) => order[name]));
  if (values.length < orders.length || values.some((value) => !Number.isSafeInteger(value) || value < 0)) return [];
  const beside = BESIDE[name];
  const near = beside === undefined ? [] : numbersAmong(orders.map((order) => order[beside]));
  const differences: readonly (readonly [number, readonly number[]])[] = [
    [FORM.STEPS, values.map((value, index) => value - (index === 0 ? 0 : values[index - 1]))],
    [FORM.BESIDE, near.map((value, index) => values[index] - value)],
  ];
  const forms: Encoded[] = [{ form: FORM.NUMBERS, bytes: numbersOf(values) }];
  for (const [form, all] of differences) {
    if (all.length < orders.length) continue;
    if (all.some((difference) => Math.abs(difference) >= MOST_DIFFERENCE)) continue;
    forms.push({ form, bytes: numbersOf(all.map(unsigned)) });
  }
  return forms;
}

function numbersAmong(values: readonly Value[]): readonly number[] {
  return values.filter((value) => typeof value === 'number');
}

function unsigned(difference: number): number {
  return difference < 0 ? -2 * difference - 1 : 2 * difference;
}

function signed(number: number): number {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}

function areSame(values: readonly Value[]): boolean {
  return values.every((value) => value === values[0]);
}

function idOf(timeMs: number, shard: number, sequence: number): Uint8Array {
  return timeOrderedIdBytes(timeMs, shard, ID_KIND.ORDER, sequence);
}

function json(values: readonly Value[]): Uint8Array {
  return Buffer.from(JSON.stringify(values));
}

function jsonIn(bytes: Uint8Array): readonly Value[] {
  return JSON.parse(Buffer.from(bytes).toString());
}

function numbersOf(values: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const value of values) {
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
    bytes.push(left);
  }
  return Uint8Array.from(bytes);
}

function numbersIn(bytes: Uint8Array, count: number): number[] {
  const reader = new NumberReader(bytes);
  return Array.from({ length: count }, () => reader.next());
}

class NumberReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  next(): number {
    let [number, unit] = [0, 1];
    for (;;) {
      const byte = this.#bytes[this.#at++];
      assert(byte !== undefined, 'order block: it ends with its last value');
      number += (byte & 0x7f) * unit;
      if (byte < 0x80) return number;
      unit *= 0x80;
    }
  }

  bytes(length: number): Uint8Array {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
