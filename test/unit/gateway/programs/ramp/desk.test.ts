/** Deals of the sandbox provider and how they are settled (RULES.md 16.70 to 16.76). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Settling } from '../../../../../gateway/programs/ramp/settling.ts';
import { CUSTOMER, makeRampRig, RAMP_ADDRESS, REFERENCE } from '../../../../support/rampRig.ts';

const USDC = 1_000_000;
const FINAL = 33;
const DEADLINE = 31 * 60 + 5;

test('16.70: a launch URL is opened once, for five minutes, and becomes one deal', async () => {
  const { desk, wish, clock } = makeRampRig();
  const { token } = desk.launch({ ...wish, kind: 'onramp' });
  const visitor = desk.enter(token)!;
  assert.equal(desk.enter(token), null);
  const visit = desk.visit(visitor)!;
  const both = await Promise.all([desk.agree(visit, 5 * USDC, 'CARD'), desk.agree(visit, 5 * USDC, 'CARD')]);
  assert.equal(both.filter((deal) => deal === 'closed').length, 1);
  const late = desk.launch({ ...wish, kind: 'onramp' });
  clock.advance(300_000);
  assert.equal(desk.enter(late.token), null);
  assert.equal(desk.enter('0'.repeat(64)), null);
  assert.equal(desk.visit('of nobody'), null);
});

test('16.71: USDC that was sold is sent once, and succeeds when it is final', async () => {
  const { agreed, pass, rail, store, statusOf, desk, clock } = makeRampRig();
  const id = await agreed('onramp', 25 * USDC);
  assert.equal(store.bankMicro('taken'), 25 * USDC);
  await pass(2);
  assert.equal(statusOf(id), 'started');
  assert.equal(rail.balances.get(CUSTOMER), 25 * USDC);
  await pass(FINAL - 4);
  assert.equal(statusOf(id), 'started');
  await pass(4);
  assert.equal(statusOf(id), 'success');
  const [deal] = store.dealsOf(REFERENCE, 'onramp', Number.MAX_SAFE_INTEGER, clock.nowMs(), 10);
  assert.match(deal.tx_hash!, /^0x[0-9a-f]{64}$/);
  await new Settling(desk).tick();
  assert.equal(rail.balances.get(CUSTOMER), 25 * USDC);
});

test('16.71: no USDC is sold that is promised already or not there', async () => {
  const { agree, agreed, pass } = makeRampRig(30 * USDC);
  await agreed('onramp', 20 * USDC);
  assert.equal(await agree('onramp', 11 * USDC), 'float');
  await agreed('onramp', 10 * USDC);
  await pass(1);
  assert.equal(await agree('onramp', USDC), 'float');
  for (const amount of [USDC - 1, -1, 0, 1_000_001 * USDC, Number.NaN]) {
    assert.equal(await agree('offramp', amount), 'amount');
  }
});

test('16.71: a payment is given back when its USDC can never leave, and not before', async () => {
  const { agreed, pass, rail, store, statusOf } = makeRampRig();
  rail.isBlocked = true;
  const id = await agreed('onramp', 5 * USDC);
  await pass(1700);
  assert.equal(store.bankMicro('given_back'), 0);
  await pass(110);
  assert.deepEqual([statusOf(id), store.bankMicro('given_back'), store.promisedMicro()], ['failed', 5 * USDC, 0]);
  rail.isBlocked = false;
  await pass(50);
  assert.equal(rail.balances.get(CUSTOMER), undefined);
});

test('16.71: a transfer is sent again as it was signed, over restarts and while the rail is down', async () => {
  const { agreed, pass, rail, desk, statusOf } = makeRampRig();
  const id = await agreed('onramp', 5 * USDC);
  await new Settling(desk).tick();
  const [nonce] = rail.pool.keys();
  rail.pool.clear();
  rail.isDown = true;
  await assert.rejects(new Settling(desk).tick());
  rail.isDown = false;
  for (let restart = 0; restart < 3; restart++) await new Settling(desk).tick();
  assert.deepEqual([...rail.pool.keys()], [nonce]);
  await pass(FINAL + 1);
  assert.deepEqual([statusOf(id), rail.balances.get(CUSTOMER)], ['success', 5 * USDC]);
});

test('16.72: a sale is listed after its customer came back, and is paid when its USDC is final', async () => {
  const { agreed, pass, rail, store, statusOf, clock } = makeRampRig();
  const id = await agreed('offramp', 7 * USDC);
  const listed = () => store.dealsOf(REFERENCE, 'offramp', Number.MAX_SAFE_INTEGER, clock.nowMs(), 10).length;
  assert.equal(listed(), 0);
  await pass(2);
  assert.equal(listed(), 1);
  const hash = rail.arrive(CUSTOMER, 7 * USDC);
  await pass(FINAL - 3);
  assert.deepEqual([statusOf(id), store.bankMicro('paid_out')], ['created', 0]);
  await pass(4);
  assert.deepEqual([statusOf(id), store.deal(id)!.tx_hash, store.bankMicro('paid_out')], ['success', hash, 7 * USDC]);
  await pass(5);
  assert.equal(store.bankMicro('paid_out'), 7 * USDC);
});

test('16.72: a sale without USDC expires, and USDC that comes later goes back', async () => {
  const { agreed, pass, rail, store, statusOf } = makeRampRig();
  const id = await agreed('offramp', 7 * USDC);
  await pass(DEADLINE - 40);
  assert.equal(statusOf(id), 'created');
  await pass(40);
  assert.equal(statusOf(id), 'expired');
  rail.arrive(CUSTOMER, 7 * USDC);
  await pass(3 * FINAL);
  assert.deepEqual([statusOf(id), store.bankMicro('paid_out')], ['refunded', 0]);
  assert.equal(rail.balances.get(CUSTOMER), 0);
});

test('16.72: USDC that pays for no sale goes back: another amount, another sender, a second time', async () => {
  const { agreed, pass, rail, store, statusOf } = makeRampRig();
  const stranger = `0x${'a'.repeat(40)}`;
  const id = await agreed('offramp', 7 * USDC);
  rail.arrive(CUSTOMER, 7 * USDC - 1);
  rail.arrive(stranger, 7 * USDC);
  rail.arrive(CUSTOMER, 7 * USDC);
  rail.arrive(CUSTOMER, 7 * USDC);
  await pass(3 * FINAL);
  assert.deepEqual([statusOf(id), store.bankMicro('paid_out')], ['success', 7 * USDC]);
  assert.deepEqual([rail.balances.get(stranger), rail.balances.get(CUSTOMER)], [0, -7 * USDC]);
  assert.equal(rail.balances.get(RAMP_ADDRESS), 1_007 * USDC);
});

test('16.72: two sales of the same amount need two arrivals', async () => {
  const { agreed, pass, rail, statusOf, store } = makeRampRig();
  const [one, two] = [await agreed('offramp', 7 * USDC), await agreed('offramp', 7 * USDC)];
  rail.arrive(CUSTOMER, 7 * USDC);
  await pass(2 * FINAL);
  assert.deepEqual([statusOf(one), statusOf(two)], ['success', 'created']);
  rail.arrive(CUSTOMER, 7 * USDC);
  await pass(2 * FINAL);
  assert.deepEqual([statusOf(two), store.bankMicro('paid_out')], ['success', 14 * USDC]);
});

test('16.73: a sale that fails after its USDC has arrived gives it back, or keeps it', async () => {
  for (const returnsUsdc of [true, false]) {
    const { agreed, pass, rail, store, statusOf, desk } = makeRampRig();
    assert.ok(desk.switch({ payoutsFail: true, returnsUsdc }));
    const id = await agreed('offramp', 7 * USDC);
    rail.arrive(CUSTOMER, 7 * USDC);
    await pass(3 * FINAL);
    assert.equal(statusOf(id), returnsUsdc ? 'refunded' : 'failed');
    assert.equal(rail.balances.get(CUSTOMER), returnsUsdc ? 0 : -7 * USDC);
    assert.equal(store.bankMicro('paid_out'), 0);
  }
});

test('16.73: a declined payment takes nothing and sends nothing', async () => {
  const { agreed, pass, rail, store, statusOf, desk } = makeRampRig();
  desk.switch({ paymentsDeclined: true });
  const id = await agreed('onramp', 7 * USDC);
  await pass(FINAL);
  assert.deepEqual([statusOf(id), store.bankMicro('taken'), rail.sends], ['failed', 0, 0]);
});

test('16.73: events are late, lost, doubled, out of order and contradictory as the switches say', async () => {
  const { agreed, pass, sent, desk } = makeRampRig();
  const statuses = () => sent.splice(0).map(({ body }) => JSON.parse(body).status);
  await agreed('onramp', USDC);
  await pass(FINAL + 2);
  assert.deepEqual(statuses(), ['created', 'started', 'started', 'success']);
  desk.switch({ hookCopies: 0 });
  await agreed('onramp', USDC);
  await pass(FINAL + 2);
  assert.deepEqual(statuses(), []);
  desk.switch({ hookCopies: 2, hookDelayMs: 60_000, hooksReversed: true, hooksContradict: true });
  await agreed('onramp', USDC);
  await pass(FINAL + 2);
  assert.deepEqual(statuses(), []);
  await pass(100);
  const said = statuses();
  assert.equal(said.length, 8);
  assert.deepEqual(new Set(said), new Set(['success', 'created', 'failed']));
});

test('16.73: an event that is not accepted is sent again, later each time, and at last given up', async () => {
  const rig = makeRampRig();
  const { Hooks } = await import('../../../../../gateway/programs/ramp/hooks.ts');
  let tries = 0;
  const failing = new Hooks(rig.desk, 'secret', async () => {
    tries++;
    if (tries % 2 === 0) throw new Error('no connection');
    return false;
  });
  await rig.agree('offramp', USDC);
  await failing.tick();
  await failing.tick();
  assert.equal(tries, 1);
  for (let hour = 0; hour < 24 * 60; hour++) {
    rig.clock.advance(60_000);
    await failing.tick();
  }
  assert.equal(tries, 20);
});

test('16.73: switches have positions, and others change nothing', () => {
  const { desk } = makeRampRig();
  const before = desk.switches;
  for (const wrong of [
    null,
    [],
    'x',
    { no: 1 },
    { answers: 'x' },
    { hookCopies: 11 },
    { payoutDelayMs: -1 },
    { hookCopies: '1' },
    { listedHash: '0x1' },
    { constructor: 1 },
    { payoutsFail: 'on' },
    { listedStatus: 'x' },
  ]) {
    assert.equal(desk.switch(wrong), null, JSON.stringify(wrong));
  }
  assert.deepEqual(desk.switches, before);
  assert.equal(desk.switch({ listedHash: `0x${'ab'.repeat(32)}`, answers: 'empty' })?.answers, 'empty');
});
