/** Refuses an exchange contract to which the funds cannot move now (RULES.md 17.36). */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import { ChainDown, ChainRefused } from '../shardlink/settlementLink.ts';

export async function refuseSuccessor(
  next: string,
  settlementFacts: Pick<SettlementFacts, 'successorProblem'>,
): Promise<Refusal | null> {
  try {
    const message = await settlementFacts.successorProblem(next);
    return message === null ? null : { row: ERRORS.CONFLICT, message };
  } catch (error) {
    if (!(error instanceof ChainDown || error instanceof ChainRefused)) throw error;
    return { row: ERRORS.SETTLEMENT_UNHEALTHY, message: 'the chain does not answer' };
  }
}
