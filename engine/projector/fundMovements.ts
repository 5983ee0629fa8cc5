/**
 * Projection of the movements of funds (shared/tables/fundMovements.ts).
 * Owner: the projector thread.
 *
 * Deposits, withdrawals, splits, merges and their fees are FUNDS events, an unwinding is an UNWOUND event. The end of a
 * holding in a decided market is recognised by the ACCOUNT event after which its tokens are gone, because losing tokens
 * pay nothing and cause no FUNDS event.
 *
 * Invariants:
 *   FUNDROWS-1  The rows of an account and its trades add up to what it owns: the USDC, and the tokens of each outcome.
 *   FUNDROWS-2  A row is made from its record alone, so a rebuild gives the same rows and ids.
 *   FUNDROWS-3  After `flush` the head of each shard is its last trade in read.db.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { FEE_ACCOUNT, FUND_MOVEMENT, isDecided, MARKET_STATUS, MOVEMENT } from '../../shared/base/codes.ts';
import { carriedIdBytes, movementIdBytes } from '../../shared/base/ids.ts';
import { FUND_MOVEMENTS, TRADE_HEADS } from '../../shared/tables/fundMovements.ts';
import { insert, type NewRowOf, type RowOf } from '../../shared/tables/table.ts';
import { ANY_COMMAND, COMMAND, NO_MARKET } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import type { RecordContext } from './orders.ts';
import { RowInserter } from './rowInserter.ts';

const REFERENCE_BYTES = 32;

/** The tokens of a decided market that an account had, and their payout. */
export type Redemption = { readonly yesAtomic: number; readonly noAtomic: number; readonly paidMicro: number };

type Delta = Pick<NewRowOf<typeof FUND_MOVEMENTS>, 'market' | 'usdc_micro' | 'yes_atomic' | 'no_atomic'>;

export class FundMovementProjection {
  readonly #insert: RowInserter<typeof FUND_MOVEMENTS>;
  readonly #saveHead: Database.Statement<[NewRowOf<typeof TRADE_HEADS>]>;
  /** By shard. */
  readonly #lastTrade: number[];
  #isClaim = false;
  /** The number of movements in the record so far. */
  #count = 0;

  constructor(db: Database.Database, shards: number) {
    this.#insert = new RowInserter(db, FUND_MOVEMENTS);
    this.#saveHead = db.prepare(insert(TRADE_HEADS, 'OR REPLACE'));
    this.#lastTrade = new Array(shards).fill(0);
    const heads = db.prepare<[], RowOf<typeof TRADE_HEADS>>('SELECT * FROM trade_heads').all();
    for (const { shard, trade_sequence } of heads) this.#lastTrade[shard] = trade_sequence;
  }

  /** History begins after this trade of the shard. */
  startAfter(shard: number, tradeSequence: number): void {
    this.#lastTrade[shard] = tradeSequence;
  }

  startRecord(words: Uint32Array, command: number): void {
    this.#isClaim = (words[command + ANY_COMMAND.type] & 0xffff) === COMMAND.CLAIM.TYPE;
    this.#count = 0;
  }

