/**
 * Cursors of the lists of an account's past: the position of the last row of a page, as opaque text. A cursor names its
 * list, because the same position means other rows in another list.
 *
 *   1 byte list | 1 byte rank | 6 bytes time in ms | 16 bytes id
 */
import { UUID_BYTES } from '../../shared/base/hex.ts';
import type { Position } from './page.ts';

export const LIST = { ORDERS_BY_CREATION: 1, ORDERS_BY_UPDATE: 2, TRADES: 3, ACTIVITY: 4 } as const;
export type List = (typeof LIST)[keyof typeof LIST];

const TIME_AT = 2;
const TIME_BYTES = 6;
const ID_AT = TIME_AT + TIME_BYTES;
const BYTES = ID_AT + UUID_BYTES;
const FORM = /^[A-Za-z0-9_-]{32}$/;

export function writeCursor(list: List, { atMs, rank, id }: Position): string {
  const bytes = Buffer.alloc(BYTES);
  bytes[0] = list;
  bytes[1] = rank;
  bytes.writeUIntBE(atMs, TIME_AT, TIME_BYTES);
  bytes.set(id, ID_AT);
  return bytes.toString('base64url');
}

/** Returns null if the text is no cursor of this list. */
export function readCursor(list: List, text: string): Position | null {
  if (!FORM.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== list) return null;
  return { rank: bytes[1], atMs: bytes.readUIntBE(TIME_AT, TIME_BYTES), id: new Uint8Array(bytes.subarray(ID_AT)) };
}
