/** `pmx` for traders: every command of orders, markets and accounts, its success and its errors. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { verifyTypedData } from 'viem';
import { ORDER_TYPE } from '../../shared/crypto/eip712.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { Pmx } from '../support/pmx.ts';
import { sharedServer } from '../support/server.ts';
import { deposit, makeMarket, makeTrader } from '../support/traders.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await sharedServer();
const market = await makeMarket(server);

/** A funded account with a key, and its command line. */
async function makeUser(): Promise<{ pmx: Pmx; userId: string; env: Record<string, string> }> {
  const wallet = makeWallet();
  const user = await server.admin.createUser({ wallet_address: wallet.address });
  await deposit(server, user.id, wallet.address, 1_000_000_000);
  const key = await server.admin.createApiKey(user.id, {
    scopes: ['read:account', 'trade:orders', 'trade:bulk', 'stream:user', 'manage:account'],
  });
  const env = {
    BASE_URL: server.baseUrl,
    API_KEY: key.key_id,
    API_SECRET: key.secret,
    API_PASSPHRASE: key.passphrase,
    PRIVATE_KEY: wallet.privateKey,
  };
  return { pmx: new Pmx(env), userId: user.id, env };
}

const { pmx, env } = await makeUser();
const buy = (price: string, size: string, ...more: string[]): string[] => [
  ...['place', market.id, '--side', 'buy', '--price', price, '--size', size],
  ...more,
];

