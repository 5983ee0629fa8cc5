/** Fees of movements on a chain (RULES.md 17.50), in the ledger. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FEE_ACCOUNT, MOVEMENT } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { MOST_MOVEMENT_FEE_MICRO } from '../../../../shared/base/movementFee.ts';
import { withFee } from '../../../../shared/wire/commands.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { EngineRig } from '../../../support/engineRig.ts';

const ALICE = 1;
const FEE = 25_000;
const UNIT = 1_000_000;
const { SPLIT, MERGE, WITHDRAWAL } = MOVEMENT;

function rigWith(micro: number): EngineRig {
  const rig = new EngineRig();
  rig.market(0);
  rig.fund(ALICE, micro);
  return rig;
}

const has = (rig: EngineRig): number[] => [ALICE, FEE_ACCOUNT].map((of) => rig.engine.state.ledger.availableMicro(of));

describe('a movement with a fee', () => {
  it('costs the account its fee beside the amount, which the fee account has', () => {
    const rig = rigWith(10 * UNIT);
    const { reply, types } = rig.convert(ALICE, 0, 4 * UNIT, withFee(SPLIT, FEE));
    assert.equal(reply.code, OK);
    assert.deepEqual(has(rig), [6 * UNIT - FEE, FEE]);
    assert.equal(types.filter((type) => type === EVENT.FUNDS.TYPE).length, 2, 'the split, and its fee');
    assert.equal(rig.convert(ALICE, 0, UNIT, withFee(MERGE, FEE)).reply.code, OK);
    assert.deepEqual(has(rig), [7 * UNIT - 2 * FEE, 2 * FEE]);
    assert.equal(rig.fund(ALICE, 2 * UNIT, withFee(WITHDRAWAL, FEE), 9).reply.code, OK);
    assert.equal(rig.fund(ALICE, 2 * UNIT, withFee(WITHDRAWAL, FEE), 9).reply.code, OK, 'a repeat');
    assert.deepEqual(has(rig), [5 * UNIT - 3 * FEE, 3 * FEE]);
    assert.equal(rig.engine.state.totals.withdrawnMicro, 2 * UNIT, 'a fee is no withdrawal');
  });

  it('is answered again by its reference, also if the repeat names a market that there is not', () => {
    const rig = rigWith(0);
    const reference = new Uint8Array(32).fill(7);
    const move = (market?: number) => rig.move(ALICE, MOVEMENT.DEPOSIT, UNIT, reference, market).reply.code;
    assert.equal(move(99), E.MARKET_NOT_FOUND);
    assert.deepEqual([move(), move(99), move()], [OK, OK, OK]);
    assert.equal(has(rig)[0], UNIT, 'it is credited once');
  });

  it('is refused as a whole where the account has the amount and not the fee', () => {
    for (const micro of [UNIT + FEE - 1, UNIT + FEE]) {
      const isCovered = micro === UNIT + FEE;
      const expected = [isCovered ? OK : E.INSUFFICIENT_BALANCE, isCovered ? [0, FEE] : [micro, 0]];
      const [out, split] = [rigWith(micro), rigWith(micro)];
      assert.deepEqual([out.fund(ALICE, UNIT, withFee(WITHDRAWAL, FEE), 9).reply.code, has(out)], expected);
      const reply = split.convert(ALICE, 0, UNIT, withFee(SPLIT, FEE)).reply;
      assert.deepEqual([reply.code, has(split)], expected);
      if (!isCovered) assert.deepEqual([reply.a, reply.b], [UNIT + FEE, micro]);
    }
  });

  it('of a merge is paid by what the sets bring, and beyond that by what was there', () => {
    const rig = rigWith(UNIT + 1);
    rig.convert(ALICE, 0, UNIT);
    const most = withFee(MERGE, MOST_MOVEMENT_FEE_MICRO);
    assert.equal(rig.convert(ALICE, 0, UNIT - 2, most).reply.code, E.INSUFFICIENT_BALANCE);
    assert.equal(rig.convert(ALICE, 0, UNIT - 1, most).reply.code, OK);
    assert.deepEqual(has(rig), [0, UNIT]);
  });

  it('has no more than the contract takes', () => {
    assert.throws(() => withFee(SPLIT, MOST_MOVEMENT_FEE_MICRO + 1), /COMMAND-1/);
    assert.throws(() => withFee(SPLIT, -1), /COMMAND-1/);
  });
});
