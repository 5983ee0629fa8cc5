/**
 * Heartbeats of theirs: once begun, all orders of the account are cancelled if none comes for LAPSE_MS.
 *
 * Invariant:
 *   POLYHEARTBEATS-1  Every heartbeat arms the switch of the exchange too: orders are cancelled within fifteen seconds
 *                     even if this program dies.
 */
import { randomUUID } from 'node:crypto';
import type { Accounts } from './accounts.ts';
import type { Auth } from './auth.ts';
import { type Asked, jsonOf, objectOf, Refusal, type Route } from './reply.ts';

const LAPSE_MS = 10_000;

type Chain = { readonly id: string; readonly timer: NodeJS.Timeout };

export class PolymarketHeartbeats {
  readonly #auth: Auth;
  readonly #accounts: Accounts;
  readonly #onError: (error: unknown) => void;
  readonly #lapseMs: number;
  /** By address; as many as there are accounts. */
  readonly #chains = new Map<string, Chain>();

  constructor(auth: Auth, accounts: Accounts, onError: (error: unknown) => void, lapseMs = LAPSE_MS) {
    this.#auth = auth;
    this.#accounts = accounts;
    this.#onError = onError;
    this.#lapseMs = lapseMs;
  }

  routes(): readonly Route[] {
    return [{ method: 'POST', path: '/v1/heartbeats', answer: (asked) => this.#beat(asked) }];
  }

  close(): void {
    for (const { timer } of this.#chains.values()) clearTimeout(timer);
    this.#chains.clear();
  }

  async #beat(asked: Asked): Promise<object> {
    const { address } = this.#auth.key(asked);
    const given = objectOf(jsonOf(asked))['heartbeat_id'] ?? '';
    if (typeof given !== 'string') throw new Refusal(400, 'heartbeat_id: expected a text or null');
    const chain = this.#chains.get(address);
    if (chain !== undefined && given !== '' && given !== chain.id) {
      throw new Refusal(400, 'Invalid Heartbeat ID', { heartbeat_id: chain.id });
    }
    // POLYHEARTBEATS-1.
    await this.#accounts.client(address).heartbeat();
    clearTimeout(this.#chains.get(address)?.timer);
    const id = randomUUID();
    const timer = setTimeout(() => this.#lapse(address), this.#lapseMs);
    this.#chains.set(address, { id, timer });
    return { heartbeat_id: id };
  }

  #lapse(address: string): void {
    this.#chains.delete(address);
    this.#accounts.client(address).cancelAll().catch(this.#onError);
  }
}
