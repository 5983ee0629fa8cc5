/**
 * The wallets of an account, changed by its person: linked and unlinked, their delegates, and the step-up that changes
 * need (RULES.md 15.40 to 15.45). A wallet must agree to each change that gives another key power over it: it signs a
 * message that states the change, with a nonce valid only for that change.
 */

import { PROFILE, RESTRICTED } from '../../shared/api/accounts.ts';
import { ADDRESS } from '../../shared/api/fields.ts';
import { LINK_MESSAGE, SIGNED_MESSAGE, WALLET_MESSAGE, WALLET_MESSAGE_QUERY } from '../../shared/api/sessions.ts';
import { DELEGATE_BODY, DELEGATE_MESSAGE_QUERY, STEP_UP, WALLET_DELEGATES } from '../../shared/api/wallets.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import { sessionOf } from '../access/credentialOf.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Call } from '../http/call.ts';
import { ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { User } from './accounts.ts';
import { refuseDelegate } from './chainRefusals.ts';
import { profileOf } from './profileJson.ts';
import type { Restrictions } from './restrictions.ts';
import type { AuthDeps } from './signInDeps.ts';
import { isFresh } from './stepUp.ts';
import type { WalletProofs, WalletPurpose } from './walletProofs.ts';

type WalletDeps = AuthDeps & {
  readonly walletProofs: WalletProofs;
  readonly restrictions: Restrictions;
  /** A cash-out of the wallet is under way. */
  readonly needsWallet: (wallet: string) => boolean;
  /** Null where the ledger settles itself. */
  readonly settlementFacts: Pick<SettlementFacts, 'isDelegate'>;
};
type Act = 'add' | 'remove';

/** The most wallets that an account can ever have, since each belongs to it for ever. */
const MAX_WALLETS = 50;
const MAX_DELEGATES = 50;

const CHANGE = { access: 'manage:account' } as const;
const OFFER = { ...CHANGE, method: 'GET', cookies: true, answers: { 200: WALLET_MESSAGE } } as const;
const OF_WALLET = { params: { address: ADDRESS } } as const;

const OFFER_LINK = {
  ...OFFER,
  limit: 'signIn',
  path: '/v1/wallets/link/nonce',
  id: 'getLinkMessage',
  summary: 'The message with which a wallet agrees to be linked to the account.',
  query: WALLET_MESSAGE_QUERY,
} as const satisfies RouteSpec;

const LINK = {
  ...CHANGE,
  limit: 'signIn',
  method: 'POST',
  path: '/v1/wallets/link',
  id: 'linkWallet',
  summary: 'Links the wallet that has signed the message.',
  storing: true,
  body: LINK_MESSAGE,
  answers: { 200: PROFILE },
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'STEP_UP_REQUIRED', 'PROVIDER_UNAVAILABLE'],
} as const satisfies RouteSpec;

const UNLINK = {
  ...CHANGE,
  ...OF_WALLET,
  method: 'DELETE',
  path: '/v1/wallets/:address',
  id: 'unlinkWallet',
  summary: 'Takes a wallet and its delegates away from the account and cancels their open orders.',
  answers: { 200: RESTRICTED },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT', 'STEP_UP_REQUIRED'],
} as const satisfies RouteSpec;

