/**
 * Changes the contracts that orders are signed for, in every shard or in none (RULES.md 5.6).
 * Owner: the gateway thread.
 *
 *   none ──intent in control.db──► pending ──every shard has committed──► none, and everybody is told the new ones
 *                                   │    ▲
 *          no shard could be asked  │    └── a shard was lost on the way: asked again until all have it
 *                     none ◄────────┘
 *
 * Invariants:
 *   R1  From the intent to its end no order is sent to any shard, so none is accepted under the old domain after one
 *       was under the new.
 *   R2  An intent that a shard may have heard of is only ever finished. A crash finds it in control.db, and the next
 *       start finishes it before it takes requests.
 */
import type { Clock } from '../shared/clock.ts';
import { E, OK } from '../shared/errors.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/hex.ts';
import type { ContractBook, Contracts } from './control/contracts.ts';
import type { Logger } from './log.ts';

/** The part of the engine client used here. */
export type RotatingEngine = {
  holdsPlacements: boolean;
  rotateContracts(chainId: number, exchange: Uint8Array): Promise<number>;
};

export type ContractRotationOptions = {
  readonly engine: RotatingEngine;
  readonly contracts: ContractBook;
  readonly clock: Clock;
  readonly log: Logger;
  /** Every shard has changed. */
  readonly onDone: (contracts: Contracts) => void;
};

const RETRY_MS = 1000;

export class ContractRotation {
  readonly #options: ContractRotationOptions;
  /** Null while nothing is asked of the shards. */
  #asking: Promise<number> | null = null;
  #retryAtMs = 0;

  constructor(options: ContractRotationOptions) {
    this.#options = options;
    options.engine.holdsPlacements = options.contracts.pending !== null;
  }

  /** @returns OK, CONFLICT while another change is under way, or why it is not through; then asking again is safe. */
  rotate(target: Contracts): Promise<number> {
    const { contracts } = this.#options;
    const { pending } = contracts;
    if (pending !== null) return isSame(pending, target) ? this.#ask(false) : Promise.resolve(E.CONFLICT);
    if (isSame(contracts.current, target)) return Promise.resolve(OK);
    contracts.begin(target);
    return this.#ask(true);
  }

  /** What has begun, if anything has; whatever is not through then, `tick` tries again. */
  async finish(): Promise<void> {
    const { contracts, log } = this.#options;
    if (contracts.pending === null) return;
    try {
      await this.#ask(false);
    } catch (error) {
      log.error({ err: error }, 'a change of contracts could not be stored: no orders are taken');
    }
  }

  /** Several times a second: a shard that was away may be back. */
  tick(): void {
    const { contracts, clock } = this.#options;
    if (contracts.pending === null || this.#asking !== null || clock.nowMs() < this.#retryAtMs) return;
    void this.finish();
  }

  #ask(isFirst: boolean): Promise<number> {
    this.#asking ??= this.#carryOut(isFirst);
    return this.#asking;
  }

  async #carryOut(isFirst: boolean): Promise<number> {
    const { engine, contracts, clock } = this.#options;
    const target = contracts.pending!;
    engine.holdsPlacements = true;
    try {
      const code = await engine.rotateContracts(target.chainId, addressBytes(target.exchange));
      return this.#conclude(code, target, isFirst);
    } finally {
      this.#asking = null;
      this.#retryAtMs = clock.nowMs() + RETRY_MS;
    }
  }

  #conclude(code: number, target: Contracts, isFirst: boolean): number {
    const { engine, contracts, log, onDone } = this.#options;
    // The engine client asks all shards or none, and says ENGINE_BUSY only when it asked none.
    if (code === OK) contracts.complete();
    else if (code === E.ENGINE_BUSY && isFirst) contracts.withdraw();
    else {
      log.warn({ code, exchange: target.exchange }, 'not every shard has the new contracts yet: no orders are taken');
      return code;
    }
    engine.holdsPlacements = false;
    if (code === OK) onDone(target);
    return code;
  }
}

function isSame(a: Contracts, b: Contracts): boolean {
  return (Object.keys(a) as (keyof Contracts)[]).every((name) => a[name] === b[name]);
}

function addressBytes(address: string): Uint8Array {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  tryParseHex(address, ADDRESS_BYTES, bytes, 0);
  return bytes;
}
