/** An account about itself: its profile, its referrals, its notifications and its achievements. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const PATH = '/v1/notifications';
const UNKNOWN = '01900000-0000-7000-8000-000000000000';
const FREE = { fee_bps: 0, min_order_size_atomic: '100' };
const FEE = { feeRateBps: 0 };

async function list(trader: Trader, query = ''): Promise<Json> {
  const { status, body } = await trader.send('GET', PATH + query);
  assert.equal(status, 200);
  return body;
}

const unreadOf = async (trader: Trader): Promise<number> =>
  (await trader.send('GET', `${PATH}/unread-count`)).body.unread_count;
const textsOf = ({ items }: Json): string[][] => items.map(({ type, title, body }: Json) => [type, title, body]);

/** A trader without anything to read: even the deposit was read. */
async function quietTrader(): Promise<Trader> {
  const trader = await makeTrader(server);
  assert.deepEqual(await trader.client.account.markAllRead(), { marked: 1 });
  return trader;
}

/** One notification each: of an order of this many tokens of No that was filled. */
async function fill(trader: Trader, sizes: readonly string[]): Promise<void> {
  const [market, other] = [await makeMarket(server, FREE), await makeTrader(server)];
  for (const size of sizes) {
    await trader.place(market, { outcomeIndex: 1, price: '0.40', size, ...FEE });
    await other.place(market, { price: '0.60', size, ...FEE });
  }
}

describe('notifications (RULES.md 14.60 and 14.61)', () => {
  test('say what became of orders, markets and money, newest first, for a person', async () => {
    const market = await makeMarket(server, FREE);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.place(market, { price: '0.60', size: '10', ...FEE });
    await bob.place(market, { outcomeIndex: 1, price: '0.41', size: '12.5', timeInForce: 'FAK', ...FEE });
    await alice.place(market, { side: 'SELL', price: '0.70', size: '4', ...FEE });
    await alice.place(market, { side: 'SELL', price: '0.75', size: '1', ...FEE });
    await bob.place(market, { price: '0.70', size: '1', ...FEE });
    const { order_hash } = await alice.place(market, { price: '0.10', size: '5', ...FEE });
    await alice.client.cancelOrder(order_hash);
    await server.admin.resolveMarket(market.id, { outcome_index: 0 });
    await server.admin.withdraw(alice.userId, { amount_usdc_micro: '1500000' });
    const name = 'Will it rain tomorrow?';
    const shown = await list(alice);
    // Notifications of one millisecond are sorted by id.
    assert.deepEqual(textsOf(shown).slice(0, 4).sort(), [
      ['market_resolved', 'Market resolved', `Yes: ${name}`],
      ['order_cancelled', 'Order cancelled', `Sell 1 Yes at 75¢; trading in the market ended: ${name}`],
      ['order_cancelled', 'Order cancelled', `Sell 4 Yes at 70¢, 1 filled; trading in the market ended: ${name}`],
      ['withdrawal', 'Withdrawal debited', '$1.50'],
    ]);
    assert.deepEqual(textsOf(shown).slice(4), [
      ['order_filled', 'Order filled', `Bought 10 Yes at 60¢: ${name}`],
      ['deposit', 'Deposit credited', '$1,000.00'],
    ]);
    assert.deepEqual([shown.next_cursor, shown.unread_count, await unreadOf(alice)], [null, 6, 6]);
    const times = shown.items.map(({ created_at }: Json) => created_at);
    assert.deepEqual(times, times.toSorted().reverse());
    assert.deepEqual(textsOf(await list(bob)), [
      ['market_resolved', 'Market resolved', `Yes: ${name}`],
      ['order_filled', 'Order filled', `Bought 1 Yes at 70¢: ${name}`],
      ['order_filled', 'Order filled', `Bought 10 of 12.5 No at 40¢: ${name}`],
      ['deposit', 'Deposit credited', '$1,000.00'],
    ]);
  });

  test('of a market are for those who held its tokens when it was decided, also after they were paid', async () => {
    const market = await makeMarket(server, FREE);
    const [holder, seller] = [await quietTrader(), await quietTrader()];
    for (const trader of [holder, seller]) await trader.client.split(market.id, 5_000_000);
    await seller.client.merge(market.id, 5_000_000);
    await server.admin.cancelMarket(market.id);
    const expected = [['market_resolved', 'Market cancelled', 'Yes 0.5, No 0.5: Will it rain tomorrow?']];
    const before = await list(holder, '?limit=1');
    assert.deepEqual(textsOf(before), expected);
    await holder.client.claim(market.id);
    assert.deepEqual((await list(holder, '?limit=1')).items, before.items);
    assert.equal((await list(seller, '?limit=1')).items[0].type, 'deposit');
  });
});

