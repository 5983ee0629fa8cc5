/** The administrator's routes for users, their wallets and delegates, and their API keys (RULES.md 9). */

import {
  DELEGATE,
  ISSUED_API_KEY,
  NEW_API_KEY,
  NEW_USER,
  type NewApiKey,
  PROFILE,
  PROFILE_WITH_BALANCE,
  ROTATED_API_KEY,
  WALLET,
} from '../../shared/api/accounts.ts';
import { MESSAGE } from '../../shared/api/orders.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { codeOf, SELF_TRADE, SELF_TRADE_NAMES, type SelfTrade } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { parseTimeMs } from '../../shared/base/time.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { ApiKeys, IssuedKey } from '../access/keys.ts';
import type { AccountStates } from '../account/accountStates.ts';
import type { Accounts } from '../account/accounts.ts';
import { refuseDelegate } from '../account/chainRefusals.ts';
import { profileOf } from '../account/profileJson.ts';
import { requireUser } from '../account/requireUser.ts';
import { tryParseNetworks } from '../base/networks.ts';
import { toScopeMask, toScopeNames } from '../base/scopes.ts';
import { noteBefore } from '../http/audited.ts';
import type { Call } from '../http/call.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { Views } from '../shardlink/views.ts';

type AdminUserDeps = {
  readonly accounts: Accounts;
  readonly accountStates: AccountStates;
  readonly keys: ApiKeys;
  readonly views: Views;
  readonly clock: Clock;
  /** Null if the ledger settles itself. */
  readonly settlementFacts: Pick<SettlementFacts, 'isDelegate'>;
};

const DEFAULT_ROLE = 'user';
/** Wallets, delegates and keys can spend the money of an account, so only superusers give them. */
const ADMIN = { access: 'superuser' } as const;

const CREATE_USER = {
  ...ADMIN,
  access: 'treasury',
  method: 'POST',
  path: '/admin/users',
  id: 'adminCreateUser',
  summary: 'Makes a user with an account of its own.',
  storing: true,
  body: NEW_USER,
  answers: { 201: PROFILE },
  errors: ['VALIDATION_ERROR', 'CONFLICT'],
} as const satisfies RouteSpec;

const SHOW_USER = {
  ...ADMIN,
  access: 'viewer',
  method: 'GET',
  path: '/admin/users/:id',
  id: 'adminGetUser',
  summary: 'A user and the USDC of the account.',
  params: ID_PARAM,
  answers: { 200: PROFILE_WITH_BALANCE },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const ADD_WALLET = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/users/:id/wallets',
  id: 'adminAddWallet',
  summary: 'Links a wallet to the account; its orders are paid by the account from then on.',
  storing: true,
  params: ID_PARAM,
  body: WALLET,
  answers: { 201: PROFILE },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

const ADD_DELEGATE = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/users/:id/delegates',
  id: 'adminAddDelegate',
  summary: 'Lets another wallet sign orders that a wallet of the account pays for.',
  storing: true,
  params: ID_PARAM,
  body: DELEGATE,
  answers: { 201: DELEGATE },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'SETTLEMENT_UNHEALTHY'],
} as const satisfies RouteSpec;

