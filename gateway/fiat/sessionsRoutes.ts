/** Routes for the sessions in which an account cashes in and out (RULES.md 16.1 to 16.9). */
import { createHash } from 'node:crypto';
import type { BlockList } from 'node:net';
import {
  COMPLETE_BODY,
  CREATED_FIAT_SESSION,
  FIAT_SESSION,
  FIAT_SESSIONS,
  type FiatKind,
  LAUNCH_TOKEN,
  NEW_OFFRAMP,
  NEW_ONRAMP,
  SESSIONS_QUERY,
} from '../../shared/api/fiat.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import type { AccountStates } from '../account/accountStates.ts';
import type { Accounts } from '../account/accounts.ts';
import { isFresh } from '../account/stepUp.ts';
import { clientAddress } from '../base/clientAddress.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Call } from '../http/call.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, okPage, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { fiatSessionOf } from './fiatJson.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatService, Launched, NewFiatSession } from './service.ts';

type FiatSessionDeps = {
  readonly sessions: FiatSessions;
  readonly service: FiatService;
  readonly accounts: Pick<Accounts, 'byIndex'>;
  readonly accountStates: AccountStates;
  readonly trustProxy: BlockList | null;
  readonly clock: Clock;
};

const CREATED = 201;

const READ = { method: 'GET', access: 'authenticated' } as const;
const WRITE = { method: 'POST', access: 'authenticated' } as const;
const OF_SESSION = { params: ID_PARAM, errors: ['RESOURCE_NOT_FOUND'] } as const;
const CREATE = {
  ...WRITE,
  keepsKey: true,
  storing: true,
  bodyOptional: true,
  answers: { 201: CREATED_FIAT_SESSION },
} as const;
const LAUNCH = {
  ...WRITE,
  params: ID_PARAM,
  answers: { 200: LAUNCH_TOKEN },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'ACCOUNT_FROZEN', 'FIAT_UNAVAILABLE'],
} as const;

const LIST = {
  ...READ,
  path: '/v1/user/fiat/sessions',
  id: 'listFiatSessions',
  summary: 'The sessions of the account, newest first.',
  query: SESSIONS_QUERY,
  answers: { 200: FIAT_SESSIONS },
} as const satisfies RouteSpec;

const SHOW = {
  ...READ,
  ...OF_SESSION,
  path: '/v1/user/fiat/sessions/:id',
  id: 'getFiatSession',
  summary: 'One session.',
  answers: { 200: FIAT_SESSION },
} as const satisfies RouteSpec;

const CREATE_ONRAMP = {
  ...CREATE,
  path: '/v1/user/fiat/onramp/sessions',
  id: 'createOnramp',
  summary: 'Begins to cash in: a session, and the page of the provider to go to.',
  limit: 'createOnramp',
  body: NEW_ONRAMP,
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'ACCOUNT_FROZEN', 'ACCOUNT_CLOSE_ONLY', 'FIAT_UNAVAILABLE'],
} as const satisfies RouteSpec;

const CREATE_OFFRAMP = {
  ...CREATE,
  path: '/v1/user/fiat/offramp/sessions',
  id: 'createOfframp',
  summary: 'Begins to cash out: a session, and the page of the provider to go to.',
  limit: 'createOfframp',
  body: NEW_OFFRAMP,
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'ACCOUNT_FROZEN', 'STEP_UP_REQUIRED', 'FIAT_UNAVAILABLE'],
} as const satisfies RouteSpec;

const COMPLETE_ONRAMP = {
  ...WRITE,
  ...OF_SESSION,
  path: '/v1/user/fiat/onramp/sessions/:id/complete',
  id: 'completeOnramp',
  summary: 'Says that the person is back from the provider, who is asked soon; credits nothing.',
  limit: 'completeOnramp',
  bodyOptional: true,
  body: COMPLETE_BODY,
  answers: { 200: FIAT_SESSION },
} as const satisfies RouteSpec;

const LAUNCH_ONRAMP = {
  ...LAUNCH,
  path: '/v1/user/fiat/onramp/sessions/:id/launch-token',
  id: 'launchOnramp',
  summary: 'Another way to the page of the provider, for a session that has begun to cash in.',
  errors: [...LAUNCH.errors, 'ACCOUNT_CLOSE_ONLY'],
} as const satisfies RouteSpec;

const LAUNCH_OFFRAMP = {
  ...LAUNCH,
  path: '/v1/user/fiat/offramp/sessions/:id/launch-token',
  id: 'launchOfframp',
  summary: 'Another way to the page of the provider, for a session that has begun to cash out.',
} as const satisfies RouteSpec;