describe('pages (RULES.md 14.62)', () => {
  test('have 20 rows by default, and go on where they were although new notifications come', async () => {
    const trader = await makeTrader(server);
    await fill(
      trader,
      Array.from({ length: 22 }, (_, i) => String(1 + i)),
    );
    const whole = (await list(trader, '?limit=100')).items;
    assert.equal(whole.length, 23);
    const seen: Json[] = [];
    let page = await list(trader);
    assert.equal(page.items.length, 20);
    page = await list(trader, '?limit=5');
    for (;;) {
      seen.push(...page.items);
      if (page.next_cursor === null) break;
      await fill(trader, ['50']);
      page = await list(trader, `?limit=5&cursor=${page.next_cursor}`);
    }
    assert.deepEqual(seen, whole);
    assert.equal((await list(trader, '?limit=100')).items.length, 27);
  });

  test('are refused with a cursor or a limit that is none', async () => {
    const trader = await makeTrader(server);
    const refused: [string, string][] = [
      ['?cursor=x', 'invalid cursor'],
      [`?cursor=${'!'.repeat(30)}`, 'invalid cursor'],
      [`?cursor=${'A'.repeat(101)}`, 'invalid cursor'],
      ['?limit=0', 'invalid limit'],
      ['?limit=101', 'invalid limit'],
      ['?limit=x', 'invalid limit'],
    ];
    for (const [query, error] of refused) {
      assertRefused(await trader.send('GET', PATH + query), 400, 'VALIDATION_ERROR', error);
    }
  });
});

