/** Finds markets of the ledger by their names on the chain: condition ids and token ids. */

import { tryParseHex, UUID_BYTES } from '../../shared/base/hex.ts';
import { PPM } from '../../shared/base/payout.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import { type MarketChain, marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';

export class Markets {
  readonly #db: StoreDatabase;
  readonly #chain: MarketChain;
  readonly #byCondition = new Map<string, number>();
  readonly #learned = new Set<number>();

  constructor(db: StoreDatabase, chain: MarketChain) {
    this.#db = db;
    this.#chain = chain;
  }

  /** Returns null if no market of the ledger has this condition. */
  withCondition(condition: string): number | null {
    if (!this.#byCondition.has(condition)) this.#learn();
    return this.#byCondition.get(condition) ?? null;
  }

  /** Returns null if no market of the ledger has this token. */
  withToken(tokenId: string): number | null {
    const find = preparedValue<[object], number>(
      this.#db,
      'SELECT market FROM market_tokens WHERE yes = @tokenId OR no = @tokenId',
    );
    const found = find.get({ tokenId });
    if (found !== undefined) return found;
    const without = 'SELECT market FROM markets WHERE market NOT IN (SELECT market FROM market_tokens)';
    for (const market of preparedValue<[], number>(this.#db, without).all()) {
      if (this.tokensOf(market).includes(tokenId)) return market;
    }
    return null;
  }

  /** Returns the token ids of Yes and No. */
  tokensOf(market: number): readonly [yes: string, no: string] {
    const found = prepared<[number], { yes: string; no: string }>(
      this.#db,
      'SELECT yes, no FROM market_tokens WHERE market = ?',
    ).get(market);
    if (found !== undefined) return [found.yes, found.no];
    const uuid = preparedValue<[number], string>(this.#db, 'SELECT uuid FROM markets WHERE market = ?').get(market)!;
    const [yes, no] = outcomeTokenIds(this.#chain, idBytes(uuid));
    // Computing the ids takes a millisecond, so they are stored.
    if (!this.#db.readonly)
      prepared(this.#db, 'INSERT OR IGNORE INTO market_tokens VALUES (?, ?, ?)').run(market, yes, no);
    return [yes, no];
  }

  /** Computes the payout for tokens of a decided market, rounded down once. */
  payoutMicro(market: number, yesAtomic: number, noAtomic: number): bigint {
    const yesPpm = BigInt(this.#payoutYesPpm(market) ?? 0);
    return (BigInt(yesAtomic) * yesPpm + BigInt(noAtomic) * (BigInt(PPM) - yesPpm)) / BigInt(PPM);
  }

  /** Once a market is decided, its tokens are no longer traded; they become USDC, one account after the other. */
  isDecided(market: number): boolean {
    return this.#payoutYesPpm(market) !== null;
  }

  #payoutYesPpm(market: number): number | null {
    const sql = 'SELECT payout_yes_ppm FROM markets WHERE market = ?';
    return preparedValue<[number], number | null>(this.#db, sql).get(market) ?? null;
  }

  #learn(): void {
    for (const { market, uuid } of prepared<[], { market: number; uuid: string }>(
      this.#db,
      'SELECT market, uuid FROM markets',
    ).iterate()) {
      if (this.#learned.has(market)) continue;
      this.#learned.add(market);
      this.#byCondition.set(marketIds(this.#chain.marketFactory, idBytes(uuid)).conditionId, market);
    }
  }
}

function idBytes(uuid: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  tryParseHex(uuid, UUID_BYTES, bytes, 0);
  return bytes;
}
