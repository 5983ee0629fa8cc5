/**
 * Orders of bodies that were parsed as JSON and have passed their schema: the way of every body that is not
 * scanned (orderScanner.ts). Owner: the gateway thread. An order is valid until the next one is read (ORDER-1).
 */
import type { PlacementBody } from '../../shared/api/orders.ts';
import { assert } from '../../shared/base/assert.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { writeBody } from '../../shared/wire/orderBody.ts';
import { Order, OrderRecords } from './order.ts';
import { refuseCombination } from './orderRules.ts';
import { TokenBytes } from './tokenTexts.ts';

export class ParsedOrders {
  readonly #records = new OrderRecords(new Uint32Array(COMMAND.PLACE.WORDS));
  readonly #record = { words: this.#records.words, bytes: this.#records.bytes, at: 0 };
  readonly #tokens = new TokenBytes();
  readonly #writeToken = (text: string, out: Uint8Array, offset: number): boolean =>
    this.#tokens.write(text, out, offset);

  read(body: PlacementBody): Order {
    this.#records.body++;
    this.#records.words.fill(0);
    const malformed = writeBody(this.#record, body, this.#writeToken);
    assert(malformed === null, 'parsed orders: the schema passes only what a record can have');
    const names = {
      marketId: body.market_id.toLowerCase(),
      tokenId: body.token_id,
      clientId: body.client_order_id,
      groupName: body.order_group,
    };
    return new Order(this.#records, 0, names, refuseCombination(body));
  }
}
