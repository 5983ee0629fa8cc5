/**
 * The witness of the fault tests finds what is wrong: an exchange passes as it is, and does not with any answer that
 * contradicts what was acknowledged.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Liar, type Lie } from '../support/liar.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { Witness } from '../support/witness.ts';

const SEED = 20_261_128;
const COMMANDS = 60;
const ORDER = /^\/v1\/orders\/0x[0-9a-f]{64}$/;
const TRADES = /^\/v1\/user\/trades\/v2/;
const BALANCES = /^\/v1\/user\/balances/;
const OPEN_ORDERS = /^\/v1\/orders\/open\//;

/** The first answer of this kind that `change` does not leave as it is. */
function once(form: RegExp, change: (body: Json) => Json): Lie {
  let isTold = false;
  return ({ method, path }, { status, body }) => {
    if (isTold || method !== 'GET' || status !== 200 || !form.test(path)) return null;
    const changed = change(structuredClone(body));
    isTold = changed !== null;
    return changed === null ? null : { body: changed };
  };
}

const LIES: Readonly<Record<string, { readonly lie: () => Lie; readonly finds: RegExp }>> = {
  'an order that was acknowledged is not known': {
    lie: () => {
      let isTold = false;
      return ({ method, path }, { status, body }) => {
        if (isTold || method !== 'GET' || status !== 200 || !ORDER.test(path) || body.status !== 'open') return null;
        isTold = true;
        return { status: 404, body: { code: 'NOT_FOUND', error: 'not found', details: {} } };
      };
    },
    finds: /was acknowledged and is gone/,
  },
  'an order is filled by more than its trades': {
    lie: () =>
      once(ORDER, (order) => {
        const filled = String(Number(order.filled_token_quantity_atomic) + 1_000_000);
        return { ...order, filled_token_quantity_atomic: filled };
      }),
    finds: /fills are the trades/,
  },
  'a cancel that was acknowledged is undone': {
    lie: () =>
      once(ORDER, (order) =>
        order.status === 'cancelled' && order.remaining !== '0' ? { ...order, status: 'open' } : null,
      ),
    finds: /its cancel was acknowledged|was closed and is|never rests/,
  },
  'a trade is there twice': {
    lie: () =>
      once(TRADES, (page) => {
        const trade = page.trades.find(({ role }: Json) => role === 'taker');
        return trade === undefined ? null : { ...page, trades: [...page.trades, { ...trade, id: `${trade.id}x` }] };
      }),
    finds: /fills are the trades/,
  },
  'a trade that was acknowledged is gone': {
    lie: () =>
      once(TRADES, (page) => {
        const gone = page.trades.find(({ role }: Json) => role === 'taker');
        return gone === undefined ? null : { ...page, trades: page.trades.filter((trade: Json) => trade !== gone) };
      }),
    finds: /fills are the trades|was acknowledged and is gone/,
  },
  'a balance has a micro too much': {
    lie: () =>
      once(BALANCES, ({ usdc, ...rest }) => {
        return { ...rest, usdc: { ...usdc, available: String(Number(usdc.available) + 1) } };
      }),
    finds: /the balances of account/,
  },
  'an open order is missing in the list': {
    lie: () =>
      once(OPEN_ORDERS, (page) => {
        const orders: Json[] = Array.isArray(page) ? page : page.orders;
        if (orders.length === 0) return null;
        return Array.isArray(page) ? orders.slice(1) : { ...page, orders: orders.slice(1) };
      }),
    finds: /the open orders of account/,
  },
  'an order that was placed is placed again': {
    lie: () => {
      let isTold = false;
      return ({ method, path }, { status, body }) => {
        if (isTold || method !== 'POST' || path !== '/v1/orders' || status !== 409) return null;
        isTold = true;
        return { status: 200, body };
      };
    },
    finds: /an order that was placed is a duplicate/,
  },
};

test(`what was acknowledged passes (SEED=${SEED})`, async (t) => {
  const witness = await Witness.create(await Liar.start(t, await sharedServer()), SEED);
  for (let round = 0; round < 2; round++) {
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  }
});

for (const [what, { lie, finds }] of Object.entries(LIES)) {
  test(`it is found when ${what}`, async (t) => {
    const liar = await Liar.start(t, await sharedServer());
    const witness = await Witness.create(liar, SEED);
    await witness.trade({ commands: COMMANDS });
    liar.lie = lie();
    await assert.rejects(witness.check(), finds);
    assert.equal(liar.lies, 1);
  });
}
