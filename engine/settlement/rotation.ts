/**
 * The exchange contracts in their order, and how funds get from one to the next.
 *
 *   open ──all work of it is settled──► claiming ──claims are settled──► moving ──moves are settled──► moved
 *     ▲                                                                                                  │
 *     └──────────────────────────────── the contract has got money all the same ◄────────────────────────┘
 *
 * Invariants:
 *   MOVE-1  Work belongs to the contract of its shard at that record. Only work of the first contract that is not
 *           `moved` is sent: what comes later waits, in its order.
 *   MOVE-2  Tokens of a market that was decided at a contract are claimed there, for all accounts, before its funds
 *           move: another contract has no part of what they pay.
 *   MOVE-3  Every step follows from rows, moving twice moves nothing: any end of the thread is safe.
 */
import type Database from 'better-sqlite3';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import type { Hex } from '../../shared/chain/node.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import type { DeployRows } from './deployRows.ts';
import { KIND, type NewWork, type WorkRows } from './work.ts';

type State = 'open' | 'claiming' | 'moving' | 'moved';
type Row = {
  readonly number: number;
  readonly exchange: Hex;
  readonly state: State;
  /** Up to it, every event was read before the last move began; and whether money has come since. */
  readonly moved_block: number;
  readonly is_late: number;
};
const FIRST = 1;
type Place = { readonly account: number; readonly market: number };

const NO_TRADE = {
  maker_order: null,
  taker_order: null,
  yes_ticks: null,
  match_type: null,
  taker_account: null,
};

export class Rotation {
  readonly #db: Database.Database;
  readonly #work: WorkRows;
  readonly #deploys: DeployRows;
  readonly #all: Database.Statement<[], Row>;
  readonly #number: Database.Statement<[string], number>;

  /** @param first the contract of the settings: that of the first start stays the first. */
  constructor(db: Database.Database, work: WorkRows, deploys: DeployRows, first: Hex) {
    this.#db = db;
    this.#work = work;
    this.#deploys = deploys;
    this.#all = db.prepare('SELECT * FROM exchanges ORDER BY number');
    this.#number = db.prepare<[string], number>('SELECT number FROM exchanges WHERE exchange = ?').pluck();
    if (this.#rows().length === 0) this.add(first);
  }

  /** A repeat changes nothing. */
  add(exchange: string): void {
    this.#db.prepare('INSERT OR IGNORE INTO exchanges (exchange) VALUES (?)').run(exchange);
  }

  /** @param exchange null is the first one. */
  numberOf(exchange: string | null): number {
    return exchange === null ? FIRST : this.#number.get(exchange)!;
  }

  exchange(number: number): Hex {
    return this.#rows().find((row) => row.number === number)!.exchange;
  }

  get first(): Hex {
    return this.#rows()[0].exchange;
  }

  get newest(): Hex {
    return this.#rows().at(-1)!.exchange;
  }

  get all(): Hex[] {
    return this.#rows().map(({ exchange }) => exchange);
  }

  /** The contract whose work is sent (MOVE-1). */
  get active(): Row {
    const rows = this.#rows();
    return rows.find(({ state }) => state !== 'moved') ?? rows.at(-1)!;
  }

  /** The contract that gets the funds of this one. */
  successor(number: number): Hex {
    return this.#rows().find((row) => row.number === number + 1)!.exchange;
  }

  /** Where a claim belongs: null if it was made for all accounts (MOVE-2). */
  numberOfClaim(market: number, now: number): number | null {
    const sql = `SELECT exchange FROM work WHERE market = ? AND kind = ${KIND.RESOLUTION} LIMIT 1`;
    const decidedAt = this.#db.prepare<[number], number>(sql).pluck().get(market) ?? now;
    if (decidedAt === now) return now;
    return this.#rows().find(({ number }) => number === decidedAt)!.state === 'open' ? decidedAt : null;
  }

  /** Money has come to a contract that was left. @param block in which it came */
  reopen(exchange: string, block: number): void {
    const sql = `UPDATE exchanges SET is_late = state = 'moving', state = iif(state = 'moved', 'open', state)
      WHERE exchange = ? AND state IN ('moving', 'moved') AND moved_block < ?`;
    this.#db.prepare(sql).run(exchange, block);
  }

  /**
   * @param followed the numbers of the contracts that the shards are at
   * @param final the last block whose events were read
   */
  step(followed: readonly number[], final: number): void {
    const { number, state, is_late, moved_block } = this.active;
    if (number === this.#rows().at(-1)!.number || followed.some((each) => each <= number)) return;
    if (this.#work.hasUnsettled(number)) return;
    this.#db
      .transaction(() => {
        if (state === 'open') this.#claim(number);
        else if (state === 'claiming') this.#move(number);
        const moved = is_late === 1 ? 'open' : 'moved';
        const next = { open: 'claiming', claiming: 'moving', moving: moved, moved }[state];
        const sql = 'UPDATE exchanges SET state = ?, moved_block = ?, is_late = 0 WHERE number = ?';
        this.#db.prepare(sql).run(next, state === 'claiming' ? final : moved_block, number);
      })
      .immediate();
  }

  #claim(number: number): void {
    const sql = `SELECT held.account, held.market FROM work JOIN ledger_tokens AS held ON held.market = work.market
      WHERE work.kind = ${KIND.RESOLUTION} AND work.exchange <= ?`;
    this.#add(KIND.CLAIM, number, this.#db.prepare<[number], Place>(sql).all(number));
  }

  #move(number: number): void {
    const tokens = `SELECT account, market FROM ledger_tokens WHERE NOT EXISTS (SELECT 1 FROM work
      WHERE work.market = ledger_tokens.market AND kind = ${KIND.RESOLUTION} AND work.exchange <= ?)`;
    const places = this.#db.prepare<[number], Place>(tokens).all(number);
    const accounts = this.#db.prepare<[], number>('SELECT account FROM escrows').pluck().all();
    const next = this.successor(number);
    for (const market of new Set(places.map((place) => place.market))) {
      this.#deploys.want(market, this.#work.market(market).uuid as Hex, next, true);
    }
    const usdc = [FEE_ACCOUNT, ...accounts].map((account) => ({ account, market: NO_MARKET }));
    this.#add(KIND.MOVE, number, [...usdc, ...places]);
  }

  /** Accounts without a wallet have nothing there. Records have positive sequences. */
  #add(kind: NewWork['kind'], exchange: number, places: readonly Place[]): void {
    const sql = 'SELECT min(sequence) FROM work WHERE shard = 0 AND kind = ?';
    const lowest = this.#db.prepare<[number], number | null>(sql).pluck().get(kind) ?? 0;
    const sequence = Math.min(lowest, 0) - 1;
    for (const [part, place] of places.entries()) {
      if (place.account !== FEE_ACCOUNT && this.#work.escrow(place.account) === null) continue;
      this.#work.add({ kind, shard: 0, sequence, part, amount: 0, exchange, ...place, ...NO_TRADE });
    }
  }

  #rows(): Row[] {
    return this.#all.all();
  }
}
