/**
 * The engine's event sets against their naive twin (test/sim/oracle.ts), with 2, 8 and 64 markets: conversions both
 * ways, fills, splits, eliminations, decisions with one winner and in fractions, cancelled sets. After each command the
 * invariants are checked and the money compared; each set ends with every micro-USDC paid (RULES.md 19.2, 19.8).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounting } from '../../../../engine/admin/accounting.ts';
import { NEWEST_RULES } from '../../../../engine/core/rules.ts';
import { MARKET_STATUS, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { PPM } from '../../../../shared/base/payout.ts';
import { assertAgreement } from '../../../sim/agreement.ts';
import { ask, type Command, send, show, simVerifier } from '../../../sim/command.ts';
import { Oracle, type Placement } from '../../../sim/oracle.ts';
import { errorKey, stateOf } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const FIRST_SEED = seedOr(11);
const SEEDS = timesOf({ suite: 2, soak: 60 });
const ACCOUNTS = [1, 2, 3];
const D = 100;
const ROWS = 5;
const REQUEST = 7;
const REFUSALS = ['INSUFFICIENT_BALANCE', 'MEMBER_OF_SET'];

class SetPair {
  readonly random: Random;
  readonly rig = new EngineRig({ verifier: simVerifier, rowsOfRecord: ROWS, rules: NEWEST_RULES });
  readonly oracle = new Oracle(true, ROWS);
  readonly size: number;
  /** More No than Yes is made: its excess is negative for most of the time. */
  readonly isShort: boolean;
  /** States after a command, and how many of them had a negative excess. */
  states = 0;
  negative = 0;
  readonly answers = new Map<string, number>();
  readonly #frames = new Map<number, number>();
  #salt = 0;

  constructor(seed: number, size: number) {
    this.random = new Random(seed);
    this.size = size;
    this.isShort = seed % 3 !== 0;
    const { nowMs } = this.rig;
    this.oracle.nowMs = nowMs;
    for (let ordinal = 0; ordinal < size; ordinal++) {
      const terms = { ticksPerUnit: D, feeBps: 35, status: MARKET_STATUS.ACTIVE, minOrderAtomic: D };
      const times = { startMs: nowMs, endMs: nowMs + 9_000_000 };
      const set = { first: 0, ordinal, members: size };
      this.run({ kind: 'open', market: ordinal, terms: { ...terms, ...times, set } });
    }
    for (const account of ACCOUNTS)
      this.run({ kind: 'funds', account, amount: 900_000, isDeposit: true, reference: account });
  }

  run(command: Command): number {
    const { oracle, rig } = this;
    oracle.advance(rig.nowMs);
    const outcome = rig.run((ring) => send(ring, REQUEST, rig.nowMs, command, (market) => market));
    const code = ask(oracle, command);
    assert.equal(errorKey(outcome.reply.code), errorKey(code), show(command));
    for (const { market, sequence } of outcome.frames) this.#frames.set(market, sequence);
    const what = code === OK ? command.kind : errorKey(code);
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
    while (rig.engine.hasSteps) {
      oracle.at(rig.nowMs);
      oracle.step();
      for (const { market, sequence } of rig.step().frames) this.#frames.set(market, sequence);
    }
    this.states++;
    if (rig.engine.state.markets.sets.get(0)!.excessMicro < 0) this.negative++;
    return code;
  }

  compare(): void {
    const frameOf = (market: number) => this.rig.engine.state.markets.peek(market)!.sequence;
    assertAgreement(this.rig.engine, this.oracle, frameOf, (market) => market);
  }

  get open(): number[] {
    const { markets } = this.oracle;
    const { RESOLVED, LOCKED } = MARKET_STATUS;
    return Array.from({ length: this.size }, (_, at) => at).filter(
      (at) => markets[at]!.status <= LOCKED || markets[at]!.status < RESOLVED,
    );
  }

  next(): Command {
    const { random, size } = this;
    const account = random.pick(ACCOUNTS);
    const market = random.below(size);
    // While a short set is young its markets stay active: else nothing converts back.
    const isYoung = this.isShort && this.states < size + 90;
    const dice = random.below(isYoung ? 95 : 100);
    const amount = random.below(size > 8 ? 5 : 40) * D + (random.chance(30) ? random.below(D) : 0);
    if (dice < 45) {
      const chosen = Array.from({ length: size }, (_, at) => at).filter(() => random.chance(size > 8 ? 8 : 50));
      const every = Array.from({ length: size }, (_, at) => at);
      const isAll = random.chance(this.isShort ? 60 : 10);
      const which = isAll ? (random.chance(50) ? this.open : every) : random.chance(15) ? [] : chosen;
      const isToUsdc = random.chance(this.isShort ? 8 : 50);
      return { kind: 'convertSet', account, market: 0, chosen: which, amount, isToUsdc };
    }
    const inLots = amount - (amount % D);
    if (dice < 60) return { kind: 'convert', account, market, amount: inLots, isSplit: random.chance(60) };
    if (dice < 95) return { kind: 'place', placement: this.#placement(account, market) };
    const payoutYesPpm = random.pick([0, PPM]);
    if (dice < 97) return { kind: 'decide', market, status: MARKET_STATUS.RESOLVED, payoutYesPpm };
    const status = random.chance(20) ? MARKET_STATUS.LOCKED : MARKET_STATUS.ACTIVE;
    const { startMs, endMs, feeBps } = this.oracle.markets[market]!;
    return { kind: 'patch', market, status, startMs, endMs, ...(random.chance(20) ? { feeBps: feeBps + 1 } : {}) };
  }

  #placement(account: number, market: number): Placement {
    const { random } = this;
    const side = random.pick([SIDE.BUY, SIDE.SELL]);
    const lots = 1 + random.below(30);
    const [usdc, tokens] = [lots * (48 + random.below(5)), lots * D];
    const [makerAmount, takerAmount] = side === SIDE.BUY ? [usdc, tokens] : [tokens, usdc];
    const plain = { timeInForce: 0, postOnly: false, selfTrade: 0, expirationSec: 0, minTakerNet: 0, group: 0 };
    const signed = { salt: ++this.#salt, feeBps: 35, grant: 1, nonce: 0, wallet: 1 };
    const outcome = random.pick([OUTCOME.YES, OUTCOME.NO]);
    return { account, market, side, outcome, makerAmount, takerAmount, ...plain, ...signed };
  }

  /** Decides what is left, and lets everybody be paid: some by a claim, the others by the settlement. */
  end(): void {
    const { open, random } = this;
    const payouts = Array.from({ length: this.size }, () => 0);
    const part = random.pick([0, 0, 333_333, 1, PPM / 2]);
    payouts[open[0]!] += PPM - part;
    payouts[open.at(-1)!] += part;
    const isCancelled = random.chance(40);
    const isEqual = isCancelled && random.chance(60);
    const status = isCancelled ? MARKET_STATUS.CANCELLED : MARKET_STATUS.RESOLVED;
    assert.equal(this.run({ kind: 'decideSet', market: 0, status, payouts: isEqual ? null : payouts }), OK);
    this.compare();
    for (let turn = 0; turn < this.size; turn++)
      this.run({ kind: 'claim', account: random.pick([0, ...ACCOUNTS]), market: random.below(this.size) });
    assert.equal(this.run({ kind: 'settleSet', market: 0 }), OK);
    this.compare();
    const { ledger, markets } = this.rig.engine.state;
    assert.equal(markets.sets.get(0)!.excessMicro, 0, 'RULES.md 19.8: no USDC is left in a settled set');
    const held = [0, ...ACCOUNTS].reduce((sum, account) => sum + ledger.netMicro[account], 0);
    assert.equal(held, ACCOUNTS.length * 900_000, 'RULES.md 19.2: what was deposited is what the accounts have');
  }
}

