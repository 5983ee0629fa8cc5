/**
 * The administrator's routes that list the sessions, keys and other rights of an account, and take them away (RULES.md
 * 9.15, 9.16).
 */

import {
  ACCOUNT_STATE_BODY,
  API_KEYS,
  DELEGATES,
  type KNOWN_API_KEY,
  RESTRICTED,
  USER_PAGE,
  USER_QUERY,
  WALLETS,
} from '../../shared/api/accounts.ts';
import { ADDRESS } from '../../shared/api/fields.ts';
import type { FromSchema } from '../../shared/api/schema.ts';
import { ACCOUNT_STATE_NAMES, codeOf, SELF_TRADE_NAMES } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { ApiKeys, KnownKey } from '../access/keys.ts';
import type { AccountStates } from '../account/accountStates.ts';
import type { Accounts, User } from '../account/accounts.ts';
import { profileOf } from '../account/profileJson.ts';
import { requireUser } from '../account/requireUser.ts';
import type { Restrictions } from '../account/restrictions.ts';
import { toScopeNames } from '../base/scopes.ts';
import { noteBefore } from '../http/audited.ts';
import type { Call } from '../http/call.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, okPage, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Delivered } from '../shardlink/outbox.ts';

type AdminRestrictionDeps = {
  readonly accounts: Accounts;
  readonly accountStates: AccountStates;
  readonly keys: ApiKeys;
  readonly restrictions: Restrictions;
  readonly needsWallet: (wallet: string) => boolean;
};

const DEFAULT_PAGE_USERS = 100;

const OF_USER = { params: ID_PARAM, errors: ['RESOURCE_NOT_FOUND'] } as const;
const READ = { ...OF_USER, method: 'GET', access: 'viewer' } as const;
const REMOVE = { ...OF_USER, method: 'DELETE', access: 'superuser', answers: { 200: RESTRICTED } } as const;

const LIST_USERS = {
  method: 'GET',
  path: '/admin/users',
  id: 'adminListUsers',
  summary: 'The users in the order in which they were made, a page at a time.',
  access: 'viewer',
  query: USER_QUERY,
  answers: { 200: USER_PAGE },
} as const satisfies RouteSpec;

const SET_STATE = {
  ...OF_USER,
  method: 'PUT',
  path: '/admin/users/:id/state',
  id: 'adminSetAccountState',
  summary: 'Restricts what the account may do, or lifts that; open orders that the state forbids are cancelled.',
  access: 'treasury',
  body: ACCOUNT_STATE_BODY,
  answers: { 200: RESTRICTED },
} as const satisfies RouteSpec;

const LIST_WALLETS = {
  ...READ,
  path: '/admin/users/:id/wallets',
  id: 'adminListWallets',
  summary: 'The linked wallets of the account, the primary one first.',
  answers: { 200: WALLETS },
} as const satisfies RouteSpec;

