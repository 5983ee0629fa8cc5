/** A batch may change many accounts at once: the end of a market pays all who hold its tokens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../../engine/money/ledger.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { MemorySnapshot } from '../../../support/memorySnapshot.ts';

/** More than any list of the ledger has at first, and more than one that has grown once. */
const ACCOUNTS = 3000;
const MARKET = 3;

function rig(): { ledger: Ledger; elsewhere: Balances } {
  const memory = createBalances(2);
  const ledger = new Ledger(new Balances(memory, 0), true);
  ledger.goLive();
  return { ledger, elsewhere: new Balances(memory, 1) };
}

for (const [how, release] of [
  ['that is committed', (ledger: Ledger) => ledger.releaseCredits()],
  ['that the log holds', (ledger: Ledger) => ledger.releaseSealed(ledger.sealCredits())],
] as const) {
  test(`a batch ${how} may credit any number of accounts, and every shard sees each of these credits`, () => {
    const { ledger, elsewhere } = rig();
    for (let round = 1; round <= 2; round++) {
      for (let account = 1; account <= ACCOUNTS; account++) ledger.credit(account, account);
      release(ledger);
      ledger.validate();
      for (let account = 1; account <= ACCOUNTS; account++) {
        const seen = [ledger.availableMicro(account), elsewhere.availableMicro(account)];
        assert.deepEqual(seen, [round * account, round * account], `account ${account}, batch ${round}`);
      }
    }
  });
}

/** Every account is touched twice, with and without a position, and each is in its list once. */
function assertListedOnce(ledger: Ledger): void {
  for (let command = 0; command < 2; command++) {
    ledger.startCommand();
    for (let account = 1; account <= ACCOUNTS; account++) {
      for (let times = 0; times < 2; times++) {
        ledger.credit(account, 1);
        ledger.addTokens(account, MARKET, 0, 1);
      }
    }
    const accounts = [...ledger.touchedAccounts.subarray(0, ledger.touchedAccountCount)];
    assert.deepEqual(
      accounts,
      Array.from({ length: ACCOUNTS }, (_, index) => index + 1),
    );
    const rows = [...ledger.touchedRows.subarray(0, ledger.touchedRowCount)];
    assert.deepEqual(
      rows,
      accounts.map((account) => ledger.positions.find(account, MARKET)),
    );
  }
}

test('a command may touch any number of accounts and positions, and both lists have each of them once', () => {
  assertListedOnce(rig().ledger);
});

test('a ledger that is read from a snapshot has all that was written, and lists what is touched as before', () => {
  const { ledger } = rig();
  for (let account = 1; account <= ACCOUNTS; account++) {
    ledger.addTokens(account, MARKET, account % 2, account);
    ledger.reserveTokens(account, MARKET, account % 2, 1);
  }
  const snapshot = new MemorySnapshot();
  ledger.persist(snapshot.writer);
  const read = new Ledger(new Balances(createBalances(1), 0), true);
  read.persist(snapshot.reader);
  assert.ok(snapshot.isReadWhole);
  for (let account = 1; account <= ACCOUNTS; account++) {
    const side = account % 2;
    assert.equal(read.availableTokens(account, MARKET, side), account - 1);
    assert.equal(read.reservedTokens(account, MARKET, side), 1);
  }
  read.validate();
  assertListedOnce(read);
});

test('an account covers exactly what it has, with what is freed for it, and not one more', () => {
  const { ledger } = rig();
  ledger.credit(1, 10);
  ledger.addTokens(1, MARKET, 1, 10);
  for (const [reservation, freed, isCovered] of [
    [10, 0, true],
    [11, 0, false],
    [12, 2, true],
    [13, 2, false],
  ] as const) {
    assert.equal(ledger.coversMicro(1, { reservation }, freed), isCovered);
    assert.equal(ledger.coversTokens(1, MARKET, 1, { reservation }, freed), isCovered);
  }
  assert.ok(!ledger.tryReserve(1, 11));
  assert.ok(ledger.tryReserve(1, 10));
});

test('without a collateral check orders may reserve what is not there, but nothing leaves the exchange', () => {
  const ledger = new Ledger(new Balances(createBalances(1), 0), false);
  ledger.goLive();
  ledger.credit(1, 10);
  assert.ok(!ledger.tryDebit(1, 11), 'a withdrawal or a split never overdraws');
  assert.ok(ledger.tryReserve(1, 15));
  assert.deepEqual([ledger.availableMicro(1), ledger.reservedOf(1)], [-5, 15]);
});

test('a position says that its command touched it, until the next command', () => {
  const { ledger } = rig();
  ledger.startCommand();
  ledger.addTokens(1, MARKET, 0, 5);
  ledger.credit(2, 5);
  assert.deepEqual([ledger.hasTouchedRow(1), ledger.hasTouchedRow(2)], [true, false]);
  ledger.startCommand();
  assert.equal(ledger.hasTouchedRow(1), false);
});