for (const [size, steps] of [
  [2, 250],
  [8, 250],
  [64, 120],
] as const) {
  test(`RULES.md 19.2: a set of ${size} always has the USDC that its tokens are worth, and pays them out`, () => {
    let [states, negative] = [0, 0];
    const answers = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const pair = new SetPair(seed, size);
      try {
        for (let step = 0; step < steps; step++) {
          pair.run(pair.next());
          if (step % 10 === 0) pair.compare();
        }
        pair.end();
      } catch (cause) {
        throw new Error(`SEED=${seed}, ${size} markets: ${cause}`, { cause });
      }
      const { rig } = pair;
      assert.deepEqual(stateOf(rig.replayed()), stateOf(rig.engine), 'the journal gives the same engine');
      const accounting = new Accounting((difference) => assert.fail(`SEED=${seed}: the audit differs: ${difference}`));
      for (const row of rig.journal.rows) accounting.record(row);
      states += pair.states;
      negative += pair.negative;
      for (const [what, count] of pair.answers) answers.set(what, (answers.get(what) ?? 0) + count);
    }
    assert.ok(negative >= states / 5, `a fifth of the states have a negative excess: ${negative} of ${states}`);
    for (const what of ['convertSet', 'place', 'decideSet', 'settleSet', 'claim', ...REFUSALS])
      assert.ok(answers.has(what), `the flow has ${what}: ${[...answers].join(' ')}`);
  });
}

test('before the rules of sets are in force, every command for them is refused by name and leaves no record', () => {
  const rig = new EngineRig({ verifier: simVerifier });
  const times = { startMs: rig.nowMs, endMs: rig.nowMs + 9_000_000 };
  const terms = { ticksPerUnit: D, feeBps: 35, status: MARKET_STATUS.ACTIVE, minOrderAtomic: D, ...times };
  const commands: Command[] = [
    { kind: 'open', market: 0, terms: { ...terms, set: { first: 0, ordinal: 0, members: 2 } } },
    { kind: 'convertSet', account: 1, market: 0, chosen: [], amount: 1, isToUsdc: false },
    { kind: 'decideSet', market: 0, status: MARKET_STATUS.CANCELLED, payouts: null },
    { kind: 'settleSet', market: 0 },
  ];
  for (const command of commands) {
    const { reply } = rig.run((ring) => send(ring, REQUEST, rig.nowMs, command, (market) => market));
    assert.equal(errorKey(reply.code), 'SETS_UNAVAILABLE', show(command));
  }
  assert.equal(rig.engine.sequence, 0);
  const plain: Command = { kind: 'open', market: 0, terms };
  assert.equal(rig.run((ring) => send(ring, REQUEST, rig.nowMs, plain, (market) => market)).reply.code, OK);
  assert.deepEqual(stateOf(rig.replayed()), stateOf(rig.engine));
});