const LIST_DELEGATES = {
  ...OF_WALLET,
  method: 'GET',
  path: '/v1/wallets/:address/delegates',
  id: 'listDelegates',
  summary: 'The delegates of a wallet of the account.',
  access: 'read:account',
  answers: { 200: WALLET_DELEGATES },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const OFFER_DELEGATE = {
  ...OFFER,
  ...OF_WALLET,
  path: '/v1/wallets/:address/delegates/nonce',
  id: 'getDelegateMessage',
  summary: 'The message with which a wallet says that another key may sign its orders, or no longer may.',
  query: DELEGATE_MESSAGE_QUERY,
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const OF_DELEGATE = {
  ...CHANGE,
  ...OF_WALLET,
  path: '/v1/wallets/:address/delegates',
  body: DELEGATE_BODY,
} as const;

const ADD_DELEGATE = {
  ...OF_DELEGATE,
  method: 'POST',
  id: 'addDelegate',
  summary: 'Lets another key sign orders that the wallet pays for.',
  storing: true,
  answers: { 200: WALLET_DELEGATES },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'SETTLEMENT_UNHEALTHY'],
} as const satisfies RouteSpec;

const REMOVE_DELEGATE = {
  ...OF_DELEGATE,
  method: 'DELETE',
  id: 'removeDelegate',
  summary: 'Takes a delegate away from the wallet and cancels the open orders that it has signed.',
  answers: { 200: RESTRICTED },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const OFFER_STEP_UP = {
  ...OFFER,
  path: '/v1/auth/step-up/nonce',
  id: 'getStepUpMessage',
  summary: 'The message with which a wallet of the account proves that its person is still there.',
  query: WALLET_MESSAGE_QUERY,
} as const satisfies RouteSpec;

const CONFIRM = {
  ...CHANGE,
  method: 'POST',
  path: '/v1/auth/step-up',
  id: 'stepUp',
  summary: 'Confirms the session with a signature of a linked wallet.',
  body: SIGNED_MESSAGE,
  answers: { 200: STEP_UP },
  errors: ['VALIDATION_ERROR', 'SESSION_REQUIRED', 'RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

export function walletRoutes(deps: WalletDeps): Route[] {
  return [
    route(OFFER_LINK, (call) => offer(call, call.query.address, linkingTo(userOf(call, deps)), deps)),
    route(LINK, (call) => link(call, deps)),
    route(UNLINK, (call) => unlink(call, deps)),
    route(LIST_DELEGATES, (call) => {
      const wallet = ownWallet(call, deps);
      if (wallet !== null) ok(call, delegatesOf(wallet, deps));
    }),
    route(OFFER_DELEGATE, (call) => {
      const wallet = ownWallet(call, deps);
      const { signer, act } = call.query;
      if (wallet !== null) offer(call, wallet, delegating(call, signer, act), deps);
    }),
    route(ADD_DELEGATE, (call) => addDelegate(call, deps)),
    route(REMOVE_DELEGATE, (call) => removeDelegate(call, deps)),
    route(OFFER_STEP_UP, (call) => offer(call, call.query.address, confirming(userOf(call, deps)), deps)),
    route(CONFIRM, (call) => confirm(call, deps)),
  ];
}

function linkingTo({ index, id }: User): WalletPurpose {
  return { account: index, act: 'link', statement: `Link this wallet to the account ${id}.` };
}

function confirming({ index, id }: User): WalletPurpose {
  return { account: index, act: 'confirm', statement: `Confirm that you use the account ${id}.` };
}

function delegating(call: AccountCall, signer: string, act: Act): WalletPurpose {
  const delegate = signer.toLowerCase();
  const may = act === 'add' ? 'may' : 'may no longer';
  const statement = `The key of ${delegate} ${may} sign orders that this wallet pays for.`;
  return { account: call.principal.accountIndex, act: `${act} ${delegate}`, statement };
}

function offer(call: Call, address: string, purpose: WalletPurpose, { walletProofs, clock }: WalletDeps): void {
  const origin = call.headers.origin;
  const { nonce, message, expiresMs } = walletProofs.offer(address.toLowerCase(), origin, purpose, clock.nowMs());
  ok(call, { nonce, message, expires_at: new Date(expiresMs).toISOString() });
}

async function link(call: CallOf<typeof LINK>, deps: WalletDeps): Promise<void> {
  const { accounts, accountStates } = deps;
  const user = userOf(call, deps);
  if (!isFresh(call, deps.clock)) return;
  const { message, signature } = call.body;
  const proof = await deps.walletProofs.checkAnyWallet(message, signature, linkingTo(user), deps.clock.nowMs());
  const wallet = signerOf(call, proof);
  if (wallet === null) return;
  const owner = accounts.ownerOf(wallet);
  if (owner !== 0 && owner !== user.index)
    return refuse(call, { row: ERRORS.CONFLICT, message: 'the wallet belongs to another account' });
  if (owner === 0 && accounts.walletsEver(user.index) >= MAX_WALLETS)
    return refuse(call, { row: ERRORS.CONFLICT, message: `an account has at most ${MAX_WALLETS} wallets` });
  if (!accounts.grants.isLinked(wallet)) accounts.addWallet(user, wallet);
  await accounts.durable();
  ok(call, profileOf(user, accountStates));
}

async function unlink(call: CallOf<typeof UNLINK>, deps: WalletDeps): Promise<void> {
  const wallet = ownWallet(call, deps);
  if (wallet === null || !isFresh(call, deps.clock)) return;
  if (userOf(call, deps).wallets.length === 1)
    return refuse(call, { row: ERRORS.CONFLICT, message: 'the last wallet of an account stays' });
  if (deps.needsWallet(wallet))
    return refuse(call, { row: ERRORS.CONFLICT, message: 'a cash-out of the wallet is under way' });
  await answerSwept(call, deps.restrictions.removeWallet(wallet)!, deps);
}

async function addDelegate(call: CallOf<typeof ADD_DELEGATE>, deps: WalletDeps): Promise<void> {
  const { accounts } = deps;
  const wallet = checkedDelegation(call, 'add', deps);
  if (wallet === null) return;
  const signer = call.body.signer.toLowerCase();
  const delegates = accounts.grants.delegatesOf(wallet);
  if (!delegates.includes(signer) && delegates.length >= MAX_DELEGATES)
    return refuse(call, { row: ERRORS.CONFLICT, message: `a wallet has at most ${MAX_DELEGATES} delegates` });
  const refusal = await refuseDelegate(wallet, signer, deps);
  if (refusal !== null) return refuse(call, refusal);
  accounts.addDelegate(wallet, signer);
  await accounts.durable();
  ok(call, delegatesOf(wallet, deps));
}

async function removeDelegate(call: CallOf<typeof REMOVE_DELEGATE>, deps: WalletDeps): Promise<void> {
  const wallet = checkedDelegation(call, 'remove', deps);
  if (wallet === null) return;
  const signer = call.body.signer.toLowerCase();
  const sweeping = signer === wallet ? null : deps.restrictions.removeDelegate(wallet, signer);
  if (sweeping === null) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'the wallet has no such delegate' });
  else await answerSwept(call, sweeping, deps);
}

async function confirm(call: CallOf<typeof CONFIRM>, deps: WalletDeps): Promise<void> {
  const session = sessionOf(call.principal);
  if (session === null) return refuse(call, { row: ERRORS.SESSION_REQUIRED });
  const user = userOf(call, deps);
  const wallet = checked(call, confirming(user), deps);
  if (wallet === null) return;
  if (!user.wallets.includes(wallet))
    return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'the account has no such wallet' });
  const nowMs = deps.clock.nowMs();
  deps.sessions.authenticated(session.sessionId, nowMs);
  await deps.sessions.durable();
  ok(call, { authenticated_at: new Date(nowMs).toISOString() });
}

