/** A connection, as far as requests about orders use it (socket/connection.ts). */
import type { AccountPrincipal } from '../base/principal.ts';
import type { Results } from './entryResults.ts';

/** The id that a client gives its message; the answer carries the same id. */
export type RequestId = string | number;

/** The address from which a connection was opened. */
export type Origin = {
  /** The address to whose limit an anonymous connection counts. */
  readonly subject: string;
  /** The remote end of the socket, and the client address that a proxy there reports. */
  readonly peer: Uint8Array;
  readonly forwardedFor: string;
};

/** A connection with the subprotocol of binary records; its answers are in `results` until it sends them. */
export type BinaryConnection = Omit<OrderConnection, 'push' | 'principal'> & {
  readonly principal: AccountPrincipal;
  readonly results: Results;
  /** A result has been added. */
  resultsPushed(): void;
};

export type OrderConnection = {
  /** Null for an anonymous connection. */
  readonly principal: AccountPrincipal | null;
  readonly origin: Origin;
  readonly isOpen: boolean;
  /** Requests that are not answered yet. */
  ordersInFlight: number;
  /** Sends the frame together with the other frames of this turn; does nothing if the connection has ended. */
  push(frame: Buffer): void;
};
