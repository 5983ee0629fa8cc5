/**
 * Every command that a client can cause, with amounts at every edge, for accounts with and without money: the engine
 * answers with a code, keeps its invariants (the rig checks them after each command), and replays to the same state.
 * The simulator draws what people do; this draws what the schemas let through.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fuzz/engine.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ORDER_AMOUNT, MOVEMENT, SIDE } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { REPLACE_MODE } from '../../shared/wire/commands.ts';
import { stateOf } from '../support/engine.ts';
import { type CommandResult, EngineRig, type PlaceOptions } from '../support/engineRig.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';

const WORLDS = timesOf({ suite: 12, soak: 600 });
const COMMANDS = 400;
const SEED = seedOr(20_261_129);
const TICKS_PER_UNIT = [10, 16, 100, 625, 10_000];
/** The last two never get anything. */
const ACCOUNTS = [1, 2, 3, 4, 5];
const FIRST_POOR = 4;
const MARKETS = TICKS_PER_UNIT.length;
const MOVEMENTS = [MOVEMENT.SPLIT, MOVEMENT.MERGE];
const MIN_ORDER_ATOMIC = 10_000;

/** One world of commands. */
class Drawn {
  readonly rig = new EngineRig();
  readonly codes = new Map<number, number>();
  readonly #random: Random;
  readonly #hashes: Uint32Array[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
    for (const [index, ticksPerUnit] of TICKS_PER_UNIT.entries()) {
      const minOrderAtomic = this.#random.pick([ticksPerUnit, MIN_ORDER_ATOMIC]);
      this.rig.market(index, { ticksPerUnit, minOrderAtomic });
    }
    for (const account of ACCOUNTS) {
      this.rig.groupSet(account, account, 3600, 10 ** 9);
      if (account >= FIRST_POOR) continue;
      this.rig.fund(account, 10 ** (3 * account));
      for (let market = 0; market < MARKETS; market++) this.rig.fundSets(account, market, 10 ** (3 * account) + 7);
    }
  }

  step(): void {
    const { reply } = this.#random.chance(75) ? this.#order() : this.#other();
    this.codes.set(reply.code, (this.codes.get(reply.code) ?? 0) + 1);
    if (this.#random.chance(20)) this.rig.nowMs += this.#random.below(2000);
  }

  #order(): CommandResult {
    const random = this.#random;
    const options = this.#options(random.chance(2) ? MARKETS : random.below(MARKETS));
    const old = random.chance(25) && this.#hashes.length > 0 ? random.pick(this.#hashes) : undefined;
    const mode = random.pick([REPLACE_MODE.AMEND, REPLACE_MODE.CANCEL_REPLACE]);
    const expected = random.chance(20) ? this.#amount() : undefined;
    const result = old === undefined ? this.rig.place(options) : this.rig.replace(old, options, mode, expected);
    if (result.reply.code === OK) this.#hashes.push(result.hash);
    if (this.#hashes.length > 30) this.#hashes.shift();
    return result;
  }

  #options(market: number): PlaceOptions {
    const random = this.#random;
    const side = random.below(2);
    const account = random.pick(ACCOUNTS);
    const expirationSec = Math.floor(this.rig.nowMs / 1000) + random.between(-1, 20);
    return {
      account,
      market,
      side,
      outcome: random.below(2),
      timeInForce: random.below(4),
      ...this.#amounts(TICKS_PER_UNIT[market] ?? 100, side),
      feeBps: 50,
      postOnly: random.chance(10),
      selfTrade: random.below(4),
      minTakerNet: random.chance(70) ? 0 : this.#amount(),
      expirationSec: random.chance(50) ? 0 : expirationSec,
      group: random.chance(70) ? 0 : this.#groupOf(account),
      nonce: random.chance(95) ? 9 : random.below(10),
    };
  }

  /**
   * Mostly USDC and tokens for a price on the grid or next to it, of many lots, of one, or of less; or any two amounts.
   */
  #amounts(ticksPerUnit: number, side: number): { makerAmount: number; takerAmount: number } {
    const random = this.#random;
    const lots = random.pick([0, 1, 2, 10, 10 ** 3, 10 ** 5, 10 ** 7]);
    const ticks = random.chance(80) ? Math.ceil(ticksPerUnit / 2) : random.below(ticksPerUnit + 2);
    const isWhole = lots > 0 && random.chance(70);
    const [beside, part] = isWhole ? [0, 0] : [random.between(-2, 2), random.below(ticksPerUnit)];
    const near = [lots * ticks + beside, lots * ticksPerUnit + part];
    const [usdc, tokens] = (random.chance(85) ? near : [this.#amount(), this.#amount()]).map((amount) =>
      Math.min(Math.max(amount, 1), MAX_ORDER_AMOUNT),
    ) as [number, number];
    return side === SIDE.BUY ? { makerAmount: usdc, takerAmount: tokens } : { makerAmount: tokens, takerAmount: usdc };
  }

  #groupOf(account: number): number {
    return this.#random.chance(2) ? 99 : account;
  }

  /** Amounts that the schemas accept: one and the largest, powers of ten and a few next to them. */
  #amount(): number {
    const random = this.#random;
    const amount = 10 ** random.below(16) * random.pick([1, 1, 2, 5]) + random.between(-2, 2);
    return Math.min(Math.max(amount, 1), MAX_ORDER_AMOUNT);
  }

  #other(): CommandResult {
    const random = this.#random;
    const { rig } = this;
    const account = random.pick(ACCOUNTS);
    const market = random.below(MARKETS + 1);
    const group = this.#groupOf(account);
    const acts: (() => CommandResult)[] = [
      () => rig.groupSet(account, group, random.pick([1, 5, 3600]), this.#amount()),
      () => rig.groupReset(account, group),
      () => rig.groupTrip(account, group),
      () => rig.convert(account, market, this.#amount(), random.pick(MOVEMENTS)),
      () => rig.fund(account, this.#amount(), MOVEMENT.WITHDRAWAL),
      () => rig.claim(account, market),
      () => rig.cancelMany(account, market),
      () => rig.nonceFloor(account, 0, random.below(10)),
      () => rig.cancel(account, this.#hashes.length > 0 ? random.pick(this.#hashes) : new Uint32Array(8)),
      () => rig.tick(),
    ];
    return random.pick(acts)();
  }
}

test(`no command of a client ends the engine, whatever its amounts are (SEED=${SEED})`, () => {
  const codes = new Map<number, number>();
  for (let world = 0; world < WORLDS; world++) {
    const seed = SEED + world;
    const drawn = new Drawn(seed);
    try {
      for (let step = 0; step < COMMANDS; step++) drawn.step();
    } catch (error) {
      throw new Error(`world ${seed}`, { cause: error });
    }
    assert.deepEqual(stateOf(drawn.rig.replayed()), stateOf(drawn.rig.engine), `world ${seed} is replayed`);
    for (const [code, count] of drawn.codes) codes.set(code, (codes.get(code) ?? 0) + count);
  }
  assert.ok((codes.get(OK) ?? 0) > WORLDS * COMMANDS * 0.1, `some are carried out: ${codes.get(OK)}`);
  assert.ok(codes.size > 15, `they are refused in many ways: ${codes.size}`);
});
