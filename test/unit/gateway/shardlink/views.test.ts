import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Levels } from '../../../../engine/book/levels.ts';
import { DOUBLE_SHIFT, type Orders, SLOT_STATE, WORD_SHIFT } from '../../../../engine/book/orders.ts';
import { NO_TAG } from '../../../../engine/book/tags.ts';
import type { ShardState } from '../../../../engine/core/state.ts';
import { Views } from '../../../../gateway/shardlink/views.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { kindSide, NO_GROUP } from '../../../../shared/wire/commands.ts';
import { decodeEvent, EVENT } from '../../../../shared/wire/events.ts';
import { RingConsumer } from '../../../../shared/wire/ring.ts';
import { clientIdOf } from '../../../sim/agreement.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { CommandFlow } from '../../../support/flow.ts';
import { InThreadShard } from '../../../support/inThreadShard.ts';
import { ledgerOf } from '../../../support/ledger.ts';
import { type Level, stateOfViews } from '../../../support/viewsState.ts';

/** A shard under a seeded flow, and views that follow it through the event ring only. */
class Twin {
  readonly shard = new InThreadShard(new Balances(createBalances()));
  readonly flow: CommandFlow;
  readonly views = new Views(1);
  readonly types = new Map<number, number>();
  readonly #events = new RingConsumer(this.shard.eventRing);

  constructor(seed: number) {
    this.flow = new CommandFlow(this.shard.commandRing, seed);
    this.flow.openMarkets();
    this.step();
    this.flow.fundAccounts();
    this.step();
  }

  step(): void {
    this.shard.step();
    this.drain(this.views);
  }

  drain(views: Views): void {
    const { words } = this.#events;
    for (let word = this.#events.next(); word >= 0; word = this.#events.next()) {
      const event = decodeEvent(words, word);
      const type = EVENT[event.name].TYPE;
      this.types.set(type, (this.types.get(type) ?? 0) + 1);
      if (event.name === 'ORDER') this.flow.remember(new Uint32Array(event.hash.buffer));
      if (event.name === 'READY') views.recovered(0, event.shardSequence);
      else if (event.name === 'REPLY') views.replied(0);
      else views.apply(0, words, word);
    }
    this.#events.release();
  }
}

function engineLevels(orders: Orders, levels: Levels): Level[] {
  const rows: Level[] = [];
  for (let tick = levels.bestTick; tick >= 0; tick = levels.worseThan(tick)) {
    const row: Level = { tick, lots: levels.totalLots[tick], orders: levels.count[tick], buyLots: 0, queue: [] };
    for (let slot = levels.head[tick]; slot >= 0; slot = orders.next[slot << WORD_SHIFT]) {
      row.queue.push(orders.sequence[slot << DOUBLE_SHIFT]);
      if (kindSide(orders.kind[slot << WORD_SHIFT]) === SIDE.BUY)
        row.buyLots += orders.remainingLots[slot << DOUBLE_SHIFT];
    }
    rows.push(row);
  }
  return rows;
}

/** Everything the views should know, read from the engine's own state. */
function fromEngine(state: ShardState) {
  const { orders, ledger } = state;
  const open: Record<string, (number | string)[][]> = {};
  for (let account = 0; account < orders.accountHead.length; account++) {
    for (let slot = orders.firstOf(account); slot >= 0; slot = orders.accountNext[slot << WORD_SHIFT]) {
      const key = `${account}/${orders.market[slot << WORD_SHIFT]}`;
      const isDormant = orders.state[slot << WORD_SHIFT] === SLOT_STATE.DORMANT ? 1 : 0;
      const tag = orders.tag[slot << WORD_SHIFT];
      open[key] ??= [];
      open[key].push([
        orders.sequence[slot << DOUBLE_SHIFT],
        orders.remainingLots[slot << DOUBLE_SHIFT],
        orders.filledNotionalMicro[slot << DOUBLE_SHIFT],
        isDormant,
        orders.priorityOf(slot),
        tag === NO_TAG ? NO_GROUP : orders.tags.group[tag],
        clientIdOf(orders, slot),
      ]);
    }
  }
  const tokens: Record<string, number[]> = {};
  for (let row = 0; row < ledger.positions.count; row++) {
    const { pairs, available, reserved } = ledger.positions;
    const cells = [available[row * 2], reserved[row * 2], available[row * 2 + 1], reserved[row * 2 + 1]];
    tokens[`${pairs.accounts[row]}/${pairs.markets[row]}`] = cells;
  }
  const usdc = Array.from({ length: 8 }, (_, account) => [ledger.netMicro[account], ledger.reservedMicro[account]]);
  const markets = [...state.markets.all()].map((market) => ({
    bids: engineLevels(orders, market.book.bids),
    asks: engineLevels(orders, market.book.asks),
    sequence: market.sequence,
    status: market.status,
    feeBps: market.feeBps,
    collateralMicro: market.collateralMicro,
  }));
  return { open, tokens, usdc, markets };
}

