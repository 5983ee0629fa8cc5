/** Orders, trades and activity as an account reads them: examples computed by hand (RULES.md 14.1 to 14.7). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { CLOSE_REASON, MATCH_TYPE, ORDER_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { fillTime } from '../../../../shared/base/fillTimes.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { HistoryReader } from '../../../support/historyReader.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { JournalScript } from '../../../support/records.ts';
import type { Json } from '../../../support/server.ts';

const RAIN = 'abcdef11-1111-4111-8111-111111111111';
const SNOW = '22222222-2222-4222-8222-222222222222';
const T0 = Date.UTC(2026, 0, 1);
const FIELDS_OF_PARTY = [
  'party_order_id',
  'party_side',
  'party_outcome_index',
  'notional_usdc_micro',
  'token_quantity_atomic',
];

/** Two shards, RAIN in the first and SNOW in the second, with 100 ticks; every example has accounts of its own. */
const folder = temporaryDirectory();
const journalPaths = [0, 1].map((shard) => join(folder, `journal-${shard}.db`));
const scripts = journalPaths.map((path, shard) => new JournalScript(path, shard, 2));
const [rain, snow] = scripts as [JournalScript, JournalScript];
rain.record(T0, (events) => events.market(0, RAIN));
snow.record(T0, (events) => events.market(1, SNOW));
// Accounts 22 and 23 trade in SNOW in the millisecond in which it was opened.
snow.record(T0, (events) => {
  const of = { market: 1, lots: 10_000, limitTicks: 50 };
  events.place({ ...of, slot: 300, account: 22 });
  events.order({ ...of, slot: 301, account: 23, side: SIDE.SELL });
  events.fill({ maker: 300, taker: 301, yesTicks: 50, lots: 5000 });
  events.closed(300, CLOSE_REASON.USER);
  events.closed(301, CLOSE_REASON.USER);
});

const BUY = { side: SIDE.BUY } as const;
const SELL = { side: SIDE.SELL } as const;
const YES = { outcome: OUTCOME.YES } as const;
const NO = { outcome: OUTCOME.NO } as const;

type Party = { side: number; outcome: number };

/** One fill of 100 lots at Yes 0.65, with an order of each account, all in one millisecond. */
function match(
  atMs: number,
  matchType: number,
  maker: Party & { account: number },
  taker: Party & { account: number },
) {
  rain.record(atMs, (events) => {
    const of = { market: 0, lots: 100 };
    events.place({ slot: 0, ...of, ...maker, limitTicks: maker.outcome === OUTCOME.YES ? 65 : 35 });
    events.order({ slot: 1, ...of, ...taker, limitTicks: taker.outcome === OUTCOME.YES ? 65 : 35 });
    events.fill({ maker: 0, taker: 1, yesTicks: 65, lots: 100, matchType });
    events.filled(0);
    events.filled(1);
  });
}

match(T0 + 1, MATCH_TYPE.STANDARD, { account: 1, ...SELL, ...YES }, { account: 2, ...BUY, ...YES });
match(T0 + 2, MATCH_TYPE.MINT, { account: 3, ...BUY, ...YES }, { account: 4, ...BUY, ...NO });
match(T0 + 3, MATCH_TYPE.MERGE, { account: 5, ...SELL, ...YES }, { account: 6, ...SELL, ...NO });
match(T0 + 4, MATCH_TYPE.STANDARD, { account: 7, ...SELL, ...NO }, { account: 7, ...BUY, ...NO });
// Their rows are changed below so that they contradict themselves.
match(T0 + 5, MATCH_TYPE.STANDARD, { account: 8, ...SELL, ...YES }, { account: 9, ...BUY, ...YES });

const GOODS = { market: 0, account: 90, side: SIDE.BUY } as const;

