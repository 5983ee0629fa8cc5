/** The administrator's routes for people: users, their wallets, who signs for them, their API keys (RULES.md 9). */
import type { Clock } from '../../shared/clock.ts';
import { SELF_TRADE, SELF_TRADE_NAMES, type SelfTrade } from '../../shared/codes.ts';
import { ERRORS } from '../../shared/errors.ts';
import { SCOPE_NAMES, toScopeMask, toScopeNames } from '../auth/scopes.ts';
import type { Call } from '../call.ts';
import type { Accounts, User } from '../control/accounts.ts';
import type { ApiKeys, IssuedKey } from '../control/keys.ts';
import { TIER_LIMITS, type Tier } from '../limits/classes.ts';
import { tryParseNetworks } from '../limits/networks.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';

export type AdminUserDeps = {
  readonly accounts: Accounts;
  readonly keys: ApiKeys;
  readonly views: Views;
  readonly clock: Clock;
};

type UserBody = {
  display_name?: string;
  email?: string;
  wallet_address?: string;
  role?: string;
  referral_code?: string;
};

type KeyBody = {
  scopes: string[];
  tier?: Tier;
  rate_limit_override?: { requests: number; window_seconds: number } | null;
  expires_at?: string | null;
  require_signing_version?: 1 | 2 | null;
  self_trade_prevention?: (typeof SELF_TRADE_NAMES)[number];
  allowed_ips?: string[] | null;
};

const ADDRESS = { type: 'string', format: 'address' };

const USER_BODY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    display_name: { type: 'string', minLength: 1, maxLength: 100 },
    email: { type: 'string', maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' },
    wallet_address: ADDRESS,
    role: { type: 'string', pattern: '^[a-z][a-z_]{0,31}$' },
    referral_code: { type: 'string', minLength: 1, maxLength: 32 },
  },
};

const WALLET_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['address'],
  properties: { address: ADDRESS },
};

const DELEGATE_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['maker', 'signer'],
  properties: { maker: ADDRESS, signer: ADDRESS },
};

const KEY_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['scopes'],
  properties: {
    scopes: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: SCOPE_NAMES } },
    tier: { type: 'string', enum: Object.keys(TIER_LIMITS) },
    rate_limit_override: {
      type: 'object',
      nullable: true,
      additionalProperties: false,
      required: ['requests', 'window_seconds'],
      properties: {
        requests: { type: 'integer', minimum: 1, maximum: 1_000_000 },
        window_seconds: { type: 'integer', minimum: 1, maximum: 86_400 },
      },
    },
    expires_at: { type: 'string', format: 'date-time', nullable: true },
    require_signing_version: { type: 'integer', enum: [1, 2, null], nullable: true },
    self_trade_prevention: { type: 'string', enum: SELF_TRADE_NAMES },
    allowed_ips: {
      type: 'array',
      nullable: true,
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      items: { type: 'string', maxLength: 50 },
    },
  },
};

const DEFAULT_ROLE = 'user';
const ADMIN = { access: 'admin', limit: 'unlisted' } as const;

export function adminUserRoutes(deps: AdminUserDeps): Route[] {
  return [
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/users',
      storing: true,
      body: USER_BODY,
      handler: (call) => createUser(call, deps),
    },
    {
      ...ADMIN,
      method: 'GET',
      path: '/admin/users/:id',
      handler: forUser(deps, showUser),
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/users/:id/wallets',
      body: WALLET_BODY,
      handler: forUser(deps, addWallet),
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/users/:id/delegates',
      body: DELEGATE_BODY,
      handler: forUser(deps, addDelegate),
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/users/:id/api-keys',
      body: KEY_BODY,
      handler: forUser(deps, issueKey),
    },
    {
      ...ADMIN,
      method: 'DELETE',
      path: '/admin/api-keys/:key_id',
      handler: (call) => revokeKey(call, deps),
    },
  ];
}

type UserAction<D> = (call: Call, deps: D, user: User) => void | Promise<void>;

/** A handler for the user that the path names; without such a user the answer is 404. */
export function forUser<D extends { readonly accounts: Accounts }>(deps: D, act: UserAction<D>): Route['handler'] {
  return (call) => {
    const user = deps.accounts.byId(call.params['id']);
    if (user !== undefined) return act(call, deps, user);
    fail(call, ERRORS.RESOURCE_NOT_FOUND, { message: 'user not found' });
  };
}

