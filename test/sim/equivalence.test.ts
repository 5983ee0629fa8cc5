/**
 * Engine and oracle side by side through a seeded random flow: the same refusal, the same events and, now and then, the
 * same whole state; at the end the journal gives the same engine again. The flow is the one of the simulator (flow.ts);
 * here nothing dies, and the answer is compared after every single command.
 *
 *     SEED=7 node shared/run.mjs --test test/sim/equivalence.test.ts
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { NEWEST_RULES } from '../../engine/core/rules.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import { EVENT } from '../../shared/wire/events.ts';
import { errorKey, stateOf } from '../support/engine.ts';
import { type CommandResult, EngineRig } from '../support/engineRig.ts';
import type { OrderEvent } from '../support/orderEvents.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { assertAgreement } from './agreement.ts';
import { ask, type Command, isPlacing, send, show, simVerifier } from './command.ts';
import { Flow } from './flow.ts';
import { Oracle } from './oracle.ts';
import { inRuleOrder } from './shardEvents.ts';
import { ROWS_OF_RECORD } from './simShard.ts';

const STEPS = 1500;
const FIRST_SEED = seedOr(2);
const SEEDS = timesOf({ suite: 3, soak: 40 });
const STATE_EVERY = 20;
/** One in this many seeds trades without collateral. */
const NO_COLLATERAL_EVERY = 3;
const REQUEST = 7;
/** The kinds of commands that any flow had. */
const seen = new Set<string>();

class Pair {
  readonly random: Random;
  readonly rig: EngineRig;
  readonly oracle: Oracle;
  readonly flow: Flow;
  fillCount = 0;
  /** The number of each answer, and of replacements that kept their queue position. */
  readonly seen = new Map<string, number>();
  /** Last public frame of each market. */
  readonly #frames = new Map<number, number>();

  constructor(seed: number, collateralCheck: boolean) {
    this.random = new Random(seed);
    const shard = { rowsOfRecord: ROWS_OF_RECORD, rules: NEWEST_RULES };
    this.rig = new EngineRig({ collateralCheck, verifier: simVerifier, ...shard });
    this.oracle = new Oracle(collateralCheck, ROWS_OF_RECORD);
    this.oracle.hasSets = true;
    const { random, oracle } = this;
    const { nowMs } = this.rig;
    oracle.nowMs = nowMs;
    this.flow = new Flow({
      random,
      oracle,
      shard: 0,
      shards: 1,
      nowMs,
      hasNoCollateral: !collateralCheck,
      keccak: keccak256,
    });
    for (const command of [...this.flow.opening(), ...this.flow.endowment()]) this.#run(command);
  }

  /** One random command to both. */
  step(): void {
    if (this.random.chance(10)) this.rig.nowMs += this.random.below(4000);
    this.#run(this.flow.next(this.rig.nowMs));
    while (this.rig.engine.hasSteps && this.random.chance(40)) this.#goOn();
  }

  /** A record in which the markets that are being ended go on. */
  #goOn(): void {
    this.oracle.at(this.rig.nowMs);
    this.oracle.step();
    const { events, frames } = this.rig.step();
    this.#count('step');
    assert.deepEqual(inRuleOrder(events), inRuleOrder(this.oracle.events), 'step');
    this.#countFrames(frames, 'step');
    this.compareState();
  }

  compareState(): void {
    assertAgreement(this.rig.engine, this.oracle, this.#frameOf, (market) => market);
  }

  #run(command: Command): void {
    const { oracle, rig } = this;
    oracle.advance(rig.nowMs);
    oracle.arrivedMs = rig.nowMs;
    const outcome = rig.run((ring) => send(ring, REQUEST, rig.nowMs, command, (market) => market));
    oracle.isForgetful = ![E.DUPLICATE_ORDER, E.ORDER_NOT_CANCELLABLE].includes(outcome.reply.code);
    const code = ask(oracle, command);
    this.#compare(command, outcome, code);
    if (code !== OK || !isPlacing(command)) return;
    const { order: id } = oracle.events.findLast((event) => event.kind === 'order')!;
    this.flow.placed.push({ hash: outcome.hash, id, placement: command.placement, domain: oracle.domain });
  }

  #compare(command: Command, outcome: CommandResult, code: number): void {
    const what = show(command);
    const { events } = this.oracle;
    this.#count(code === OK ? command.kind : errorKey(code));
    if (command.kind === 'replace' && code === OK && this.oracle.answer[0] === 1) this.#count('turn kept');
    // A tick has no reply.
    if (command.kind !== 'tick') assert.equal(errorKey(outcome.reply.code), errorKey(code), what);
    assert.deepEqual(inRuleOrder(outcome.events), inRuleOrder(events), what);
    if (code === OK && (command.kind === 'replace' || command.kind === 'bury')) {
      assert.deepEqual([outcome.reply.a, outcome.reply.b], this.oracle.answer, what);
    }
    if (command.kind === 'sweep') {
      const swept = events.filter((event) => event.kind === 'closed' && event.reason === CLOSE_REASON.ADMIN);
      assert.equal(outcome.reply.a, swept.length);
    }
    if (command.kind === 'nonceFloor' && code === OK) assert.equal(outcome.reply.a, events.filter(isBelowFloor).length);
    if (command.kind === 'cancelMany') assert.equal(outcome.reply.a, events.filter(isUserClose).length);
    this.#countFrames(outcome.frames, what);
    this.fillCount += events.filter((event) => event.kind === 'fill').length;
  }

  #countFrames(frames: CommandResult['frames'], what: string): void {
    for (const { market, sequence, type } of frames) {
      assert.equal(sequence, this.#frameOf(market) + 1, `${what}: public frames are numbered without a gap`);
      this.#frames.set(market, sequence + (type === EVENT.FILL.TYPE ? 1 : 0));
    }
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  readonly #frameOf = (market: number): number => this.#frames.get(market) ?? 0;
}