rain.record(T0 + 10, (events) => {
  // Account 11 buys 10 at 0.65 and gets 4 at 0.60; account 12 does it with a FAK order.
  events.place({ ...GOODS, slot: 0, side: SIDE.SELL, limitTicks: 60, lots: 80_000 });
  for (const [slot, account] of [
    [1, 11],
    [2, 12],
  ] as const) {
    const timeInForce = slot === 2 ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC;
    events.order({ slot, account, market: 0, limitTicks: 65, lots: 100_000, timeInForce });
    events.fill({ maker: 0, taker: slot, yesTicks: 60, lots: 40_000 });
  }
  events.filled(0);
  events.closed(2, CLOSE_REASON.FAK_REMAINDER);
});
rain.record(T0 + 11, (events) => {
  // Account 13 sells 3 tokens for 1 USDC, FAK: twice half a token, then it is killed.
  for (const slot of [3, 4]) events.place({ ...GOODS, slot, limitTicks: 40, lots: 5000 });
  const signed = { makerAmount: 3_000_000, takerAmount: 1_000_000, timeInForce: TIME_IN_FORCE.FAK };
  events.order({ slot: 5, account: 13, market: 0, side: SIDE.SELL, limitTicks: 34, lots: 30_000, ...signed });
  for (const maker of [3, 4]) events.fill({ maker, taker: 5, yesTicks: 40, lots: 5000 });
  for (const slot of [3, 4]) events.filled(slot);
  events.closed(5, CLOSE_REASON.FAK_REMAINDER);
});
rain.record(T0 + 12, (events) => {
  // Account 14 buys 10 at 0.65, without a fill; account 15 the same, and its order expires.
  events.place({ slot: 6, account: 14, market: 0, limitTicks: 65, lots: 100_000 });
  events.place({ slot: 7, account: 15, market: 0, limitTicks: 65, lots: 100_000, timeInForce: TIME_IN_FORCE.GTD });
});
rain.record(T0 + 13, (events) => events.closed(7, CLOSE_REASON.EXPIRED));
// Accounts 16 and 17 have an order each whose row is changed below.
rain.record(T0 + 14, (events) => {
  events.place({ slot: 8, account: 16, market: 0, limitTicks: 65, lots: 100_000 });
  events.place({ slot: 9, account: 17, market: 0, limitTicks: 65, lots: 100_000 });
});

/** Two orders of SNOW are older. */
const LAST_OF_20 = 122;
/** Account 20 places 120 orders in SNOW, one each millisecond, and cancels every other one a second later. */
for (let n = 0; n < 120; n++) {
  snow.add(T0 + 1000 + n, (events) => {
    events.place({ slot: n, account: 20, market: 1, limitTicks: 10, lots: 10_000 });
  });
}
for (let n = 0; n < 120; n += 2) snow.add(T0 + 2000 + n, (events) => events.closed(n, CLOSE_REASON.USER));

// Account 21 places two orders in each shard, meets one of them and cancels the other, all in one millisecond.
for (const [market, script] of scripts.entries()) {
  const of = { account: 21, market, lots: 10_000, limitTicks: 50 };
  script.record(T0 + 3000, (events) => {
    events.place({ ...of, slot: 200 });
    events.place({ ...of, slot: 201 });
    events.order({ ...of, slot: 202, side: SIDE.SELL });
    events.fill({ maker: 200, taker: 202, yesTicks: 50, lots: 10_000 });
    events.filled(200);
    events.filled(202);
    events.closed(201, CLOSE_REASON.USER);
  });
}

const readDbPath = join(folder, 'read.db');
const progress = Progress.create(2);
const projector = new Projector({ journalPaths, keys: [TEST_KEY, TEST_KEY], readDbPath, progress });
for (const [shard, script] of scripts.entries()) {
  script.journal.commit();
  new Progress(progress).setCommitted(shard, script.journal.lastSequence);
}
while (projector.step(true));
projector.close();
const db = new Database(readDbPath);
db.prepare('UPDATE trades SET match_type = ? WHERE maker_account = 8').run(MATCH_TYPE.MINT);
db.prepare('UPDATE orders SET filled_notional_micro = 1 WHERE account = 16').run();
db.prepare('UPDATE orders SET status = ? WHERE account = 17').run(ORDER_STATUS.PARTIALLY_FILLED);
const reader = new HistoryReader(db);
after(() => {
  db.close();
  for (const { journal } of scripts) journal.close();
});

async function rowsOf(account: number, target: string, member: string): Promise<Json[]> {
  const { status, body } = await reader.get(account, target);
  assert.equal(status, 200, JSON.stringify(body));
  return body[member];
}

