/**
 * The actions of administrators on trades that the contract refuses for good (RULES.md 17.40 to 17.42): the settlement
 * thread tries such a trade again, or the ledger unwinds it. Both sides know a trade by its number, so each step may be
 * repeated.
 * Owner: the gateway thread.
 */
import { FUND_MOVEMENT } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { sequenceOfId, shardOfId } from '../../shared/base/ids.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { FailedTrade, TradePlace, TradeRefusal } from '../../shared/wire/tradeQuestions.ts';
import type { Refusal } from '../base/refusal.ts';
import type { ShardClient } from '../shardlink/client.ts';
import { ChainDown } from '../shardlink/settlementLink.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';

type Listed = { readonly trades: readonly FailedTrade[]; readonly next: number | null };

const UNKNOWN: Refusal = { row: ERRORS.RESOURCE_NOT_FOUND, message: 'trade not found' };
const REFUSALS: Readonly<Record<TradeRefusal, Refusal>> = {
  unknown: UNKNOWN,
  'not failed': conflict('the trade has not failed'),
  'not final': conflict('the chain may still take back the block in which it failed'),
  'orders open': conflict('an order of the trade is open: cancel it first'),
  'being unwound': conflict('the trade is being unwound'),
  unwound: conflict('the trade was unwound'),
};
/** The command may have arrived, or may be sent again. */
const UNDECIDED: readonly number[] = [E.OUTCOME_UNKNOWN, E.ENGINE_BUSY];

export class FailedTrades {
  readonly #settlement: Pick<SettlementPort, 'ask'>;
  readonly #engine: Pick<ShardClient, 'unwind'>;

  constructor(settlement: Pick<SettlementPort, 'ask'>, engine: Pick<ShardClient, 'unwind'>) {
    this.#settlement = settlement;
    this.#engine = engine;
  }

  async list(after: number, limit: number): Promise<Listed | Refusal> {
    return this.#orBusy(this.#settlement.ask('failedTrades', { after, limit }));
  }

  async retry(tradeId: string): Promise<Refusal | null> {
    const place = placeOf(tradeId);
    if (place === null) return UNKNOWN;
    const answer = await this.#orBusy(this.#settlement.ask('retryTrade', place));
    if ('row' in answer) return answer;
    return answer.refusal === null ? null : REFUSALS[answer.refusal];
  }

  /** Null if it may be unwound now, or was before. */
  async whyNotUnwound(tradeId: string): Promise<Refusal | null> {
    const place = placeOf(tradeId);
    if (place === null) return UNKNOWN;
    const answer = await this.#orBusy(this.#settlement.ask('mayUnwind', place));
    if ('row' in answer) return answer;
    return answer.refusal === null || answer.refusal === 'unwound' ? null : REFUSALS[answer.refusal];
  }

  /** @returns null if it is done, or was done before. */
  async unwind(tradeId: string): Promise<Refusal | null> {
    const place = placeOf(tradeId);
    if (place === null) return UNKNOWN;
    const answer = await this.#orBusy(this.#settlement.ask('unwindTrade', place));
    if ('row' in answer) return answer;
    if (answer.refusal !== null) return answer.refusal === 'unwound' ? null : REFUSALS[answer.refusal];
    const reference = referenceHash(place.shard, FUND_MOVEMENT.UNWINDING, String(place.tradeSequence));
    const { code, a, b, c } = await this.#engine.unwind(place, answer.unwinding, reference);
    if (code === OK) return null;
    if (!UNDECIDED.includes(code)) await this.#orBusy(this.#settlement.ask('releaseTrade', place));
    if (code !== E.INSUFFICIENT_BALANCE) return { row: errorRow(code) };
    return { row: errorRow(code), details: { required: String(a), available: String(b), reserved: String(c) } };
  }

  async #orBusy<T>(answer: Promise<T>): Promise<T | Refusal> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ChainDown) return { row: ERRORS.ENGINE_BUSY };
      throw error;
    }
  }
}

/** Null if the text is no id. */
function placeOf(tradeId: string): TradePlace | null {
  const id = new Uint8Array(UUID_BYTES);
  return uuidToBytes(tradeId, id, 0) ? { shard: shardOfId(id), tradeSequence: sequenceOfId(id) } : null;
}

function conflict(message: string): Refusal {
  return { row: ERRORS.CONFLICT, message };
}
