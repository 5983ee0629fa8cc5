/** The bytes of events; their meaning is tested with the book, the views and the journal. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Market } from '../../../../engine/book/market.ts';
import { Orders, WORD_SHIFT } from '../../../../engine/book/orders.ts';
import { Ledger } from '../../../../engine/money/ledger.ts';
import { EventWriter } from '../../../../engine/output/emit.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';

it('an event is the same whatever the buffer held before, word by word', () => {
  const orders = new Orders();
  const ledger = new Ledger(new Balances(createBalances()), true);
  const maker = orders.allocate(1);
  const taker = orders.allocate(2);
  orders.tag[maker << WORD_SHIFT] = orders.tags.allocate();
  ledger.addTokens(1, 0, 0, 500);
  const row = ledger.positions.find(1, 0);
  const market = new Market(orders, 0, new Uint32Array(4), 100, 100, 2, 50, 0, 1);
  const command = new Uint32Array(72).fill(9);
  const reference = new Uint32Array(8).fill(7);

  const emitted: Record<string, (emit: EventWriter) => void> = {
    record: (emit) => emit.record(1, reference, 0),
    accepted: (emit) => emit.accepted(maker, command, 0),
    orderState: (emit) => emit.orderState(maker),
    tag: (emit) => emit.tag(maker),
    rest: (emit) => emit.rest(maker, 1),
    fill: (emit) => emit.fill(maker, taker, 1, 0, 50, 3, 1, 2, 3),
    closed: (emit) => emit.closed(maker, 1, 0),
    dormant: (emit) => emit.sleepOrWake(EVENT.DORMANT.TYPE, maker, 1),
    position: (emit) => emit.position(row),
    usdc: (emit) => emit.usdc(1),
    market: (emit) => emit.market(market),
    funds: (emit) => emit.funds(1, 0, 0, 5),
    fundsWithReference: (emit) => emit.funds(1, 0, 0, 5, reference, 0),
    reply: (emit) => emit.reply(5, 1, 0, 1, 2, 3, 4),
    ready: (emit) => emit.ready(1, 2),
    digest: (emit) => {
      const lanes = emit.digest();
      emit.out.words.fill(1, lanes, lanes + 2);
    },
  };
  for (const [name, write] of Object.entries(emitted)) {
    const written = [0, 0xffff_ffff].map((before) => {
      const out = new RecordBuffer(1024);
      out.words.fill(before);
      write(new EventWriter(out, orders, ledger));
      return [...out.words.subarray(0, out.lengthBytes >>> 2)];
    });
    assert.deepEqual(written[0], written[1], name);
  }
});