const ISSUE_KEY = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/users/:id/api-keys',
  id: 'adminIssueApiKey',
  summary: 'Issues an API key; its secret and passphrase are shown this once.',
  storing: true,
  params: ID_PARAM,
  body: NEW_API_KEY,
  answers: { 201: ISSUED_API_KEY },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const REVOKE_KEY = {
  ...ADMIN,
  access: 'treasury',
  method: 'DELETE',
  path: '/admin/api-keys/:key_id',
  id: 'adminRevokeApiKey',
  summary: 'Revokes an API key; revoking it again changes nothing.',
  params: { key_id: { type: 'string', examples: ['key_Zm9vYmFyYmF6cXV1'] } },
  answers: { 200: MESSAGE },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const ROTATE_KEY = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/api-keys/:key_id/rotate',
  id: 'adminRotateApiKey',
  summary: 'Gives an API key another secret and passphrase, shown this once; the former ones are void at once.',
  params: { key_id: { type: 'string', examples: ['key_Zm9vYmFyYmF6cXV1'] } },
  answers: { 200: ROTATED_API_KEY },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

export function adminUserRoutes(deps: AdminUserDeps): Route[] {
  return [
    route(CREATE_USER, (call) => createUser(call, deps)),
    route(SHOW_USER, (call) => showUser(call, deps)),
    route(ADD_WALLET, (call) => addWallet(call, deps)),
    route(ADD_DELEGATE, (call) => addDelegate(call, deps)),
    route(ISSUE_KEY, (call) => issueKey(call, deps)),
    route(REVOKE_KEY, (call) => revokeKey(call, deps)),
    route(ROTATE_KEY, (call) => rotateKey(call, deps)),
  ];
}

async function createUser(call: CallOf<typeof CREATE_USER>, deps: AdminUserDeps): Promise<void> {
  const { accounts, accountStates, clock } = deps;
  const { body } = call;
  const wallet = body.wallet_address?.toLowerCase() ?? null;
  if (wallet !== null && accounts.ownerOf(wallet) !== 0) return refuseWallet(call);
  if (accounts.isFull) return refuse(call, { row: ERRORS.CONFLICT, message: 'no more accounts fit' });
  const user = accounts.signUp(
    {
      displayName: body.display_name ?? null,
      email: body.email ?? null,
      role: body.role ?? DEFAULT_ROLE,
      referralCode: body.referral_code ?? null,
      wallet,
    },
    clock.nowMs(),
  );
  await accounts.durable();
  ok(call, profileOf(user, accountStates), 201);
}

function showUser(call: CallOf<typeof SHOW_USER>, { accounts, accountStates, views }: AdminUserDeps): void {
  const user = requireUser(call, accounts);
  if (user === null) return;
  const usdc = {
    available: String(views.accounts.availableMicro(user.index)),
    reserved: String(views.accounts.reservedMicro(user.index)),
  };
  ok(call, { ...profileOf(user, accountStates), usdc });
}

async function addWallet(call: CallOf<typeof ADD_WALLET>, { accounts, accountStates }: AdminUserDeps): Promise<void> {
  const user = requireUser(call, accounts);
  if (user === null) return;
  const address = call.body.address.toLowerCase();
  const owner = accounts.ownerOf(address);
  if (owner !== 0 && owner !== user.index) return refuseWallet(call);
  noteBefore(call, profileOf(user, accountStates));
  if (!accounts.grants.isLinked(address)) accounts.addWallet(user, address);
  await accounts.durable();
  ok(call, profileOf(user, accountStates), 201);
}

async function addDelegate(
  call: CallOf<typeof ADD_DELEGATE>,
  { accounts, settlementFacts }: AdminUserDeps,
): Promise<void> {
  const user = requireUser(call, accounts);
  if (user === null) return;
  const maker = call.body.maker.toLowerCase();
  const signer = call.body.signer.toLowerCase();
  if (accounts.ownerOf(maker) !== user.index || !accounts.grants.isLinked(maker)) {
    refuseField(call, 'maker', 'wallet of this user');
    return;
  }
  const refusal = await refuseDelegate(maker, signer, { accounts, settlementFacts });
  if (refusal !== null) return refuse(call, refusal);
  accounts.addDelegate(maker, signer);
  await accounts.durable();
  ok(call, { maker: shownAddress(maker), signer: shownAddress(signer) }, 201);
}

function issueKey(call: CallOf<typeof ISSUE_KEY>, { accounts, keys, clock }: AdminUserDeps): void {
  const user = requireUser(call, accounts);
  if (user === null) return;
  const { body } = call;
  const expiresMs = body.expires_at == null ? null : parseTimeMs(body.expires_at);
  if (expiresMs !== null && expiresMs <= clock.nowMs()) {
    refuseField(call, 'expires_at', 'future');
    return;
  }
  const allowedIps = body.allowed_ips ?? null;
  if (allowedIps !== null && tryParseNetworks(allowedIps) === null) {
    refuseField(call, 'allowed_ips', 'IP addresses and networks');
    return;
  }
  const override = body.rate_limit_override ?? null;
  const issued = keys.issue(
    user,
    {
      scopes: toScopeMask(body.scopes),
      tier: body.tier ?? 'standard',
      rateLimitOverride: override === null ? null : { requests: override.requests, windowSec: override.window_seconds },
      requireSigningVersion: body.require_signing_version === undefined ? 2 : body.require_signing_version,
      selfTradePrevention: toSelfTrade(body.self_trade_prevention),
      allowedIps,
    },
    expiresMs,
    clock.nowMs(),
  );
  ok(call, { ...issuedKeyOf(issued), allowed_ips: allowedIps }, 201);
}

function revokeKey(call: CallOf<typeof REVOKE_KEY>, { keys, clock }: AdminUserDeps): void {
  const keyId = call.params.key_id;
  if (keys.known(keyId) === undefined)
    return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'API key not found' });
  keys.revoke(keyId, clock.nowMs());
  ok(call, { message: 'API key revoked' });
}

function rotateKey(call: CallOf<typeof ROTATE_KEY>, { keys }: AdminUserDeps): void {
  const keyId = call.params.key_id;
  const key = keys.known(keyId);
  if (key === undefined) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'API key not found' });
  else if (key.revokedMs !== null) refuse(call, { row: ERRORS.CONFLICT, message: 'API key is revoked' });
  else {
    const { secret, passphrase } = keys.rotate(keyId);
    ok(call, { key_id: keyId, secret, passphrase });
  }
}

function refuseWallet(call: Call): void {
  refuse(call, { row: ERRORS.CONFLICT, message: 'wallet belongs to another account' });
}

function toSelfTrade(name: NewApiKey['self_trade_prevention']): SelfTrade {
  return name === undefined ? SELF_TRADE.NONE : codeOf(SELF_TRADE_NAMES, name);
}

/** Only this answer shows secret and passphrase. */
function issuedKeyOf({ key, secret, passphrase }: IssuedKey) {
  const override = key.rateLimitOverride;
  return {
    key_id: key.keyId,
    secret,
    passphrase,
    scopes: toScopeNames(key.scopes),
    tier: key.tier,
    rate_limit_override: override === null ? null : { requests: override.requests, window_seconds: override.windowSec },
    expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
    require_signing_version: key.requireSigningVersion,
    self_trade_prevention: SELF_TRADE_NAMES[key.selfTradePrevention],
  };
}
