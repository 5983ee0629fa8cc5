/** The door of the stream: the upgrade, which passes the same stages as every call, and what describes the stream. */
import type { BlockList } from 'node:net';
import { ERRORS } from '../../shared/errors.ts';
import type { Call } from '../call.ts';
import { clientSubject } from '../limits/clientAddress.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { asyncApiDocument } from '../stream/asyncapi.ts';
import { STREAM_PATH } from '../stream/limits.ts';
import type { Stream } from '../stream/stream.ts';

export type StreamDeps = { readonly stream: Stream; readonly trustProxy: BlockList | null };

export function streamRoutes(deps: StreamDeps): Route[] {
  const document = JSON.stringify(asyncApiDocument());
  return [
    {
      method: 'GET',
      path: STREAM_PATH,
      access: 'public',
      strictKey: true,
      limit: 'unlisted',
      handler: (call) => upgrade(call, deps),
    },
    {
      method: 'GET',
      path: '/asyncapi.json',
      access: 'public',
      limit: 'unlisted',
      handler: (call) => ok(call, document),
    },
  ];
}

function upgrade(call: Call, { stream, trustProxy }: StreamDeps): void {
  const { response } = call;
  if (call.upgrade === null || call.announcedBytes !== 0) {
    const details = { field: 'upgrade', rule: 'required', value: 'websocket' };
    fail(call, ERRORS.VALIDATION_ERROR, { message: 'a WebSocket upgrade is expected here', details });
    return;
  }
  if (!call.aborted) {
    const { key, protocol, extensions, context } = call.upgrade;
    const address = clientSubject(new Uint8Array(response.getRemoteAddress()), call.forwardedFor, trustProxy);
    const data = { connection: stream.connection(call.key, address) };
    response.cork(() => response.upgrade(data, key, protocol, extensions, context));
  }
  call.answered = true;
  call.onAnswered(call);
}
