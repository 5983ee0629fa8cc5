/**
 * A token bucket of bytes for books and replays, per owner of connections (a key or an address; RULES.md 8.12). Live
 * frames are not counted.
 * Owner: the gateway thread.
 */

type Allowance = { readonly stockBytes: number; readonly bytesPerSecond: number };
type Budget = { readonly allowance: Allowance; leftBytes: number; asOfMs: number };

const MIB = 1024 * 1024;
/** A market's replay in full is about 27 MB. */
export const KEYED: Allowance = { stockBytes: 64 * MIB, bytesPerSecond: 16 * MIB };
export const ANONYMOUS: Allowance = { stockBytes: 8 * MIB, bytesPerSecond: MIB };

export class ReplayBudgets {
  /** Owners whose bucket is not full. */
  readonly #budgets = new Map<string, Budget>();

  /** True while the owner may be sent more. */
  has(owner: string, nowMs: number): boolean {
    const budget = this.#budgets.get(owner);
    if (budget === undefined) return true;
    fill(budget, nowMs);
    if (budget.leftBytes >= budget.allowance.stockBytes) this.#budgets.delete(owner);
    return budget.leftBytes > 0;
  }

  /** A single send may exceed the remainder; the owner then waits longer. */
  spend(owner: string, allowance: Allowance, bytes: number, nowMs: number): void {
    let budget = this.#budgets.get(owner);
    if (budget === undefined) {
      budget = { allowance, leftBytes: allowance.stockBytes, asOfMs: nowMs };
      this.#budgets.set(owner, budget);
    }
    fill(budget, nowMs);
    budget.leftBytes -= bytes;
  }

  /** Forgets owners whose bucket is full again. */
  tick(nowMs: number): void {
    for (const owner of this.#budgets.keys()) this.has(owner, nowMs);
  }

  get size(): number {
    return this.#budgets.size;
  }
}

function fill(budget: Budget, nowMs: number): void {
  const { stockBytes, bytesPerSecond } = budget.allowance;
  const filled = budget.leftBytes + ((nowMs - budget.asOfMs) * bytesPerSecond) / 1000;
  budget.leftBytes = Math.min(filled, stockBytes);
  budget.asOfMs = nowMs;
}
