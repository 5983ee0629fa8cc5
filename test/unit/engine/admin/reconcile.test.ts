/** Deposits and withdrawals in control.db compared with the journals: each difference in words. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { reconcile } from '../../../../engine/admin/reconcile.ts';
import { MOVEMENT } from '../../../../shared/base/codes.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { referenceHash } from '../../../../shared/crypto/referenceHash.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const { DEPOSIT, WITHDRAWAL } = MOVEMENT;

type Ordered = [account: number, kind: number, amount: number, reference: string, status: string];
type Journaled = [sequence: number, account: number, movement: number, amount: number, reference: string];

function differences(ordered: Ordered[], journaled: Journaled[], isComplete = true): string[] {
  const control = new Database(join(temporaryDirectory(), 'control.db'));
  control.exec(
    'CREATE TABLE movements (account_index INTEGER, kind INTEGER, amount_micro INTEGER, reference TEXT, status TEXT)',
  );
  for (const row of ordered) control.prepare('INSERT INTO movements VALUES (?, ?, ?, ?, ?)').run(...row);
  const movements = new Map(
    journaled.map(([sequence, account, movement, amount, reference]) => {
      const hash = toHex(referenceHash(account, movement, reference));
      return [hash, { sequence, account, movement, amountMicro: BigInt(amount) }];
    }),
  );
  try {
    return reconcile(control, [{ movements } as never], isComplete);
  } finally {
    control.close();
  }
}

test('ordered and journaled movements agree', () => {
  const ordered: Ordered[] = [
    [1, DEPOSIT, 5, 'a', 'completed'],
    [1, WITHDRAWAL, 2, 'a', 'pending'],
    [2, DEPOSIT, 5, 'a', 'refused'],
    [3, DEPOSIT, 5, 'b', 'pending'],
  ];
  assert.deepEqual(
    differences(ordered, [
      [7, 1, DEPOSIT, 5, 'a'],
      [8, 1, WITHDRAWAL, 2, 'a'],
    ]),
    [],
  );
});

test('each difference names its record or its movement', () => {
  const one: Ordered[] = [[1, DEPOSIT, 5, 'a', 'completed']];
  const name = 'a deposit of 5 micro-USDC of account 1';
  assert.deepEqual(differences([], [[7, 1, DEPOSIT, 5, 'a']]), [`record 7: ${name}, which was not ordered`]);
  assert.deepEqual(differences(one, [[7, 1, DEPOSIT, 6, 'a']]), [
    'record 7: a deposit of 6 micro-USDC of account 1, which was not ordered',
  ]);
  assert.deepEqual(differences([[1, DEPOSIT, 5, 'a', 'refused']], [[7, 1, DEPOSIT, 5, 'a']]), [
    `record 7: ${name}, which control.db says was refused`,
  ]);
  assert.deepEqual(differences(one, []), [`control.db: ${name}, which no journal has`]);
  assert.deepEqual(differences(one, [], false), [], 'its record may be among those that are gone');
});
