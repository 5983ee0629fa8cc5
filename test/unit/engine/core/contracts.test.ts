/** A change of the contracts orders are signed for (RULES.md 5.6). */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CLOSE_REASON } from '../../../../shared/base/codes.ts';
import { ADDRESS_BYTES, toHex, tryParseHex } from '../../../../shared/base/hex.ts';
import { orderDigest } from '../../../../shared/crypto/eip712.ts';
import { decodeEvents, EVENT } from '../../../../shared/wire/events.ts';
import { DOMAIN, errorKey, stateOf } from '../../../support/engine.ts';
import { closedOf, type EngineRig } from '../../../support/engineRig.ts';
import { ALICE, BOB, Scenario } from '../../../support/scenario.ts';

const CHAIN = 80_002;
const NEXT = new Uint8Array(ADDRESS_BYTES).fill(0xab);

/** The hash that the engine gives an order, against which its signature is checked. */
function hashOf(rig: EngineRig, salt: number): string {
  return toHex(new Uint8Array(rig.place({ account: ALICE, lots: 1, ticks: 10, salt }).hash.buffer));
}

function expectedHash(salt: number, chainId: number, verifyingContract: string): string {
  const zero = `0x${'00'.repeat(ADDRESS_BYTES)}`;
  // The rig writes a salt into the first word of its 32 bytes.
  const saltBytes = Buffer.alloc(32);
  saltBytes.writeUInt32LE(salt);
  const order = {
    salt: BigInt(toHex(saltBytes)).toString(),
    maker: zero,
    signer: zero,
    tokenId: '0',
    makerAmount: 10,
    takerAmount: 100,
  };
  return orderDigest(
    { ...order, expirationSec: 0, nonce: 0, feeRateBps: 50, minTakerNet: 0, side: 0 },
    { ...DOMAIN, chainId, verifyingContract },
  );
}

it('voids every open order, dormant ones too, and hashes the next order for the new contracts', () => {
  const x = new Scenario();
  x.order(ALICE, 'BUY Yes 5 @ 40');
  x.patch(0, { feeBps: 20 });
  x.order(BOB, 'BUY No 5 @ 30', { feeBps: 20 });
  const outcome = x.contracts(CHAIN, NEXT);
  assert.deepEqual(
    closedOf(outcome).map(({ reason }) => reason),
    [CLOSE_REASON.ADMIN, CLOSE_REASON.ADMIN],
  );
  assert.equal(outcome.reply.a, 2);
  assert.ok(outcome.types.includes(EVENT.CONTRACTS.TYPE));
  assert.deepEqual(x.drawn(), []);
  x.patch(0, { feeBps: 50 });
  assert.equal(hashOf(x, 900), expectedHash(900, CHAIN, toHex(NEXT)));
});

it('does nothing when the contracts are those already, given at the start or changed to', () => {
  const x = new Scenario();
  const rows = x.journal.rows.length;
  const present = new Uint8Array(ADDRESS_BYTES);
  assert.ok(tryParseHex(DOMAIN.verifyingContract, ADDRESS_BYTES, present, 0));
  assert.equal(errorKey(x.contracts(DOMAIN.chainId, present).reply.code), 'OK');
  assert.equal(x.journal.rows.length, rows);
  x.contracts(CHAIN, NEXT);
  x.order(ALICE, 'BUY Yes 5 @ 40');
  assert.equal(errorKey(x.contracts(CHAIN, NEXT).reply.code), 'OK');
  assert.equal(x.journal.rows.length, rows + 2);
  assert.deepEqual(x.drawn(), ['bid 40  alice 5 Yes']);
  assert.equal(errorKey(x.contracts(0, NEXT).reply.code), 'VALIDATION_ERROR');
});

it('the latest ones hold after a replay, whatever the shard was started with', () => {
  const x = new Scenario();
  x.contracts(1, NEXT);
  x.contracts(CHAIN, NEXT);
  assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
  const again = x.recovered();
  assert.equal(hashOf(again, 901), expectedHash(901, CHAIN, toHex(NEXT)));
});

it('a shard that describes itself names the contracts once they have changed, and not before', () => {
  const x = new Scenario();
  const described = (): { chainId: number }[] => {
    const found: { chainId: number }[] = [];
    x.engine.describe(() => {
      const { out } = x.engine;
      for (const event of decodeEvents(out.words, 0, out.lengthBytes >>> 2)) {
        if (event.name === 'CONTRACTS') found.push({ chainId: event.chainId });
      }
      out.clear();
    });
    return found;
  };
  assert.deepEqual(described(), []);
  x.contracts(CHAIN, NEXT);
  assert.deepEqual(described(), [{ chainId: CHAIN }]);
});
