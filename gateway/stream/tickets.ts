/**
 * Tickets for the upgrade to the stream (RULES.md 15.7): a browser cannot send a header with the upgrade, and a token
 * in the address would end up in logs. A ticket is used once, within TICKET_MS. Owner: the gateway thread, in memory: a
 * ticket does not outlive the process.
 *
 * Invariants:
 *   TICKETS-1  A ticket opens one socket, and none once its session has ended.
 *   TICKETS-2  A session has at most PER_SESSION tickets. One more takes the place of the oldest.
 */
import { hash, randomBytes } from 'node:crypto';
import type { SessionPrincipal } from '../base/principal.ts';

export const TICKET_SEC = 30;
const TICKET_MS = TICKET_SEC * 1000;
const TICKET_BYTES = 32;
const PER_SESSION = 8;

type Ticket = { readonly sessionId: string; readonly expiresMs: number };

type TicketsOptions = {
  /** The principal of a valid session in its present state; null if the session has ended. */
  readonly find: (sessionId: string, nowMs: number) => SessionPrincipal | null;
};

export class Tickets {
  readonly #find: TicketsOptions['find'];
  /** By the ticket's hash, so that the time of a look-up reveals nothing about a ticket; oldest first. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #bySession = new Map<string, string[]>();

  constructor({ find }: TicketsOptions) {
    this.#find = find;
  }

  get count(): number {
    return this.#tickets.size;
  }

  issue({ sessionId }: SessionPrincipal, nowMs: number): string {
    const ticket = randomBytes(TICKET_BYTES).toString('base64url');
    const own = this.#bySession.get(sessionId) ?? [];
    this.#bySession.set(sessionId, own);
    if (own.length === PER_SESSION) this.#tickets.delete(own.shift()!);
    const key = hashOf(ticket);
    own.push(key);
    this.#tickets.set(key, { sessionId, expiresMs: nowMs + TICKET_MS });
    return ticket;
  }

  /** Null if the ticket is unknown, used or too old, or its session has ended. */
  redeem(ticket: string, nowMs: number): SessionPrincipal | null {
    const key = hashOf(ticket);
    const found = this.#tickets.get(key);
    if (found === undefined) return null;
    this.#delete(key, found);
    return found.expiresMs <= nowMs ? null : this.#find(found.sessionId, nowMs);
  }

  /** Called from time to time: forgets tickets that are too old. */
  tick(nowMs: number): void {
    for (const [key, ticket] of this.#tickets) {
      if (ticket.expiresMs > nowMs) return;
      this.#delete(key, ticket);
    }
  }

  #delete(key: string, { sessionId }: Ticket): void {
    this.#tickets.delete(key);
    const others = this.#bySession.get(sessionId)!.filter((each) => each !== key);
    if (others.length === 0) this.#bySession.delete(sessionId);
    else this.#bySession.set(sessionId, others);
  }
}

function hashOf(ticket: string): string {
  return hash('sha256', ticket, 'binary');
}
