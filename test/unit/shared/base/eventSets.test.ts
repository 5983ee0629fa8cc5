/** Conversions that free what the tokens of an event set pay in any case (shared/base/eventSets.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conversionMicro, freeingConversions, type Held } from '../../../../shared/base/eventSets.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(59);

/** Tokens after the conversions, none of which may take what is not there, and the USDC they paid. */
function freed(held: readonly Held[]): { readonly micro: number; readonly left: Held[] } {
  let micro = 0;
  let left = [...held];
  for (const { chosen, amount } of freeingConversions(held)) {
    micro += conversionMicro(chosen.length, amount);
    left = left.map(({ yes, no }, place) => {
      if (chosen.includes(place)) return { yes, no: no - amount };
      return { yes: yes + (chosen.length === 0 ? -amount : amount), no };
    });
    for (const { yes, no } of left) assert.ok(yes >= 0 && no >= 0 && amount > 0, JSON.stringify(held));
  }
  return { micro, left };
}

const leastOf = (held: readonly Held[]): number =>
  Math.min(...held.map(({ yes, no }) => yes - no)) + held.reduce((sum, { no }) => sum + no, 0);

test(`RULES.md 19.11: what is freed is what the tokens pay at least, and then nothing more (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let round = 0; round < 600; round++) {
    const most = random.pick([1, 3, 1_000_000]);
    const some = (): number => (random.chance(40) ? 0 : random.below(most + 1));
    const held = Array.from({ length: random.pick([2, 3, 8, 64]) }, () => ({ yes: some(), no: some() }));
    const { micro, left } = freed(held);
    assert.equal(micro, leastOf(held), JSON.stringify(held));
    assert.equal(leastOf(left), 0);
    assert.deepEqual(freeingConversions(left), []);
  }
});

test('the examples of the rule', () => {
  const noOf = (amounts: readonly number[]): Held[] => amounts.map((no) => ({ yes: 0, no }));
  assert.deepEqual(freeingConversions(noOf([10, 10, 4, 0])), [
    { chosen: [0, 1, 2], amount: 4 },
    { chosen: [0, 1], amount: 6 },
  ]);
  const pair = [
    { yes: 5, no: 5 },
    { yes: 0, no: 0 },
  ];
  assert.deepEqual(freeingConversions(pair), [
    { chosen: [0], amount: 5 },
    { chosen: [], amount: 5 },
  ]);
  assert.deepEqual(freeingConversions(noOf([7, 0])), [], 'one No alone frees nothing');
});
