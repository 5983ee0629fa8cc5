/**
 * Carries out deposits and withdrawals exactly once: recorded durably, sent to the account's shard, recorded as done.
 * The shard recognises a reference that it has already carried out and answers "done", so a movement left pending by a
 * crash is sent again when the shard is back. Owner: the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import { LEDGER_SETTLEMENT, type SettlementPort } from '../shardlink/settlementPort.ts';
import type { AccountStates } from './accountStates.ts';
import type { FundKind, FundMovement, Movements, NewMovement } from './movements.ts';

/** The part of the shard client that is used here. */
export type FundsEngine = {
  funds(
    account: number,
    kind: FundKind,
    amountMicro: number,
    reference: Uint8Array,
    market: number | null,
    feeMicro: number,
  ): Promise<FundsReply>;
};

/** For INSUFFICIENT_BALANCE the three numbers are: required, available and reserved. */
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
  readonly #settlement: Pick<SettlementPort, 'holdsFunds'>;
  /** By account, kind and reference: a repeat of a movement under way waits for the same answer. */
  readonly #underWay = new Map<string, { readonly amountMicro: number; readonly result: Promise<FundResult> }>();

  constructor(
    movements: Movements,
    engine: FundsEngine,
    states: Pick<AccountStates, 'reducingRefusal'>,
    clock: Clock,
    settlement: Pick<SettlementPort, 'holdsFunds'> = LEDGER_SETTLEMENT,
  ) {
    this.#settlement = settlement;
    this.#movements = movements;
    this.#engine = engine;
    this.#states = states;
    this.#clock = clock;
  }

  /**
   * A repeat of a reference returns the first movement; the same reference with another amount is a CONFLICT.
   * @param feeMicro the fee of a withdrawal, charged in addition
   */
  move(account: number, kind: FundKind, amountMicro: number, reference: string, feeMicro = 0): Promise<FundResult> {
    return this.#once({ account, kind, amountMicro, reference, market: null, feeMicro }, false);
  }

  /** Records a movement that the chain has already made: only the ledger can refuse it, not the account's state. */
  follow(movement: NewMovement): Promise<FundResult> {
    return this.#once(movement, true);
  }

  #once(movement: NewMovement, isOfChain: boolean): Promise<FundResult> {
    const { account, kind, amountMicro, reference } = movement;
    const key = `${account}|${kind}|${reference}`;
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) {
      return underWay.amountMicro === amountMicro ? underWay.result : Promise.resolve(OTHER_AMOUNT);
    }
    const result = this.#start(movement, isOfChain);
    this.#underWay.set(key, { amountMicro, result });
    return result.finally(() => this.#underWay.delete(key));
  }

  /** Returns true if the movement was carried out or is pending: a repeat changes nothing. */
  isKnown(account: number, kind: FundKind, reference: string): boolean {
    const earlier = this.#movements.find(account, kind, reference);
    return earlier !== undefined && earlier.status !== 'refused';
  }

  /** A shard is READY: sends the pending movements again. Those of a shard that is not READY stay pending. */
  async resumePending(): Promise<void> {
    for (const movement of this.#movements.pending()) {
      const { account, kind, reference } = movement;
      // A client may have repeated the movement meanwhile; one that was refused then must not restart by itself.
      const isOpen = this.#movements.find(account, kind, reference)?.status === 'pending';
      if (isOpen) await this.#once(movement, false);
    }
  }

  async #start(wanted: NewMovement, isOfChain: boolean): Promise<FundResult> {
    const { account, kind, amountMicro, reference } = wanted;
    const earlier = this.#movements.find(account, kind, reference);
    if (earlier !== undefined && earlier.status !== 'refused') {
      if (earlier.amountMicro !== amountMicro) return OTHER_AMOUNT;
      return earlier.status === 'completed' ? { movement: earlier } : this.#send(earlier, true);
    }
    if (kind === MOVEMENT.DEPOSIT && this.#settlement.holdsFunds && !isOfChain) return ON_CHAIN_ONLY;
    const restricted = isOfChain ? null : this.#restrictionOf({ account, kind });
    if (restricted !== null) return { movement: null, code: restricted };
    if (kind === MOVEMENT.DEPOSIT && !this.#movements.hasRoomFor(amountMicro)) return TOO_MUCH;
    const { market, feeMicro } = wanted;
    const fields = { account, kind, amountMicro, reference, market, feeMicro };
    const started = this.#movements.start(fields, this.#clock.nowMs());
    return this.#send(started, isOfChain);
  }

  /** The account may not withdraw; this is checked again in the turn in which the command is written (STATES-2). */
  #restrictionOf({ account, kind }: Pick<FundMovement, 'account' | 'kind'>): number | null {
    const row = kind === MOVEMENT.WITHDRAWAL ? this.#states.reducingRefusal(account) : null;
    return row?.number ?? null;
  }

  /**
   * @param isCertain true if the command may have arrived before, or the chain has made the movement: then no account
   * state refuses it
   */
  async #send(movement: FundMovement, isCertain: boolean): Promise<FundResult> {
    // MOVEMENTS-2; the gateway thread does not wait for the disk.
    await this.#movements.durable();
    const restricted = isCertain ? null : this.#restrictionOf(movement);
    if (restricted !== null) {
      await this.#refuse(movement);
      return { movement: null, code: restricted };
    }
    const hash = referenceHash(movement.account, movement.kind, movement.reference);
    const { account, kind, amountMicro, market, feeMicro } = movement;
    const reply = await this.#engine.funds(account, kind, amountMicro, hash, market, feeMicro);
    const { code } = reply;
    if (code === OK) return { movement: this.#movements.complete(movement) };
    // A busy shard received nothing. But an earlier attempt may have reached it; then the movement stays pending.
    const isUndecided = code === E.OUTCOME_UNKNOWN || (code === E.ENGINE_BUSY && isCertain);
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

  /** Answers once the refusal is durable: a movement still pending after a power cut would be sent by itself. */
  #refuse(movement: FundMovement): Promise<void> {
    this.#movements.refuse(movement);
    return this.#movements.durable();
  }
}

const ON_CHAIN_ONLY: FundResult = {
  movement: null,
  code: E.CONFLICT,
  message: 'deposits come from the chain',
};
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
