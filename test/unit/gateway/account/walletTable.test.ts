/** The table of wallets answers as a Map does (WALLETTABLE-1 and -2), at the edges of its parts and divisions too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_WALLET, WalletTable } from '../../../../gateway/account/walletTable.ts';
import { KeyedHash } from '../../../../shared/base/keyedHash.ts';
import { PartedWords } from '../../../../shared/base/partedWords.ts';
import { Random } from '../../../support/random.ts';

const SEED = 56;
/** Rows of eight words: parts of 2^16 words end with each of these rows. */
const ROWS_A_PART = 2 ** 13;

const addressOf = (random: Random): string =>
  `0x${Array.from({ length: 5 }, () =>
    random
      .below(2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')}`;

test(`WALLETTABLE-1, -2: owners, grants and chains are those of a Map, whatever comes (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const table = new WalletTable(new KeyedHash(new Int32Array([5, 6])));
  const twin = new Map<string, { owner: number; grant: number }>();
  const chains = new Map<number, string[]>();
  const addresses: string[] = [];
  const most = 3 * ROWS_A_PART + 2;
  for (let step = 0; step < 2.5 * most; step++) {
    const isNew = addresses.length === 0 || (twin.size < most && random.below(2) === 0);
    const address = isNew ? addressOf(random) : addresses[random.below(addresses.length)];
    if (isNew) addresses.push(address);
    assert.equal(table.find(address) === NO_WALLET, isNew, `${address} at ${step}`);
    const row = table.rowOf(address);
    const known = twin.get(address) ?? { owner: 0, grant: 0 };
    assert.deepEqual(
      [table.ownerOf(row), table.grantOf(row), table.addressOf(row)],
      [known.owner, known.grant, address],
    );
    if (random.below(2) === 0) {
      // The first and the last account there may be, those at an edge of a part, and others.
      const accounts = [1, 2 ** 26 - 1, 2 ** 16 - 1, 2 ** 16, 2 + random.below(2 ** 14)];
      const owner = known.owner === 0 ? accounts[random.below(accounts.length)] : known.owner;
      if ((chains.get(owner)?.length ?? 0) < 50 || known.owner !== 0) {
        table.own(row, owner);
        if (known.owner === 0) chains.set(owner, [...(chains.get(owner) ?? []), address]);
        known.owner = owner;
      }
    } else {
      known.grant = random.below(2 ** 32);
      table.setGrant(row, known.grant);
    }
    twin.set(address, known);
    assert.equal(table.count, twin.size);
  }
  for (const [address, { owner, grant }] of twin) {
    const row = table.find(address);
    assert.deepEqual([table.ownerOf(row), table.grantOf(row)], [owner, grant], address);
  }
  for (const [account, chain] of chains) {
    assert.deepEqual(
      table.of(account).map((row) => table.addressOf(row)),
      chain,
      `account ${account}`,
    );
    assert.equal(table.addressOf(table.firstOf(account)), chain[0]);
  }
  assert.deepEqual([table.firstOf(3 + 2 ** 20), table.of(2 ** 25)], [NO_WALLET, []]);
});

test('a wallet is found by all of its digits, and only by an address', () => {
  const table = new WalletTable();
  const address = `0x${'ab'.repeat(20)}`;
  const row = table.rowOf(address);
  for (let at = 2; at < address.length; at++) {
    const other = `${address.slice(0, at)}0${address.slice(at + 1)}`;
    assert.equal(table.find(other), NO_WALLET, other);
  }
  assert.equal(table.find(address), row);
  for (const text of ['', '0x', address.slice(0, -1), `${address}0`, `0y${address.slice(2)}`]) {
    assert.equal(table.find(text), NO_WALLET, text);
  }
  assert.throws(() => table.rowOf('0x12'), { message: /WALLETTABLE-1/ });
});

test('ACCOUNTS-2: a wallet of one account is given to no other', () => {
  const table = new WalletTable();
  const row = table.rowOf(`0x${'ab'.repeat(20)}`);
  table.own(row, 7);
  table.own(row, 7);
  assert.deepEqual(table.of(7), [row]);
  assert.throws(() => table.own(row, 8), { message: /ACCOUNTS-2/ });
});

test('PARTEDWORDS-1: words are zero until they are written, beside a written one and at the last index too', () => {
  const words = new PartedWords();
  const edges = [0, 2 ** 16 - 1, 2 ** 16, 2 ** 26, 2 ** 32 - 1];
  for (const [at, index] of edges.entries()) words.set(index, at + 1);
  for (const [at, index] of edges.entries()) assert.equal(words.get(index), at + 1, `${index}`);
  for (const index of [1, 2 ** 16 - 2, 2 ** 16 + 1, 2 ** 25, 2 ** 26 + 1, 2 ** 32 - 2])
    assert.equal(words.get(index), 0);
  assert.throws(() => words.set(2 ** 32, 1), { message: /PARTEDWORDS-1/ });
});
