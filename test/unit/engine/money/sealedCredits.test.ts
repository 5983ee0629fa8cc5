/** Credits that wait for the log of a cluster (SEALED-1, SEALED-2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../../engine/money/ledger.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const ACCOUNT = 1;

function rig(): { ledger: Ledger; elsewhere: Balances } {
  const memory = createBalances(2);
  const ledger = new Ledger(new Balances(memory, 0), true);
  ledger.goLive();
  return { ledger, elsewhere: new Balances(memory, 1) };
}

test('a credit is spent in its own shard before the log holds it, and elsewhere only afterwards', () => {
  const { ledger, elsewhere } = rig();
  ledger.credit(ACCOUNT, 10);
  const first = ledger.sealCredits();
  assert.deepEqual([ledger.availableMicro(ACCOUNT), elsewhere.availableMicro(ACCOUNT)], [10, 0]);
  assert.ok(ledger.tryDebit(ACCOUNT, 4));
  ledger.releaseSealed(first);
  assert.deepEqual([ledger.availableMicro(ACCOUNT), elsewhere.availableMicro(ACCOUNT)], [6, 6]);
});

test('a later credit is not sent in place of an earlier one that was spent', () => {
  const { ledger, elsewhere } = rig();
  ledger.credit(ACCOUNT, 100);
  ledger.releaseSealed(ledger.sealCredits());
  ledger.credit(ACCOUNT, 10);
  const first = ledger.sealCredits();
  assert.ok(ledger.tryDebit(ACCOUNT, 60), 'ten that are sealed, fifty that every shard sees');
  ledger.credit(ACCOUNT, 20);
  const second = ledger.sealCredits();
  ledger.releaseSealed(first);
  assert.equal(elsewhere.availableMicro(ACCOUNT), 50, 'the log may never hold the twenty');
  ledger.releaseSealed(second);
  assert.equal(elsewhere.availableMicro(ACCOUNT), 70);
});

// The columns by account begin with 64 and are doubled.
for (const account of [0, 63, 64, 65, 127, 128, 129, 1000]) {
  test(`SEALED-1: account ${account} has what it did not spend of its credits, whichever number came before it`, () => {
    const { ledger, elsewhere } = rig();
    ledger.credit(2, 5);
    const before = ledger.sealCredits();
    assert.ok(ledger.tryDebit(2, 3));
    assert.equal(ledger.availableMicro(account), 0, 'nothing is sealed of it yet');
    ledger.credit(account, 10);
    const end = ledger.sealCredits();
    assert.ok(!ledger.tryDebit(account, 11));
    assert.ok(ledger.tryDebit(account, 4));
    assert.deepEqual([ledger.availableMicro(account), ledger.availableMicro(2)], [6, 2]);
    ledger.releaseSealed(before);
    assert.deepEqual([elsewhere.availableMicro(account), elsewhere.availableMicro(2)], [0, 2]);
    ledger.releaseSealed(end);
    assert.deepEqual([elsewhere.availableMicro(account), elsewhere.availableMicro(2)], [6, 2]);
    ledger.validate();
  });
}

test('SEALED-2: more credits wait than there is room for at first, and each is released once, to its account', () => {
  const { ledger, elsewhere } = rig();
  const ends: number[] = [];
  for (let batch = 0; batch < 1000; batch++) {
    // Room is made again while some wait, so the first of those is in the middle.
    if (batch === 100) ledger.releaseSealed(ends[49]!);
    ledger.credit(1 + (batch % 3), batch);
    ends.push(ledger.sealCredits());
  }
  ledger.validate();
  ledger.releaseSealed(ends.at(-1)!);
  const sums = [0, 0, 0];
  for (let batch = 0; batch < 1000; batch++) sums[batch % 3]! += batch;
  assert.deepEqual(
    [1, 2, 3].map((account) => elsewhere.availableMicro(account)),
    sums,
  );
});

const seed = seedOr(1);
const batches = timesOf({ suite: 2000, soak: 200_000 });

test(`other shards never see more than the held batches leave: ${batches} batches (seed ${seed})`, () => {
  const random = new Random(seed);
  const { ledger, elsewhere } = rig();
  const waiting: { end: number; net: number }[] = [];
  let [net, heldNet] = [0, 0];
  for (let batch = 0; batch < batches; batch++) {
    for (let move = random.below(4); move >= 0; move--) {
      const micro = random.below(50);
      if (random.chance(50)) {
        ledger.credit(ACCOUNT, micro);
        net += micro;
      } else if (ledger.tryDebit(ACCOUNT, micro)) net -= micro;
    }
    waiting.push({ end: ledger.sealCredits(), net });
    ledger.validate();
    for (let count = random.below(4); count > 0 && waiting.length > 0; count--) {
      const held = waiting.shift()!;
      heldNet = held.net;
      ledger.releaseSealed(held.end);
    }
    const seen = elsewhere.availableMicro(ACCOUNT);
    assert.ok(seen >= 0 && seen <= heldNet, `batch ${batch}: ${seen} is seen, held is ${heldNet}`);
    assert.equal(ledger.availableMicro(ACCOUNT), net, 'the shard itself sees all of it');
    if (waiting.length === 0) assert.equal(seen, net);
  }
});
