/**
 * Scans the bodies of placing routes: one order, a batch, or the new order of a replacement or an amend. A body with
 * anything in it that is not scanned is parsed as a whole (SCAN-1).
 * Owner: the thread that reads. Everything read from a body is valid until the next body is read (ORDER-1).
 */
import { HASH_BYTES } from '../../shared/base/hex.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import type { Scan } from '../http/route.ts';
import { isQuoted, NOT_SCANNED, readHex, skipSpace } from './jsonBytes.ts';
import { Order, OrderRecords, type ReadPlacement } from './order.ts';
import { OrderScanner } from './orderScanner.ts';

const { PLACE } = COMMAND;

/** The most orders of a batch (RULES.md 7.3). */
export const MOST_ORDERS = 15;

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const BATCH = [Buffer.from('orders')];
const AMENDMENT = [Buffer.from('new_order')];
const REPLACEMENT = [Buffer.from('new_order'), Buffer.from('cancel_hash')];

/** The hash is only ever used as text. */
const unusedHash = new Uint8Array(HASH_BYTES);

export type ScannedBody = {
  /** At least one order. */
  readonly orders: readonly Order[];
  /** The order that a replacement cancels, as written; empty in any other body. */
  readonly cancelHash: string;
};

/** The same, as another thread has read it. */
export type ReadBody = { readonly orders: readonly ReadPlacement[]; readonly cancelHash: string };

/** Scans a body; null: parse it. */
type ReadForm = (json: Buffer) => ScannedBody | null;
export type BodyForm = 'order' | 'batch' | 'replacement' | 'amendment';

/** Returns the reader for routes whose bodies have this form. */
export function scannerOf(form: BodyForm): Scan {
  const bodies = new BodyScanner();
  return (json, ahead) => {
    if (ahead === null) return bodies[form](json);
    const read = ahead as ReadBody | ScannedBody;
    return isOwn(read) ? read : bodies.take(read);
  };
}

/** True for a body of this thread: its orders have their records. */
function isOwn(body: ReadBody | ScannedBody): body is ScannedBody {
  return body.orders[0] instanceof Order;
}

export class BodyScanner implements Record<BodyForm, ReadForm> {
  readonly #records = new OrderRecords(new Uint32Array(MOST_ORDERS * PLACE.WORDS));
  readonly #reader = new OrderScanner(this.#records);
  #orders: Order[] = [];
  #cancelHash = '';

  // One reader for each form of body.
  readonly order: ReadForm = (json) => {
    this.#clear();
    return this.#bodyIf(isAll(json, this.#readOrder(json, skipSpace(json, 0))));
  };

  readonly batch: ReadForm = (json) => {
    this.#clear();
    return this.#bodyIf(hasMembers(json, BATCH, (_, at) => this.#readOrders(json, at)));
  };

  readonly amendment: ReadForm = (json) => {
    this.#clear();
    return this.#bodyIf(hasMembers(json, AMENDMENT, (_, at) => this.#readOrder(json, at)));
  };

  readonly replacement: ReadForm = (json) => {
    this.#clear();
    const read = (member: number, at: number): number =>
      member === 0 ? this.#readOrder(json, at) : this.#readCancelHash(json, at);
    return this.#bodyIf(hasMembers(json, REPLACEMENT, read));
  };

  /** SCAN-1: the other thread has read it in the same way. */
  take({ orders, cancelHash }: ReadBody): ScannedBody {
    this.#clear();
    const { words } = this.#records;
    for (const [index, order] of orders.entries()) {
      const at = index * PLACE.WORDS;
      for (let word = 0; word < PLACE.WORDS; word++) words[at + word] = order.words[order.at + word];
      this.#orders.push(new Order(this.#records, at, { ...order, groupName: undefined }));
    }
    return { orders: this.#orders, cancelHash };
  }

  #clear(): void {
    this.#records.body++;
    this.#orders = [];
    this.#cancelHash = '';
  }

  #bodyIf(isScanned: boolean): ScannedBody | null {
    return isScanned ? { orders: this.#orders, cancelHash: this.#cancelHash } : null;
  }

  /** @returns the position after the value, or NOT_SCANNED; so does each reader below. */
  #readOrder(json: Buffer, at: number): number {
    const index = this.#orders.length;
    const end = index === MOST_ORDERS ? NOT_SCANNED : this.#reader.readAt(json, at, index);
    if (end >= 0) this.#orders.push(this.#reader.order(index));
    return end;
  }

  /** An array of at least one order. */
  #readOrders(json: Buffer, from: number): number {
    let at = from;
    if (json[at] !== OPEN_BRACKET) return NOT_SCANNED;
    do {
      const end = this.#readOrder(json, skipSpace(json, at + 1));
      if (end < 0) return NOT_SCANNED;
      at = skipSpace(json, end);
    } while (json[at] === COMMA);
    return json[at] === CLOSE_BRACKET ? at + 1 : NOT_SCANNED;
  }

  #readCancelHash(json: Buffer, at: number): number {
    const end = readHex(json, at, HASH_BYTES, unusedHash, 0);
    if (end >= 0) this.#cancelHash = json.toString('latin1', at + 1, end - 1);
    return end;
  }
}

/** True for an object with exactly these members, each once and in any order, with values that are scanned. */
function hasMembers(json: Buffer, names: readonly Buffer[], read: (member: number, at: number) => number): boolean {
  let at = skipSpace(json, 0);
  if (json[at] !== OPEN_BRACE) return false;
  let seen = 0;
  for (let left = names.length; left > 0; left--) {
    at = skipSpace(json, at + 1);
    const member = names.findIndex((name) => isQuoted(json, at, name));
    if (member < 0 || (seen & (1 << member)) !== 0) return false;
    seen |= 1 << member;
    at = skipSpace(json, at + names[member].length + 2);
    if (json[at] !== COLON) return false;
    at = read(member, skipSpace(json, at + 1));
    if (at < 0) return false;
    at = skipSpace(json, at);
    if (json[at] !== (left === 1 ? CLOSE_BRACE : COMMA)) return false;
  }
  return isAll(json, at + 1);
}

/** True if only white space follows the position, and the position is not NOT_SCANNED. */
function isAll(json: Buffer, at: number): boolean {
  return at >= 0 && skipSpace(json, at) === json.length;
}
