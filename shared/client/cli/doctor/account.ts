/** Checks the account: its key or session, scopes, state, wallet, funds and limits. */
import type { ExchangeClient } from '../../client.ts';
import { ApiError } from '../../http.ts';
import { addressOf } from '../../privateKey.ts';
import type { RateLimits } from '../../types.ts';
import { NeedsError } from '../frame/errors.ts';
import { decimal } from '../frame/text.ts';
import { type Finding, fail, ok, type Patient, skip, warn } from './finding.ts';

const NO_HASH = `0x${'0'.repeat(64)}`;
const FEW_LEFT = 5;

/** The faults of a key, by the exchange's message. */
const KEY_FAULTS: Readonly<Record<string, readonly [string, string]>> = {
  'invalid API key': [
    'the exchange does not know this key',
    'is it one of another exchange? Enter it again: pmx login --key',
  ],
  'API key is revoked or expired': [
    'the key is revoked or has expired',
    'have an operator issue another (pmx keys create), then: pmx login --key',
  ],
  'invalid passphrase': ['the passphrase is wrong', 'enter the key again, all three parts: pmx login --key'],
  'invalid signature': ['the secret is wrong', 'enter the key again, all three parts: pmx login --key'],
  'timestamp outside acceptable window': [
    'the clock of this machine is wrong',
    'set it; the line on the clock says how',
  ],
  'this address is not allowed for the API key': [
    'the key may not be used from this address',
    'use it from an allowed network, or have an operator change allowed_ips',
  ],
  'session has ended': ['the session has ended', 'sign in again: pmx login'],
  'invalid refresh token': ['the session has ended', 'sign in again: pmx login'],
  'access token has expired': ['the session has ended', 'sign in again: pmx login'],
};

export async function checkSignIn(patient: Patient): Promise<Finding> {
  const { context, isReached } = patient;
  if (!isReached) return skip('key', 'the exchange was not reached');
  try {
    const { by } = await context.access.account();
    patient.profile = await (await context.client()).account.profile();
    return ok('key', `${by}: account ${patient.profile.id}`);
  } catch (error) {
    if (error instanceof NeedsError) return fail('key', error.message, error.hint);
    if (!(error instanceof ApiError)) throw error;
    const [fault, advice] = KEY_FAULTS[error.message] ?? [
      `${error.message} (${error.code})`,
      'sign in again: pmx login, or pmx login --key',
    ];
    return fail('key', fault, advice);
  }
}

type Probe = { readonly scope: string; readonly request: (client: ExchangeClient) => Promise<unknown> };

/** Requests that change nothing: if the key has the scope, they are refused for a different reason. */
const PROBES: readonly Probe[] = [
  { scope: 'trade:orders', request: (client) => client.cancelOrder(NO_HASH) },
  { scope: 'trade:bulk', request: (client) => client.cancelOrders([]) },
  { scope: 'manage:account', request: (client) => client.gaming.setPreferences({}) },
];

export async function checkScopes(patient: Patient): Promise<Finding> {
  const { context, profile } = patient;
  if (profile === null) return skip('scopes', 'not signed in');
  const client = await context.client();
  const scopes = ['read:account'];
  for (const { scope, request } of PROBES) if (await isAllowed(request(client))) scopes.push(scope);
  patient.scopes = scopes;
  if (scopes.includes('trade:orders')) return ok('scopes', scopes.join(', '));
  return warn('scopes', `${scopes.join(', ')}: the key may not trade`, 'have an operator issue one with trade:orders');
}

async function isAllowed(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code !== 'INSUFFICIENT_SCOPE';
  }
}

const STATES = {
  active: ok('account', 'active'),
  close_only: warn('account', 'it may only reduce its positions', 'ask the operator of the exchange why'),
  frozen: fail('account', 'it is frozen', 'ask the operator of the exchange why'),
} as const;

export async function checkState({ context, profile }: Patient): Promise<Finding> {
  if (profile === null) return skip('account', 'not signed in');
  const timeout = await (await context.client()).gaming.timeout();
  if (timeout === null || profile.state !== 'active') return STATES[profile.state];
  return warn('account', `you asked for a break until ${timeout.ends_at}`, 'wait, or: pmx timeout cancel');
}

export async function checkWallet(patient: Patient): Promise<Finding> {
  const { context, profile } = patient;
  if (profile === null) return skip('wallet', 'not signed in');
  const { linked_wallets } = profile;
  const key = context.access.privateKeyOrNone(linked_wallets);
  if (key === null) {
    return warn('wallet', 'no private key here: orders cannot be signed', 'PRIVATE_KEY, or pmx login --keep-wallet');
  }
  const address = addressIn(key);
  if (address === null) return fail('wallet', 'the private key is not one', '0x and 64 hex digits: see PRIVATE_KEY');
  const isOwn = (other: string): boolean => other.toLowerCase() === address.toLowerCase();
  if (linked_wallets.some(isOwn)) return ok('wallet', `${address} is linked to the account`);
  const client = await context.client();
  for (const wallet of linked_wallets) {
    const { delegates } = await client.wallets.delegates(wallet);
    if (!delegates.some(isOwn)) continue;
    patient.maker = wallet;
    return ok('wallet', `${address} signs as a delegate: --maker ${wallet}`);
  }
  const advice = `link it (pmx wallet link), or sign with ${linked_wallets[0] ?? 'a wallet of the account'}`;
  return fail('wallet', `${address} is not linked to the account: its orders are refused`, advice);
}

export function addressIn(privateKey: string): string | null {
  try {
    return addressOf(privateKey);
  } catch {
    return null;
  }
}

export async function checkFunds({ context, profile }: Patient): Promise<Finding> {
  if (profile === null) return skip('funds', 'not signed in');
  const { usdc, tokens } = await (await context.client()).balances();
  const message = `${decimal(usdc.available)} USDC available, ${decimal(usdc.reserved)} in open orders`;
  if (BigInt(usdc.available) > 0n) return ok('funds', message);
  if (BigInt(usdc.reserved) > 0n) return warn('funds', message, 'cancel orders to free it: pmx orders --open');
  const holds = tokens.length === 0 ? 'nothing to sell either' : `${tokens.length} kinds of tokens can be sold`;
  return warn(
    'funds',
    `no USDC: nothing can be bought (${holds})`,
    'deposit first; an operator runs pmx admin deposit',
  );
}

export async function checkLimits({ context, profile }: Patient): Promise<Finding | readonly Finding[]> {
  if (profile === null) return skip('limits', 'not signed in');
  const limits = await (await context.client()).rateLimits();
  return [...misread(limits), limitsFinding(limits)];
}

/** A proxy of the exchange does not state its clients' addresses. */
function misread({ address, unread_forwarded_for: unread }: RateLimits): readonly Finding[] {
  if (unread === null) return [];
  const message = `the exchange takes you for its proxy ${address}, which wrote "${unread}" for your address`;
  return [warn('address', message, 'all its clients share one quota, and allowed_ips fail: tell the operator')];
}

function limitsFinding({ tier, enforced, limits }: RateLimits): Finding {
  if (!enforced) return ok('limits', 'not enforced on this exchange');
  const low = limits.filter(({ remaining, requests }) => remaining * FEW_LEFT < requests);
  const whose = tier === null ? 'of a session' : `tier ${tier}`;
  if (low.length === 0) return ok('limits', `${whose}: more than a fifth is left of each of ${limits.length}`);
  const [{ method, path, remaining, requests }] = low;
  const message = `${whose}: ${remaining} of ${requests} left of ${method} ${path}`;
  return warn('limits', message, 'another program uses the same key; slow down, or ask for a higher tier');
}
