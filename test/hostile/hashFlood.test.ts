/**
 * Attack: orders whose salts were tried until their hashes look alike, so that the shard's index of hashes puts them
 * next to each other (RULES.md 2.12). The attacker
 * is given more than it could try: two words all alike.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HashIndex } from '../../engine/book/hashIndex.ts';
import { FOR_EVER } from '../../engine/book/retention.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { EngineRig } from '../support/engineRig.ts';
import { timesOf } from '../support/seeds.ts';

const HASHES = timesOf({ suite: 20_000, soak: 2_000_000 });
const [ATTACKER, VICTIM] = [1, 2];

/** A hash that counts how often a search compares it with another. */
function counted(hash: Uint32Array): { words: Uint32Array; reads: () => number } {
  let reads = 0;
  const words = new Proxy(hash, {
    get: (target, at) => {
      reads++;
      return Reflect.get(target, at) as unknown;
    },
  });
  return { words, reads: () => reads };
}

test('an index full of hashes that look alike finds the next one as fast as the first', (t) => {
  const index = new HashIndex();
  const hash = new Uint32Array(8);
  for (let i = 0; i < HASHES; i++) {
    // Alike in the bits that a table without a key would use: the first word, and the sum of the first two.
    hash.set([77, 5, i, Math.imul(i, 0x9e3779b1)]);
    index.insert(hash, 0, ATTACKER, FOR_EVER, FOR_EVER);
  }
  let most = 0;
  for (let i = 0; i < 1000; i++) {
    const { words, reads } = counted(Uint32Array.of(77, 5, i, 1, 0, 0, 0, 0));
    index.has(words, 0);
    most = Math.max(most, reads());
  }
  t.diagnostic(`${HASHES} hashes alike: at most ${most} reads of the hash in a search`);
  assert.ok(most <= 64, `${most} reads in one search`);
  assert.equal(index.validate(), HASHES);
});

test('an account that fills the index is refused; the others trade on, and the shard never ends over it', () => {
  const rig = new EngineRig({ mostOrders: 32 });
  rig.market(0);
  for (const account of [ATTACKER, VICTIM, 3, 4]) rig.fund(account, 1_000_000_000);
  const codes = new Map<number, number>();
  for (let i = 0; i < 40; i++) {
    const { reply, hash } = rig.place({ account: ATTACKER });
    codes.set(reply.code, (codes.get(reply.code) ?? 0) + 1);
    if (reply.code === OK) rig.cancel(ATTACKER, hash);
  }
  assert.deepEqual(
    [...codes],
    [
      [OK, 16],
      [E.ORDER_CAPACITY_REACHED, 24],
    ],
  );
  const own = [1, 2, 3, 4].map(() => rig.place({ account: VICTIM }));
  assert.deepEqual(
    own.map(({ reply }) => reply.code),
    [OK, OK, OK, OK],
  );
  assert.equal(rig.place({ account: VICTIM }).reply.code, E.ORDER_CAPACITY_REACHED);
  assert.equal(rig.replace(own[0].hash, { account: VICTIM, ticks: 40 }).reply.code, E.ORDER_CAPACITY_REACHED);
  assert.equal(rig.cancel(VICTIM, own[0].hash).reply.code, OK);
  assert.equal(rig.place({ account: 3 }).reply.code, OK);
  const restarted = rig.recovered({ mostOrders: 8 });
  assert.equal(restarted.engine.state.hashes.size, 21, 'a lower bound does not keep a journal from being replayed');
  assert.equal(restarted.place({ account: 4 }).reply.code, E.ORDER_CAPACITY_REACHED);
  assert.equal(restarted.cancel(VICTIM, own[1].hash).reply.code, OK);
});
