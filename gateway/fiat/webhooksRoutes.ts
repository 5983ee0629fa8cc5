/**
 * Receives the events of providers (RULES.md 16.30): an event with a valid signature is stored first and processed
 * afterwards.
 */
import { WEBHOOK_TAKEN } from '../../shared/api/fiat.ts';
import { ANY_MEMBERS } from '../../shared/api/fields.ts';
import { described } from '../../shared/api/schema.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { FiatWebhooks } from './fiatWebhooksStore.ts';
import type { FiatProvider } from './provider.ts';

type WebhookDeps = {
  readonly providers: ReadonlyMap<string, FiatProvider>;
  readonly webhooks: FiatWebhooks;
  readonly clock: Clock;
};

const TAKE = {
  method: 'POST',
  path: '/v1/fiat/webhooks/:provider',
  id: 'receiveFiatWebhook',
  summary: 'An event of a provider, signed in its own way over these bytes; a hint, not a fact.',
  access: 'public',
  limit: 'providerEvent',
  storing: true,
  hasForeignHeaders: true,
  params: { provider: { type: 'string', examples: ['sandbox'] } },
  bodyType: 'application/json',
  documentedBody: described(ANY_MEMBERS, 'As the provider documents it.'),
  answers: { 200: WEBHOOK_TAKEN },
  errors: ['RESOURCE_NOT_FOUND', 'INVALID_HMAC_SIGNATURE', 'FIAT_UNAVAILABLE'],
} as const satisfies RouteSpec;

export function fiatWebhookRoutes(deps: WebhookDeps): Route[] {
  return [route(TAKE, (call) => take(call, deps))];
}

/** The seventh of the seven steps: the event is durable before it is processed and before it is answered. */
async function take(call: CallOf<typeof TAKE>, { providers, webhooks, clock }: WebhookDeps): Promise<void> {
  const provider = providers.get(call.params.provider);
  if (provider === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'unknown provider' });
  const nowMs = clock.nowMs();
  const event = provider.verifyWebhook(call.headers.foreign, call.bodyBytes, nowMs);
  if (event === null) return refuse(call, { row: ERRORS.INVALID_HMAC_SIGNATURE });
  // A provider sends an event again if it was not accepted.
  if (webhooks.isFull) return refuse(call, { row: ERRORS.FIAT_UNAVAILABLE });
  const { eventId, partnerReference } = event;
  // An event that names no session is kept, and means nothing here.
  webhooks.add({ provider: provider.name, eventId, partnerReference: partnerReference ?? '' }, call.bodyBytes, nowMs);
  await webhooks.durable();
  ok(call, { message: 'event taken' });
}
