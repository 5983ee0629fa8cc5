/**
 * Two shards at one account's cell, in every order in which they can meet there: the second does all it does in front
 * of each single atomic operation of the first. Real threads hardly ever hit these moments.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Balances, createBalances } from '../../shared/wire/balances.ts';

const ACCOUNT = 1;
const OPERATIONS = ['load', 'store', 'add', 'sub', 'compareExchange'] as const;

/** Runs `one`, with `other` inserted before its `at`-th atomic operation. @returns false if it had fewer operations. */
function interleave(at: number, one: () => unknown, other: () => unknown): boolean {
  const real = Object.fromEntries(OPERATIONS.map((name) => [name, Atomics[name]]));
  let count = 0;
  for (const name of OPERATIONS) {
    const watched = (...words: unknown[]): unknown => {
      if (count++ === at) other();
      return (real[name] as (...words: unknown[]) => unknown)(...words);
    };
    Object.assign(Atomics, { [name]: watched });
  }
  try {
    one();
  } finally {
    Object.assign(Atomics, real);
  }
  return count > at;
}

type Step = (balances: Balances) => number;

const take: Step = (balances) => (balances.tryDebit(ACCOUNT, 60) ? -60 : 0);
const give: Step = (balances) => {
  balances.credit(ACCOUNT, 50);
  return 50;
};

for (const [name, first, second] of [
  ['two debits', take, take],
  ['a debit and a credit', take, give],
  ['a credit and a debit', give, take],
] as const) {
  test(`${name} that meet at any moment leave what both together leave`, () => {
    let meetings = 0;
    for (let isMet = true; isMet; meetings++) {
      const memory = createBalances(2);
      const [here, there] = [new Balances(memory, 0), new Balances(memory, 1)];
      here.credit(ACCOUNT, 100);
      const changes: number[] = [];
      const one = (): unknown => changes.push(first(here));
      const other = (): unknown => changes.push(second(there));
      isMet = interleave(meetings, one, other);
      const changed = changes.reduce((sum, change) => sum + change, 0);
      assert.equal(here.availableMicro(ACCOUNT), 100 + changed);
      assert.ok(here.availableMicro(ACCOUNT) >= 0, 'no money is spent twice');
    }
    assert.ok(meetings > 1, 'they met');
  });
}
