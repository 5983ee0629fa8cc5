/**
 * Random trading of the real engine, settled on a chain: every account, the fee account too, has on the chain what it
 * has in the ledger, to the unit, after each batch and after the markets are paid out.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEE_ACCOUNT, MARKET_STATUS, MOVEMENT, OUTCOME, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { type CommandResult, EngineRig, fillsOf } from '../support/engineRig.ts';
import type { Fill } from '../support/orderEvents.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { BUY, type ChainMarket, type ChainMatch, chainRig, eventsOf, key, type SignedChainOrder, USDC } from './rig.ts';

const chain = await chainRig();
const ACCOUNTS = [1, 2, 3, 4, 5];
const TICKS_PER_UNIT = [100, 10];
const FEES_BPS = [50, 37];
const START_MICRO = 200_000_000;
const START_SETS = 60_000_000;
const MOST_MATCHES = 25;

class Twins {
  readonly engine = new EngineRig();
  readonly random: Random;
  readonly markets: ChainMarket[] = [];
  readonly #signed = new Map<number, { order: SignedChainOrder; outcome: number; market: number }>();
  readonly #open: Fill[] = [];
  readonly #feesBps = [FEES_BPS[0], FEES_BPS[0]];
  #tradeId = 0n;
  settled = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  async begin(): Promise<void> {
    for (const [index, ticksPerUnit] of TICKS_PER_UNIT.entries()) {
      this.engine.market(index, { ticksPerUnit, feeBps: FEES_BPS[0], minOrderAtomic: ticksPerUnit });
      this.markets.push(await chain.createMarket());
    }
    for (const account of ACCOUNTS) {
      this.engine.fund(account, START_MICRO);
      await chain.fund(key(account), BigInt(START_MICRO));
      for (const index of TICKS_PER_UNIT.keys()) await this.#convert(account, index, START_SETS, MOVEMENT.SPLIT);
    }
  }

  async step(): Promise<void> {
    const { random } = this;
    const account = random.pick(ACCOUNTS);
    const market = random.below(this.markets.length);
    const die = random.below(100);
    if (die < 90) return this.#place(account, market);
    if (die < 92) return this.#patchFee(market);
    // A movement of the ledger comes after the trades before it, on the chain as well.
    await this.settle();
    const amount = random.between(1, 2_000_000);
    if (die < 95) return this.#convert(account, market, amount, MOVEMENT.SPLIT);
    if (die < 98) return this.#convert(account, market, amount, MOVEMENT.MERGE);
    const { reply } = this.engine.fund(account, amount, MOVEMENT.WITHDRAWAL);
    if (reply.code !== OK) return;
    await chain.operator('withdrawFor', [chain.freshHash(), key(account).address, USDC, BigInt(amount)]);
  }

  /** Settles what was matched, and compares the fees of every trade. */
  async settle(): Promise<void> {
    if (this.#open.length === 0) return;
    const fills = this.#open.splice(0);
    const numbers = [...new Set(fills.flatMap(({ maker, taker }) => [maker, taker]))];
    const orders = numbers.map((number) => this.#signed.get(number)!.order);
    const matches = fills.map((fill) => this.#matchOf(fill, numbers));
    const { logs } = await chain.settleAll(orders, matches);
    const fees = eventsOf(logs, 'Exchange', 'MatchSettled').map(({ args }) => [args['makerFee'], args['takerFee']]);
    assert.deepEqual(
      fees,
      fills.map(({ makerFee, takerFee }) => [BigInt(makerFee), BigInt(takerFee)]),
    );
    this.settled += fills.length;
  }

  #matchOf({ maker, taker, lots, ticks }: Fill, numbers: number[]): ChainMatch {
    const { market, outcome } = this.#signed.get(maker)!;
    const ticksPerUnit = TICKS_PER_UNIT[market];
    const makerTicks = outcome === OUTCOME.YES ? ticks : ticksPerUnit - ticks;
    return {
      tradeId: ++this.#tradeId,
      taker: BigInt(numbers.indexOf(taker)),
      maker: BigInt(numbers.indexOf(maker)),
      tokens: BigInt(lots * ticksPerUnit),
      makerMicro: BigInt(lots * makerTicks),
    };
  }

  async #place(account: number, market: number): Promise<void> {
    const { random } = this;
    const ticksPerUnit = TICKS_PER_UNIT[market];
    const [side, outcome] = [random.below(2), random.below(2)];
    const lots = random.between(1, Math.floor(3_000_000 / ticksPerUnit));
    const ticks = random.between(1, ticksPerUnit - 1);
    const timeInForce = random.pick([TIME_IN_FORCE.GTC, TIME_IN_FORCE.GTC, TIME_IN_FORCE.FOK, TIME_IN_FORCE.FAK]);
    const atOnce = timeInForce !== TIME_IN_FORCE.GTC;
    // Orders that do not rest may be off the grid, and name the least that they want.
    const micro = lots * ticks + (atOnce ? random.below(lots) : 0);
    const tokens = lots * ticksPerUnit + (atOnce ? random.below(ticksPerUnit) : 0);
    const received = side === BUY ? tokens : micro;
    const minTakerNet = atOnce && random.chance(40) ? random.below(received) : 0;
    const feeBps = this.#feesBps[market];
    const [makerAmount, takerAmount] = side === BUY ? [micro, tokens] : [tokens, micro];
    const terms = { side, outcome, timeInForce, makerAmount, takerAmount, minTakerNet, feeBps };
    const result = this.engine.place({ account, market, ...terms });
    const number = orderNumber(result);
    if (number === undefined) return;
    const tokenId = outcome === OUTCOME.YES ? this.markets[market].yes : this.markets[market].no;
    const fields = { minTakerNet: BigInt(minTakerNet), feeRateBps: BigInt(feeBps) };
    const order = await chain.order(key(account), side, tokenId, BigInt(tokens), BigInt(micro), fields);
    this.#signed.set(number, { order, outcome, market });
    this.#open.push(...fillsOf(result));
    if (this.#open.length < MOST_MATCHES) return;
    await this.settle();
    await this.compare('after a batch');
  }

  /** The resting orders of the other rate become dormant, and come back with it. */
  #patchFee(market: number): void {
    this.#feesBps[market] = this.random.pick(FEES_BPS);
    this.engine.patch(market, { feeBps: this.#feesBps[market] });
  }

  async #convert(account: number, market: number, amount: number, movement: number): Promise<void> {
    if (this.engine.convert(account, market, amount, movement).reply.code !== OK) return;
    const name = movement === MOVEMENT.SPLIT ? 'splitFor' : 'mergeFor';
    const { conditionId } = this.markets[market];
    await chain.operator(name, [chain.freshHash(), key(account).address, conditionId, BigInt(amount)]);
  }

  async compare(when: string): Promise<void> {
    for (const account of [FEE_ACCOUNT, ...ACCOUNTS]) {
      const address = addressOf(account);
      const { available, reserved } = this.engine.usdc(account);
      assert.equal(await chain.held(address, USDC), BigInt(available + reserved), `USDC of ${account} ${when}`);
      for (const [index, { yes, no }] of this.markets.entries()) {
        for (const [outcome, tokenId] of [yes, no].entries()) {
          const tokens = this.engine.tokens(account, outcome, index);
          const inLedger = BigInt(tokens.available + tokens.reserved);
          assert.equal(await chain.held(address, tokenId), inLedger, `outcome ${outcome} of ${account} ${when}`);
        }
      }
    }
  }

  /** Decides the markets and pays every holder, the fee account as well. */
  async payOut(): Promise<void> {
    for (const [index, market] of this.markets.entries()) {
      const yesPpm = this.random.pick([0, 1_000_000, 500_000, this.random.between(1, 999_999)]);
      this.engine.resolve(index, yesPpm, MARKET_STATUS.RESOLVED);
      while (this.engine.engine.hasSteps) this.engine.step();
      this.engine.settle(index);
      while (this.engine.engine.hasSteps) this.engine.step();
      await chain.resolve(market, BigInt(yesPpm), BigInt(1_000_000 - yesPpm));
      for (const account of [...ACCOUNTS, FEE_ACCOUNT]) {
        await chain.operator('claim', [addressOf(account), market.conditionId]);
      }
    }
  }
}

function addressOf(account: number) {
  return account === FEE_ACCOUNT ? chain.contracts.exchange : key(account).address;
}

function orderNumber({ events }: CommandResult): number | undefined {
  const event = events.find(({ kind }) => kind === 'order');
  return event?.kind === 'order' ? event.order : undefined;
}

const STEPS = timesOf({ suite: 150, soak: 3000 });
const seed = seedOr(20);

test(`ledger and chain agree to the unit over ${STEPS} random commands, seed ${seed}`, { skip: NO_ANVIL }, async () => {
  const twins = new Twins(seed);
  await twins.begin();
  await twins.compare('at the start');
  for (let step = 0; step < STEPS; step++) await twins.step();
  await twins.settle();
  await twins.compare('at the end');
  assert.ok(twins.settled > 20, `${twins.settled} trades`);
  await twins.payOut();
  await twins.compare('after the payout');
  assert.equal(await chain.walletUsdc(chain.contracts.exchange), await total());
});

/** All USDC that accounts hold: after the payout nothing else is left. */
async function total(): Promise<bigint> {
  const held = await Promise.all([FEE_ACCOUNT, ...ACCOUNTS].map((account) => chain.held(addressOf(account), USDC)));
  return held.reduce((sum, micro) => sum + micro, 0n);
}
