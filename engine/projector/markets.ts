/**
 * Projection of the markets: the UUID of a market index and the units its orders count in, which never change, and the
 * volume it has traded.
 * Owner: the projector thread.
 *
 * Invariants:
 *   MARKETROWS-1  A market has its row before its first order, and its UUID and units never change.
 *   MARKETROWS-2  After `flush` volume_micro is the sum of all its trades, at the taker's prices.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { insert, type NewRowOf, type SelectedBy, select } from '../../shared/tables/table.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';

const UNITS = select(MARKETS, 'market', 'ticks_per_unit');

export class MarketProjection {
  /** By market index, undefined where none is known. */
  readonly #ticksPerUnit: number[] = [];
  /** By market: the volume since the last flush. Even the sum of one batch may pass the safe integers. */
  readonly #traded = new Map<number, bigint>();
  readonly #insert: Database.Statement<[NewRowOf<typeof MARKETS>]>;
  readonly #addVolume: Database.Statement<[bigint, number]>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare(insert(MARKETS));
    this.#addVolume = db.prepare('UPDATE markets SET volume_micro = volume_micro + ? WHERE market = ?');
    const known = db.prepare<[], SelectedBy<typeof UNITS>>(`SELECT ${UNITS.sql} FROM markets`);
    for (const row of known.iterate()) this.#ticksPerUnit[row.market] = row.ticks_per_unit;
  }

  ticksPerUnit(market: number): number {
    const ticksPerUnit = this.#ticksPerUnit[market];
    assert(ticksPerUnit !== undefined, 'MARKETROWS-1: a market is known before its orders');
    return ticksPerUnit;
  }

  /** Applies a MARKET event. */
  apply(words: Uint32Array, word: number): void {
    const market = words[word + ANY_EVENT.market];
    const ticksPerUnit = words[word + EVENT.MARKET.ticksPerUnit];
    const known = this.#ticksPerUnit[market];
    assert(known === undefined || known === ticksPerUnit, 'MARKETROWS-1: units never change');
    if (known !== undefined) return;
    assert(ticksPerUnit > 1, 'MARKETROWS-1: a unit has at least one tick inside');
    const uuid = new Uint8Array(words.buffer, words.byteOffset + (word + EVENT.MARKET.uuid) * 4, UUID_BYTES);
    this.#insert.run({ market, uuid, ticks_per_unit: ticksPerUnit, volume_micro: 0n });
    this.#ticksPerUnit[market] = ticksPerUnit;
  }

  addVolume(market: number, notionalMicro: number): void {
    assert(notionalMicro > 0, 'MARKETROWS-2: every trade adds to the volume');
    this.#traded.set(market, (this.#traded.get(market) ?? 0n) + BigInt(notionalMicro));
  }

  flush(): void {
    for (const [market, volumeMicro] of this.#traded) this.#addVolume.run(volumeMicro, market);
    this.#traded.clear();
  }
}
