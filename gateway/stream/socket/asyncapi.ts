/** The AsyncAPI 3.0 description of the stream, made from the schemas the stream itself uses. */

import { CLIENT_MESSAGES, type FrameSpec, SERVER_FRAMES } from '../frames.ts';
import { STREAM_PATH } from './limits.ts';

const CHANNEL = 'stream';

type Reference = { readonly $ref: string };

export function asyncApiDocument(): object {
  const sent = Object.keys(CLIENT_MESSAGES);
  const received = Object.keys(SERVER_FRAMES);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Prediction market exchange: stream',
      version: '1',
      description:
        'One WebSocket for market data and for the private frames of an account. The upgrade is signed like any GET ' +
        'request with an API key, or has the ticket of a session in its query; without either there are the public ' +
        'channels only.',
    },
    defaultContentType: 'application/json',
    channels: {
      [CHANNEL]: {
        address: STREAM_PATH,
        messages: Object.fromEntries(
          [...sent, ...received].map((name) => [name, reference('components/messages', name)]),
        ),
      },
    },
    operations: {
      request: operation('receive', sent),
      follow: operation('send', received),
    },
    components: { messages: { ...messagesOf(CLIENT_MESSAGES), ...messagesOf(SERVER_FRAMES) } },
  };
}

/** An operation as the server sees it: it receives the messages that clients send. */
function operation(action: 'send' | 'receive', names: readonly string[]): object {
  return {
    action,
    channel: { $ref: `#/channels/${CHANNEL}` },
    messages: names.map((name) => reference(`channels/${CHANNEL}/messages`, name)),
  };
}

function messagesOf(specs: Readonly<Record<string, FrameSpec>>): object {
  const entries = Object.entries(specs).map(([name, { summary, schema }]) => {
    return [name, { name, summary, contentType: 'application/json', payload: schema }];
  });
  return Object.fromEntries(entries);
}

function reference(place: string, name: string): Reference {
  return { $ref: `#/${place}/${name}` };
}