function createUser(call: Call, { accounts, clock }: AdminUserDeps): void {
  const body = call.json as UserBody;
  const wallet = body.wallet_address?.toLowerCase() ?? null;
  if (wallet !== null && accounts.ownerOf(wallet) !== 0) {
    refuseWallet(call);
    return;
  }
  const referrer = body.referral_code === undefined ? undefined : accounts.byReferralCode(body.referral_code);
  if (body.referral_code !== undefined && referrer === undefined) {
    refuseField(call, 'referral_code', 'known');
    return;
  }
  if (accounts.isFull) {
    fail(call, ERRORS.CONFLICT, { message: 'no more accounts fit' });
    return;
  }
  const user = accounts.create(
    {
      displayName: body.display_name ?? null,
      email: body.email ?? null,
      role: body.role ?? DEFAULT_ROLE,
      referredBy: referrer?.index ?? null,
      wallet,
    },
    clock.nowMs(),
  );
  ok(call, profileOf(user), 201);
}

function showUser(call: Call, { views }: AdminUserDeps, user: User): void {
  const usdc = {
    available: String(views.accounts.availableMicro(user.index)),
    reserved: String(views.accounts.reservedMicro(user.index)),
  };
  ok(call, { ...profileOf(user), usdc });
}

function addWallet(call: Call, { accounts }: AdminUserDeps, user: User): void {
  const address = (call.json as { address: string }).address.toLowerCase();
  const owner = accounts.ownerOf(address);
  if (owner !== 0 && owner !== user.index) {
    refuseWallet(call);
    return;
  }
  if (owner === 0) accounts.addWallet(user, address);
  ok(call, profileOf(user), 201);
}

function addDelegate(call: Call, { accounts }: AdminUserDeps, user: User): void {
  const body = call.json as { maker: string; signer: string };
  const maker = body.maker.toLowerCase();
  const signer = body.signer.toLowerCase();
  if (accounts.ownerOf(maker) !== user.index) {
    refuseField(call, 'maker', 'wallet of this user');
    return;
  }
  accounts.addDelegate(maker, signer);
  ok(call, { maker, signer }, 201);
}

function issueKey(call: Call, { keys, clock }: AdminUserDeps, user: User): void {
  const body = call.json as KeyBody;
  const expiresMs = body.expires_at == null ? null : Date.parse(body.expires_at);
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
      requireSigningVersion: body.require_signing_version ?? null,
      selfTradePrevention: toSelfTrade(body.self_trade_prevention),
      allowedIps,
    },
    expiresMs,
    clock.nowMs(),
  );
  ok(call, { ...issuedKeyOf(issued), allowed_ips: allowedIps }, 201);
}

function revokeKey(call: Call, { keys, clock }: AdminUserDeps): void {
  const keyId = call.params['key_id'];
  if (keys.find(keyId) === undefined) {
    fail(call, ERRORS.RESOURCE_NOT_FOUND, { message: 'API key not found' });
    return;
  }
  keys.revoke(keyId, clock.nowMs());
  ok(call, { message: 'API key revoked' });
}

function refuseWallet(call: Call): void {
  fail(call, ERRORS.CONFLICT, { message: 'wallet belongs to another account' });
}

/** What the schema cannot see: the field is well-formed and still does not do. */
function refuseField(call: Call, field: string, rule: string): void {
  fail(call, ERRORS.VALIDATION_ERROR, { message: `invalid ${field}`, details: { field, rule } });
}

function toSelfTrade(name: KeyBody['self_trade_prevention']): SelfTrade {
  return name === undefined ? SELF_TRADE.NONE : (SELF_TRADE_NAMES.indexOf(name) as SelfTrade);
}

function profileOf(user: User) {
  return {
    id: user.id,
    email: user.email,
    display_name: user.displayName,
    wallet_address: user.wallets[0] ?? null,
    linked_wallets: user.wallets,
    role: user.role,
    referral_code: user.referralCode,
    created_at: new Date(user.createdMs).toISOString(),
  };
}

/** The only place where secret and passphrase are shown. */
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
