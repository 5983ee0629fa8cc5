/** The floor under the nonces that a wallet signs its orders with (RULES.md 5.12). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { E, OK } from '../../../shared/base/errors.ts';
import { COMMAND, ORDER_NONCE_KEPT } from '../../../shared/wire/commands.ts';
import { stateOf } from '../../support/engine.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

const WALLET = 11;
const OTHER = 12;

describe('a floor', () => {
  it('refuses an order below it with the floor, and takes one at it and above', () => {
    const x = new Scenario();
    x.nonceFloor(ALICE, WALLET, 5);
    const below = x.place({ account: ALICE, lots: 5, wallet: WALLET, nonce: 4 });
    assert.deepEqual([below.reply.code, below.reply.a], [E.NONCE_BELOW_FLOOR, 5]);
    for (const nonce of [5, 6, 2 ** 53 - 1])
      assert.equal(x.place({ account: ALICE, lots: 5, wallet: WALLET, nonce }).reply.code, OK);
  });

  it('applies to one wallet of one account: other wallets, of this account or others, are not affected', () => {
    const x = new Scenario();
    x.nonceFloor(ALICE, WALLET, 5);
    assert.equal(x.place({ account: ALICE, lots: 5, wallet: OTHER, nonce: 0 }).reply.code, OK);
    assert.equal(x.place({ account: BOB, lots: 5, wallet: WALLET, nonce: 0 }).reply.code, OK);
  });

  it('closes what rests below it, oldest first, says how many, and leaves the others their turn', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 30', { wallet: WALLET, nonce: 0 });
    x.order(ALICE, 'SELL No 2 @ 40', { wallet: WALLET, nonce: 3 });
    x.order(ALICE, 'BUY Yes 3 @ 30', { wallet: WALLET, nonce: 4 });
    x.order(ALICE, 'BUY Yes 4 @ 30', { wallet: OTHER, nonce: 0 });
    const raised = x.nonceFloor(ALICE, WALLET, 4);
    assert.deepEqual(x.tell(raised), ['alice nonce_floor 1 left', 'alice nonce_floor 2 left']);
    assert.equal(raised.reply.a, 2);
    assert.deepEqual(x.drawn(), ['bid 30  alice 3 Yes, alice 4 Yes']);
  });

  it('closes a dormant order below it too', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 30', { wallet: WALLET, nonce: 0 });
    x.patch(0, { feeBps: 20 });
    assert.deepEqual(x.tell(x.nonceFloor(ALICE, WALLET, 1)), ['alice nonce_floor 1 left']);
    assert.equal(x.moved(ALICE), 'nothing');
  });

  it('never sinks, and a repeat is answered and leaves no record', () => {
    const x = new Scenario();
    x.nonceFloor(ALICE, WALLET, 5);
    const { sequence } = x.engine;
    for (const floor of [5, 4, 1]) assert.equal(x.nonceFloor(ALICE, WALLET, floor).reply.code, OK);
    assert.equal(x.engine.sequence, sequence);
    assert.equal(x.place({ account: ALICE, lots: 5, wallet: WALLET, nonce: 4 }).reply.code, E.NONCE_BELOW_FLOOR);
    assert.equal(x.nonceFloor(ALICE, WALLET, 0).reply.code, E.VALIDATION_ERROR);
    assert.equal(x.nonceFloor(ALICE, WALLET, 2 ** 53).reply.code, E.VALIDATION_ERROR);
  });

  it('refuses a replacement below it, and the order that was to give way stays', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30', { wallet: WALLET, nonce: 7 });
    x.nonceFloor(ALICE, WALLET, 5);
    const options = { account: ALICE, lots: 4, ticks: 30, wallet: WALLET };
    assert.equal(x.amend(x.lastHash, { ...options, nonce: 4 }).reply.code, E.NONCE_BELOW_FLOOR);
    assert.deepEqual(x.drawn(), ['bid 30  alice 5 Yes']);
    assert.equal(x.amend(x.lastHash, { ...options, nonce: 5 }).reply.code, OK);
    assert.deepEqual(x.tell(x.nonceFloor(ALICE, WALLET, 6)), ['alice nonce_floor 4 left'], 'it has the new nonce');
  });

  it('replays to the same state, and two states with other floors differ', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 30', { wallet: WALLET, nonce: 0 });
    x.nonceFloor(ALICE, WALLET, 5);
    x.order(ALICE, 'BUY Yes 1 @ 30', { wallet: WALLET, nonce: 5 });
    x.nonceFloor(ALICE, OTHER, 3);
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
    const digests = [5, 6].map((floor) => {
      const other = new Scenario();
      other.nonceFloor(ALICE, WALLET, floor);
      const lanes = new Uint32Array(2);
      other.engine.state.writeDigest(lanes, 0);
      return lanes.join();
    });
    assert.notEqual(digests[0], digests[1]);
  });

  it('counts orders of journals from before nonces were kept as signed with 0, by any wallet of the account', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 30', { wallet: WALLET, nonce: 9 });
    for (const { command } of x.journal.rows) {
      const type = command.words[command.word + COMMAND.PLACE.type] & 0xffff;
      if (type === COMMAND.PLACE.TYPE) command.words[command.word + COMMAND.PLACE.flags] &= ~ORDER_NONCE_KEPT;
    }
    const later = x.recovered();
    assert.equal(later.nonceFloor(ALICE, OTHER, 1).reply.a, 1);
    assert.deepEqual(stateOf(later.replayed()), stateOf(later.engine));
  });
});
