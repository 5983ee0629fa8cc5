/** A shard that has forgotten hashes decides as one that has not, and names what it may have forgotten. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UNREADABLE } from '../../../../engine/book/acceptedHashes.ts';
import { checkInvariants } from '../../../../engine/core/invariants.ts';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { CLOSE_REASON, MARKET_STATUS, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { hashStartOf, isWronglySigned } from '../../../../shared/wire/hashStart.ts';
import { EngineRig } from '../../../support/engineRig.ts';

const HOUR_MS = 3_600_000;
const ALICE = 1;

function rig(verifier?: Verifier): EngineRig {
  const x = new EngineRig(verifier && { verifier });
  for (const market of [0, 1]) x.market(market);
  x.fund(ALICE, 1_000_000_000);
  return x;
}

/** Forgets whatever may be, at once. */
function forget({ engine }: EngineRig): number {
  engine.state.hashes.sweep(1e9);
  checkInvariants(engine.state);
  return engine.state.hashes.size;
}

function digestOf(state: EngineRig['engine']['state']): number[] {
  const lanes = new Uint32Array(2);
  state.writeDigest(lanes, 0);
  return [...lanes];
}

describe('a shard', () => {
  it('forgets the orders of a decided market, and says of a repeat which order it may have been', () => {
    const x = rig();
    const gone = { account: ALICE, market: 0, salt: 70 };
    const { hash, reply } = x.place(gone);
    x.place({ account: ALICE, market: 1, salt: 71 });
    assert.equal(reply.code, OK);
    assert.equal(x.place(gone).reply.code, E.DUPLICATE_ORDER);
    x.patch(0, { status: MARKET_STATUS.LOCKED });
    assert.equal(forget(x), 2, 'a locked market may open again');
    assert.equal(x.place(gone).reply.code, E.DUPLICATE_ORDER);
    const before = digestOf(x.engine.state);
    x.resolve(0, 1_000_000);
    assert.equal(forget(x), 1);
    assert.notDeepEqual(digestOf(x.engine.state), before);
    assert.deepEqual(digestOf(x.replayed().state), digestOf(x.engine.state));
    const again = x.place(gone).reply;
    assert.equal(again.code, E.MARKET_NOT_ACTIVE);
    const start = hashStartOf(again)!;
    assert.deepEqual(start, new Uint8Array(hash.buffer, hash.byteOffset, start.length));
    assert.equal(hashStartOf(x.place({ ...gone, authorized: false }).reply), null, 'a stranger has nothing to ask');
  });

  it('says of an order of a decided market that its signature is wrong, and names nothing then', () => {
    const signature = { holds: true };
    const x = rig({ name: 'noble', verify: () => signature.holds });
    const order = { account: ALICE, market: 0, salt: 70 };
    x.resolve(0, 1_000_000);
    assert.equal(isWronglySigned(x.place(order).reply), false);
    signature.holds = false;
    const { reply } = x.place(order);
    assert.equal(reply.code, E.MARKET_NOT_ACTIVE);
    assert.deepEqual([isWronglySigned(reply), hashStartOf(reply)], [true, null]);
    assert.equal(isWronglySigned(x.place({ ...order, market: 1 }).reply), true, 'as in a market that trades');
  });

  it('forgets an order of an open market once its expiration has passed by the time of a later order', () => {
    const x = rig();
    const expirationSec = x.nowMs / 1000 + 600;
    const gone = { account: ALICE, salt: 70, timeInForce: TIME_IN_FORCE.GTD, expirationSec };
    const { hash } = x.place(gone);
    x.nowMs += 2 * HOUR_MS;
    assert.equal(forget(x), 1, 'no order has come since');
    x.place({ account: ALICE, salt: 71 });
    assert.equal(forget(x), 1);
    const again = x.place(gone).reply;
    assert.equal(again.code, E.ORDER_EXPIRED);
    const start = hashStartOf(again)!;
    assert.deepEqual(start, new Uint8Array(hash.buffer, hash.byteOffset, start.length));
    assert.equal(x.cancel(ALICE, hash).reply.code, E.ORDER_NOT_FOUND, 'history says what became of it');
    const { engine } = x.recovered();
    assert.deepEqual(digestOf(engine.state), digestOf(x.engine.state));
  });

  it('refuses an order for now of which it cannot read whether it was accepted, and names it; cancels go on', () => {
    const x = rig();
    const order = { account: ALICE, salt: 70 };
    const { hash } = x.place(order);
    const open = x.place({ account: ALICE, salt: 71 });
    const { hashes } = x.engine.state;
    hashes.retire();
    const damaged = { named: hashes.spilled.named, takeDamage: () => [], close: () => undefined };
    hashes.adopt({ ...damaged, mayHave: () => true, accountOf: () => UNREADABLE }, true);
    const before = digestOf(x.engine.state);
    const again = x.place(order).reply;
    assert.equal(again.code, E.ENGINE_BUSY);
    const start = hashStartOf(again)!;
    assert.deepEqual(start, new Uint8Array(hash.buffer, hash.byteOffset, start.length));
    assert.equal(hashStartOf(x.place({ ...order, authorized: false }).reply), null, 'a stranger has nothing to ask');
    assert.deepEqual(digestOf(x.engine.state), before);
    assert.equal(x.cancel(ALICE, open.hash).reply.code, OK);
    assert.equal(x.cancel(ALICE, open.hash).reply.code, E.ORDER_NOT_FOUND, 'history says what became of it');
    assert.equal(x.replace(open.hash, order).reply.code, E.ENGINE_BUSY);
  });

  it('replays its tombstone for a forgotten order alike whether or not the order is remembered', () => {
    const x = rig();
    const { hash } = x.place({ account: ALICE, market: 0, salt: 70 });
    x.resolve(0, 0);
    forget(x);
    const tombstone = CLOSE_REASON.USER | 0x100;
    assert.equal(x.cancel(ALICE, hash, tombstone).reply.code, OK);
    const twin = x.replayed();
    assert.ok(twin.state.tombstones.size === 1 && x.engine.state.tombstones.size === 1);
    assert.deepEqual(digestOf(twin.state), digestOf(x.engine.state));
  });
});