const CANCEL_OFFRAMP = {
  ...WRITE,
  params: ID_PARAM,
  path: '/v1/user/fiat/offramp/sessions/:id/cancel',
  id: 'cancelOfframp',
  summary: 'Ends a session whose transfer is not signed yet; a repeat is answered in the same way.',
  answers: { 200: FIAT_SESSION },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

export function fiatSessionRoutes(deps: FiatSessionDeps): Route[] {
  return [
    route(LIST, (call) => list(call, deps)),
    route(SHOW, (call) => {
      const session = requireSession(call, null, deps.service);
      if (session !== null) ok(call, fiatSessionOf(session));
    }),
    route(CREATE_ONRAMP, (call) => create(call, 'onramp', call.body.payment_method ?? null, deps)),
    route(CREATE_OFFRAMP, (call) => create(call, 'offramp', call.body.cashout_method ?? null, deps)),
    route(COMPLETE_ONRAMP, (call) => {
      const session = requireSession(call, 'onramp', deps.service);
      if (session === null) return;
      deps.service.complete(session);
      ok(call, fiatSessionOf(session));
    }),
    route(LAUNCH_ONRAMP, (call) => launch(call, 'onramp', deps)),
    route(LAUNCH_OFFRAMP, (call) => launch(call, 'offramp', deps)),
    route(CANCEL_OFFRAMP, (call) => cancel(call, deps)),
  ];
}

type SessionCall = AccountCall & { readonly params: { readonly id: string } };

/**
 * Returns the session of the path, or null if the request was refused: another account's session is answered as missing
 * (FIAT-1).
 */
export function requireSession(
  call: SessionCall,
  kind: FiatKind | null,
  service: Pick<FiatService, 'find'>,
): FiatSession | null {
  const session = service.find(call.principal.accountIndex, call.params.id.toLowerCase(), kind);
  if (session === null) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'session not found' });
  return session;
}

function list(call: CallOf<typeof LIST>, { sessions }: FiatSessionDeps): void {
  const { kind, status, limit, offset } = call.query;
  const filter = { kind: kind ?? null, status: status ?? null };
  const { rows, total } = sessions.list(call.principal.accountIndex, filter, { limit, offset });
  okPage(call, 'sessions', rows.map(fiatSessionOf), { total, limit, offset });
}

type CreateCall = CallOf<typeof CREATE_ONRAMP> | CallOf<typeof CREATE_OFFRAMP>;

async function create(call: CreateCall, kind: FiatKind, method: string | null, deps: FiatSessionDeps): Promise<void> {
  const { service, accountStates, clock } = deps;
  const account = call.principal.accountIndex;
  // The connection is readable in this turn only.
  const clientIp = addressOf(call, deps);
  const idempotencyKey = call.idempotencyKey === '' ? null : call.idempotencyKey.toLowerCase();
  if (idempotencyKey !== null && !uuidToBytes(idempotencyKey, new Uint8Array(UUID_BYTES), 0))
    return refuse(call, { row: ERRORS.IDEMPOTENCY_KEY_MALFORMED });
  if (!mayBegin(call, kind, accountStates)) return;
  if (kind === 'offramp' && !isFresh(call, clock)) return;
  const walletAddress = requireWallet(call, deps);
  if (walletAddress === null) return;
  const { body } = call;
  const request: NewFiatSession = {
    account,
    kind,
    provider: body.provider ?? null,
    walletAddress,
    amount: body.amount ?? null,
    fiatCurrency: body.fiat_currency ?? 'USD',
    paymentMethod: method,
    redirectPath: body.redirect_path ?? null,
    idempotencyKey,
    fingerprint: createHash('sha256').update(kind).update(call.bodyBytes).digest('hex'),
  };
  const launched = await service.create(request, clientIp);
  answerLaunched(call, launched, (session, launchUrl) => {
    ok(call, { ...fiatSessionOf(session), session_id: session.id, launch_url: launchUrl }, CREATED);
  });
}

/**
 * Returns false if the request was refused: the state of the account allows no link to the provider (RULES.md 16.4).
 */
function mayBegin(call: AccountCall & Call, kind: FiatKind, states: AccountStates): boolean {
  const account = call.principal.accountIndex;
  const row = kind === 'onramp' ? states.addingRefusal(account) : states.reducingRefusal(account);
  if (row !== null) refuse(call, { row });
  return row === null;
}

/** Returns the wallet of the body or the account's first one; null if the request was refused. */
function requireWallet(call: CreateCall, { accounts }: FiatSessionDeps): string | null {
  const { wallets } = accounts.byIndex(call.principal.accountIndex);
  const named = call.body.wallet_address?.toLowerCase();
  const wallet = named ?? wallets[0];
  if (wallet === undefined) {
    refuse(call, { row: ERRORS.CONFLICT, message: 'the account has no linked wallet' });
    return null;
  }
  if (wallets.includes(wallet)) return wallet;
  refuse(call, { row: ERRORS.CONFLICT, message: 'the wallet is not linked to the account' });
  return null;
}

async function launch(
  call: CallOf<typeof LAUNCH_ONRAMP> | CallOf<typeof LAUNCH_OFFRAMP>,
  kind: FiatKind,
  deps: FiatSessionDeps,
): Promise<void> {
  const session = requireSession(call, kind, deps.service);
  if (session === null || !mayBegin(call, kind, deps.accountStates)) return;
  const launched = await deps.service.launch(session, addressOf(call, deps));
  answerLaunched(call, launched, ({ id, status }, launchUrl) => {
    ok(call, { session_id: id, status, launch_url: launchUrl });
  });
}

function answerLaunched(
  call: Call,
  launched: Launched | Refusal,
  answer: (session: FiatSession, launchUrl: string) => void,
): void {
  if ('row' in launched) refuse(call, launched);
  else answer(launched.session, launched.launchUrl);
}

async function cancel(call: CallOf<typeof CANCEL_OFFRAMP>, { service }: FiatSessionDeps): Promise<void> {
  const session = requireSession(call, 'offramp', service);
  if (session === null) return;
  const refusal = await service.cancel(session);
  if (refusal === null) ok(call, fiatSessionOf(session));
  else refuse(call, refusal);
}

function addressOf(call: Call, { trustProxy }: FiatSessionDeps): string {
  // The address of a client that has gone cannot be read.
  if (call.aborted) return '';
  return clientAddress(call.transport.peer(), call.transport.forwardedFor, trustProxy);
}