const notionals = (row: Json): unknown[] => [
  row.initial_limit_notional_usdc_micro,
  row.filled_limit_notional_usdc_micro,
  row.remaining_limit_notional_usdc_micro,
];

async function notionalsOf(account: number): Promise<unknown[]> {
  const rows = await rowsOf(account, '/v1/user/orders/v2', 'orders');
  assert.equal(rows.length, 1);
  return notionals(rows[0]);
}

describe('the limit notionals of an order', () => {
  it('BUY 10 at 0.65, 4 filled at 0.60: 6,500,000 = 2,600,000 + 3,900,000', async () => {
    assert.deepEqual(await notionalsOf(11), ['6500000', '2600000', '3900000']);
  });

  it('the same as FAK, killed: 6,500,000, 2,600,000 and zero remaining', async () => {
    assert.deepEqual(await notionalsOf(12), ['6500000', '2600000', '0']);
  });

  it('SELL 3 for 1 USDC, half a token twice: floor(333,333.3) = 333,333, not twice 166,666', async () => {
    assert.deepEqual(await notionalsOf(13), ['1000000', '333333', '0']);
  });

  it('an order without a fill has a known zero', async () => {
    assert.deepEqual(await notionalsOf(14), ['6500000', '0', '6500000']);
  });

  it('an expired order keeps what remained', async () => {
    assert.deepEqual(await notionalsOf(15), ['6500000', '0', '6500000']);
  });

  it('are three nulls where status, quantity and fills contradict each other', async () => {
    assert.deepEqual(await notionalsOf(16), [null, null, null], 'USDC of fills, and no fill');
    assert.deepEqual(await notionalsOf(17), [null, null, null], 'partially filled, and no fill');
  });
});

describe('the party of a fill of 100 lots at Yes 0.65', () => {
  const partyOf = async (account: number): Promise<unknown[]> => {
    const [row, ...more] = await rowsOf(account, '/v1/user/trades/v2', 'trades');
    assert.deepEqual(more, []);
    const [first] = await rowsOf(account, '/v1/user/trades', 'trades');
    for (const field of FIELDS_OF_PARTY) assert.deepEqual(first[field], row[field], 'the same in the first version');
    const isOwn = row.party_order_id === row[`${row.role}_order_id`];
    assert.ok(isOwn, 'the order of the role');
    return [row.role, row.party_side, row.party_outcome_index, row.notional_usdc_micro, row.token_quantity_atomic];
  };

  it('standard: SELL Yes and BUY Yes have the same 6,500 and 10,000', async () => {
    assert.deepEqual(await partyOf(1), ['maker', 'SELL', OUTCOME.YES, '6500', '10000']);
    assert.deepEqual(await partyOf(2), ['taker', 'BUY', OUTCOME.YES, '6500', '10000']);
  });

  it('mint: BUY Yes gives 6,500 and BUY No 3,500 for the same 10,000', async () => {
    assert.deepEqual(await partyOf(3), ['maker', 'BUY', OUTCOME.YES, '6500', '10000']);
    assert.deepEqual(await partyOf(4), ['taker', 'BUY', OUTCOME.NO, '3500', '10000']);
  });

  it('merge: SELL Yes gets 6,500 and SELL No 3,500 for the same 10,000', async () => {
    assert.deepEqual(await partyOf(5), ['maker', 'SELL', OUTCOME.YES, '6500', '10000']);
    assert.deepEqual(await partyOf(6), ['taker', 'SELL', OUTCOME.NO, '3500', '10000']);
  });

  it('with oneself: one row, the taker, BUY No 3,500', async () => {
    assert.deepEqual(await partyOf(7), ['taker', 'BUY', OUTCOME.NO, '3500', '10000']);
  });

  it('is five nulls, and no role and label, where the facts contradict each other; the price stays', async () => {
    for (const account of [8, 9]) {
      const [second] = await rowsOf(account, '/v1/user/trades/v2', 'trades');
      const [first] = await rowsOf(account, '/v1/user/trades', 'trades');
      const [fill] = await rowsOf(account, '/v1/user/activity?type=fill', 'activity');
      for (const row of [first, second, fill]) {
        for (const field of FIELDS_OF_PARTY) assert.equal(row[field], null, field);
        assert.equal(row.price, '0.65000000');
      }
      assert.deepEqual([second.role, fill.party_outcome_name], [null, null]);
      assert.deepEqual([second.amount, first.quantity], ['6500', '10000']);
    }
  });
});