  /** Applies a FILL event. */
  traded(words: Uint32Array, word: number, { shard }: RecordContext): void {
    const sequence = readSafe(words, word + EVENT.FILL.tradeSequence);
    assert(sequence > this.#lastTrade[shard], 'FUNDROWS-3: the trades of a shard are numbered');
    this.#lastTrade[shard] = sequence;
  }

  /** Applies a FUNDS event; the event of a payout in a decided market adds nothing here. */
  moved(words: Uint32Array, word: number, record: RecordContext): void {
    const kind = words[word + EVENT.FUNDS.movement];
    if (kind === MOVEMENT.CLAIM) return;
    const account = words[word + ANY_EVENT.account];
    const amount = readSafe(words, word + EVENT.FUNDS.amount);
    assert(account !== FEE_ACCOUNT && amount > 0, 'FUNDROWS-1: only a user moves funds, and some');
    const isIn = kind === MOVEMENT.DEPOSIT || kind === MOVEMENT.MERGE;
    const usdc_micro = isIn ? amount : -amount;
    if (kind === MOVEMENT.DEPOSIT || kind === MOVEMENT.WITHDRAWAL) {
      const at = words.byteOffset + (word + EVENT.FUNDS.reference) * 4;
      const reference = new Uint8Array(words.buffer, at, REFERENCE_BYTES).slice();
      this.#add(account, kind, { market: null, usdc_micro, yes_atomic: 0, no_atomic: 0 }, reference, record);
      return;
    }
    if (kind === MOVEMENT.FEE) {
      this.#add(account, kind, { market: null, usdc_micro, yes_atomic: 0, no_atomic: 0 }, null, record);
      return;
    }
    assert(kind === MOVEMENT.SPLIT || kind === MOVEMENT.MERGE, 'FUNDROWS-1: a movement is of a known kind');
    const market = words[word + ANY_EVENT.market];
    const sets = { market, usdc_micro, yes_atomic: -usdc_micro, no_atomic: -usdc_micro };
    this.#add(account, kind, sets, null, record);
  }

  /** Applies an UNWOUND event. */
  unwound(words: Uint32Array, word: number, record: RecordContext): void {
    const { UNWOUND } = EVENT;
    const market = words[word + ANY_EVENT.market];
    const usdc_micro = readSigned(words, word + UNWOUND.micro);
    const yes_atomic = readSigned(words, word + UNWOUND.yesAtomic);
    const no_atomic = readSigned(words, word + UNWOUND.noAtomic);
    const delta = { market, usdc_micro, yes_atomic, no_atomic };
    this.#add(words[word + ANY_EVENT.account], FUND_MOVEMENT.UNWINDING, delta, null, record);
  }

  /** Applies a SET_CONVERTED event: the part of one market in a conversion. */
  setConverted(words: Uint32Array, word: number, record: RecordContext): void {
    const { SET_CONVERTED } = EVENT;
    const market = words[word + ANY_EVENT.market];
    const usdc_micro = readSigned(words, word + SET_CONVERTED.micro);
    const yes_atomic = readSigned(words, word + SET_CONVERTED.yesAtomic);
    const no_atomic = readSigned(words, word + SET_CONVERTED.noAtomic);
    const delta = { market, usdc_micro, yes_atomic, no_atomic };
    this.#add(words[word + ANY_EVENT.account], FUND_MOVEMENT.SET_CONVERSION, delta, null, record);
  }

  /** The tokens of a decided market that an account had are gone. */
  redeemed(account: number, market: number, status: number, redemption: Redemption, record: RecordContext): void {
    const { yesAtomic, noAtomic, paidMicro } = redemption;
    assert(isDecided(status), 'FUNDROWS-1: only tokens of a decided market are redeemed');
    const paid = this.#isClaim ? FUND_MOVEMENT.CLAIM : FUND_MOVEMENT.SETTLEMENT;
    const kind = status === MARKET_STATUS.CANCELLED ? FUND_MOVEMENT.REFUND : paid;
    const delta = { market, usdc_micro: paidMicro, yes_atomic: 0 - yesAtomic, no_atomic: 0 - noAtomic };
    this.#add(account, kind, delta, null, record);
  }

  /** The account's USDC, or its tokens of a market, when history begins. */
  carried(account: number, { market, ...owned }: Delta, { shard, timeMs }: RecordContext): void {
    const { usdc_micro, yes_atomic, no_atomic } = owned;
    if (account === FEE_ACCOUNT || (usdc_micro === 0 && yes_atomic === 0 && no_atomic === 0)) return;
    this.#insert.add({
      account,
      id: carriedIdBytes(timeMs, shard, account, market ?? NO_MARKET),
      kind: FUND_MOVEMENT.CARRIED,
      market,
      ...owned,
      reference_hash: null,
      after_trade: 0,
      moved_ms: timeMs,
    });
  }

  flush(shard: number): void {
    this.#insert.flush();
    this.#saveHead.run({ shard, trade_sequence: this.#lastTrade[shard] });
  }

  #add(account: number, kind: number, delta: Delta, reference: Uint8Array | null, record: RecordContext): void {
    const { shard, shardSequence, timeMs } = record;
    this.#insert.add({
      account,
      id: movementIdBytes(timeMs, shard, shardSequence, this.#count++),
      kind,
      ...delta,
      reference_hash: reference,
      after_trade: this.#lastTrade[shard],
      moved_ms: timeMs,
    });
  }
}