type Swept = Awaited<ReturnType<Restrictions['setState']>>;

async function answerSwept(call: AccountCall, sweeping: Promise<Swept>, deps: WalletDeps): Promise<void> {
  const { cancelled, isComplete } = await sweeping;
  await deps.accounts.durable();
  const profile = profileOf(userOf(call, deps), deps.accountStates);
  ok(call, { ...profile, orders_cancelled: cancelled, is_complete: isComplete });
}

/** The wallet of the path, or null when the call was refused because it is none of the account's. */
function ownWallet(call: AccountCall & { readonly params: { readonly address: string } }, deps: WalletDeps) {
  const wallet = call.params.address.toLowerCase();
  if (userOf(call, deps).wallets.includes(wallet)) return wallet;
  refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'the account has no such wallet' });
  return null;
}

type DelegateCall = CallOf<typeof ADD_DELEGATE> | CallOf<typeof REMOVE_DELEGATE>;

/** The wallet in the path, which has signed for this delegate; null if the call was refused. */
function checkedDelegation(call: DelegateCall, act: Act, deps: WalletDeps): string | null {
  const wallet = ownWallet(call, deps);
  if (wallet === null) return null;
  const signed = checked(call, delegating(call, call.body.signer, act), deps);
  if (signed === null || signed === wallet) return signed;
  const details = { field: 'message', rule: 'of the wallet' };
  refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'the message is of another wallet', details });
  return null;
}

type SignedCall = Call & { readonly body: { readonly message: string; readonly signature: string } };

/**
 * The wallet that has signed; null if the call was refused. Unlike a sign-in, a change answers every refusal with one
 * status.
 */
function checked(call: SignedCall, purpose: WalletPurpose, { walletProofs, clock }: WalletDeps): string | null {
  const { message, signature } = call.body;
  return signerOf(call, walletProofs.check(message, signature, purpose, clock.nowMs()));
}

function signerOf(call: Call, proof: string | Refusal): string | null {
  if (typeof proof === 'string') return proof;
  const { row, details } = proof;
  const isOurs = row === ERRORS.PROVIDER_UNAVAILABLE;
  refuse(call, isOurs ? proof : { row: ERRORS.VALIDATION_ERROR, message: proof.message ?? row.message, details });
  return null;
}

function delegatesOf(wallet: string, { accounts }: WalletDeps): object {
  return { address: shownAddress(wallet), delegates: accounts.grants.delegatesOf(wallet).map(shownAddress) };
}

function userOf(call: AccountCall, { accounts }: WalletDeps): User {
  return accounts.byIndex(call.principal.accountIndex);
}