describe('the first versions of the lists', () => {
  it('a trade has the fields of the taker, atomic tokens, and no signature', async () => {
    const { body } = await reader.get(3, '/v1/user/trades');
    const trade = {
      id: timeOrderedId(T0 + 2, 0, ID_KIND.TRADE, 2),
      market_id: RAIN,
      outcome: OUTCOME.NO,
      price: '0.35000000',
      quantity: '10000',
      side: 'BUY',
      tx_signature: null,
      created_at: fillTime(T0 + 2, 0),
      party_order_id: timeOrderedId(T0 + 2, 0, ID_KIND.ORDER, 3),
      party_side: 'BUY',
      party_outcome_index: OUTCOME.YES,
      notional_usdc_micro: '6500',
      token_quantity_atomic: '10000',
    };
    assert.deepEqual(body, { trades: [trade], total: 1, limit: 50, offset: 0 });
  });

  it('trades are filtered by their market; one that is unknown has none', async () => {
    const ofMarket = (id: string) => rowsOf(3, `/v1/user/trades?market_id=${id}`, 'trades');
    assert.equal((await ofMarket(RAIN)).length, 1);
    assert.deepEqual(await ofMarket(SNOW), []);
    assert.deepEqual(await ofMarket('33333333-3333-4333-8333-333333333333'), []);
  });

  it('orders are the newest hundred of 120, by creation, in the first version of their record', async () => {
    const orders = await rowsOf(20, '/v1/user/orders', 'orders');
    const sequences = orders.map(({ sequence }) => sequence);
    assert.deepEqual(
      sequences,
      Array.from({ length: 100 }, (_, n) => LAST_OF_20 - n),
    );
    assert.ok(!('initial_limit_notional_usdc_micro' in orders[0]) && !('updated_at' in orders[0]));
    assert.deepEqual(await rowsOf(99, '/v1/user/orders', 'orders'), []);
  });

  it('a parameter that the list of orders does not have is refused by name', async () => {
    assert.deepEqual(await reader.get(20, '/v1/user/orders?limit=5'), {
      status: 400,
      body: { error: 'unknown field: limit' },
    });
  });
});

