/** A connection as far as requests about orders need it (socket/connection.ts). */
import type { AccountPrincipal } from '../base/principal.ts';
import type { Results } from './entryResults.ts';

/** The name that a client has given to its message, and by which it knows the answer. */
export type RequestId = string | number;

/** From where a connection was opened. */
export type Origin = {
  /** An anonymous connection counts towards the limit of this address. */
  readonly subject: string;
  /** The other end of its socket, and what a proxy there says of its client. */
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
  /** Null: an anonymous connection. */
  readonly principal: AccountPrincipal | null;
  readonly origin: Origin;
  readonly isOpen: boolean;
  /** Requests that are not answered. */
  ordersInFlight: number;
  /** Sends the frame with the others of this turn; nowhere when the connection has ended. */
  push(frame: Buffer): void;
};
