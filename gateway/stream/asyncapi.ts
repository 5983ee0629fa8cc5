/** The AsyncAPI 3.0 description of the stream, made from the schemas the stream itself uses. */
import { TICKET_QUERY } from '../../shared/api/sessions.ts';
import { memberOf } from '../../shared/base/memberOf.ts';
import { MAX_CONNECTIONS_PER_KEY } from '../access/keyCredential.ts';
import { MAX_CONNECTIONS_OF_SESSIONS } from '../access/sessionCredential.ts';
import { KEY_SCHEMES } from '../http/securitySchemes.ts';
import { withUnits } from '../http/units.ts';
import { MAX_ORDER_MESSAGE_BYTES, MAX_ORDERS_IN_FLIGHT } from './entryLimits.ts';
import { FRAME_EXAMPLES } from './frameExamples.ts';
import type { FrameSpec } from './frameFields.ts';
import { CLIENT_MESSAGES, MAX_CANDLES, MAX_MARKETS, SERVER_FRAMES } from './frames.ts';
import * as limits from './limits.ts';

const CHANNEL = 'stream';
const SENT = Object.keys(CLIENT_MESSAGES);
const RECEIVED = Object.keys(SERVER_FRAMES);
const ANSWERS = ['subscribed', 'unsubscribed', 'pong', 'order_result', 'error'];

type Reference = { readonly $ref: string };

const INFO = {
  title: 'Prediction market exchange: stream',
  version: '1',
  license: { name: 'MIT' },
  description:
    'One WebSocket for market data and for the private frames of an account. The upgrade is signed like any GET ' +
    'request with an API key, or has the ticket of a session in its query; without either there are the public ' +
    'channels only. Times are Unix milliseconds, amounts decimal text in atomic units. How to follow a book and an ' +
    'account without losing a frame is in /docs/streams.',
};

/** RULES.md 8.2 and 8.11. */
const LIMITS = {
  connections_per_key: MAX_CONNECTIONS_PER_KEY,
  connections_of_sessions_per_account: MAX_CONNECTIONS_OF_SESSIONS,
  connections_per_address_without_a_key: limits.MAX_CONNECTIONS_PER_ADDRESS,
  markets_per_connection: MAX_MARKETS,
  candles_per_connection: MAX_CANDLES,
  message_bytes: limits.MAX_MESSAGE_BYTES,
  order_message_bytes: MAX_ORDER_MESSAGE_BYTES,
  orders_in_flight: MAX_ORDERS_IN_FLIGHT,
  messages_per_second: limits.MAX_MESSAGES_PER_SECOND,
  buffered_bytes: limits.MAX_BUFFERED_BYTES,
  ping_every_ms: limits.PING_EVERY_MS,
  idle_close_ms: limits.IDLE_CLOSE_MS,
  heartbeat_every_ms: limits.HEARTBEAT_EVERY_MS,
};

const SECURITY_SCHEMES = {
  ...Object.fromEntries(
    Object.entries(KEY_SCHEMES).map(([name, scheme]) => [name, { ...scheme, type: 'httpApiKey' }] as const),
  ),
  ticket: {
    type: 'httpApiKey',
    in: 'query',
    name: 'ticket',
    description: 'Of POST /v1/auth/ws-ticket: opens one socket of a session within 30 seconds.',
  },
};

export function asyncApiDocument(): object {
  return {
    asyncapi: '3.0.0',
    info: INFO,
    defaultContentType: 'application/json',
    channels: {
      [CHANNEL]: {
        address: limits.STREAM_PATH,
        messages: Object.fromEntries(
          [...SENT, ...RECEIVED].map((name) => [name, reference('components/messages', name)]),
        ),
        bindings: { ws: { method: 'GET', query: TICKET_QUERY } },
        'x-limits': LIMITS,
      },
    },
    operations: {
      request: {
        ...operation('receive', SENT),
        summary: 'What a client asks for. The answer has the id of the request.',
        security: Object.keys(SECURITY_SCHEMES).map((name) => reference('components/securitySchemes', name)),
        reply: { channel: { $ref: `#/channels/${CHANNEL}` }, messages: messagesIn(ANSWERS) },
      },
      follow: { ...operation('send', RECEIVED), summary: 'What the exchange sends.' },
    },
    components: {
      messages: { ...messagesOf(CLIENT_MESSAGES), ...messagesOf(SERVER_FRAMES) },
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** An operation from the server's point of view: it receives the messages that clients send. */
function operation(action: 'send' | 'receive', names: readonly string[]): object {
  return { action, channel: { $ref: `#/channels/${CHANNEL}` }, messages: messagesIn(names) };
}

function messagesIn(names: readonly string[]): Reference[] {
  return names.map((name) => reference(`channels/${CHANNEL}/messages`, name));
}

function messagesOf(specs: Readonly<Record<string, FrameSpec>>): object {
  const entries = Object.entries(specs).map(([name, { summary, schema }]) => {
    const examples = [{ payload: memberOf(FRAME_EXAMPLES, name) }];
    return [name, { name, summary, contentType: 'application/json', payload: withUnits(schema), examples }];
  });
  return Object.fromEntries(entries);
}

function reference(place: string, name: string): Reference {
  return { $ref: `#/${place}/${name}` };
}
