/**
 * Attack: accounts that bury orders which nobody has placed, as many as they can, and with hashes of their choice
 * (RULES.md 7.11). Another account must still be able to cancel ahead of its order.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { CANCEL_TOMBSTONE } from '../../shared/wire/commands.ts';
import { EngineRig } from '../support/engineRig.ts';
import { timesOf } from '../support/seeds.ts';

/** Each takes all it is given; in small the shard's table is filled as far as this many can. */
const ATTACKERS = timesOf({ suite: 16, soak: 400 });
const VICTIM = 1;

test('accounts that fill a shard with tombstones leave room for those of others, and all of them hold', () => {
  const rig = new EngineRig();
  rig.market(0);
  rig.fund(VICTIM, 1_000_000_000);
  const { tombstones } = rig.engine.state;
  const hash = new Uint32Array(8);
  for (let account = 2; account < 2 + ATTACKERS; account++) {
    // Straight to the shard's own table: the rig checks the whole shard after each command.
    while (tombstones.hasRoom(account, rig.nowMs)) {
      // All of them have the same first words.
      hash.set([1, ++hash[1], account]);
      tombstones.add(account, hash, 0, rig.nowMs);
    }
    const bury = rig.cancel(
      account,
      Uint32Array.of(9, 9, 9, 9, 9, 9, 9, account),
      CLOSE_REASON.USER | CANCEL_TOMBSTONE,
    );
    assert.equal(bury.reply.code, E.ENGINE_BUSY);
  }
  assert.ok(tombstones.size < 65_536);
  const order = { account: VICTIM, salt: 77 };
  const { hash: own } = new EngineRig().place(order);
  assert.equal(rig.cancel(VICTIM, own, CLOSE_REASON.USER | CANCEL_TOMBSTONE).reply.code, OK);
  assert.equal(rig.place(order).reply.code, E.ORDER_TOMBSTONED);
  assert.equal(rig.place({ account: VICTIM }).reply.code, OK);
  tombstones.validate();
});
