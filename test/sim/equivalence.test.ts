/**
 * Engine and oracle side by side through a seeded random flow: the same refusal, the same events and, now and then, the
 * same whole state; at the end the journal gives the same engine again. The flow is the one of the simulator (flow.ts);
 * here nothing dies, and the answer is compared after every single command.
 *
 *   SEED=7 STEPS=1500 node --test test/sim/equivalence.test.ts     one run, as a failure prints it
 *   SEEDS=300 node --test test/sim/equivalence.test.ts             many
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLOSE_REASON } from '../../shared/codes.ts';
import { OK } from '../../shared/errors.ts';
import { EVENT } from '../../shared/events.ts';
import { keccak256 } from '../../shared/keccak.ts';
import { EngineRig, errorKey, type Outcome, stateOf, type Told } from '../support/engine.ts';
import { Random } from '../support/random.ts';
import { assertAgreement } from './agreement.ts';
import { ask, type Command, isPlacing, send, show, simVerifier } from './command.ts';
import { Flow } from './flow.ts';
import { Oracle } from './oracle.ts';
import { inRuleOrder } from './told.ts';

const STEPS = Number(process.env['STEPS'] ?? 1500);
const SEEDS = Number(process.env['SEEDS'] ?? 6);
const STATE_EVERY = 20;
/** One seed in so many is a rehearsal without collateral. */
const REHEARSAL_EVERY = 3;
const REQUEST = 7;

class Pair {
  readonly random: Random;
  readonly rig: EngineRig;
  readonly oracle: Oracle;
  readonly flow: Flow;
  fillCount = 0;
  /** How often each answer came, and how often a replacement kept its turn. */
  readonly seen = new Map<string, number>();
  /** Last public frame of each market. */
  readonly #frames = new Map<number, number>();

  constructor(seed: number, collateralCheck: boolean) {
    this.random = new Random(seed);
    this.rig = new EngineRig({ collateralCheck, verifier: simVerifier });
    this.oracle = new Oracle(collateralCheck);
    const { random, oracle } = this;
    const { nowMs } = this.rig;
    oracle.nowMs = nowMs;
    this.flow = new Flow({
      random,
      oracle,
      shard: 0,
      shards: 1,
      nowMs,
      isRehearsal: !collateralCheck,
      keccak: keccak256,
    });
    for (const command of [...this.flow.opening(), ...this.flow.endowment()]) this.#run(command);
  }

  /** One random command to both. */
  step(): void {
    if (this.random.chance(10)) this.rig.nowMs += this.random.below(4000);
    this.#run(this.flow.next(this.rig.nowMs));
  }

  compareState(): void {
    assertAgreement(this.rig.engine, this.oracle, this.#frameOf, (market) => market);
  }

  #run(command: Command): void {
    const { oracle, rig } = this;
    oracle.advance(rig.nowMs);
    oracle.arrivedMs = rig.nowMs;
    const code = ask(oracle, command);
    const outcome = rig.run((ring) => send(ring, REQUEST, rig.nowMs, command, (market) => market));
    this.#compare(command, outcome, code);
    if (code !== OK || !isPlacing(command)) return;
    const { order: id } = oracle.told.findLast((event) => event.kind === 'order')!;
    this.flow.placed.push({ hash: outcome.hash, id, placement: command.placement, domain: oracle.domain });
  }

  #compare(command: Command, outcome: Outcome, code: number): void {
    const what = show(command);
    const { told } = this.oracle;
    this.#count(code === OK ? command.kind : errorKey(code));
    if (command.kind === 'replace' && code === OK && this.oracle.answer[0] === 1) this.#count('turn kept');
    // A tick has no reply.
    if (command.kind !== 'tick') assert.equal(errorKey(outcome.reply.code), errorKey(code), what);
    assert.deepEqual(inRuleOrder(outcome.told), inRuleOrder(told), what);
    if (code === OK && (command.kind === 'replace' || command.kind === 'bury')) {
      assert.deepEqual([outcome.reply.a, outcome.reply.b], this.oracle.answer, what);
    }
    if (command.kind === 'cancelMany') assert.equal(outcome.reply.a, told.filter(isUserClose).length);
    for (const { market, sequence, type } of outcome.frames) {
      assert.equal(sequence, this.#frameOf(market) + 1, `${what}: public frames are numbered without a gap`);
      this.#frames.set(market, sequence + (type === EVENT.FILL ? 1 : 0));
    }
    this.fillCount += told.filter((event) => event.kind === 'fill').length;
  }

  #count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  readonly #frameOf = (market: number): number => this.#frames.get(market) ?? 0;
}

const isUserClose = (event: Told): boolean => event.kind === 'closed' && event.reason === CLOSE_REASON.USER;

function run(seed: number): void {
  const collateralCheck = seed % REHEARSAL_EVERY !== 0;
  const pair = new Pair(seed, collateralCheck);
  for (let step = 0; step < STEPS; step++) {
    try {
      pair.step();
      if (step % STATE_EVERY === 0) pair.compareState();
    } catch (cause) {
      const again = `SEED=${seed} STEPS=${STEPS} node --test test/sim/equivalence.test.ts`;
      throw new Error(`step ${step} of seed ${seed}; again: ${again}`, { cause });
    }
  }
  pair.compareState();
  const { rig } = pair;
  assert.deepEqual(stateOf(rig.replayed(collateralCheck)), stateOf(rig.engine), 'the journal gives the same engine');
  assert.ok(pair.fillCount > STEPS / 30, `the flow trades: ${pair.fillCount} fills`);
  for (const what of ['replace', 'turn kept', 'bury', 'groupSet', 'contracts']) {
    assert.ok(pair.seen.has(what), `the flow has ${what}`);
  }
}

const chosen = process.env['SEED'];
const seeds = chosen === undefined ? Array.from({ length: SEEDS }, (_, index) => index + 1) : [Number(chosen)];
for (const seed of seeds) {
  test(`engine and oracle agree after every command, and with the replay: seed ${seed}`, () => run(seed));
}
