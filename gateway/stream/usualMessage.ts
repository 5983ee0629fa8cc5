/**
 * A message that places one order, read in one pass from its bytes when it is written as programs write it: the members
 * channel, id and data in this order, and the action first in data. Anything else is left to the long way, which is
 * JSON.parse, the schemas and entryActions.ts: so each refusal has one place (USUAL-1).
 * Owner: the gateway thread. The order is valid until the next message is read.
 */
import { endOfDigits, endOfText, skipSpace, startsWith, UNUSUAL } from '../trading/jsonBytes.ts';
import type { ReadBody } from '../trading/usualBodies.ts';
import { UsualPlacements } from '../trading/usualPlacement.ts';
import type { RequestId } from './entryConnection.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const CLOSE_BRACE = 0x7d;
const BEFORE_ID = Buffer.from('{"channel":"order","id":');
const BEFORE_ORDER = Buffer.from(',"data":{"action":"place"');
/** A number of so many digits is always an exact integer. */
const SURE_DIGITS = 15;
const MOST_ID_CHARACTERS = 64;
const ASCII = /^[ -~]*$/;

export class UsualMessages {
  readonly body: ReadBody;
  id: RequestId = 0;
  readonly #reader = new UsualPlacements();

  constructor() {
    this.body = { orders: [this.#reader], cancelHash: '' };
  }

  /** @returns whether `id` and `body` are those of the message; false: take the long way. */
  read(json: Buffer): boolean {
    if (!startsWith(json, 0, BEFORE_ID)) return false;
    const idEnd = this.#readId(json, BEFORE_ID.length);
    if (idEnd < 0 || !startsWith(json, idEnd, BEFORE_ORDER)) return false;
    const at = skipSpace(json, idEnd + BEFORE_ORDER.length);
    if (json[at] !== COMMA) return false;
    const end = this.#reader.readMembers(json, at);
    if (end < 0) return false;
    const last = skipSpace(json, end);
    return json[last] === CLOSE_BRACE && skipSpace(json, last + 1) === json.length;
  }

  /** @returns the position after it, or UNUSUAL. */
  #readId(json: Buffer, at: number): number {
    if (json[at] === QUOTE) {
      const end = endOfText(json, at + 1);
      this.id = json.toString('latin1', at + 1, end);
      const isUsual = json[end] === QUOTE && this.id.length <= MOST_ID_CHARACTERS && ASCII.test(this.id);
      return isUsual ? end + 1 : UNUSUAL;
    }
    const end = endOfDigits(json, at);
    if (end === at || end - at > SURE_DIGITS || (json[at] === ZERO && end > at + 1)) return UNUSUAL;
    this.id = Number(json.toString('latin1', at, end));
    return end;
  }
}
