/**
 * Changes the contracts for which orders are signed, in every shard or in none (RULES.md 5.6).
 * Owner: the gateway thread.
 *
 *   none ──intent in control.db──► pending ──every shard has committed──► none; clients see the new ones
 *                                   │    ▲
 *          no shard could be asked  │    └── a shard was lost meanwhile: all are asked again until they have it
 *                     none ◄────────┘
 *
 * Invariants:
 *   ROTATION-1  From the intent to its end no order is sent to any shard, so none is accepted under the old domain
 *               after one was under the new.
 *   ROTATION-2  An intent that a shard may have received is always finished. After a crash it is in control.db, and
 *               the next start finishes it before it accepts requests.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ADDRESS_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { namesOf } from '../../shared/base/namesOf.ts';
import type { Logger } from '../base/log.ts';
import type { ContractStore, Contracts } from '../markets/contracts.ts';

/** The part of the shard client that is used here. */
export type RotatingEngine = {
  holdPlacements(isHeld: boolean): void;
  rotateContracts(chainId: number, exchange: Uint8Array): Promise<number>;
};

type ContractRotationOptions = {
  readonly engine: RotatingEngine;
  readonly contracts: ContractStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Every shard has changed. */
  readonly onDone: (contracts: Contracts) => void;
};

const RETRY_MS = 1000;

export class ContractRotation {
  readonly #options: ContractRotationOptions;
  /** Null while no request to the shards is in flight. */
  #inFlight: Promise<number> | null = null;
  #retryAtMs = 0;

  constructor(options: ContractRotationOptions) {
    this.#options = options;
    options.engine.holdPlacements(options.contracts.pending !== null);
  }

  /**
   * @returns OK; CONFLICT while another change is under way; or the error of a failure, after which it may be repeated.
   */
  rotate(target: Contracts): Promise<number> {
    const { contracts } = this.#options;
    const { pending } = contracts;
    if (pending !== null) return isSame(pending, target) ? this.#ask(false) : Promise.resolve(E.CONFLICT);
    if (isSame(contracts.current, target)) return Promise.resolve(OK);
    contracts.startChange(target);
    return this.#ask(true);
  }

  /** True if these contracts are in force or being changed to: requesting them again changes nothing. */
  isKnown(target: Contracts): boolean {
    const { current, pending } = this.#options.contracts;
    return isSame(pending ?? current, target);
  }

  /** Finishes a change that an earlier process started. If that fails, `tick` tries again. */
  async finish(): Promise<void> {
    const { contracts, log } = this.#options;
    if (contracts.pending === null) return;
    try {
      await this.#ask(false);
    } catch (error) {
      log.error({ err: error }, 'a change of contracts could not be stored: no orders are taken');
    }
  }

  /** Tries again: a lost shard may have returned. Called several times a second. */
  tick(): void {
    const { contracts, clock } = this.#options;
    if (contracts.pending === null || this.#inFlight !== null || clock.nowMs() < this.#retryAtMs) return;
    void this.finish();
  }

  #ask(isFirst: boolean): Promise<number> {
    this.#inFlight ??= this.#carryOut(isFirst);
    return this.#inFlight;
  }

  async #carryOut(isFirst: boolean): Promise<number> {
    const { engine, contracts, clock } = this.#options;
    const target = contracts.pending!;
    engine.holdPlacements(true);
    try {
      const code = await engine.rotateContracts(target.chainId, addressBytes(target.exchange));
      return this.#conclude(code, target, isFirst);
    } finally {
      this.#inFlight = null;
      this.#retryAtMs = clock.nowMs() + RETRY_MS;
    }
  }

  #conclude(code: number, target: Contracts, isFirst: boolean): number {
    const { engine, contracts, log, onDone } = this.#options;
    // The shard client sends the change to every shard or to none, and returns ENGINE_BUSY only if it sent none.
    if (code === OK) contracts.complete();
    else if (code === E.ENGINE_BUSY && isFirst) contracts.withdraw();
    else {
      log.warn({ code, exchange: target.exchange }, 'not every shard has the new contracts yet: no orders are taken');
      return code;
    }
    engine.holdPlacements(false);
    if (code === OK) onDone(target);
    return code;
  }
}

function isSame(a: Contracts, b: Contracts): boolean {
  return namesOf(a).every((name) => a[name] === b[name]);
}

function addressBytes(address: string): Uint8Array {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  tryParseHex(address, ADDRESS_BYTES, bytes, 0);
  return bytes;
}