describe('reading (RULES.md 14.63 and 14.64)', () => {
  test('one keeps its first time; of another account, or of none, it is 404', async () => {
    const [trader, other] = [await quietTrader(), await quietTrader()];
    await fill(trader, ['1', '2']);
    const { items } = await list(trader, '?limit=2');
    const path = `${PATH}/${items[1].id}/read`;
    assert.equal(await unreadOf(trader), 2);
    const first = await trader.send('POST', path);
    assert.deepEqual([first.status, first.body.id], [200, items[1].id]);
    const again = await trader.send('POST', `${PATH}/${items[1].id.toUpperCase()}/read`);
    assert.deepEqual(again.body, first.body);
    assert.equal(await unreadOf(trader), 1);
    const shown = await list(trader, '?limit=2');
    assert.deepEqual(
      [shown.unread_count, shown.items[0].read_at, shown.items[1].read_at],
      [1, null, first.body.read_at],
    );
    assertRefused(await other.send('POST', path), 404, 'NOT_FOUND', 'notification not found');
    for (const id of [UNKNOWN, 'x', `${items[1].id}0`]) {
      assertRefused(await trader.send('POST', `${PATH}/${id}/read`), 404, 'NOT_FOUND', 'notification not found');
    }
  });

  test('all at once counts each notification once, and is no later one’s', async () => {
    const trader = await quietTrader();
    await fill(trader, ['1', '2', '3', '4']);
    const { items } = await list(trader, '?limit=4');
    await trader.send('POST', `${PATH}/${items[3].id}/read`);
    const marks = ['mark-all-read', 'mark-all-read', `${items[0].id}/read`, 'mark-all-read'];
    const answers = await Promise.all(marks.map((path) => trader.send('POST', `${PATH}/${path}`)));
    const marked = answers.map(({ body }) => body.marked ?? 0);
    // A notification that was read in the meantime is counted if its turn came later.
    assert.equal(marked.filter((count) => count > 0).length, 1);
    assert.ok(marked.includes(3) || marked.includes(2), String(marked));
    assert.equal(await unreadOf(trader), 0);
    await fill(trader, ['5']);
    const after = await list(trader, '?limit=2');
    assert.deepEqual([after.unread_count, after.items[0].read_at], [1, null]);
    assert.deepEqual((await trader.send('POST', `${PATH}/mark-all-read`)).body, { marked: 1 });
    assert.deepEqual((await trader.send('POST', `${PATH}/mark-all-read`)).body, { marked: 0 });
  });

  test('needs manage:account, and listing needs read:account', async () => {
    const reader = await makeTrader(server, { scopes: ['read:account'] });
    const manager = await makeTrader(server, { scopes: ['manage:account'] });
    for (const path of [PATH, `${PATH}/unread-count`]) {
      assert.equal((await reader.send('GET', path)).status, 200);
      assertRefused(await manager.send('GET', path), 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    }
    for (const path of [`${PATH}/${UNKNOWN}/read`, `${PATH}/mark-all-read`]) {
      assertRefused(await reader.send('POST', path), 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
      assert.notEqual((await manager.send('POST', path)).status, 403);
      assert.equal((await server.request('POST', path)).status, 401);
    }
  });
});

describe('the profile (RULES.md 14.73)', () => {
  test('is the one that the administrator sees, with the wallets in the order in which they were linked', async () => {
    const trader = await makeTrader(server);
    const second = checksumAddress(`0x${'c5'.repeat(20)}`);
    await server.admin.addWallet(trader.userId, second);
    const { status, body } = await trader.send('GET', '/v1/user/profile');
    const { usdc: _, ...shown } = (await server.adminRequest('GET', `/admin/users/${trader.userId}`)).body;
    assert.deepEqual([status, body], [200, shown]);
    assert.deepEqual(
      [body.id, body.wallet_address, body.linked_wallets, body.email, body.display_name, body.role],
      [trader.userId, trader.address, [trader.address, second], null, null, 'user'],
    );
  });

  test('and the referrals are for a key that may read the account', async () => {
    const trader = await makeTrader(server, { scopes: ['trade:orders'] });
    for (const path of ['/v1/user/profile', '/v1/user/referral']) {
      assert.equal((await trader.send('GET', path)).status, 403);
      assert.equal((await server.request('GET', path)).status, 401);
    }
  });
});

describe('referrals (RULES.md 14.74)', () => {
  test('count those who signed up with the code; the referred one sees whose it was', async () => {
    const referrer = await makeTrader(server);
    const before = (await referrer.send('GET', '/v1/user/referral')).body;
    assert.deepEqual(before, {
      referral_code: before.referral_code,
      referrals_count: 0,
      is_referred: false,
      referred_by: null,
    });
    const { referral_code: code } = before;
    const { id } = await server.admin.createUser({ referral_code: code });
    await server.admin.createUser({ referral_code: code.toLowerCase() });
    const { key_id, secret, passphrase } = await server.admin.createApiKey(id, { scopes: ['read:account'] });
    const referred = referrer.withKey({ keyId: key_id, secret, passphrase });
    const own = await referred.client.account.referral();
    assert.deepEqual([own.referrals_count, own.is_referred, own.referred_by], [0, true, referrer.userId]);
    assert.equal((await referrer.client.account.referral()).referrals_count, 2);
  });
});

test('RULES.md 14.70 to 14.72: an account that asks is granted what it has earned, once, and keeps it', async () => {
  const [ann, bob, spectator] = [await makeTrader(server), await makeTrader(server), await makeTrader(server)];
  const event = await server.admin.createEvent({ title: 'Week 1', sport_league: 'NFL' });
  const idsOf = async (trader: Trader) => (await trader.client.account.achievements()).map(({ id }) => id);
  assert.deepEqual(await idsOf(ann), ['joined']);
  const games: string[] = [];
  for (let game = 0; game < 20; game++) {
    const market = await makeMarket(server, { ...FREE, event_id: event.id });
    await ann.place(market, { price: '0.50', size: '1', ...FEE });
    await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '1', ...FEE });
    // As many as an achievement needs; on a chain sixteen may wait for a block.
    if (game < 10) await spectator.client.split(market.id, 1_000_000);
    if (game === 0) assert.deepEqual(await idsOf(ann), ['joined', 'first_trade']);
    if (game === 9) assert.ok((await idsOf(ann)).includes('markets_traded_10'));
    games.push(market.id);
  }
  // Ann wins eleven of twenty; no position has to be claimed for that. On a chain the decisions take a while: together.
  const decide = (id: string, game: number) => server.admin.resolveMarket(id, { outcome_index: game < 11 ? 0 : 1 });
  await Promise.all(games.map(decide));
  // The read model follows the catalogue and each shard in its own time.
  for (const id of ['top_5pct_nfl', 'sharp'] as const) {
    await eventually(`${id} is earned`, async () => (await idsOf(ann)).includes(id));
  }
  const answers = await Promise.all([1, 2, 3].map(() => ann.client.account.achievements()));
  assert.deepEqual(
    answers[0]!.map(({ id }) => id),
    ['joined', 'first_trade', 'markets_traded_10', 'sharp', 'top_5pct_nfl'],
  );
  for (const answer of answers) assert.deepEqual(answer, answers[0], 'one grant, however many ask at once');
  assert.deepEqual(await idsOf(bob), ['joined', 'first_trade', 'markets_traded_10']);
  assert.deepEqual(await idsOf(spectator), ['joined'], 'a split is no trade');
  assert.equal((await server.request('GET', '/v1/user/achievements')).status, 401);
});

test('RULES.md 14.64, 14.70: read marks and grants survive a kill of the server', async () => {
  const trader = await quietTrader();
  await fill(trader, ['1', '2', '3']);
  const { items } = await trader.client.account.notifications({ limit: 3 });
  await trader.client.account.markRead(items[1]!.id);
  const before = await trader.client.account.notifications();
  const granted = await trader.client.account.achievements();
  assert.ok(granted.length > 1);
  await server.kill();
  await server.start();
  const restarted = trader.reconnected();
  assert.deepEqual(await restarted.client.account.notifications(), before);
  assert.deepEqual(await restarted.client.account.unreadCount(), { unread_count: 2 });
  assert.equal(before.unread_count, 2);
  assert.deepEqual(await restarted.client.account.achievements(), granted);
});
