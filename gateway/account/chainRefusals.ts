/** Refusals of actions that need the chain to have done something first. */
import { UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import { ChainDown, ChainRefused } from '../shardlink/settlementLink.ts';
import type { Accounts } from './accounts.ts';

/** Returns null if the chain has done it. @param message says what the chain has not done */
export async function refuseUntilDone(isDone: Promise<boolean>, message: string): Promise<Refusal | null> {
  try {
    return (await isDone) ? null : { row: ERRORS.CONFLICT, message };
  } catch (error) {
    if (!(error instanceof ChainDown || error instanceof ChainRefused)) throw error;
    return { row: ERRORS.SETTLEMENT_UNHEALTHY, message: 'the chain does not answer' };
  }
}

type DelegateDeps = {
  readonly accounts: Pick<Accounts, 'grants'>;
  readonly settlementFacts: Pick<SettlementFacts, 'isDelegate'>;
};

/** The contract accepts a delegate's orders only after the wallet has named the delegate there (RULES.md 17.35). */
export async function refuseDelegate(
  maker: string,
  signer: string,
  { accounts, settlementFacts }: DelegateDeps,
): Promise<Refusal | null> {
  if (accounts.grants.numberOf(maker, signer) !== UNKNOWN_GRANT) return null;
  return refuseUntilDone(
    settlementFacts.isDelegate(maker, signer),
    'the wallet has not added this delegate on the chain',
  );
}
