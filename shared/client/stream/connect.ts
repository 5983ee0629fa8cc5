/**
 * Connections of the stream. They run on the WebSocket of Node and of browsers. Node's accepts headers, which the
 * upgrade signed with an API key needs; a browser's does not, and opens private events with the tickets of a session.
 * `openSocket` replaces the implementation.
 */
import { Addresses, type BaseUrl } from '../addresses.ts';
import { isRefusal } from '../answers.ts';
import { type ApiError, sendRequest } from '../http.ts';
import { type HeaderFields, prepareRequest, type Signer } from '../request.ts';
import {
  type ConnectionHandler,
  type ConnectionTimes,
  DEFAULT_TIMES,
  type OpenSocket,
  StreamConnection,
  type StreamSocket,
} from './connection.ts';
import { STREAM_PATH } from './frames.ts';

/** The part of a session that opens sockets at an address. */
export type Tickets = { ticket(origin: string): Promise<string> };

export type StreamOptions = {
  /** For a cluster the addresses of its members, each of which has every stream. */
  readonly baseUrl: BaseUrl;
  /** Signs the upgrade with an API key; without it and without a session only books are available. */
  readonly signer?: Signer | undefined;
  /** Every connection uses a new ticket. */
  readonly session?: Tickets | undefined;
  readonly openSocket?: OpenSocket;
  readonly times?: Partial<ConnectionTimes>;
  /** Returns a random number from 0 up to 1, which spreads reconnects. */
  readonly random?: () => number;
};

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

/** Opens the connection of a stream, or, with another handler, a connection for other messages. */
export function connect(options: StreamOptions, handler: ConnectionHandler, protocol?: string): StreamConnection {
  const { signer, session } = options;
  const addresses = new Addresses(options.baseUrl);
  return new StreamConnection(
    {
      url: () => addresses.current.replace(/^http/, 'ws') + STREAM_PATH,
      onLost: () => addresses.moveFrom(addresses.current),
      openSocket: options.openSocket ?? openGlobalSocket,
      protocol,
      headers: () => signer?.headers('GET', STREAM_PATH, ''),
      ticket: session === undefined ? null : () => session.ticket(addresses.current),
      permanentError: (ofTicket) => permanentError(addresses.current, signer, ofTicket),
      times: { ...DEFAULT_TIMES, ...options.times },
      random: options.random ?? Math.random,
    },
    handler,
  );
}

/** A WebSocket does not report why it could not be opened; the answer to the same request without an upgrade does. */
async function permanentError(origin: string, signer: Signer | undefined, ofTicket: unknown): Promise<Error | null> {
  if (signer === undefined) return isPermanent(ofTicket) ? ofTicket : null;
  try {
    const request = prepareRequest('GET', STREAM_PATH, undefined, (...parts) => signer.headers(...parts));
    await sendRequest(origin, request);
    return null;
  } catch (error) {
    return isPermanent(error) ? error : null;
  }
}

function isPermanent(error: unknown): error is ApiError {
  return isRefusal(error) && [UNAUTHORIZED, FORBIDDEN].includes(error.status);
}

const NO_WEB_SOCKET =
  'this Node has no WebSocket: use Node 22 or later, start it with --experimental-websocket, or give openSocket';

function openGlobalSocket(url: string, headers: HeaderFields | undefined, protocol?: string): StreamSocket {
  if (globalThis.WebSocket === undefined) throw new Error(NO_WEB_SOCKET);
  const protocols = protocol === undefined ? [] : [protocol];
  // A browser expects a list of protocols as the second argument; this call is for Node's WebSocket, whose types are
  // not declared here.
  const socket = new WebSocket(url, headers === undefined ? protocols : ({ headers, protocols } as never));
  socket.binaryType = 'arraybuffer';
  return socket as unknown as StreamSocket;
}
