/** The SQL of the movements of funds (RULES.md 14.41). Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { FUND_MOVEMENT } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { shardOfId, shardSequenceOfMovement } from '../../shared/base/ids.ts';
import { entryHash } from '../../shared/crypto/entryHash.ts';
import { FUND_MOVEMENTS } from '../../shared/tables/fundMovements.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { MAX_COUNTED, MAX_OFFSET, type Page, pageOf } from '../base/page.ts';
import { LongLists } from './longLists.ts';
import { LEDGER_SETTLEMENTS, type MovementSettlement, type Settlements } from './settlementQueries.ts';

export type StoredMovement = {
  readonly id: string;
  /** FUND_MOVEMENT. */
  readonly kind: number;
  /** The change of USDC, negative for a debit. */
  readonly usdcMicro: number;
  /** For a deposit or withdrawal: the hash of a reference that only the gateway knows. */
  readonly referenceHash: Uint8Array | null;
  /** For every other movement: the hash of its ledger entry. */
  readonly entryHash: string | null;
  readonly movedMs: number;
  /** Shows how far the chain has settled the movement. */
  readonly settlement: MovementSettlement;
};

const MOVEMENT = select(FUND_MOVEMENTS, 'id', 'kind', 'usdc_micro', 'reference_hash', 'moved_ms');
const MARKET_ID = select(MARKETS, 'uuid');
type MovementRow = SelectedBy<typeof MOVEMENT> & { readonly uuid: Uint8Array | null };

export class FundMovementQueries {
  readonly #list: Database.Statement<[account: number, limit: number, offset: number], MovementRow>;
  readonly #count: Database.Statement<[account: number], number>;
  readonly #settlements: Settlements;
  readonly #long = new LongLists();

  constructor(db: Database.Database, settlements: Settlements = LEDGER_SETTLEMENTS) {
    this.#list = db.prepare(`
      SELECT ${MOVEMENT.sql}, ${MARKET_ID.sql} FROM fund_movements LEFT JOIN markets USING (market)
      WHERE account = ? AND kind <> ${FUND_MOVEMENT.CARRIED} ORDER BY id DESC LIMIT ? OFFSET ?`);
    this.#count = db
      .prepare<[number], number>(
        `SELECT count(*) FROM (
           SELECT 1 FROM fund_movements WHERE account = ? AND kind <> ${FUND_MOVEMENT.CARRIED}
           LIMIT ${MAX_COUNTED + 1})`,
      )
      .pluck();
    this.#settlements = settlements;
  }

  /** Newest first; rows beyond MAX_OFFSET are not listed. */
  list(account: number, limit: number, offset: number): Page<StoredMovement> {
    const counted = this.#long.counted(String(account), () => this.#count.get(account)!);
    const isTooFar = counted > MAX_COUNTED && offset > MAX_OFFSET;
    const found = isTooFar ? [] : this.#list.all(account, limit, offset);
    const settled = this.#settlements.ofMovements(account, found.map(movedRecord));
    const rows = found.map((row, at) => storedMovement(row, settled[at]));
    return pageOf(rows, counted, offset);
  }
}

function movedRecord({ id, kind }: MovementRow) {
  return { kind, shard: shardOfId(id), shardSequence: shardSequenceOfMovement(id) };
}

function storedMovement(row: MovementRow, settlement: MovementSettlement): StoredMovement {
  return {
    id: bytesToUuid(row.id),
    kind: row.kind,
    usdcMicro: row.usdc_micro,
    referenceHash: row.reference_hash,
    entryHash: row.uuid === null ? null : entryHash(bytesToUuid(row.uuid), shardSequenceOfMovement(row.id)),
    movedMs: row.moved_ms,
    settlement,
  };
}