const REMOVE_WALLET = {
  ...REMOVE,
  path: '/admin/users/:id/wallets/:address',
  id: 'adminRemoveWallet',
  summary: 'Takes a wallet and its delegates away from the account and cancels their open orders.',
  params: { ...ID_PARAM, address: ADDRESS },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

const LIST_DELEGATES = {
  ...READ,
  path: '/admin/users/:id/delegates',
  id: 'adminListDelegates',
  summary: 'Who else may sign orders that a wallet of the account pays for.',
  answers: { 200: DELEGATES },
} as const satisfies RouteSpec;

const REMOVE_DELEGATE = {
  ...REMOVE,
  path: '/admin/users/:id/delegates/:maker/:signer',
  id: 'adminRemoveDelegate',
  summary: 'Takes a delegate away from a wallet and cancels the open orders that it has signed.',
  params: { ...ID_PARAM, maker: ADDRESS, signer: ADDRESS },
} as const satisfies RouteSpec;

const LIST_KEYS = {
  ...READ,
  path: '/admin/users/:id/api-keys',
  id: 'adminListApiKeys',
  summary: 'The API keys of the account without their secrets, the revoked ones too.',
  answers: { 200: API_KEYS },
} as const satisfies RouteSpec;

export function adminRestrictionRoutes(deps: AdminRestrictionDeps): Route[] {
  const { accounts, restrictions } = deps;
  return [
    route(LIST_USERS, (call) => listUsers(call, deps)),
    route(SET_STATE, (call) => setState(call, deps)),
    route(LIST_WALLETS, (call) =>
      listed(call, accounts, 'wallets', ({ wallets }) =>
        wallets.values().map((wallet) => JSON.stringify(shownAddress(wallet))),
      ),
    ),
    route(REMOVE_WALLET, (call) => {
      if (deps.needsWallet(call.params.address.toLowerCase()))
        return refuse(call, { row: ERRORS.CONFLICT, message: 'a cash-out of the wallet is under way' });
      return removed(call, deps, call.params.address, (maker) => restrictions.removeWallet(maker));
    }),
    route(LIST_DELEGATES, (call) => listed(call, accounts, 'delegates', (user) => delegatesOf(user, accounts))),
    route(REMOVE_DELEGATE, (call) => {
      const signer = call.params.signer.toLowerCase();
      return removed(call, deps, call.params.maker, (maker) => {
        return maker === signer ? null : restrictions.removeDelegate(maker, signer);
      });
    }),
    route(LIST_KEYS, (call) => {
      listed(call, accounts, 'api_keys', ({ index }) => deps.keys.listOf(index).values().map(knownKeyOf));
    }),
  ];
}

function listUsers(call: CallOf<typeof LIST_USERS>, { accounts, accountStates }: AdminRestrictionDeps): void {
  const { cursor, limit, wallet } = call.query;
  if (wallet !== undefined) {
    const owner = accounts.ownerOf(wallet.toLowerCase());
    const users = owner === 0 ? [] : [profileOf(accounts.byIndex(owner), accountStates)];
    okPage(call, 'users', users, { next_cursor: null });
    return;
  }
  const page = accounts.list(cursor ?? 0, limit ?? DEFAULT_PAGE_USERS);
  const last = page.at(-1)?.index ?? accounts.count;
  const profiles = page.values().map((user) => profileOf(user, accountStates));
  okPage(call, 'users', profiles, { next_cursor: last < accounts.count ? last : null });
}

async function setState(call: CallOf<typeof SET_STATE>, deps: AdminRestrictionDeps): Promise<void> {
  const user = requireUser(call, deps.accounts);
  if (user === null) return;
  noteBefore(call, profileOf(user, deps.accountStates));
  const state = codeOf(ACCOUNT_STATE_NAMES, call.body.state);
  answer(call, user, deps, await deps.restrictions.setState(user.index, state));
}

type UserCall = Call & { readonly params: { readonly id: string } };

type Listing = (user: User) => Iterable<object | string>;

function listed(call: UserCall, accounts: Accounts, name: string, list: Listing): void {
  const user = requireUser(call, accounts);
  if (user !== null) okPage(call, name, list(user), {});
}

/** @param remove returns null if there is nothing to remove. */
async function removed(
  call: UserCall,
  deps: AdminRestrictionDeps,
  wallet: string,
  remove: (maker: string) => Promise<Delivered> | null,
): Promise<void> {
  const user = requireUser(call, deps.accounts);
  if (user === null) return;
  const maker = wallet.toLowerCase();
  noteBefore(call, profileOf(user, deps.accountStates));
  const sweeping = deps.accounts.ownerOf(maker) === user.index ? remove(maker) : null;
  if (sweeping === null) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'the account has no such grant' });
  else {
    const swept = await sweeping;
    await deps.accounts.durable();
    answer(call, user, deps, swept);
  }
}

function answer(call: Call, user: User, { accountStates }: AdminRestrictionDeps, swept: Delivered): void {
  ok(call, {
    ...profileOf(user, accountStates),
    orders_cancelled: swept.cancelled,
    is_complete: swept.isComplete,
  });
}

function delegatesOf({ wallets }: User, { grants }: Accounts): object[] {
  return wallets.flatMap((maker) => {
    return grants.delegatesOf(maker).map((signer) => ({ maker: shownAddress(maker), signer: shownAddress(signer) }));
  });
}

function knownKeyOf({ keyId, policy, expiresMs, revokedMs, createdMs }: KnownKey): FromSchema<typeof KNOWN_API_KEY> {
  const override = policy.rateLimitOverride;
  return {
    key_id: keyId,
    scopes: toScopeNames(policy.scopes),
    tier: policy.tier,
    rate_limit_override: override === null ? null : { requests: override.requests, window_seconds: override.windowSec },
    require_signing_version: policy.requireSigningVersion,
    self_trade_prevention: SELF_TRADE_NAMES[policy.selfTradePrevention],
    allowed_ips: policy.allowedIps ?? null,
    created_at: new Date(createdMs).toISOString(),
    expires_at: expiresMs === null ? null : new Date(expiresMs).toISOString(),
    revoked_at: revokedMs === null ? null : new Date(revokedMs).toISOString(),
  };
}
