/**
 * Carries out deposits and withdrawals exactly once: recorded durably, sent to the account's shard, recorded as done.
 * The shard recognises a reference that it has carried out and answers it as done, so a movement that a crash left
 * pending is sent again when the shard is back.
 * Owner: the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { AccountStates } from '../store/accountStates.ts';
import type { FundKind, FundMovement, Movements } from '../store/movements.ts';

/** The part of the shard client that is used here. */
export type FundsEngine = {
  funds(account: number, kind: FundKind, amountMicro: number, reference: Uint8Array): Promise<FundsReply>;
};

/** With INSUFFICIENT_BALANCE the three numbers are required, available and reserved. */
export type FundsReply = { readonly code: number; readonly a: number; readonly b: number; readonly c: number };

type FundResult =
  | { readonly movement: FundMovement }
  | {
      readonly movement: null;
      readonly code: number;
      readonly message?: string;
      readonly details?: Readonly<Record<string, string>>;
    };

export class Funding {
  readonly #movements: Movements;
  readonly #engine: FundsEngine;
  readonly #states: Pick<AccountStates, 'reducingRefusal'>;
  readonly #clock: Clock;
  /** By account, kind and reference: a request that repeats a movement under way waits for the same answer. */
  readonly #underWay = new Map<string, { readonly amountMicro: number; readonly result: Promise<FundResult> }>();

  constructor(movements: Movements, engine: FundsEngine, states: Pick<AccountStates, 'reducingRefusal'>, clock: Clock) {
    this.#movements = movements;
    this.#engine = engine;
    this.#states = states;
    this.#clock = clock;
  }

  /** A repeat of a reference returns the first movement; the same reference with another amount is a CONFLICT. */
  move(account: number, kind: FundKind, amountMicro: number, reference: string): Promise<FundResult> {
    const key = `${account}|${kind}|${reference}`;
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) {
      return underWay.amountMicro === amountMicro ? underWay.result : Promise.resolve(OTHER_AMOUNT);
    }
    const result = this.#start(account, kind, amountMicro, reference);
    this.#underWay.set(key, { amountMicro, result });
    return result.finally(() => this.#underWay.delete(key));
  }

  /** The movement was carried out or is pending: a repeat changes nothing. */
  isKnown(account: number, kind: FundKind, reference: string): boolean {
    const earlier = this.#movements.find(account, kind, reference);
    return earlier !== undefined && earlier.status !== 'refused';
  }

  /** A shard is READY: sends the pending movements again. Those of a shard that is not READY stay pending. */
  async resumePending(): Promise<void> {
    for (const { account, kind, amountMicro, reference } of this.#movements.pending()) {
      // A client may have repeated it meanwhile; a movement that was refused then must not start again by itself.
      const isOpen = this.#movements.find(account, kind, reference)?.status === 'pending';
      if (isOpen) await this.move(account, kind, amountMicro, reference);
    }
  }

  async #start(account: number, kind: FundKind, amountMicro: number, reference: string): Promise<FundResult> {
    const earlier = this.#movements.find(account, kind, reference);
    if (earlier !== undefined && earlier.status !== 'refused') {
      if (earlier.amountMicro !== amountMicro) return OTHER_AMOUNT;
      return earlier.status === 'completed' ? { movement: earlier } : this.#send(earlier, true);
    }
    const restricted = this.#restrictionOf({ account, kind });
    if (restricted !== null) return { movement: null, code: restricted };
    if (kind === MOVEMENT.DEPOSIT && !this.#movements.hasRoomFor(amountMicro)) return TOO_MUCH;
    return this.#send(this.#movements.start(account, kind, amountMicro, reference, this.#clock.nowMs()), false);
  }

  /** The account may not take money out; asked in the turn in which the command is written, too (STATES-2). */
  #restrictionOf({ account, kind }: Pick<FundMovement, 'account' | 'kind'>): number | null {
    const row = kind === MOVEMENT.WITHDRAWAL ? this.#states.reducingRefusal(account) : null;
    return row?.number ?? null;
  }

  async #send(movement: FundMovement, mayHaveArrived: boolean): Promise<FundResult> {
    // MOVEMENTS-2; the gateway thread does not wait for the disk.
    await this.#movements.durable();
    const restricted = mayHaveArrived ? null : this.#restrictionOf(movement);
    if (restricted !== null) {
      await this.#refuse(movement);
      return { movement: null, code: restricted };
    }
    const hash = referenceHash(movement.account, movement.kind, movement.reference);
    const reply = await this.#engine.funds(movement.account, movement.kind, movement.amountMicro, hash);
    const { code } = reply;
    if (code === OK) return { movement: this.#movements.complete(movement) };
    // A busy shard received nothing. But an earlier attempt may have reached it, and then the movement stays pending.
    const isUndecided = code === E.OUTCOME_UNKNOWN || (code === E.ENGINE_BUSY && mayHaveArrived);
    if (!isUndecided) await this.#refuse(movement);
    if (code !== E.INSUFFICIENT_BALANCE) return { movement: null, code };
    const details = {
      asset: 'USDC',
      required: String(reply.a),
      available: String(reply.b),
      reserved: String(reply.c),
    };
    return { movement: null, code, details };
  }

  /** Answered once it is durable: a movement that is pending after a power cut would be sent by itself. */
  #refuse(movement: FundMovement): Promise<void> {
    this.#movements.refuse(movement);
    return this.#movements.durable();
  }
}

const OTHER_AMOUNT: FundResult = {
  movement: null,
  code: E.CONFLICT,
  message: 'reference was used with another amount',
};
const TOO_MUCH: FundResult = {
  movement: null,
  code: E.VALIDATION_ERROR,
  message: 'total deposits would pass 2^53-1 micro-USDC',
};
