/** Deposits of full sets, which an account has made of USDC outside the ledger (RULES.md 17.20). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MARKET_STATUS, OUTCOME } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { PPM } from '../../../../shared/base/payout.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { EngineRig } from '../../../support/engineRig.ts';

const ALICE = 1;
const SETS = 1_234_567;

function tokensOf(rig: EngineRig, account: number): number[] {
  const { ledger } = rig.engine.state;
  return [OUTCOME.YES, OUTCOME.NO].map((outcome) => ledger.availableTokens(account, 0, outcome));
}

function rigWithMarket(): EngineRig {
  const rig = new EngineRig();
  rig.market(0);
  return rig;
}

describe('a deposit of full sets', () => {
  it('gives as many tokens of both outcomes, locks the USDC, and leaves none to spend', () => {
    const rig = rigWithMarket();
    const { reply, types } = rig.fundSets(ALICE, 0, SETS);
    assert.equal(reply.code, OK);
    const { ledger, markets, totals } = rig.engine.state;
    assert.deepEqual(tokensOf(rig, ALICE), [SETS, SETS]);
    assert.equal(ledger.availableMicro(ALICE), 0);
    assert.equal(markets.peek(0)!.collateralMicro, SETS);
    assert.equal(totals.depositedMicro, SETS);
    assert.equal(types.filter((type) => type === EVENT.FUNDS.TYPE).length, 2, 'a deposit, and what became of it');
  });

  it('is carried out once, also when the market is decided in between', () => {
    const rig = rigWithMarket();
    rig.fundSets(ALICE, 0, SETS, 77);
    assert.equal(rig.fundSets(ALICE, 0, SETS, 77).reply.code, OK);
    assert.deepEqual(tokensOf(rig, ALICE), [SETS, SETS]);
    rig.resolve(0, PPM);
    assert.equal(rig.fundSets(ALICE, 0, SETS, 77).reply.code, OK);
    assert.equal(rig.engine.state.totals.depositedMicro, SETS);
  });

  it('is bound neither to lots nor to the hours of trading, but to a market that is not decided', () => {
    const rig = rigWithMarket();
    rig.patch(0, { status: MARKET_STATUS.LOCKED });
    assert.equal(rig.fundSets(ALICE, 0, 1).reply.code, OK);
    assert.equal(rig.fundSets(ALICE, 5, 1).reply.code, E.MARKET_NOT_FOUND);
    rig.resolve(0, PPM);
    assert.equal(rig.fundSets(ALICE, 0, 1).reply.code, E.MARKET_NOT_ACTIVE);
    assert.deepEqual(tokensOf(rig, ALICE), [1, 1]);
  });
});
