/** The upgrade to the stream, which passes the same stages as every call, and the document of the stream. */

import type { BlockList } from 'node:net';
import { DOCUMENT } from '../../../shared/api/platform.ts';
import { ERRORS } from '../../../shared/base/errors.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import { clientSubject } from '../../limits/clientAddress.ts';
import { asyncApiDocument } from '../../stream/socket/asyncapi.ts';
import { STREAM_PATH } from '../../stream/socket/limits.ts';
import type { Stream } from '../../stream/socket/stream.ts';

type StreamDeps = { readonly stream: Stream; readonly trustProxy: BlockList | null };

const OPEN_STREAM = {
  method: 'GET',
  path: STREAM_PATH,
  summary: 'The upgrade to the WebSocket stream, which /asyncapi.json describes.',
  access: 'public',
  strictKey: true,
  limit: 'unlisted',
  answers: { 101: {} },
  errors: ['VALIDATION_ERROR'],
} as const satisfies RouteSpec;

const SHOW_ASYNCAPI = {
  method: 'GET',
  path: '/asyncapi.json',
  summary: 'The AsyncAPI document of the stream.',
  access: 'public',
  limit: 'unlisted',
  answers: { 200: DOCUMENT },
} as const satisfies RouteSpec;

export function streamRoutes(deps: StreamDeps): Route[] {
  const document = JSON.stringify(asyncApiDocument());
  return [route(OPEN_STREAM, (call) => upgrade(call, deps)), route(SHOW_ASYNCAPI, (call) => ok(call, document))];
}

function upgrade(call: CallOf<typeof OPEN_STREAM>, { stream, trustProxy }: StreamDeps): void {
  const { response } = call;
  if (call.upgrade === null || call.announcedBytes !== 0) {
    const details = { field: 'upgrade', rule: 'required', value: 'websocket' };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'a WebSocket upgrade is expected here', details });
    return;
  }
  if (!call.aborted) {
    const { key, protocol, extensions, context } = call.upgrade;
    const address = clientSubject(new Uint8Array(response.getRemoteAddress()), call.forwardedFor, trustProxy);
    const apiKey = call.principal.kind === 'apiKey' ? call.principal : null;
    const data = { connection: stream.connection(apiKey, address) };
    response.cork(() => response.upgrade(data, key, protocol, extensions, context));
  }
  call.answered = true;
  call.host.onAnswered(call);
}
