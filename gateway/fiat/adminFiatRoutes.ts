/** Cashing in and out as operators see it (RULES.md 16.50): queues, alarms, and every transition with its cause. */
import { ADMIN_FIAT_QUERY, ADMIN_FIAT_SESSION, ADMIN_FIAT_SESSIONS } from '../../shared/api/fiat.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Accounts } from '../account/accounts.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Fiat } from './fiat.ts';
import { fiatSessionOf, fiatTransferOf, timeOf } from './fiatJson.ts';
import type { FiatSession } from './fiatSessionsStore.ts';

type AdminFiatDeps = { readonly fiat: Fiat; readonly accounts: Pick<Accounts, 'idOf'>; readonly clock: Clock };

const READ = { method: 'GET', access: 'viewer' } as const;

const LIST = {
  ...READ,
  path: '/admin/fiat/sessions',
  id: 'adminListFiatSessions',
  summary: 'The queues of cashing in and out, and sessions: the newest, or those that someone has to look at.',
  query: ADMIN_FIAT_QUERY,
  answers: { 200: ADMIN_FIAT_SESSIONS },
} as const satisfies RouteSpec;

const SHOW = {
  ...READ,
  path: '/admin/fiat/sessions/:id',
  id: 'adminGetFiatSession',
  summary: 'One session with everything that happened to it, and why.',
  params: ID_PARAM,
  answers: { 200: ADMIN_FIAT_SESSION },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

export function adminFiatRoutes(deps: AdminFiatDeps): Route[] {
  return [route(LIST, (call) => list(call, deps)), route(SHOW, (call) => show(call, deps))];
}

function list(call: CallOf<typeof LIST>, deps: AdminFiatDeps): void {
  const { sessions } = deps.fiat;
  const { alarmed, limit, offset } = call.query;
  const rows = alarmed ? sessions.alarmed(limit) : sessions.recent(limit, offset);
  ok(call, { queues: queuesOf(deps.fiat), sessions: rows.map((session) => adminSessionOf(session, deps)) });
}

function queuesOf({ sessions, webhooks, driver, payer }: Fiat): object {
  const byState: Record<string, number> = {};
  let open = 0;
  for (const { transferState, status } of sessions.open()) {
    const state = transferState ?? status;
    byState[state] = (byState[state] ?? 0) + 1;
    open++;
  }
  return {
    open,
    alarmed: sessions.alarmedCount,
    by_state: byState,
    waiting_events: webhooks.waiting().length,
    polls_under_way: driver.pollsUnderWay,
    relay: payer.state,
  };
}

async function show(call: CallOf<typeof SHOW>, deps: AdminFiatDeps): Promise<void> {
  const { sessions, transfers, webhooks } = deps.fiat;
  const session = sessions.find(call.params.id.toLowerCase());
  if (session === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'session not found' });
  const { id, partnerReference } = session;
  // It asks the chain: what follows is read at the moment of the answer.
  const transfer =
    session.kind === 'offramp' ? await fiatTransferOf(session, { ...deps.fiat, clock: deps.clock }) : null;
  ok(call, {
    session: adminSessionOf(session, deps),
    transfer,
    envelopes: deps.fiat.payer.transactionsOf(id).map(({ accountNonce, fee, txHash, state, createdMs }) => {
      return { account_nonce: accountNonce, fee, tx_hash: txHash, state, created_at: timeOf(createdMs) };
    }),
    claimed_tx_hashes: transfers.claimsOf(id),
    transitions: sessions.transitionsOf(id).map(({ subject, fromState, toState, cause, evidence, atMs }) => {
      const read = evidence === null ? null : JSON.parse(evidence);
      return { subject, from: fromState, to: toState, cause, evidence: read, at: timeOf(atMs) };
    }),
    events: webhooks.of(partnerReference).map(({ eventId, receivedMs, processedMs }) => {
      const processed = processedMs === null ? null : timeOf(processedMs);
      return { event_id: eventId, received_at: timeOf(receivedMs), processed_at: processed };
    }),
  });
}

function adminSessionOf(session: FiatSession, { accounts }: AdminFiatDeps): object {
  return {
    ...fiatSessionOf(session),
    user_id: accounts.idOf(session.account),
    partner_reference: session.partnerReference,
    provider_status: session.providerStatus,
    alarm: session.alarm,
    transfer_state: session.transferState,
  };
}
