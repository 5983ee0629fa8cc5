/**
 * Faults on request, to practise with play money what no venue lets one try. `POST /control/faults` sets them, and
 * `GET` shows what is left of them; without POLYMARKET_FAULTS both are unknown paths. Faults are of all clients.
 */
import type { Clock } from '../../../shared/base/clock.ts';
import { type Asked, jsonOf, objectOf, Refusal, type Reply, type Route } from './reply.ts';

const PATH = '/control/faults';
const MOST = 10_000;
const MOST_MS = 600_000;
const COUNTS = ['too_many_requests', 'rejected_orders', 'failed_settlements'] as const;
type CountName = (typeof COUNTS)[number];
const FAILED_KEPT = 10_000;

export class Faults {
  readonly #clock: Clock;
  readonly #disconnect: () => number;
  readonly #left: Record<CountName, number> = { too_many_requests: 0, rejected_orders: 0, failed_settlements: 0 };
  readonly #failed = new Set<string>();
  #lateFillsMs = 0;

  /** @param disconnect ends all sockets, and says how many there were. */
  constructor(clock: Clock, disconnect: () => number) {
    this.#clock = clock;
    this.#disconnect = disconnect;
  }

  /** Fills are shown so much later than they are. */
  get lateFillsMs(): number {
    return this.#lateFillsMs;
  }

  /** True if a fill of that time may be shown by now. */
  isShown(filledMs: number): boolean {
    return filledMs + this.#lateFillsMs <= this.#clock.nowMs();
  }

  readonly beforeRequest = ({ path }: Asked): Reply | null => {
    if (path === PATH || !this.#take('too_many_requests')) return null;
    return { status: 429, body: { error: 'Too Many Requests' } };
  };

  /** @throws Refusal in place of an order */
  beforeOrder(): void {
    if (this.#take('rejected_orders')) throw new Refusal(400, 'INVALID_ORDER_ERROR: rejected by request (rehearsal)');
  }

  isFailed(tradeId: string): boolean {
    return this.#failed.has(tradeId);
  }

  /** A new trade: its settlement fails if one is to fail. */
  onTrade(tradeId: string): void {
    if (!this.#failed.has(tradeId) && this.#failed.size < FAILED_KEPT && this.#take('failed_settlements')) {
      this.#failed.add(tradeId);
    }
  }

  routes(): readonly Route[] {
    return [
      { method: 'GET', path: PATH, answer: () => this.#shown() },
      {
        ...{ method: 'POST', path: PATH },
        answer: (asked) => {
          this.#set(objectOf(jsonOf(asked)));
          return this.#shown();
        },
      },
    ];
  }

  #set(wanted: Readonly<Record<string, unknown>>): void {
    const { disconnect, late_fills_ms, ...counts } = wanted;
    const numbers = Object.entries(counts).map(
      ([name, value]) => [countNamed(name), whole(value, name, MOST)] as const,
    );
    if (late_fills_ms !== undefined) this.#lateFillsMs = whole(late_fills_ms, 'late_fills_ms', MOST_MS);
    for (const [name, value] of numbers) this.#left[name] = value;
    if (disconnect === true) this.#disconnect();
    else if (disconnect !== undefined && disconnect !== false) throw new Refusal(400, 'disconnect: expected true');
  }

  #shown(): object {
    return { late_fills_ms: this.#lateFillsMs, ...this.#left };
  }

  #take(name: CountName): boolean {
    if (this.#left[name] === 0) return false;
    this.#left[name]--;
    return true;
  }
}

function countNamed(text: string): CountName {
  const known = COUNTS.find((name) => name === text);
  if (known === undefined) throw new Refusal(400, `there is no fault ${text}`);
  return known;
}

function whole(value: unknown, name: string, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new Refusal(400, `${name}: expected a whole number up to ${most}`);
}