describe('the activity of an account', () => {
  it('BUY 10 FAK that finds 4: placed 10,000,000, fill 4,000,000, cancelled 6,000,000 in one millisecond', async () => {
    const created_at = new Date(T0 + 10).toISOString();
    const order_id = timeOrderedId(T0 + 10, 0, ID_KIND.ORDER, 13);
    const trade_id = timeOrderedId(T0 + 10, 0, ID_KIND.TRADE, 7);
    const order = { market_id: RAIN, order_id, side: 'BUY', outcome_index: OUTCOME.YES, created_at };
    const noFill = Object.fromEntries(
      [...FIELDS_OF_PARTY, 'party_outcome_name', 'trade_id'].map((name) => [name, null]),
    );
    const { body } = await reader.get(12, '/v1/user/activity');
    assert.deepEqual(body, {
      activity: [
        {
          ...{ ...order, ...noFill, id: timeOrderedId(T0 + 10, 0, ID_KIND.ENDING, 13), type: 'cancelled' },
          ...{ price: '0.65000000', quantity_atomic: '6000000', reason: 'fak_remainder' },
        },
        {
          ...{ ...order, id: trade_id, trade_id, type: 'fill', price: '0.60000000', quantity_atomic: '4000000' },
          created_at: fillTime(T0 + 10, 1),
          ...{ reason: null, party_order_id: order_id, party_side: 'BUY', party_outcome_index: OUTCOME.YES },
          ...{ notional_usdc_micro: '2400000', token_quantity_atomic: '4000000', party_outcome_name: 'It rains' },
        },
        {
          ...{ ...order, ...noFill, id: order_id, type: 'placed', price: '0.65000000' },
          ...{ quantity_atomic: '10000000', reason: null },
        },
      ],
      total: 3,
      limit: 50,
      offset: 0,
      next_cursor: null,
    });
  });

  it('an order that expires has its whole quantity left; one that is filled has no end of its own', async () => {
    const ofExpired = await rowsOf(15, '/v1/user/activity', 'activity');
    const shown = ofExpired.map(({ type, quantity_atomic, reason }) => [type, quantity_atomic, reason]);
    assert.deepEqual(shown, [
      ['expired', '10000000', 'expired'],
      ['placed', '10000000', null],
    ]);
    const ofFilled = await rowsOf(4, '/v1/user/activity', 'activity');
    assert.deepEqual(
      ofFilled.map(({ type }) => type),
      ['fill', 'placed'],
    );
  });

  it('in a market starts with the millisecond in which the market was opened', async () => {
    for (const account of [22, 23]) {
      const rows = await rowsOf(account, `/v1/user/activity?market_id=${SNOW}`, 'activity');
      assert.deepEqual(
        rows.map(({ type }) => type),
        ['cancelled', 'fill', 'placed'],
      );
      assert.equal((await rowsOf(account, `/v1/user/trades/v2?market_id=${SNOW}`, 'trades')).length, 1);
    }
  });

  it('a mint shows each party the label of its own outcome', async () => {
    const labels = [3, 4].map(async (account) => {
      const [row] = await rowsOf(account, '/v1/user/activity?type=fill', 'activity');
      return row.party_outcome_name;
    });
    assert.deepEqual(await Promise.all(labels), ['It rains', 'It stays dry']);
  });

  it('120 placed and 60 cancelled: 180 rows, 100 of them at a time however large the limit', async () => {
    const { body } = await reader.get(20, '/v1/user/activity?limit=1000000000');
    assert.deepEqual([body.activity.length, body.total, body.limit], [100, 180, 100]);
    for (const [type, total] of [
      ['placed', 120],
      ['cancelled', 60],
      ['expired', 0],
      ['fill', 0],
    ]) {
      const { rows, first } = await reader.all(20, `/v1/user/activity?type=${type}&limit=7`, 'activity');
      assert.deepEqual([rows.length, first.total], [total, total], String(type));
    }
    const beyond = await reader.get(20, '/v1/user/activity?offset=9007199254740991');
    assert.deepEqual([beyond.status, beyond.body.activity, beyond.body.total], [200, [], 180]);
    assert.deepEqual(await rowsOf(20, `/v1/user/activity?market_id=${RAIN}`, 'activity'), []);
  });

  it('in one millisecond what ends comes before fills and fills before what is placed, over all shards', async () => {
    const rows = await rowsOf(21, '/v1/user/activity', 'activity');
    const [fromRain, fromSnow] = [RAIN, SNOW].map((id) => rows.filter(({ market_id }) => market_id === id).length);
    assert.deepEqual([fromRain, fromSnow], [5, 5]);
    assert.deepEqual(
      rows.map(({ type }) => type),
      ['cancelled', 'cancelled', 'fill', 'fill', ...new Array(6).fill('placed')],
    );
    const { rows: oneByOne } = await reader.all(21, '/v1/user/activity?limit=1', 'activity');
    assert.deepEqual(oneByOne, rows, 'the same from cursor to cursor');
    const byOffset: Json[] = [];
    for (let offset = 0; offset < 10; offset++) {
      byOffset.push(...(await rowsOf(21, `/v1/user/activity?limit=1&offset=${offset}`, 'activity')));
    }
    assert.deepEqual(byOffset, rows, 'the same by offset');
  });

  it('a forged cursor shows nothing but rows of the own list', async () => {
    const own = await rowsOf(21, '/v1/user/activity', 'activity');
    for (const [rank, time] of [
      [0, 'ff'],
      [255, 'ff'],
      [1, '00'],
    ] as const) {
      const bytes = Buffer.from(`04${rank.toString(16).padStart(2, '0')}${time.repeat(6)}${'ff'.repeat(16)}`, 'hex');
      const { status, body } = await reader.get(21, `/v1/user/activity?cursor=${bytes.toString('base64url')}`);
      assert.deepEqual([status, body.total], [200, 10]);
      for (const row of body.activity) assert.ok(own.some(({ id }) => id === row.id));
    }
  });
});
