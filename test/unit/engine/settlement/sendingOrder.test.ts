/** The order in which pending work is sent (engine/settlement/sendingOrder.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendingOrder } from '../../../../engine/settlement/sendingOrder.ts';
import { KIND, type Work } from '../../../../engine/settlement/work.ts';
import { FEE_ACCOUNT } from '../../../../shared/base/codes.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

type Given = Pick<Work, 'kind' | 'account'> & { readonly taker_account?: number };

function works(given: readonly Given[]): Work[] {
  return given.map((each, id) => ({ taker_account: null, ...each, id }) as Work);
}

const idsOf = (sent: readonly Work[]): number[] => sent.map(({ id }) => id);
const trade = (account: number, taker: number): Given => ({ kind: KIND.TRADE, account, taker_account: taker });
const split = (account: number): Given => ({ kind: KIND.SPLIT, account });

test('trades go before splits and merges of others, and not before those of their own parties', () => {
  const pending = works([split(7), { kind: KIND.MERGE, account: 8 }, trade(1, 2), trade(3, 7), trade(1, 2)]);
  assert.deepEqual(idsOf(sendingOrder(pending)), [2, 4, 0, 1, 3]);
});

test('a trade that waits for a split has the later trades of both its parties wait', () => {
  const pending = works([split(7), trade(7, 1), trade(1, 2), trade(2, 3), trade(4, 5)]);
  assert.deepEqual(idsOf(sendingOrder(pending)), [4, 0, 1, 2, 3]);
});

test('a claim waits for what its account waits for, and one of the fees for everything that pays some', () => {
  const claims = [7, FEE_ACCOUNT, 1].map((account): Given => ({ kind: KIND.CLAIM, account }));
  assert.deepEqual(idsOf(sendingOrder(works([split(7), ...claims]))), [3, 0, 1, 2]);
  assert.deepEqual(idsOf(sendingOrder(works(claims))), [0, 1, 2]);
});

test('nothing goes before a move of funds to another contract that was behind it', () => {
  const pending = works([split(7), trade(1, 2), { kind: KIND.MOVE, account: 1 }, trade(3, 4), split(5), trade(1, 2)]);
  assert.deepEqual(idsOf(sendingOrder(pending)), [1, 0, 2, 3, 4, 5]);
});

test('each account keeps its order, nothing is lost, and no trade waits without a reason', () => {
  const first = seedOr(1);
  for (let seed = first; seed < first + timesOf({ suite: 50, soak: 5000 }); seed++) {
    const random = new Random(seed);
    const account = (): number => random.below(12);
    const pending = works(
      Array.from({ length: random.below(60) }, (): Given => {
        const kind = random.pick([KIND.TRADE, KIND.TRADE, KIND.TRADE, KIND.SPLIT, KIND.MERGE, KIND.CLAIM, KIND.MOVE]);
        return kind === KIND.TRADE ? trade(account(), account()) : { kind, account: account() };
      }),
    );
    const sent = sendingOrder(pending);
    const ascending = (of: readonly Work[]): number[] => idsOf(of).sort((a, b) => a - b);
    assert.deepEqual(ascending(sent), idsOf(pending), `seed ${seed}`);
    for (let of = 0; of < 12; of++) {
      const own = sent.filter((work) => work.account === of || work.taker_account === of);
      assert.deepEqual(idsOf(own), ascending(own), `account ${of}, seed ${seed}`);
    }
    const firstMove = pending.findIndex(({ kind }) => kind === KIND.MOVE);
    const tied = new Set<number>();
    const untied = pending.slice(0, firstMove === -1 ? undefined : firstMove).filter((work) => {
      const parties = [work.account, work.taker_account ?? work.account];
      const isTied = work.kind === KIND.SPLIT || work.kind === KIND.MERGE || parties.some((party) => tied.has(party));
      if (isTied) for (const party of [...parties, FEE_ACCOUNT]) tied.add(party);
      return !isTied;
    });
    assert.deepEqual(idsOf(sent.slice(0, untied.length)), idsOf(untied), `seed ${seed}`);
  }
});
