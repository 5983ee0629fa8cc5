/**
 * The one socket of the tab. It belongs to the visitor: a signed-in person gets books and private events over a socket
 * of the session, all others get books over a socket without credentials.
 *
 * Invariants:
 *   WEBSTREAM-1  A tab has one socket; if the visitor changes, a new socket is opened and the old one is closed.
 */
import { useEffect, useState } from 'preact/hooks';
import type { StreamSocket } from '../../../shared/client/stream/connection.ts';
import { ExchangeStream } from '../../../shared/client/stream/exchangeStream.ts';
import { ticket, useVisitor } from './session.ts';

/** The id of an account, or of all visitors without one. */
type StreamOwner = string;
const ANYONE: StreamOwner = '';
/** A visitor who is not known by then sees the books without an account. */
const PATIENCE_MS = 2000;

let open: { readonly owner: StreamOwner; readonly stream: ExchangeStream } | null = null;

/** Null while the visitor is unknown: the socket would be closed again at once. */
export function useStreamOwner(): StreamOwner | null {
  const visitor = useVisitor();
  const [isPatient, setPatient] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setPatient(false), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (visitor.kind === 'user') return visitor.user.id;
  return visitor.kind === 'anonymous' || !isPatient ? ANYONE : null;
}

export function streamOf(owner: StreamOwner): ExchangeStream {
  if (open?.owner !== owner || open.stream.isClosed) {
    open?.stream.close();
    const session = owner === ANYONE ? {} : { session: { ticket } };
    open = { owner, stream: new ExchangeStream({ baseUrl: location.origin, openSocket, ...session }) };
  }
  return open.stream;
}

/** Browsers write an error to the console if a socket is closed before it is open, so it is closed right after. */
function openSocket(url: string): StreamSocket {
  const socket = new WebSocket(url);
  const close = socket.close.bind(socket);
  socket.close = (code) => {
    if (socket.readyState === WebSocket.CONNECTING) socket.addEventListener('open', () => close(code));
    else close(code);
  };
  return socket as unknown as StreamSocket;
}
