/**
 * Projection of the markets: which UUID a market index is, the units its orders count in, both of which never change,
 * and the volume it has traded.
 * Owner: the projector thread.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/assert.ts';
import { EV_MARKET, MARKET_TICKS_PER_UNIT, MARKET_UUID } from '../../shared/events.ts';
import { UUID_BYTES } from '../../shared/hex.ts';

export class MarketProjection {
  /** By market index, 0 where none is known. */
  readonly #ticksPerUnit: number[] = [];
  /** By market: what was traded since the last flush. The sum of a batch already may leave the safe integers. */
  readonly #traded = new Map<number, bigint>();
  readonly #insert: Database.Statement<[number, Uint8Array, number]>;
  readonly #addVolume: Database.Statement<[bigint, number]>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare('INSERT INTO markets VALUES (?, ?, ?, 0)');
    this.#addVolume = db.prepare('UPDATE markets SET volume_micro = volume_micro + ? WHERE market = ?');
    const known = db
      .prepare<[], { market: number; ticks_per_unit: number }>('SELECT market, ticks_per_unit FROM markets')
      .all();
    for (const row of known) this.#ticksPerUnit[row.market] = row.ticks_per_unit;
  }

  ticksPerUnit(market: number): number {
    const ticksPerUnit = this.#ticksPerUnit[market];
    assert(ticksPerUnit !== undefined, 'projector: a market is told before its orders');
    return ticksPerUnit;
  }

  /** A MARKET event. */
  apply(words: Uint32Array, word: number): void {
    const market = words[word + EV_MARKET]!;
    if (this.#ticksPerUnit[market] !== undefined) return;
    const ticksPerUnit = words[word + MARKET_TICKS_PER_UNIT]!;
    const uuid = new Uint8Array(words.buffer, words.byteOffset + (word + MARKET_UUID) * 4, UUID_BYTES);
    this.#insert.run(market, uuid, ticksPerUnit);
    this.#ticksPerUnit[market] = ticksPerUnit;
  }
  addVolume(market: number, notionalMicro: number): void {
    this.#traded.set(market, (this.#traded.get(market) ?? 0n) + BigInt(notionalMicro));
  }

  flush(): void {
    for (const [market, volumeMicro] of this.#traded) this.#addVolume.run(volumeMicro, market);
    this.#traded.clear();
  }
}
