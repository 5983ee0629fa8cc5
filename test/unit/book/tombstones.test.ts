/** Cancels that beat their order (RULES.md 7.11). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CLOSE_REASON, MARKET_STATUS } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { CANCEL_TOMBSTONE } from '../../../shared/wire/commands.ts';
import { EVENT } from '../../../shared/wire/events.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import type { CommandResult } from '../../support/engineRig.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

const MINUTE_MS = 60_000;
const ORDER = { account: ALICE, lots: 10, ticks: 40, salt: 1_000_001 };

/** The hash of ORDER, from a world where it came. */
const HASH = new Scenario().place(ORDER).hash;

function bury(x: Scenario, hash = HASH, account = ALICE): CommandResult {
  return x.cancel(account, hash, CLOSE_REASON.USER | CANCEL_TOMBSTONE);
}

const code = (outcome: CommandResult): string => errorKey(outcome.reply.code);

describe('a cancel that leaves a tombstone', () => {
  it('says until when, and its order is refused until exactly then', () => {
    const x = new Scenario();
    const { reply, types } = bury(x);
    assert.deepEqual(types, [EVENT.RECORD.TYPE, EVENT.TOMBSTONE.TYPE, EVENT.REPLY.TYPE]);
    assert.equal(reply.a, x.nowMs + MINUTE_MS);
    x.nowMs += MINUTE_MS - 1;
    assert.equal(code(x.place(ORDER)), 'ORDER_TOMBSTONED');
    x.nowMs += 1;
    assert.equal(x.place(ORDER).reply.code, OK);
  });

  it('holds for a replacement as well, whose old order stays', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30');
    bury(x);
    assert.equal(code(x.replace(x.lastHash, ORDER)), 'ORDER_TOMBSTONED');
    assert.deepEqual(x.drawn(), ['bid 30  alice 5 Yes']);
  });

  it('is for the account that cancelled', () => {
    const x = new Scenario();
    bury(x, HASH, BOB);
    assert.equal(x.place(ORDER).reply.code, OK);
  });

  it('counts anew from the last one', () => {
    const x = new Scenario();
    bury(x);
    x.nowMs += MINUTE_MS - 1;
    assert.equal(bury(x).reply.a, x.nowMs + MINUTE_MS);
    x.nowMs += MINUTE_MS - 1;
    assert.equal(code(x.place(ORDER)), 'ORDER_TOMBSTONED');
  });

  it('cancels an order that is there, and leaves none', () => {
    const x = new Scenario();
    x.place(ORDER);
    const { reply, events } = bury(x);
    assert.deepEqual([reply.code, reply.a, events.length], [OK, 0, 1]);
    assert.equal(code(bury(x)), 'ORDER_NOT_CANCELLABLE');
    assert.equal(x.engine.state.tombstones.size, 0);
  });

  it('reveals nothing to a stranger: the order of another account looks like one that never came', () => {
    const x = new Scenario();
    x.place(ORDER);
    const { types } = bury(x, HASH, BOB);
    assert.deepEqual(types, [EVENT.RECORD.TYPE, EVENT.TOMBSTONE.TYPE, EVENT.REPLY.TYPE]);
    assert.deepEqual(x.drawn(), ['bid 40  alice 10 Yes']);
  });

  it('is there again after a restart, whose clock goes on', () => {
    const x = new Scenario();
    bury(x);
    x.nowMs += 1000;
    const after = x.recovered();
    assert.equal(code(after.place(ORDER)), 'ORDER_TOMBSTONED');
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
    after.nowMs += MINUTE_MS;
    assert.equal(after.place(ORDER).reply.code, OK);
  });

  it('comes behind the duplicate and before the state of the market', () => {
    const x = new Scenario();
    bury(x);
    x.patch(0, { status: MARKET_STATUS.LOCKED });
    assert.equal(code(x.place(ORDER)), 'ORDER_TOMBSTONED');
    x.patch(0, { status: MARKET_STATUS.ACTIVE });
    x.nowMs += MINUTE_MS;
    x.place(ORDER);
    assert.equal(code(x.place(ORDER)), 'DUPLICATE_ORDER');
  });
});

describe('the memory of tombstones', () => {
  it('is bounded for each account, and ended entries make room', () => {
    const x = new Scenario();
    const hash = Uint32Array.from(HASH);
    for (let i = 0; i < 4096; i++) {
      hash[0] = i;
      // Straight to the engine's own table: a check of the whole shard after each would take minutes.
      x.engine.state.tombstones.add(ALICE, hash, 0, x.nowMs);
    }
    assert.equal(code(bury(x)), 'ENGINE_BUSY');
    assert.equal(bury(x, HASH, BOB).reply.code, OK, 'another account has its own');
    x.nowMs += MINUTE_MS;
    assert.equal(bury(x).reply.code, OK);
    assert.equal(x.engine.state.tombstones.size, 1, 'what is over is gone');
  });

  it('is shared: the less the others leave, the less an account may have', () => {
    const x = new Scenario();
    const { tombstones } = x.engine.state;
    const hash = Uint32Array.from(HASH);
    const fill = (account: number): number => {
      for (let own = 0; ; own++, hash[0]++) {
        if (!tombstones.hasRoom(account, x.nowMs)) return own;
        tombstones.add(account, hash, 0, x.nowMs);
      }
    };
    assert.deepEqual([fill(11), fill(12), fill(13)], [4096, 3375, 2848]);
    for (let account = 14; account < 27; account++) fill(account);
    assert.equal(fill(100), 747, 'what sixteen accounts leave for another');
    for (let account = 101; tombstones.size < 61_440; account++) fill(account);
    assert.equal(fill(10_000), 1, 'a last one for everybody');
    tombstones.validate();
    x.nowMs += MINUTE_MS;
    assert.ok(tombstones.hasRoom(11, x.nowMs), 'what is over counts for nothing');
    tombstones.validate();
    assert.equal(tombstones.add(11, hash, 0, x.nowMs), x.nowMs + MINUTE_MS);
    assert.equal(tombstones.size, 1);
    tombstones.validate();
  });

  it('is part of the digest, and leaves no trace there once removed', () => {
    const other = Uint32Array.from(HASH).reverse();
    const digestOf = (buriesFirst: boolean): number[] => {
      const x = new Scenario();
      if (buriesFirst) bury(x);
      x.nowMs += MINUTE_MS;
      bury(x, other);
      const { low, high } = x.engine.state.digest;
      return [low, high];
    };
    assert.deepEqual(digestOf(true), digestOf(false));
    const x = new Scenario();
    const { low, high } = x.engine.state.digest;
    bury(x);
    assert.notDeepEqual([x.engine.state.digest.low, x.engine.state.digest.high], [low, high]);
  });
});
