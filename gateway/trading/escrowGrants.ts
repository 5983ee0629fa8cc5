/**
 * The right to place orders where a chain holds the funds (RULES.md 17.35): an account has one escrow, under its first
 * wallet; another maker would have no funds there.
 */
import { UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import type { Accounts } from '../account/accounts.ts';

export function escrowGrants(accounts: Pick<Accounts, 'grantOf' | 'escrowOf'>): Pick<Accounts, 'grantOf'> {
  return {
    grantOf: (account, maker, signer) =>
      maker === accounts.escrowOf(account) ? accounts.grantOf(account, maker, signer) : UNKNOWN_GRANT,
  };
}