const isUserClose = (event: OrderEvent): boolean => event.kind === 'closed' && event.reason === CLOSE_REASON.USER;

const isBelowFloor = (event: OrderEvent): boolean =>
  event.kind === 'closed' && event.reason === CLOSE_REASON.NONCE_FLOOR;

function run(seed: number): void {
  const collateralCheck = seed % NO_COLLATERAL_EVERY !== 0;
  const pair = new Pair(seed, collateralCheck);
  for (let step = 0; step < STEPS; step++) {
    try {
      pair.step();
      if (step % STATE_EVERY === 0) pair.compareState();
    } catch (cause) {
      const again = `SEED=${seed} node shared/run.mjs --test test/sim/equivalence.test.ts`;
      throw new Error(`step ${step} of seed ${seed}; again: ${again}`, { cause });
    }
  }
  pair.compareState();
  const { rig } = pair;
  assert.deepEqual(stateOf(rig.replayed(collateralCheck)), stateOf(rig.engine), 'the journal gives the same engine');
  assert.ok(pair.fillCount > STEPS / 30, `the flow trades: ${pair.fillCount} fills`);
  for (const what of pair.seen.keys()) seen.add(what);
}

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
  test(`engine and oracle agree after every command, and with the replay: seed ${seed}`, () => run(seed));
}

/** Every answer of a shard that a flow can bring about; a flow that lost one would compare less than it seems to. */
const REFUSALS = [
  ...['DUPLICATE_ORDER', 'ORDER_TOMBSTONED', 'DEADLINE_PASSED', 'MARKET_NOT_ACTIVE', 'MARKET_NOT_FOUND'],
  ...['ORDER_EXPIRED', 'INVALID_TICK', 'INVALID_LOT', 'BELOW_MIN_SIZE', 'INVALID_SIGNATURE', 'FEE_RATE_MISMATCH'],
  'NONCE_BELOW_FLOOR',
  ...['REPLACES_ANOTHER_MARKET', 'ORDER_NOT_FOUND', 'ORDER_NOT_CANCELLABLE', 'ORDER_GROUP_TRIGGERED'],
  ...[
    'REMAINING_CHANGED',
    'TOO_MANY_OPEN_ORDERS',
    'INSUFFICIENT_BALANCE',
    'POST_ONLY_WOULD_CROSS',
    'FOK_NOT_FILLED',
    'FAK_NO_FILL',
  ],
  ...[
    'MIN_NET_NOT_MET',
    'INVALID_TRANSITION',
    'CANCEL_ONLY_PHASE',
    'POST_ONLY_PHASE',
    'OTHER_STAGE',
    'NOTHING_TO_CLAIM',
    'VALIDATION_ERROR',
  ],
];

after(() => {
  for (const what of [
    'replace',
    'turn kept',
    'bury',
    'groupSet',
    'contracts',
    'nonceFloor',
    'stage',
    'step',
    'convertSet',
    'decideSet',
    'settleSet',
    'MEMBER_OF_SET',
    'TOO_FEW_MEMBERS',
    ...REFUSALS,
  ]) {
    assert.ok(seen.has(what), `the flows have ${what}`);
  }
});