describe('placing', () => {
  test('an order of each kind is placed as requested', async () => {
    const { pmx, userId } = await makeUser();
    await pmx.json('groups', 'set', 'quotes', '--seconds', '10', '--most', '500');
    const kinds: [string[], object][] = [
      [[], { time_in_force: 'GTC', status: 'open' }],
      [['--tif', 'GTC', '--post-only'], { time_in_force: 'GTC', post_only: true }],
      [['--expires-in', '3600'], { time_in_force: 'GTD', status: 'open' }],
      [['--tif', 'gtd', '--expires-at', '2030-01-01T00:00:00Z'], { time_in_force: 'GTD' }],
      [['--client-id', 'quote 1', '--group', 'quotes'], { client_order_id: 'quote 1', order_group: 'quotes' }],
    ];
    for (const [options, expected] of kinds) {
      const { order_hash } = await pmx.json(...buy('0.10', '10', ...options));
      assert.partialDeepStrictEqual(await pmx.json('order', order_hash), expected);
    }
    const killed = await pmx.failure(1, ...buy('0.10', '10', '--tif', 'fok'));
    assert.ok(killed.code.length > 0 && killed.error.length > 0);
    const unfilled = await pmx.run(buy('0.10', '10', '--tif', 'fak', '--json'));
    assert.ok(unfilled.code === 1 || JSON.parse(unfilled.out).status === 'cancelled');
    assert.equal((await pmx.json('orders', '--open')).orders.length, kinds.length);
    assert.equal(
      (await server.admin.listUsers({ limit: 1000 })).users.some(({ id }) => id === userId),
      true,
    );
  });

  test('the hash is printed before the answer, and the lines say the cost', async () => {
    const { code, out, err } = await pmx.run(buy('0.20', '12.5'));
    assert.equal(code, 0);
    const hash = /order hash {2}(0x[0-9a-f]{64})/.exec(err)?.[1];
    assert.match(err, /BUY 12\.5 Yes at 0\.20, GTC[\s\S]*2\.5 USDC at most[\s\S]*fee of up to 0\.5%/);
    assert.ok(out.includes(`order hash  ${hash}\nstatus      open`));
  });

  test('a refusal has the code, the message and a hint, and the exit code 1', async () => {
    const poor = await pmx.failure(1, ...buy('0.50', '1000000'));
    assert.partialDeepStrictEqual(poor, { code: 'INSUFFICIENT_BALANCE', status: 400, error: 'insufficient balance' });
    assert.match(poor.hint, /pmx balances/);
    const { code, err } = await pmx.run(buy('0.50', '1000000'));
    assert.equal(code, 1);
    assert.match(err, /error: insufficient balance \(INSUFFICIENT_BALANCE, HTTP 400\)\n {2}details .*\n[\s\S]*hint/);
    assert.match(err, /required: 500000 USDC\n/);
    assert.doesNotMatch(err, /\{"|: \d{10}/, 'neither JSON nor atomic units');
    assert.match((await pmx.failure(1, 'markets', 'show', randomUUID())).hint, /pmx markets search/);
  });

  test('a wrong command line is refused with 2 before anything is sent', async () => {
    const wrong: string[][] = [
      buy('0.505', '10'),
      buy('0.50', '0.00001'),
      buy('half', '10'),
      buy('0.50', '10', '--tif', 'soon'),
      buy('0.50', '10', '--expires-in', 'soon'),
      buy('0.50', '10', '--expires-at', 'tomorrow'),
      buy('0.50', '10', '--expires-in', '1', '--expires-at', '2'),
      buy('0.50', '10', '--file', 'orders.json'),
      ['place', market.id],
      ['place', '--side', 'buy', '--price', '0.50', '--size', '10'],
      ['place', market.id, '--side', 'hold', '--price', '0.50', '--size', '10'],
      ['place', '--file', '/nowhere/order.json'],
      ['cancel'],
      ['cancel', '0x12'],
      ['cancel', '--all', '--market', market.id],
      ['claim'],
      ['dance'],
      ['markets', 'dance'],
      ['markets', 'list', '--status', 'open'],
      ['balances', '--colour', 'red'],
      ['balances', '--timeout', 'never'],
      ['balances', '--url', 'nowhere'],
      ['balances', '--as', 'carol'],
      ['book', market.id, '--levels', '0'],
    ];
    for (const args of wrong) {
      const { code, out, err } = await pmx.run(args);
      assert.equal(code, 2, `${args.join(' ')}: ${err}`);
      assert.equal(out, '');
      assert.match(err, /^error: .+/);
    }
    assert.equal((await pmx.failure(2, 'cancel')).code, 'USAGE');
    const { error } = await pmx.failure(2, 'place', '--side', 'buy');
    assert.equal(error, 'an order needs a market, --price, --size, or --file', 'all that is missing at once');
    assert.match((await pmx.failure(2, 'groups', 'set', 'quotes')).error, /needs --seconds, --most$/);
  });

  test('a file has one order or many, with price and size or with exact amounts', async () => {
    const file = (name: string, content: unknown): string => {
      const path = join(pmx.home, name);
      writeFileSync(path, JSON.stringify(content));
      return path;
    };
    const order = { market_id: market.id, side: 'buy', outcome: 'no', price: '0.10', size: '5' };
    const { order_id } = await pmx.json('place', '--file', file('one.json', order));
    assert.ok(order_id);
    const piped = await pmx.run(['place', '--file', '-', '--json'], { input: JSON.stringify(order) });
    assert.equal(piped.code, 0, piped.err);
    const inWords = { ...order, market_id: undefined, market: market.id.slice(0, -8) };
    assert.equal((await pmx.json('place', '--file', file('words.json', inWords))).status, 'open');
    const exact = { market_id: market.id, side: 'SELL', maker_amount: '5000000', taker_amount: '4500000' };
    const batch = await pmx.run(['place', '--file', file('two.json', [order, exact]), '--json']);
    assert.equal(batch.code, 1, 'one of them fails: there is nothing to sell');
    const { succeeded, failed } = JSON.parse(batch.out);
    assert.deepEqual([succeeded, failed], [1, 1]);
    for (const content of [[], 'order', { side: 'buy' }, { ...order, colour: 'red' }, { ...order, side: 'hold' }]) {
      assert.equal((await pmx.run(['place', '--file', file('bad.json', content)])).code, 2);
    }
    writeFileSync(join(pmx.home, 'bad.json'), '{');
    assert.equal((await pmx.run(['place', '--file', join(pmx.home, 'bad.json')])).code, 2);
  });

  test('sign prints typed data that another library verifies, and sends nothing', async () => {
    const before = (await pmx.json('orders')).total;
    const args = ['sign', market.id, '--side', 'sell', '--outcome', 'no', '--price', '0.40', '--size', '5'];
    const signed = await pmx.json(...args, '--salt', '7');
    assert.deepEqual(await pmx.json(...args, '--salt', '7'), signed, 'with a salt it is always the same');
    const { typed_data, signature, order_hash, body } = signed;
    assert.equal(await verifyTypedData({ ...typed_data, address: body.signer, signature }), true);
    assert.equal(typed_data.types.Order.length, ORDER_TYPE.split(',').length);
    assert.equal((await pmx.json('orders')).total, before);
    const text = (await pmx.lines(...args, '--salt', '7')).join('\n');
    assert.ok(text.includes(order_hash) && text.includes(signature) && text.includes('"primaryType": "Order"'));
  });

  test('amend and replace take over omitted terms, and print the queue position', async () => {
    const { order_hash } = await pmx.json(...buy('0.15', '10', '--client-id', 'kept'));
    const smaller = await pmx.json('amend', order_hash, '--size', '6');
    assert.deepEqual([smaller.time_priority, smaller.price], [true, '0.15000000']);
    const moved = await pmx.json('amend', smaller.order_hash, '--price', '0.16');
    assert.deepEqual([moved.time_priority, moved.taker_amount, moved.client_order_id], [false, '6000000', 'kept']);
    const lines = await pmx.lines('amend', moved.order_hash, '--price', '0.15');
    assert.ok(lines.some((line) => /^queue +joined anew$/.test(line)));
    const { orders } = await pmx.json('orders', '--open');
    const last = orders.find((row: { client_order_id?: string }) => row.client_order_id === 'kept');
    const { cancelled_order_hash, order } = await pmx.json(
      'replace',
      last.order_hash,
      '--price',
      '0.14',
      '--size',
      '7',
    );
    assert.equal(cancelled_order_hash, last.order_hash);
    assert.equal(order.status, 'open');
    assert.equal((await pmx.failure(2, 'amend', order_hash, '--size', '5')).code, 'USAGE', 'it is cancelled');
    const no = ['place', market.id, '--side', 'buy', '--outcome', 'no', '--price', '0.10', '--size', '5'];
    const ofNo = await pmx.json(...no);
    const again = await pmx.json('amend', ofNo.order_hash, '--size', '4');
    assert.equal((await pmx.json('order', again.order_hash)).outcome_index, 1, 'the outcome is that of the old order');
    assert.ok((await pmx.lines('order', again.order_hash)).some((line) => /^order +BUY No, limit 0\.10,/.test(line)));
    const rows = await pmx.lines('orders', '--market', market.id);
    assert.ok(
      rows.some((line) => / BUY +No +0\.10 /.test(line)),
      rows.join('\n'),
    );
    assert.equal((await pmx.failure(1, 'amend', `0x${'0'.repeat(64)}`, '--size', '5')).code, 'NOT_FOUND');
  });

  test('orders are cancelled by hash, name, market or all at once', async () => {
    const { pmx } = await makeUser();
    const place = async (...more: string[]) => (await pmx.json(...buy('0.11', '5', ...more))).order_hash;
    const [first, second, third] = [await place(), await place(), await place()];
    assert.deepEqual(await pmx.json('cancel', first), { message: 'order cancelled' });
    assert.equal((await pmx.json('cancel', second, third)).cancelled, 2);
    const half = await pmx.run(['cancel', first, await place(), '--json']);
    assert.deepEqual([half.code, JSON.parse(half.out).failed], [1, 1]);
    await place('--client-id', 'mine');
    await pmx.json('cancel', '--client-id', 'mine');
    await place();
    assert.equal((await pmx.json('cancel', '--market', market.id, '--outcome', 'no')).cancelled, 0);
    assert.equal((await pmx.json('cancel', '--market', market.id)).cancelled, 1);
    await place();
    assert.deepEqual(await pmx.lines('cancel', '--all'), ['all open orders cancelled: 1']);
    assert.equal((await pmx.json('cancel', `0x${'0'.repeat(64)}`, '--tombstone')).message.length > 0, true);
    assert.equal((await pmx.failure(1, 'cancel', `0x${'0'.repeat(64)}`)).code, 'NOT_FOUND');
  });
});

describe('looking', () => {
  test('markets, events and books are shown without an account', async () => {
    const event = await server.admin.createEvent({ title: 'Cli cup', slug: 'cli-cup', category: 'Cli' });
    const { id } = await makeMarket(server, { event_id: event.id });
    const reader = new Pmx({ BASE_URL: server.baseUrl });
    assert.equal((await reader.json('markets', 'list', '--limit', '1')).markets.length, 1);
    assert.ok((await reader.json('markets', 'search', 'rain', 'tomorrow')).total > 0);
    assert.match((await reader.lines('markets', 'search', 'rain', '--limit', '1', '--ids')).join(), /^[0-9a-f-]{36}$/);
    const shown = await reader.json('markets', 'show', id);
    assert.deepEqual(Object.keys(shown), ['market', 'tick_size', 'bbo']);
    assert.ok((await reader.lines('markets', 'show', id)).some((line) => /^tick, lot +0\.01 USDC/.test(line)));
    assert.ok((await reader.json('markets', 'categories')).categories.includes('Weather'));
    assert.ok((await reader.json('events', 'list', '--category', 'Cli')).events.length > 0);
    assert.equal((await reader.json('events', 'show', 'cli-cup')).markets[0].id, id);
    assert.equal((await reader.json('book', id)).outcome_0.bids.length, 0);
    assert.ok((await reader.lines('book', id)).includes('no orders'));
    assert.equal((await reader.json('book', id, '--outcome', 'no')).outcome_index, 1);
    assert.equal((await reader.failure(1, 'markets', 'show', `0${id.slice(1, -4)}0000`)).code, 'NOT_FOUND');
    assert.equal((await reader.failure(4, 'balances')).code, 'NOT_SIGNED_IN');
  });

  test('a market is found by its words, the slug of its event or the start of its id, and never guessed', async () => {
    const event = await server.admin.createEvent({ title: 'Lark', slug: 'lark-ascends', category: 'Cli' });
    const lark = await makeMarket(server, {
      title: 'Does the lark ascend?',
      event_id: event.id,
      outcomes: ['Up', 'Down'],
    });
    const reader = new Pmx({ BASE_URL: server.baseUrl });
    for (const name of [
      'Does the lark ascend?',
      'lark ascend',
      'lark-ascends',
      'does-the-lark-ascend',
      lark.id.slice(0, 13),
    ]) {
      assert.equal((await reader.json('markets', 'show', name)).market.id, lark.id, name);
    }
    await makeMarket(server, { title: 'Does the lark sing?', event_id: event.id });
    for (const name of ['lark', 'lark-ascends']) {
      assert.match(
        (await reader.failure(2, 'book', name)).error,
        /one of these[\s\S]*ascend\?[\s\S]*sing\?|one of these[\s\S]*sing/,
      );
    }
    assert.match((await reader.failure(2, 'book', 'no such lark')).error, /markets search/);
    const { pmx } = await makeUser();
    await pmx.json('place', 'lark ascend', '--side', 'buy', '--price', '0.10', '--size', '10');
    const [, row] = await pmx.lines('orders', '--market', 'lark ascend');
    assert.match(row!, / BUY +Up +0\.10 .* Does the lark ascend\?$/, 'question and outcome, no ids');
    assert.match((await pmx.lines('cancel', '--market', 'lark ascend')).join(), /: 1$/);
    const order = ['place', 'lark ascend', '--side', 'buy', '--price', '0.10', '--size', '10', '--outcome'];
    for (const [name, index] of [
      ['Down', 1],
      ['down', 1],
      ['do', 1],
      ['up', 0],
      ['Yes', 0],
      ['NO', 1],
    ] as const) {
      const { order_hash } = await pmx.json(...order, name);
      assert.equal((await pmx.json('order', order_hash)).outcome_index, index, name);
    }
    assert.match((await pmx.failure(2, ...order, 'sideways')).error, /sideways is none of Up, Down, yes, no$/);
    assert.equal((await pmx.json('cancel', '--market', 'lark ascend', '--outcome', 'Down')).cancelled, 4);
    assert.equal((await reader.json('book', 'lark ascend', '--outcome', 'up')).outcome_index, 0);
  });

  test('a sum buys as much as the book gives within the slippage, as a preview says first', async () => {
    const { pmx } = await makeUser();
    const other = await makeTrader(server);
    const market = await makeMarket(server);
    await other.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.60', size: '10' });
    await other.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.55', size: '20' });
    await other.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.30', size: '100' });
    const sum = ['buy', market.id, '$8.50', '--max-slippage', '0.05'];
    const preview = await pmx.json(...sum, '--preview');
    assert.deepEqual(preview, { price: '0.45', size: '18.8888', cost_usdc_micro: '7999960', is_whole: true });
    assert.equal((await pmx.json('orders')).total, 0, 'nothing was sent');
    const ofTheSdk = await other.client.previewMarket('BUY', market.id, { usd: '8.50', maxSlippage: '0.05' });
    assert.equal(String(ofTheSdk.notionalMicro), preview.cost_usdc_micro, 'the SDK has the same rule');
    const narrow = await pmx.json('buy', market.id, '20usd', '--max-slippage', '0.04', '--preview');
    assert.deepEqual(narrow, { price: '0.44', size: '45.4545', cost_usdc_micro: '4000000', is_whole: false });
    const lines = await pmx.lines(...sum);
    assert.ok(lines.includes('in all      18.8888 tokens for 7.99996 USDC'), lines.join('\n'));
    assert.equal(
      (await pmx.json('balances')).usdc.available,
      '992000040',
      'no more than the sum, even if only the worst price were left',
    );
    const wide = await pmx.json('buy', market.id, '200usd', '--max-slippage', '1', '--preview');
    assert.deepEqual([wide.price, wide.is_whole], ['0.99', false], 'all that is there');
    await pmx.json('place', market.id, '--side', 'buy', '--size', '5', '--market-order');
    assert.equal(Number((await pmx.json('trades')).trades[0].price), 0.45);
    assert.match((await pmx.failure(2, 'sell', market.id, '5tokens')).error, /nothing is bid for/);
    assert.match((await pmx.failure(2, 'buy', market.id, '50')).error, /quoted/, 'what a shell leaves of $250');
    for (const args of [
      ['buy', market.id, '$0.000001'],
      ['sell', market.id, '$5'],
      ['buy', market.id, '$'],
      ['buy', market.id, '1e3usd'],
      ['buy', market.id, '$1', '--max-slippage', 'some'],
      ['place', market.id, '--side', 'buy', '--market-order'],
      ['place', market.id, '--side', 'buy', '--size', '1', '--price', '0.50', '--market-order'],
    ]) {
      assert.equal((await pmx.run(args)).code, 2, args.join(' '));
    }
  });

  test('a trade shows in every view of the account', async () => {
    const { pmx } = await makeUser();
    const other = await makeTrader(server);
    const traded = await makeMarket(server);
    await other.place(traded, { side: 'BUY', outcomeIndex: 1, price: '0.40', size: '20' });
    await pmx.json('place', traded.id, '--side', 'buy', '--price', '0.60', '--size', '10');
    await eventually('the trade is in the past', async () => (await pmx.json('trades')).trades.length === 1);
    assert.ok((await pmx.lines('trades', '--market', traded.id))[1]?.includes('taker'));
    const { last_price, trades } = await pmx.json('markets', 'ticker', traded.id, '--outcome', 'no');
    assert.deepEqual([last_price, trades], ['0.4', 1]);
    assert.match((await pmx.lines('markets', 'ticker', traded.id))[1]!, /^0\.60 +0\.00 +0\.60 +0\.60 +10 +6 +1 /);
    assert.ok((await pmx.lines('markets', 'ticker')).some((line) => line.endsWith('Will it rain tomorrow?')));
    assert.equal((await pmx.failure(1, 'markets', 'ticker', `0${traded.id.slice(1, -4)}0000`)).code, 'NOT_FOUND');
    const day = ['markets', 'candles', traded.id, '--interval', '1d'];
    const { candles } = await pmx.json('markets', 'candles', traded.id, '--interval', '1d', '--outcome', 'no');
    assert.deepEqual([candles.at(-1).close, candles.at(-1).token_quantity_atomic], ['0.4', '10000000']);
    const [head, ...rows] = await pmx.lines(...day);
    assert.match(head!, /^START \(UTC\) +OPEN +HIGH +LOW +CLOSE +TOKENS +USDC +TRADES$/);
    assert.match(rows.at(-1)!, /^\S+T00:00… +0\.60 +0\.60 +0\.60 +0\.60 +10 +6 +1$/);
    assert.equal((await pmx.failure(1, 'markets', 'candles', `0${traded.id.slice(1, -4)}0000`)).code, 'NOT_FOUND');
    assert.ok((await pmx.json('activity', '--type', 'fill')).activity.length === 1);
    assert.ok((await pmx.lines('balances'))[1]?.startsWith('USDC'));
    assert.equal((await pmx.json('balances')).usdc.available, '994000000');
    assert.equal((await pmx.json('positions', '--market', traded.id))[0].quantity, '9950000');
    assert.match((await pmx.lines('positions'))[1]!, /^Yes +9\.95 +0\.60 +0 /);
    const { pnl_24h, redeemable } = await pmx.json('portfolio');
    assert.ok(pnl_24h.computed_at && redeemable.length === 0);
    assert.ok((await pmx.lines('portfolio')).some((line) => /^available +994 USDC$/.test(line)));
    assert.ok((await pmx.json('funds')).movements.length >= 1);
    assert.ok((await pmx.json('statement')).entries.length >= 2);
    assert.match((await pmx.lines('statement')).at(-1)!, /^closing {2}994 USDC$/);
    assert.match((await pmx.failure(2, 'statement', '--csv')).error, /exclude/);
    const [columns, ...rowsOfCsv] = (await pmx.run(['statement', '--csv'])).out.trim().split(/\r?\n/);
    assert.ok(columns!.includes(',usdc_delta_micro') && rowsOfCsv.length >= 4);
    assert.ok((await pmx.json('limits')).limits.length > 10);
    const left = await pmx.lines('limits');
    assert.ok(left.length < 10 && /others are whole/.test(left.at(-1)!), 'it fits a screen');
    assert.ok((await pmx.lines('limits', '--all')).length > 40);
    await eventually('a notification', async () => (await pmx.json('notifications', 'list')).items.length > 0);
    assert.ok((await pmx.json('notifications', 'read')).marked > 0);
    assert.match((await pmx.lines('notifications', 'list'))[0]!, /^0 unread$/);

    assert.deepEqual(await pmx.lines('split', traded.id, '10'), ['split: 10 USDC']);
    assert.deepEqual(await pmx.lines('merge', traded.id, '4.5'), ['merged: 4.5 USDC']);
    assert.equal((await pmx.json('merge', traded.id, '5.5')).amount, '5500000');
    await server.admin.resolveMarket(traded.id, { outcome_index: 0 });
    const claimed = await eventually('it can be claimed', async () => {
      const answers = await pmx.json('claim', '--all');
      return answers.length > 0 && answers;
    });
    assert.equal(claimed[0].market_id, traded.id);
    await eventually('it is not owed any more', async () => {
      return (await pmx.json('portfolio')).redeemable.length === 0;
    });
    assert.deepEqual(await pmx.lines('claim', '--all'), ['there is nothing to claim']);
    assert.equal((await pmx.failure(1, 'claim', traded.id)).status >= 400, true);
  });

  test('groups, heartbeats, breaks and reminders are set and shown', async () => {
    const { pmx } = await makeUser();
    await pmx.json('groups', 'set', 'quotes', '--seconds', '10', '--most', '500');
    assert.equal((await pmx.json('groups', 'list')).order_groups[0].max_token_quantity_atomic, '500000000');
    await pmx.json('groups', 'reset', 'quotes');
    assert.equal((await pmx.json('heartbeat')).status, 'ok');
    const stop = new AbortController();
    const beating = pmx.run(['heartbeat', '--every', '10', '--json'], {
      interrupted: stop.signal,
      onOut: () => stop.abort(),
    });
    assert.equal(JSON.parse((await beating).out).status, 'ok');
    assert.equal((await pmx.json('reminders', 'set', '--reality-check', '60')).reality_check_interval_minutes, 60);
    assert.equal((await pmx.json('reminders', 'set', '--reality-check', 'off')).reality_check_interval_minutes, null);
    assert.equal((await pmx.json('reminders', 'show')).session_timeout_minutes, null);
    assert.equal(await pmx.json('timeout', 'show'), null);
    assert.ok((await pmx.json('timeout', 'start', 'custom', '--hours', '6')).ends_at);
    assert.equal((await pmx.failure(1, ...buy('0.10', '5'))).code, 'TRADING_TIMEOUT_ACTIVE');
    assert.equal((await pmx.failure(1, 'timeout', 'start', '24h')).code, 'TIMEOUT_ALREADY_ACTIVE');
    assert.ok((await pmx.json('timeout', 'cancel')).cancelled_at);
    for (const args of [
      ['reminders', 'set'],
      ['timeout', 'start', 'custom'],
      ['heartbeat', '--every', '60'],
    ]) {
      assert.equal((await pmx.run(args)).code, 2);
    }
  });
});

test('an exchange that does not answer is exit code 3, and says how to look', async () => {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const away = new Pmx({ ...env, BASE_URL: origin });
  const failure = await away.failure(3, 'markets', 'list', '--timeout', '60');
  assert.deepEqual(
    [failure.code, failure.error],
    ['UNREACHABLE', `cannot reach the exchange at ${origin} (ECONNREFUSED)`],
  );
  assert.match(failure.hint, /pmx doctor/);
});

test('a key that is wrong is exit code 4', async () => {
  const wrong = await new Pmx({ ...env, API_PASSPHRASE: 'wrong' }).failure(4, 'balances');
  assert.partialDeepStrictEqual(wrong, { code: 'UNAUTHORIZED', status: 401 });
  assert.match(wrong.hint, /pmx login/);
  const half = await new Pmx({ BASE_URL: server.baseUrl, API_KEY: 'key' }).failure(2, 'balances');
  assert.match(half.error, /all of API_KEY/);
});
