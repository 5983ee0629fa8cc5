/**
 * The witness of the fault tests finds faults: an unchanged exchange passes, and fails with any answer that contradicts
 * an acknowledgement.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import { Liar, type Lie } from '../support/liar.ts';
import { timesOf } from '../support/seeds.ts';
import { type Json, startServer } from '../support/server.ts';
import { Witness } from '../support/witness.ts';

const SEED = 20_261_128;
const COMMANDS = 60;
/** So many commands that a client reads a market in which it has several orders. */
const COMMANDS_MEANWHILE = 150;
const ORDER = /^\/v1\/orders\/0x[0-9a-f]{64}$/;
const TRADES = /^\/v1\/user\/trades\/v2/;
const BALANCES = /^\/v1\/user\/balances/;
const OPEN_ORDERS = /^\/v1\/orders\/open\//;
const AMEND = /^\/v1\/orders\/0x[0-9a-f]{64}\/amend$/;
const CLAIM = /^\/v1\/user\/positions\/([^/]*)\/claim$/;
const NOBODY = '00000000-0000-7000-8000-000000000000';

/** The first answer of this kind that `change` does not leave as it is, or the first few. */
function once(form: RegExp, change: (body: Json) => Json, count = 1): Lie {
  let told = 0;
  return ({ method, path }, { status, body }) => {
    if (told === count || method !== 'GET' || status !== 200 || !form.test(path)) return null;
    const changed = change(structuredClone(body));
    if (changed === null) return null;
    told++;
    return { body: changed };
  };
}

/** A read that is wrong may be explained by a command that is on its way: not every one. */
const EVERY = Number.POSITIVE_INFINITY;
const olderState = (): Lie => once(OPEN_ORDERS, (orders) => (orders.length < 2 ? null : []), EVERY);

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

/** Lies that are told while clients trade, and some of them later as well, over HTTP and on streams. */
const LIES_MEANWHILE: Readonly<
  Record<string, { readonly tell: (liar: Liar) => void; readonly finds: RegExp; readonly isToldLater?: true }>
> = {
  'an older state is read at the leader': {
    tell: (liar) => {
      liar.lie = olderState();
    },
    finds: /0 ms stale, are not explained by the history/,
  },
  'a standby is staler than it says': {
    tell: (liar) => {
      const lie = olderState();
      liar.lie = (asked, answer) => {
        const told = lie(asked, answer);
        return told && { ...told, headers: { 'x-svc-role': 'standby', 'x-svc-stale-ms': '1' } };
      };
    },
    finds: /1 ms stale, are not explained by the history/,
  },
  'an order that was acknowledged is not found': {
    tell: (liar) => {
      let isTold = false;
      liar.lie = ({ method, path }, { status }) => {
        if (isTold || method !== 'GET' || status !== 200 || !ORDER.test(path)) return null;
        isTold = true;
        return { status: 404, body: { code: 'NOT_FOUND', error: 'order not found' } };
      };
    },
    finds: /read as unknown .* is not explained by the history/,
  },
  'an order that was cancelled is read as open': {
    tell: (liar) => {
      const undone = (order: Json) => (order.status === 'cancelled' ? { ...order, status: 'open' } : null);
      liar.lie = once(ORDER, undone, EVERY);
    },
    finds: /read as \d+ at .* is not explained by the history/,
  },
  'what is left of an order is read wrong': {
    tell: (liar) => {
      liar.lie = once(OPEN_ORDERS, (orders) =>
        orders.length === 0
          ? null
          : [{ ...orders[0], remaining: String(Number(orders[0].remaining) + 1) }, ...orders.slice(1)],
      );
    },
    finds: /are not explained by the history/,
  },
  'a micro more is reserved than the open orders lock': {
    tell: (liar) => {
      liar.lie = once(BALANCES, ({ usdc, ...rest }) => {
        const [available, reserved] = [Number(usdc.available) - 1, Number(usdc.reserved) + 1];
        return { ...rest, usdc: { ...usdc, available: String(available), reserved: String(reserved) } };
      });
    },
    finds: /the reserved balances .* are not explained by the history/,
  },
  'what is reserved of an outcome is read as it was long before': {
    tell: (liar) => {
      liar.lie = once(
        BALANCES,
        ({ tokens, ...rest }) => {
          const isLocked = tokens.some(({ reserved }: Json) => reserved !== '0');
          return isLocked ? { ...rest, tokens: tokens.map((row: Json) => ({ ...row, reserved: '0' })) } : null;
        },
        EVERY,
      );
    },
    finds: /the reserved balances .* are not explained by the history/,
  },
  'a private frame is lost': { tell: (liar) => frameOnce(liar, () => null), finds: /came in the place of/ },
  'a private frame comes twice': {
    tell: (liar) =>
      frameOnce(liar, (frame, before) => (before === null ? frame : { ...frame, user_sequence: before.user_sequence })),
    finds: /came in the place of/,
  },
  'a private frame is another one when it is sent again': {
    tell: (liar) => frameOnce(liar, (frame) => ({ ...frame, timestamp: frame.timestamp - 1 })),
    finds: /is another one than before/,
  },
  'a request with a key has another answer again': {
    isToldLater: true,
    tell: (liar) => {
      const answers = new Map<string, number>();
      let isTold = false;
      liar.lie = ({ key }, { status, body }) => {
        const times = (answers.get(key ?? '') ?? 0) + 1;
        answers.set(key ?? '', times);
        if (isTold || key === undefined || times === 1 || status !== 200) return null;
        isTold = true;
        return { body: { ...body, total: 99, order_id: NOBODY } };
      };
    },
    finds: /with its key again has the same answer/,
  },
  'an order is replaced, and stays as well': {
    isToldLater: true,
    tell: (liar) => {
      const replaced = new Set<string>();
      const undone = (order: Json) => (replaced.has(order.order_hash) ? { ...order, status: 'open' } : null);
      const lie = once(ORDER, undone, EVERY);
      liar.lie = (asked, answer) => {
        const { status, body } = answer;
        if (status === 200 && body.cancelled_order_hash !== undefined) replaced.add(body.cancelled_order_hash);
        return lie(asked, answer);
      };
    },
    finds: /its cancel was acknowledged|is not explained by the history/,
  },
  'a replacement that was refused takes place': {
    tell: (liar) => {
      let isTold = false;
      liar.lie = ({ method, path }, { status }) => {
        if (isTold || method !== 'PUT' || !AMEND.test(path) || status !== 200) return null;
        isTold = true;
        return { status: 400, body: { code: 'INVALID_LOT', error: 'invalid lot', details: {} } };
      };
    },
    finds: /nobody asked|was refused and is there/,
  },
  'a row of a batch is acknowledged that was refused': {
    isToldLater: true,
    tell: (liar) => {
      const isBatch = (method: string, path: string): boolean => method === 'POST' && path === '/v1/orders/batch';
      let told: string | null = null;
      liar.lie = ({ method, path }, { status, body }) => {
        if (told === null && isBatch(method, path) && status === 200) {
          const row = body.results.find((each: Json) => each.status === 'success' && each.response.status === 'open');
          told = row?.order_hash ?? null;
        }
        const isTold = method === 'GET' && told !== null && path === `/v1/orders/${told}`;
        return isTold ? { status: 404, body: { code: 'NOT_FOUND', error: 'not found', details: {} } } : null;
      };
    },
    finds: /was acknowledged and is gone|is between orders that were sent/,
  },
  'what was claimed can be claimed again': {
    isToldLater: true,
    tell: (liar) => {
      let claimed: string | null = null;
      liar.lie = ({ method, path }, { status, body }) => {
        const [, market] = CLAIM.exec(path) ?? [];
        if (method === 'POST' && status === 200 && market !== undefined) claimed ??= market;
        if (method !== 'GET' || path !== '/v1/user/redeemable' || claimed === null || body.length > 1) return null;
        return { body: [...body, { market_id: claimed }] };
      };
    },
    finds: /can be claimed again/,
  },
};

