/**
 * Connections that a newer one has replaced (RULES.md 8.2), and their orders (8.10). Usually the same program
 * reconnects after a network failure. It has some seconds to ask for `cancel_on_disconnect` on the new connection,
 * which then takes the orders over; otherwise they are cancelled. Owner: the gateway thread.
 *
 * Invariant:
 *   HANDOVERS-1  Each handover ends once: the successor takes over, or the orders are cancelled.
 */

/** A connection that was silent for this long has not answered a ping. */
const SILENT_MS = 15_000;
const HANDOVER_MS = 5000;

type Successor = { readonly isOpen: boolean; readonly user: { readonly cancelsOnDisconnect: boolean } | null };
type Handover<S> = { readonly account: number; readonly successor: S; readonly dueMs: number };

export class Handovers<S extends Successor> {
  #waiting: readonly Handover<S>[] = [];

  add(account: number, successor: S, nowMs: number): void {
    this.#waiting = [...this.#waiting, { account, successor, dueMs: nowMs + HANDOVER_MS }];
  }

  /** The connection has ended; if it had taken the orders over, they are its own. */
  ended(connection: S, hadTakenOver: boolean): void {
    if (hadTakenOver) this.#waiting = this.#waiting.filter(({ successor }) => successor !== connection);
  }

  /** HANDOVERS-1. @returns the accounts whose orders must now be cancelled */
  due(nowMs: number): readonly number[] {
    if (this.#waiting.length === 0) return [];
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= nowMs);
    this.#waiting = this.#waiting.filter(({ dueMs }) => dueMs > nowMs);
    return due.filter(({ successor }) => !hasTakenOver(successor)).map(({ account }) => account);
  }
}

function hasTakenOver({ isOpen, user }: Successor): boolean {
  return isOpen && user?.cancelsOnDisconnect === true;
}

/** Returns null if every connection has received something lately. */
export function longestSilent<C extends { readonly lastReceivedMs: number }>(
  connections: Iterable<C>,
  nowMs: number,
): C | null {
  let silent: C | null = null;
  for (const connection of connections) {
    if (nowMs - connection.lastReceivedMs < SILENT_MS) continue;
    if (silent === null || connection.lastReceivedMs < silent.lastReceivedMs) silent = connection;
  }
  return silent;
}
