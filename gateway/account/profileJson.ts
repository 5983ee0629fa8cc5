/** The profile of an account, as its person and administrators see it; what the public sees is publicProfile.ts. */

import type { Profile } from '../../shared/api/accounts.ts';
import { ACCOUNT_STATE_NAMES } from '../../shared/base/codes.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { AccountStates } from './accountStates.ts';
import type { User } from './accounts.ts';

export function profileOf(user: User, states: AccountStates): Profile {
  return {
    id: user.id,
    state: ACCOUNT_STATE_NAMES[states.of(user.index)],
    email: user.email,
    display_name: user.displayName,
    wallet_address: user.wallets.length === 0 ? null : shownAddress(user.wallets[0]),
    linked_wallets: user.wallets.map(shownAddress),
    role: user.role,
    referral_code: user.referralCode,
    created_at: new Date(user.createdMs).toISOString(),
  };
}
