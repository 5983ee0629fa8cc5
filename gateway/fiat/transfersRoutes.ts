/** Routes to see, sign and resend the transfer of an off-ramp (RULES.md 16.10 to 16.14). */
import { AUTHORIZATION_BODY, FIAT_TRANSACTION, FIAT_TRANSFER, INTENT_BODY } from '../../shared/api/fiat.ts';
import type { Refusal } from '../base/refusal.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { FiatDriver } from './driver.ts';
import { type FiatViews, fiatTransactionOf, fiatTransferOf } from './fiatJson.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatService } from './service.ts';
import { requireSession } from './sessionsRoutes.ts';

type FiatTransferDeps = FiatViews & {
  readonly service: FiatService;
  readonly driver: FiatDriver;
  readonly sessions: Pick<FiatSessions, 'durable'>;
};

const OF_SESSION = { access: 'authenticated', params: ID_PARAM } as const;
const READ = { ...OF_SESSION, method: 'GET', errors: ['RESOURCE_NOT_FOUND'] } as const;
const WRITE = { ...OF_SESSION, method: 'POST', answers: { 200: FIAT_TRANSFER } } as const;
const PATH = '/v1/user/fiat/offramp/sessions/:id';

const SHOW = {
  ...READ,
  path: `${PATH}/transfer`,
  id: 'getOfframpTransfer',
  summary: 'The transfer: its state, what the wallet signs, and what the rail shows of it.',
  answers: { 200: FIAT_TRANSFER },
} as const satisfies RouteSpec;

const SHOW_TRANSACTION = {
  ...READ,
  path: `${PATH}/transaction`,
  id: 'getOfframpTransaction',
  summary: 'The transaction of the provider, or a message while there is none.',
  answers: { 200: FIAT_TRANSACTION },
} as const satisfies RouteSpec;

const AUTHORIZE = {
  ...WRITE,
  path: `${PATH}/transfer/authorization`,
  id: 'authorizeOfframpTransfer',
  summary: 'Takes the signature of the wallet, which is kept before the transfer is sent.',
  storing: true,
  body: AUTHORIZATION_BODY,
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT', 'VALIDATION_ERROR', 'INSUFFICIENT_BALANCE', 'FIAT_UNAVAILABLE'],
} as const satisfies RouteSpec;

const SUBMIT = {
  ...WRITE,
  path: `${PATH}/transfer/submit`,
  id: 'submitOfframpTransfer',
  summary: 'Sends the signed transfer again, with the same bytes.',
  keepsKey: true,
  body: INTENT_BODY,
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

export function fiatTransferRoutes(deps: FiatTransferDeps): Route[] {
  return [
    route(SHOW, async (call) => {
      const session = requireSession(call, 'offramp', deps.service);
      if (session === null) return;
      deps.driver.watched(session);
      await answerTransfer(call, session, null, deps);
    }),
    route(SHOW_TRANSACTION, async (call) => {
      const session = requireSession(call, 'offramp', deps.service);
      if (session === null) return;
      deps.driver.watched(session);
      await deps.sessions.durable();
      ok(call, fiatTransactionOf(session, deps));
    }),
    route(AUTHORIZE, async (call) => {
      const session = requireSession(call, 'offramp', deps.service);
      if (session === null) return;
      const { intent_id, signature } = call.body;
      const refusal = await deps.service.authorize(session, intent_id.toLowerCase(), signature);
      await answerTransfer(call, session, refusal, deps);
    }),
    route(SUBMIT, async (call) => {
      const session = requireSession(call, 'offramp', deps.service);
      if (session === null) return;
      const refusal = await deps.service.submit(session, call.body.intent_id.toLowerCase());
      await answerTransfer(call, session, refusal, deps);
    }),
  ];
}

type TransferCall = CallOf<typeof SHOW> | CallOf<typeof AUTHORIZE> | CallOf<typeof SUBMIT>;

/** The transfer is durable before it is shown: the second of the seven steps. */
async function answerTransfer(
  call: TransferCall,
  session: FiatSession,
  refusal: Refusal | null,
  deps: FiatTransferDeps,
): Promise<void> {
  if (refusal !== null) return refuse(call, refusal);
  await deps.sessions.durable();
  ok(call, await fiatTransferOf(session, deps));
}