/** Changes one private frame if it was sent before; frames without a number are passed on. */
function frameOnce(liar: Liar, change: (frame: Json, before: Json | null) => Json | null): void {
  const seen = new Set<string>();
  let isTold = false;
  let before: Json | null = null;
  liar.frameLie = (text) => {
    const frame: Json = JSON.parse(text);
    if (isTold || frame.user_sequence === undefined) return text;
    const isAgain = seen.has(text);
    seen.add(text);
    const changed = isAgain ? change(frame, before) : frame;
    before = frame;
    if (changed === frame) return text;
    isTold = true;
    return changed === null ? null : JSON.stringify(changed);
  };
}

/** The suite shows one lie about each thing that a witness compares, and the soak all. */
const SHOWN_BY_SUITE = new Set([
  'an order that was acknowledged is not known',
  'a trade that was acknowledged is gone',
  'a balance has a micro too much',
  'an older state is read at the leader',
  'a private frame is lost',
  'a request with a key has another answer again',
]);

function shown<L>(lies: Readonly<Record<string, L>>): [string, L][] {
  return Object.entries(lies).filter(([what]) => timesOf({ suite: SHOWN_BY_SUITE.has(what), soak: true }));
}

/** Its own: on a shared one the operators of other files may have to approve resolutions. */
const server = await startServer(fileScope);

test(`everything acknowledged passes the checks of the witness (SEED=${SEED})`, async (t) => {
  const witness = await Witness.create(await Liar.start(t, server), SEED);
  for (let round = 0; round < 2; round++) {
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  }
  const { reads, balanceReads, repeats } = witness.checked;
  assert.ok(reads > 5 && balanceReads > 5 && repeats > 5, JSON.stringify(witness.checked));
});

for (const [what, { lie, finds }] of shown(LIES)) {
  test(`it is found when ${what}`, async (t) => {
    const liar = await Liar.start(t, server);
    const witness = await Witness.create(liar, SEED);
    await witness.trade({ commands: COMMANDS });
    liar.lie = lie();
    await assert.rejects(witness.check(), finds);
    assert.equal(liar.lies, 1);
  });
}

for (const [what, { tell, finds, isToldLater = false }] of shown(LIES_MEANWHILE)) {
  test(`it is found when ${what}`, async (t) => {
    const liar = await Liar.start(t, server);
    const witness = await Witness.create(liar, SEED);
    tell(liar);
    await assert.rejects(async () => {
      await witness.trade({ commands: COMMANDS_MEANWHILE });
      if (!isToldLater) liar.lie = () => null;
      await witness.check();
    }, finds);
    assert.ok(liar.lies > 0);
  });
}