for (const seed of [1, 2, 3]) {
  test(`the views follow the engine through every kind of command (seed ${seed})`, () => {
    const twin = new Twin(seed);
    for (let step = 0; step < 3000; step++) {
      twin.flow.next();
      twin.step();
      if (step % 20 !== 0) continue;
      assert.deepEqual(stateOfViews(twin.views), fromEngine(twin.shard.engine.state), `after command ${step}`);
      assert.equal(twin.views.orders[0].count, twin.shard.engine.state.orders.openCount);
      assert.ok(ledgerOf(twin.views).balanced, `the ledger closes after command ${step}`);
    }
    for (const type of [
      EVENT.FILL.TYPE,
      EVENT.CLOSED.TYPE,
      EVENT.DORMANT.TYPE,
      EVENT.WOKEN.TYPE,
      EVENT.FUNDS.TYPE,
      EVENT.ORDER_TAG.TYPE,
    ]) {
      assert.ok((twin.types.get(type) ?? 0) > 10, `the flow has events of type ${type}`);
    }
  });

  test(`views filled by a recovering shard equal views that saw every event (seed ${seed})`, () => {
    const twin = new Twin(seed);
    for (let step = 0; step < 1500; step++) {
      twin.flow.next();
      twin.step();
    }
    const recovered = new Views(1);
    recovered.recovering(0);
    twin.shard.describe();
    twin.drain(recovered);
    assert.deepEqual(stateOfViews(recovered), stateOfViews(twin.views));
    assert.deepEqual(ledgerOf(recovered), ledgerOf(twin.views));

    // Both go on to say the same.
    for (let step = 0; step < 500; step++) {
      twin.flow.next();
      twin.shard.step();
      twin.drain(recovered);
    }
    assert.deepEqual(stateOfViews(recovered), fromEngine(twin.shard.engine.state));
  });
}

test('the ledger distinguishes the fee account, deposits and withdrawals', () => {
  const twin = new Twin(7);
  for (let step = 0; step < 800; step++) {
    twin.flow.next();
    twin.step();
  }
  const { totals } = twin.shard.engine.state;
  const ledger = ledgerOf(twin.views);
  assert.equal(ledger.totalMicro, BigInt(totals.depositedMicro - totals.withdrawnMicro));
  assert.equal(ledger.feesMicro, BigInt(twin.shard.engine.state.ledger.netMicro[0]));
  assert.ok(ledger.feesMicro > 0n);
  assert.equal(ledger.accountsMicro + ledger.feesMicro + ledger.collateralMicro, ledger.totalMicro);
  assert.deepEqual(ledger.yesAtomic, ledger.noAtomic);
});

test('the views are as new as the last record that the shard of a standby has published whole (ROLE-2)', () => {
  const twin = new Twin(8);
  const { views, shard } = twin;
  const { engine } = shard;
  shard.describe();
  views.recovering(0);
  twin.drain(views);
  const recovered = engine.sequence;
  assert.equal(views.shownSequence(0), recovered);
  for (let step = 0; step < 20; step++) {
    twin.flow.next();
    twin.step();
  }
  assert.ok(views.appliedSequence(0) > recovered);
  assert.equal(views.shownSequence(0), recovered, 'events may be missing of a record that has begun');
  engine.state.emit.published(engine.sequence);
  views.apply(0, engine.out.words, 0);
  assert.equal(views.shownSequence(0), engine.sequence);
});

test('the ledger is that of the moment in which it was asked for, and is added up in steps', () => {
  const { views } = new Twin(8);
  const steps = views.ledger().add();
  views.accounts.shards[0].netMicro[1]++;
  views.accounts.yesAvailable[0]++;
  views.markets.collateralMicro[0]++;
  assert.equal(steps.next().done, false, 'not at once');
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  assert.ok(step.value.balanced);
  assert.equal(ledgerOf(views).balanced, false);
});

test('one micro too much or too little anywhere is an unbalanced ledger', () => {
  const { views } = new Twin(8);
  assert.ok(ledgerOf(views).balanced);
  const funds = views.accounts.shards[0];
  funds.netMicro[1]++;
  assert.equal(ledgerOf(views).balanced, false);
  funds.netMicro[1]--;
  views.accounts.yesAvailable[0]++;
  assert.equal(ledgerOf(views).balanced, false);
  views.accounts.yesAvailable[0]--;
  assert.ok(ledgerOf(views).balanced);
});

test('the ledger of a decided market closes while some have claimed, and shows a token too many', () => {
  const rig = new EngineRig();
  rig.market(0, { minOrderAtomic: 100 });
  for (const account of [1, 2]) rig.fund(account, 1_000_000);
  rig.place({ account: 1, lots: 7, ticks: 50 });
  rig.place({ account: 2, outcome: 1, lots: 7, ticks: 50 });
  rig.resolve(0, 333_333);
  rig.claim(1);
  const views = new Views(1);
  const { engine } = rig;
  engine.describe(() => {
    const { words, lengthBytes } = engine.out;
    for (let word = 0; word < lengthBytes / 4; word += words[word] / 4) {
      if (decodeEvent(words, word).name !== 'READY') views.apply(0, words, word);
    }
    engine.out.clear();
  });
  const { balanced, yesAtomic, noAtomic, collateralMicro } = ledgerOf(views);
  assert.ok(balanced);
  assert.ok(noAtomic[0] > yesAtomic[0]);
  assert.equal(collateralMicro, BigInt(engine.state.markets.peek(0)!.collateralMicro));
  views.accounts.noAvailable[views.pairs.find(2, 0)]++;
  assert.equal(ledgerOf(views).balanced, false);
});
