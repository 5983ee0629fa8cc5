/** Deposits and withdrawals: a reference moves money once, whatever happens to its command (MOVEMENTS-1). */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AccountStates } from '../../../../gateway/account/accountStates.ts';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { Funding, type FundsEngine, type FundsReply } from '../../../../gateway/account/funding.ts';
import { type FundKind, Movements } from '../../../../gateway/account/movements.ts';
import type { Changes } from '../../../../gateway/base/laterSync.ts';
import { MOVEMENT } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { MAX_SAFE } from '../../../../shared/base/int.ts';
import { NOW_MS, newDatabase, newUser } from '../../../support/controlRows.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const { DEPOSIT, WITHDRAWAL } = MOVEMENT;

describe('fund movements', () => {
  test('a reference moves money once and every repeat answers the first movement', async (t) => {
    const { funding, sent } = fundingWith(t, [OK]);
    const first = await funding.move(1, DEPOSIT, 5_000_000, 'r1');
    const second = await funding.move(1, DEPOSIT, 5_000_000, 'r1');
    assert.equal(first.movement?.status, 'completed');
    assert.deepEqual(second, first);
    assert.equal(sent.length, 1);
  });

  test('two requests at once with one reference wait for one movement', async (t) => {
    const { funding, sent } = fundingWith(t, [OK]);
    const [first, second] = await Promise.all([
      funding.move(1, DEPOSIT, 5_000_000, 'r1'),
      funding.move(1, DEPOSIT, 5_000_000, 'r1'),
    ]);
    assert.deepEqual(second, first);
    assert.equal(sent.length, 1);
  });

  test('a used reference with another amount is a conflict, also while the first is under way', async (t) => {
    const { funding } = fundingWith(t, [OK]);
    const results = await Promise.all([funding.move(1, DEPOSIT, 5, 'r1'), funding.move(1, DEPOSIT, 6, 'r1')]);
    assert.equal(codeOf(results[1]), E.CONFLICT);
    assert.equal(codeOf(await funding.move(1, DEPOSIT, 6, 'r1')), E.CONFLICT);
  });

  test('the same reference of another account or another direction is another movement', async (t) => {
    const { funding, sent } = fundingWith(t, [OK, OK, OK]);
    await funding.move(1, DEPOSIT, 5, 'r1');
    await funding.move(2, DEPOSIT, 5, 'r1');
    await funding.move(1, WITHDRAWAL, 5, 'r1');
    assert.equal(new Set(sent).size, 3);
  });

  test('a refused withdrawal says what is missing, and its reference may be used with another amount', async (t) => {
    const { funding, sent } = fundingWith(t, [E.INSUFFICIENT_BALANCE, OK]);
    const refused = await funding.move(1, WITHDRAWAL, 9, 'r1');
    assert.deepEqual(refused, {
      movement: null,
      code: E.INSUFFICIENT_BALANCE,
      details: { asset: 'USDC', required: '1', available: '2', reserved: '3' },
    });
    const done = await funding.move(1, WITHDRAWAL, 4, 'r1');
    assert.equal(done.movement?.amountMicro, 4);
    assert.equal(new Set(sent).size, 1);
  });

  test('a movement that a busy engine refused is not sent by a later start', async (t) => {
    const { funding, movements } = fundingWith(t, [E.ENGINE_BUSY]);
    assert.equal(codeOf(await funding.move(1, DEPOSIT, 5, 'r1')), E.ENGINE_BUSY);
    assert.deepEqual(movements.pending(), []);
  });

  test('a movement whose outcome is unknown stays pending through a busy retry until it is known', async (t) => {
    const { funding, movements, sent } = fundingWith(t, [E.OUTCOME_UNKNOWN, E.ENGINE_BUSY, OK]);
    await funding.move(1, DEPOSIT, 5, 'r1');
    await funding.move(1, DEPOSIT, 5, 'r1');
    assert.equal(movements.pending().length, 1);
    await funding.resumePending();
    assert.deepEqual(movements.pending(), []);
    assert.equal(movements.find(1, DEPOSIT, 'r1')!.status, 'completed');
    assert.equal(new Set(sent).size, 1);
  });

  test('a refusal is answered once it survives a power cut, so that no later start sends it', async (t) => {
    const disk: (() => void)[] = [];
    const changes: Changes = {
      isDurable: false,
      write: (change) => change(),
      durable: () => new Promise((resolve) => disk.push(resolve)),
    };
    const { funding, movements, sent } = fundingWith(t, [E.INSUFFICIENT_BALANCE], changes);
    let isAnswered = false;
    const result = funding.move(1, WITHDRAWAL, 9, 'r1').finally(() => {
      isAnswered = true;
    });
    disk.shift()!();
    while (movements.find(1, WITHDRAWAL, 'r1')!.status === 'pending') await nextTurn();
    await nextTurn();
    assert.deepEqual([sent.length, isAnswered, disk.length], [1, false, 1]);
    disk.shift()!();
    assert.equal(codeOf(await result), E.INSUFFICIENT_BALANCE);
  });

  test('a movement takes its room when it is sent if it is a deposit, and gives it back if it is refused', (t) => {
    const database = newDatabase(t);
    new Accounts(database).signUp(newUser(null), NOW_MS);
    const movements = new Movements(database);
    const room = (): number[] => {
      const restarted = new Movements(database);
      return [0, 5, 10].filter((micro) => {
        const hasRoom = movements.hasRoomFor(MAX_SAFE - 90 - micro);
        assert.equal(restarted.hasRoomFor(MAX_SAFE - 90 - micro), hasRoom);
        return hasRoom;
      });
    };
    const start = (kind: FundKind, amountMicro: number, reference: string, nowMs: number) =>
      movements.start({ account: 1, kind, amountMicro, reference, market: null }, nowMs);
    movements.complete(start(DEPOSIT, 100, 'a', NOW_MS));
    assert.deepEqual(room(), [10]);
    const withdrawal = start(WITHDRAWAL, 10, 'b', NOW_MS);
    assert.deepEqual(room(), [10], 'not before it has left');
    movements.complete(withdrawal);
    assert.deepEqual(room(), [0, 5, 10]);
    movements.refuse(start(WITHDRAWAL, 10, 'c', NOW_MS));
    assert.deepEqual(room(), [0, 5, 10]);
    const deposit = start(DEPOSIT, 5, 'd', NOW_MS);
    assert.deepEqual(room(), [5, 10]);
    assert.deepEqual(
      movements.pending().map(({ reference }) => reference),
      ['d'],
    );
    movements.refuse(deposit);
    assert.deepEqual(room(), [0, 5, 10]);
    assert.throws(() => movements.complete({ ...deposit, status: 'refused' }), /MOVEMENTS-2/);
    assert.equal(start(DEPOSIT, 7, 'd', NOW_MS + 1).id, deposit.id, 'the same reference, the same id');
    assert.throws(() => start(DEPOSIT, 7, 'a', NOW_MS), /MOVEMENTS-1/);
  });

  test('MOVEMENTS-3: the hash in the journal leads to id and reference, also of rows that had none', async (t) => {
    const { funding, movements, database, sent } = fundingWith(t, [OK, OK]);
    const deposit = await funding.move(1, DEPOSIT, 5, 'r1');
    const withdrawal = await funding.move(2, WITHDRAWAL, 5, 'r1');
    const hashes = sent.map((hex) => Buffer.from(hex, 'hex'));
    const [first, second] = hashes.map((hash) => movements.byHash(hash));
    assert.deepEqual([first?.id, first?.reference], [deposit.movement?.id, 'r1']);
    assert.deepEqual([second?.id, second?.reference], [withdrawal.movement?.id, 'r1']);
    assert.equal(movements.byHash(new Uint8Array(32)), undefined);
    database.exec('UPDATE movements SET reference_hash = NULL');
    assert.equal(movements.byHash(hashes[0]!), undefined);
    assert.deepEqual(new Movements(database).byHash(hashes[0]!), first);
  });

  test('deposits stop where the sum of all money would leave the safe integers', async (t) => {
    const { funding, database } = fundingWith(t, [OK, OK, OK, OK]);
    await funding.move(1, DEPOSIT, MAX_SAFE - 1, 'r1');
    assert.equal(codeOf(await funding.move(2, DEPOSIT, 2, 'r2')), E.VALIDATION_ERROR);
    assert.notEqual((await funding.move(2, DEPOSIT, 1, 'r2')).movement, null);
    assert.ok(!new Movements(database).hasRoomFor(1));
    await funding.move(1, WITHDRAWAL, 10, 'r3');
    assert.ok(new Movements(database).hasRoomFor(10));
    assert.ok(!new Movements(database).hasRoomFor(11));
  });
});

/** Movements of two accounts whose shard answers with the given codes, one after the other. */
function fundingWith(t: TestContext, codes: number[], changes?: Changes) {
  const database = newDatabase(t);
  const accounts = new Accounts(database);
  for (let count = 0; count < 2; count++) accounts.signUp(newUser(null), NOW_MS);
  const movements = new Movements(database, changes);
  /** The references that were sent. */
  const sent: string[] = [];
  const engine: FundsEngine = {
    funds: async (_account, _kind, _amountMicro, reference): Promise<FundsReply> => {
      sent.push(Buffer.from(reference).toString('hex'));
      const code = codes.shift();
      assert.notEqual(code, undefined, 'more commands were sent than expected');
      return { code: code!, a: 1, b: 2, c: 3 };
    },
  };
  return {
    database,
    movements,
    sent,
    funding: new Funding(movements, engine, new AccountStates(database), new ManualClock(NOW_MS)),
  };
}

function codeOf(result: Awaited<ReturnType<Funding['move']>>): number {
  return result.movement === null ? result.code : OK;
}
