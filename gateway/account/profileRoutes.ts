/** The profile and the referrals of an account, for the account itself (RULES.md 14.73 and 14.74). */
import { PROFILE, REFERRAL } from '../../shared/api/accounts.ts';
import { ok } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { AccountStates } from './accountStates.ts';
import type { Accounts } from './accounts.ts';
import { profileOf } from './profileJson.ts';

type ProfileDeps = { readonly accounts: Accounts; readonly accountStates: AccountStates };

const SHOW_PROFILE = {
  method: 'GET',
  path: '/v1/user/profile',
  id: 'getProfile',
  summary: 'The account, its wallets and the person it belongs to, for that person alone.',
  access: 'authenticated',
  answers: { 200: PROFILE },
} as const satisfies RouteSpec;

const SHOW_REFERRAL = {
  method: 'GET',
  path: '/v1/user/referral',
  id: 'getReferral',
  summary: 'The code with which others sign up, how many have, and whose code the account was made with.',
  access: 'authenticated',
  answers: { 200: REFERRAL },
} as const satisfies RouteSpec;

export function profileRoutes({ accounts, accountStates }: ProfileDeps): Route[] {
  return [
    route(SHOW_PROFILE, (call) => ok(call, profileOf(accounts.byIndex(call.principal.accountIndex), accountStates))),
    route(SHOW_REFERRAL, (call) => {
      const { index, referralCode, referredBy } = accounts.byIndex(call.principal.accountIndex);
      ok(call, {
        referral_code: referralCode,
        referrals_count: accounts.referredBy(index).length,
        is_referred: referredBy !== null,
        referred_by: referredBy === null ? null : accounts.idOf(referredBy),
      });
    }),
  ];
}
