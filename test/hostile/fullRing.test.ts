/** Attack: accounts send more orders than their shard can decide, so that the orders of others wait (RULES.md 5.9). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PlacementShares } from '../../gateway/shardlink/placementShares.ts';
import { SIDE } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ClientRig } from '../support/clientRig.ts';

const MOST = 64;
/** The largest batch of orders. */
const BATCH = 15;

async function startRig(t: TestContext) {
  const rig = new ClientRig(t, { waitingPlacements: MOST });
  await rig.start();
  const replies: number[] = [];
  const onReply = ({ code }: { readonly code: number }): void => void replies.push(code);
  /** Sends orders of the account until one is refused. @returns how many were sent. */
  const flood = (account: number, most = 1000): number => {
    for (let sent = 0; sent < most; sent++) {
      const code = rig.client.place(0, account, 0, rig.writer(SIDE.BUY, 1), onReply, null);
      if (code === OK) continue;
      assert.equal(code, E.ENGINE_BUSY);
      return sent;
    }
    return most;
  };
  return { rig, flood, replies };
}

test('one account gets half of the room, the next half of what is left, and each still finds some', async (t) => {
  const { flood } = await startRig(t);
  assert.deepEqual([flood(2), flood(3), flood(4)], [MOST / 2, MOST / 4, BATCH + 1]);
  assert.equal(flood(1, BATCH), BATCH, 'a whole batch of an account that had nothing waiting');
});

test('what the shard has decided no longer counts, accepted or refused', async (t) => {
  const { rig, flood, replies } = await startRig(t);
  for (let round = 0; round < 3; round++) {
    assert.equal(flood(2), MOST / 2);
    rig.step();
    while (replies.length < (MOST / 2) * (round + 1)) await new Promise(setImmediate);
  }
});

test('cancels are never refused over a share, and shards do not share', async (t) => {
  const { rig, flood } = await startRig(t);
  flood(2);
  const hash = new Uint32Array(8).fill(7);
  assert.equal(
    rig.client.cancel(0, 2, hash, () => {}, null),
    OK,
  );
  assert.equal(
    rig.client.cancelAll(2, () => {}, null),
    OK,
  );
  assert.equal(
    rig.client.place(1, 2, 1, rig.writer(SIDE.BUY, 1), () => {}, null),
    OK,
  );
});

test('a lost shard gives every share back', async (t) => {
  const { rig, flood, replies } = await startRig(t);
  flood(2);
  rig.link.shardLost(0);
  assert.equal(replies.length, MOST / 2);
  assert.ok(replies.every((code) => code === E.OUTCOME_UNKNOWN));
});

const replyOf = (code: number) => ({ code, a: 0, b: 0, c: 0 });

test('an account with a wrong signature has one order checked at a time, until one is accepted (SHARES-3)', () => {
  const shares = new PlacementShares(MOST);
  const waitingAfter = (code: number): number => {
    shares.add(2);
    shares.remove(2, replyOf(code));
    let waiting = 0;
    while (shares.admits(2)) {
      shares.add(2);
      waiting++;
    }
    for (let left = waiting; left > 0; left--) shares.remove(2, replyOf(E.OUTCOME_UNKNOWN));
    return waiting;
  };
  assert.equal(waitingAfter(E.INSUFFICIENT_BALANCE), MOST / 2);
  assert.equal(waitingAfter(E.INVALID_SIGNATURE), 1);
  assert.ok(shares.admits(3), 'others have their share');
  assert.equal(waitingAfter(E.INSUFFICIENT_BALANCE), 1, 'another refusal says nothing of its signatures');
  assert.equal(waitingAfter(OK), MOST / 2);
  const ofNative = new PlacementShares(4096);
  ofNative.add(2);
  ofNative.remove(2, replyOf(E.INVALID_SIGNATURE));
  for (let sent = 0; sent < 64; sent++) {
    assert.ok(ofNative.admits(2));
    ofNative.add(2);
  }
  assert.ok(!ofNative.admits(2));
});
