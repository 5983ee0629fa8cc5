/** The upgrade to the stream, which passes the same stages as every call, and the stream's document. */

import type { BlockList } from 'node:net';
import { DOCUMENT } from '../../shared/api/platform.ts';
import { TICKET, TICKET_QUERY } from '../../shared/api/sessions.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { ENTRY_PROTOCOL } from '../../shared/wire/entry.ts';
import { sessionOf } from '../access/credentialOf.ts';
import { clientSubject } from '../base/clientAddress.ts';
import { type AccountPrincipal, isAccount } from '../base/principal.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { STREAM_PATH } from './limits.ts';
import type { Stream } from './stream.ts';
import { TICKET_SEC, type Tickets } from './tickets.ts';

type StreamDeps = {
  readonly stream: Stream;
  readonly tickets: Tickets;
  readonly trustProxy: BlockList | null;
  readonly clock: Clock;
};

const OPEN_STREAM = {
  method: 'GET',
  path: STREAM_PATH,
  id: 'openStream',
  summary: 'The upgrade to the WebSocket stream, which /asyncapi.json describes.',
  access: 'public',
  strictKey: true,
  query: TICKET_QUERY,
  answers: { 101: {} },
  errors: ['VALIDATION_ERROR', 'INVALID_TICKET'],
} as const satisfies RouteSpec;

const ISSUE_TICKET = {
  method: 'POST',
  path: '/v1/auth/ws-ticket',
  id: 'issueStreamTicket',
  summary: 'A ticket that opens one socket of this session: the parameter `ticket` of the upgrade.',
  access: 'stream:user',
  bodyOptional: true,
  answers: { 200: TICKET },
  errors: ['SESSION_REQUIRED'],
} as const satisfies RouteSpec;

const SHOW_ASYNCAPI = {
  method: 'GET',
  path: '/asyncapi.json',
  id: 'getAsyncApi',
  summary: 'The AsyncAPI document of the stream.',
  access: 'public',
  answers: { 200: DOCUMENT },
} as const satisfies RouteSpec;

export function streamRoutes(deps: StreamDeps): Route[] {
  const document = JSON.stringify(asyncApiDocument());
  return [
    route(OPEN_STREAM, (call) => upgrade(call, deps)),
    route(ISSUE_TICKET, (call) => issueTicket(call, deps)),
    route(SHOW_ASYNCAPI, (call) => ok(call, document)),
  ];
}

/** An API key signs the upgrade itself: it gets no ticket, which would bypass that signature. */
function issueTicket(call: CallOf<typeof ISSUE_TICKET>, { tickets, clock }: StreamDeps): void {
  const session = sessionOf(call.principal);
  if (session === null) refuse(call, { row: ERRORS.SESSION_REQUIRED });
  else ok(call, { ticket: tickets.issue(session, clock.nowMs()), expires_in: TICKET_SEC });
}

function upgrade(call: CallOf<typeof OPEN_STREAM>, deps: StreamDeps): void {
  const { stream, trustProxy } = deps;
  const { response, transport } = call;
  if (transport.upgrade === null || call.headers.bodyBytes !== 0) {
    const details = { field: 'upgrade', rule: 'required', value: 'websocket' };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'a WebSocket upgrade is expected here', details });
    return;
  }
  const principal = holderOf(call, deps);
  if (principal === undefined) return;
  const protocol = protocolOf(transport.upgrade.protocol);
  if (protocol !== '' && principal === null)
    return refuse(call, { row: ERRORS.MISSING_API_KEY_HEADERS, details: { step: 'headers' } });
  if (!call.aborted) {
    const { key, extensions, context } = transport.upgrade;
    const { forwardedFor } = transport;
    // The bytes of uWebSockets.js are valid for this turn.
    const peer = transport.peer().slice();
    const origin = { subject: clientSubject(peer, forwardedFor, trustProxy), peer, forwardedFor };
    const data = { connection: stream.connection(principal, origin, protocol !== '') };
    // `cork` is not used: after a turn of the event loop, for example while waiting for a counter, it would take the
    // socket for a response and might close it. Within the turn of the request the response is already corked.
    response.upgrade(data, key, protocol, extensions, context);
  }
  call.answered = true;
  call.host.onAnswered(call);
}

/** Picks the subprotocol from those offered: unknown ones are ignored, and without a known one the frames are JSON. */
function protocolOf(offered: string): string {
  return offered.split(',').some((name) => name.trim() === ENTRY_PROTOCOL) ? ENTRY_PROTOCOL : '';
}

/** Null for an anonymous socket; undefined if the call was refused. A session opens sockets only with tickets. */
function holderOf(
  call: CallOf<typeof OPEN_STREAM>,
  { tickets, clock }: StreamDeps,
): AccountPrincipal | null | undefined {
  const { ticket } = call.query;
  const { principal } = call;
  if (ticket === undefined && sessionOf(principal) === null) return isAccount(principal) ? principal : null;
  const holder = ticket === undefined || isAccount(principal) ? null : tickets.redeem(ticket, clock.nowMs());
  if (holder !== null) return holder;
  refuse(call, { row: ERRORS.INVALID_TICKET, details: { step: 'ticket' } });
  return undefined;
}
