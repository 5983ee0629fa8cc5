/**
 * Scans a message that places one order, if it is written as programs do: the members channel, id and data in this
 * order, and the action first in data. Every other message is parsed (JSON.parse, the schemas and entryActions.ts), so
 * that each refusal is made in one place (SCAN-1). Owner: the gateway thread. The
 * order is valid until the next message is read.
 */
import { COMMAND } from '../../shared/wire/commands.ts';
import type { Keepable } from '../http/call.ts';
import type { ScannedBody } from '../trading/bodyScanner.ts';
import { endOfDigits, endOfText, NOT_SCANNED, skipSpace, startsWith } from '../trading/jsonBytes.ts';
import { type Order, OrderRecords } from '../trading/order.ts';
import { OrderScanner } from '../trading/orderScanner.ts';
import type { RequestId } from './entryConnection.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const CLOSE_BRACE = 0x7d;
const BEFORE_ID = Buffer.from('{"channel":"order","id":');
const BEFORE_ORDER = Buffer.from(',"data":{"action":"place"');
/** A number with this many digits is always an exact integer. */
const SURE_DIGITS = 15;
const MOST_ID_CHARACTERS = 64;
const ASCII = /^[ -~]*$/;

/** The one order of a message. */
export class MessageBody implements ScannedBody, Keepable {
  readonly orders: readonly [Order];
  readonly cancelHash = '';

  constructor(order: Order) {
    this.orders = [order];
  }

  kept(): MessageBody {
    return new MessageBody(this.orders[0].kept());
  }
}

export class MessageScanner {
  id: RequestId = 0;
  readonly #records = new OrderRecords(new Uint32Array(COMMAND.PLACE.WORDS));
  readonly #reader = new OrderScanner(this.#records);

  /** The body that was read last. */
  body(): MessageBody {
    return new MessageBody(this.#reader.order(0));
  }

  /** @returns true if `id` and `body` were read from the message; false: parse the message */
  read(json: Buffer): boolean {
    if (!startsWith(json, 0, BEFORE_ID)) return false;
    const idEnd = this.#readId(json, BEFORE_ID.length);
    if (idEnd < 0 || !startsWith(json, idEnd, BEFORE_ORDER)) return false;
    const at = skipSpace(json, idEnd + BEFORE_ORDER.length);
    if (json[at] !== COMMA) return false;
    this.#records.body++;
    const end = this.#reader.readMembers(json, at, 0);
    if (end < 0) return false;
    const last = skipSpace(json, end);
    return json[last] === CLOSE_BRACE && skipSpace(json, last + 1) === json.length;
  }

  /** @returns the position after it, or NOT_SCANNED. */
  #readId(json: Buffer, at: number): number {
    if (json[at] === QUOTE) {
      const end = endOfText(json, at + 1);
      this.id = json.toString('latin1', at + 1, end);
      const isScanned = json[end] === QUOTE && this.id.length <= MOST_ID_CHARACTERS && ASCII.test(this.id);
      return isScanned ? end + 1 : NOT_SCANNED;
    }
    const end = endOfDigits(json, at);
    if (end === at || end - at > SURE_DIGITS || (json[at] === ZERO && end > at + 1)) return NOT_SCANNED;
    this.id = Number(json.toString('latin1', at, end));
    return end;
  }
}
