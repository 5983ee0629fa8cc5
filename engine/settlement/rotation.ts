/**
 * The exchange contracts in their order, and how funds get from one to the next.
 *
 *   open ──all work of it is settled──► claiming ──claims are settled──► moving ──moves are settled──► moved
 *
 * Invariants:
 *   MOVE-1  Work belongs to the contract of its shard at that record. Only work of the first contract that is not
 *           `moved` is sent, and what moves late from those before it: what comes later waits, in its order. A payment
 *           that the chain refuses holds up no move: the next contract makes it.
 *   MOVE-2  Tokens of a market that was decided at a contract are claimed there, for all accounts, before its funds
 *           move: another contract has no part of what they pay.
 *   MOVE-3  Every step follows from rows, moving twice moves nothing: any end of the thread is safe.
 *   MOVE-4  Money that a contract gets once its funds move is moved by a row of its own. That row is there before the
 *           ledger has the money, so it is sent before anything that spends it, and no other work waits for it.
 */
import type Database from 'better-sqlite3';
import type { MoveHealth } from '../../shared/base/chainFacts.ts';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import type { Hex } from '../../shared/chain/node.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import type { DeployRows } from './deployRows.ts';
import { PaymentRows } from './paymentRows.ts';
import { KIND, type NewWork, type WorkRows } from './work.ts';

type State = 'open' | 'claiming' | 'moving' | 'moved';
type Row = {
  readonly number: number;
  readonly exchange: Hex;
  readonly state: State;
  /** When the ledger changed to it; 0: it is the first. */
  readonly added_ms: number;
  /** The last place whose claims or moves are rows of work; null once all are. */
  readonly after_account: number | null;
  readonly after_market: number | null;
};
const FIRST = 1;
const NEXT = { open: 'claiming', claiming: 'moving', moving: 'moved', moved: 'moved' } as const;
/** An account's USDC, with NO_MARKET, or its tokens of a market. */
type Place = { readonly account: number; readonly market: number };
type FoundPlace = Place & {
  /** The number of the contract of its decision. */
  readonly decided_at: number | null;
};
/** The places that one transaction looks at: it takes some ten milliseconds. */
const MOST_PLACES = 1000;
const BEFORE_ALL = { account: FEE_ACCOUNT, market: -1 };

const NO_TRADE = {
  maker_order: null,
  taker_order: null,
  yes_ticks: null,
  match_type: null,
  taker_account: null,
};

export class Rotation {
  readonly #db: StoreDatabase;
  readonly #work: WorkRows;
  readonly #payments: PaymentRows;
  readonly #deploys: DeployRows;
  readonly #mostPlaces: number;
  readonly #settings: Hex;
  readonly #all: Database.Statement<[], Row>;
  readonly #number: Database.Statement<[string], number>;

  /** @param first the contract of the settings: that of the first start stays the first. */
  constructor(db: StoreDatabase, work: WorkRows, deploys: DeployRows, first: Hex, mostPlaces = MOST_PLACES) {
    this.#db = db;
    this.#work = work;
    this.#payments = new PaymentRows(db);
    this.#deploys = deploys;
    this.#mostPlaces = mostPlaces;
    this.#all = prepared(db, 'SELECT * FROM exchanges ORDER BY number');
    this.#number = preparedValue<[string], number>(db, 'SELECT number FROM exchanges WHERE exchange = ?');
    this.#settings = first;
    if (db.isFollowing !== true) this.begin();
  }

  /** Called when this process sends, and once only: a standby has the row from the one that did before. */
  begin(): void {
    if (this.#rows().length === 0) this.add(this.#settings, 0);
  }

  /** A repeat changes nothing. @param timeMs the time of the record with the change */
  add(exchange: string, timeMs: number): void {
    prepared(this.#db, 'INSERT OR IGNORE INTO exchanges (exchange, added_ms) VALUES (?, ?)').run(exchange, timeMs);
  }

  /** @param exchange null is the first one. */
  numberOf(exchange: string | null): number {
    return exchange === null ? FIRST : this.#number.get(exchange)!;
  }

  exchange(number: number): Hex {
    return this.#row(number).exchange;
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

  /** False on a standby that has no record of a leader yet: then nothing below can be asked. */
  get isKnown(): boolean {
    return this.#rows().length > 0;
  }

  /** The contract whose work is sent (MOVE-1). */
  get active(): Row {
    const rows = this.#rows();
    return rows.find(({ state }) => state !== 'moved') ?? rows.at(-1)!;
  }

  /** The contract that gets the funds of this one. */
  successor(number: number): Hex {
    return this.#row(number + 1).exchange;
  }

  /** Where a claim belongs: null if it was made for all accounts (MOVE-2). */
  numberOfClaim(market: number, now: number): number | null {
    const sql = `SELECT exchange FROM work WHERE market = ? AND kind = ${KIND.RESOLUTION} LIMIT 1`;
    const decidedAt = preparedValue<[number], number>(this.#db, sql).get(market) ?? now;
    if (decidedAt === now) return now;
    return this.#row(decidedAt).state === 'open' ? decidedAt : null;
  }

  /** Where full sets are, that a wallet has made at this contract, of a market that was decided meanwhile. */
  numberOfSets(exchange: string, { account, market }: Place): number {
    const number = this.#number.get(exchange)!;
    const sql = `SELECT 1 FROM work WHERE market = ? AND kind = ${KIND.LATE_MOVE} AND account = ? AND exchange = ?`;
    const hasMoved = prepared(this.#db, sql).get(market, account, number) !== undefined;
    return hasMoved ? this.active.number : number;
  }

  /**
   * Money has come to this contract: what was to be moved from there before did not include it (MOVE-4). Called in the
   * transaction that makes it the account's.
   */
  bring(exchange: string, { account, market }: Place): void {
    const number = this.#number.get(exchange);
    if (number === undefined || !isLeft(this.#row(number).state)) return;
    const isDecided = market !== NO_MARKET && this.#work.market(market).payout_yes_ppm !== null;
    // The contract gets its payout, which is brought in turn.
    const kind = isDecided ? KIND.CLAIM : KIND.LATE_MOVE;
    const sql = `SELECT 1 FROM work WHERE exchange = ? AND kind = ? AND account = ? AND market = ?
      AND status <> 'settled' AND status = 'pending' LIMIT 1`;
    if (prepared(this.#db, sql).get(number, kind, account, market) !== undefined) return;
    if (market !== NO_MARKET && !isDecided) this.#want(market, number);
    this.#add(kind, number, [{ account, market }]);
  }

  /** A late move has reached the next contract for good, which may have been left as well. */
  brought({ exchange, account, market }: Place & { readonly exchange: number }): void {
    this.bring(this.successor(exchange), { account, market });
  }

  /**
   * Goes on by one slice.
   * @param followed the numbers of the contracts that the shards are at
   * @param isQuiet true if every transaction is final: no reorganisation carries out a payment that was refused
   */
  step(followed: readonly number[], isQuiet: boolean): void {
    const { number, state, after_account: account, after_market: market } = this.active;
    if (number === this.#rows().at(-1)!.number || followed.some((each) => each <= number)) return;
    const after = account === null ? null : { account, market: market! };
    if (after === null && ((state === 'open' && !isQuiet) || this.#hasUnsettled(number, state))) return;
    const next = after === null ? NEXT[state] : state;
    const advance = this.#db.transaction(() => {
      if (state === 'open') this.#payments.payAtNext(number);
      const isSliced = next === 'claiming' || next === 'moving';
      const last = isSliced ? this.#addSlice(number, next, after ?? BEFORE_ALL) : null;
      const sql = 'UPDATE exchanges SET state = ?, after_account = ?, after_market = ? WHERE number = ?';
      prepared(this.#db, sql).run(next, last?.account ?? null, last?.market ?? null, number);
    });
    advance();
  }

  /** Null while no funds have to move. */
  health(nowMs: number): MoveHealth | null {
    const { number, exchange, state } = this.active;
    const next = this.#rows().find((row) => row.number === number + 1);
    if (next === undefined || state === 'moved') return null;
    return { exchange, state, ageMs: nowMs - next.added_ms, left: this.#work.countUnsettledAt(number) };
  }

  /** MOVE-4: what came while the funds moved holds up nothing. */
  #hasUnsettled(number: number, state: State): boolean {
    return state === 'moving' ? this.#work.hasUnsettledMove(number) : this.#work.hasUnsettled(number);
  }

  /** @returns the last place of a slice that more may follow; null after the last one. */
  #addSlice(number: number, state: 'claiming' | 'moving', after: Place): Place | null {
    const found = this.#placesAfter(after);
    if (state === 'claiming') {
      const claimed = found.filter(({ decided_at }) => decided_at === number);
      this.#add(KIND.CLAIM, number, claimed);
    } else {
      const places = found.filter(({ decided_at }) => decided_at === null || decided_at > number);
      const markets = new Set(places.map(({ market }) => market));
      for (const market of markets) if (market !== NO_MARKET) this.#want(market, number);
      const fees = after === BEFORE_ALL ? [{ account: FEE_ACCOUNT, market: NO_MARKET }] : [];
      this.#add(KIND.MOVE, number, [...fees, ...places]);
    }
    return found.length < this.#mostPlaces ? null : found.at(-1)!;
  }

  /** In the order of accounts; each account's USDC comes after its tokens. */
  #placesAfter({ account, market }: Place): FoundPlace[] {
    const sql = `
      SELECT account, ${NO_MARKET} AS market, NULL AS decided_at FROM escrows
        WHERE account >= @account AND (account > @account OR ${NO_MARKET} > @market)
      UNION ALL
      SELECT account, market, (SELECT exchange FROM work WHERE work.market = ledger_tokens.market
          AND kind = ${KIND.RESOLUTION}) FROM ledger_tokens
        WHERE (account, market) > (@account, @market)
      ORDER BY 1, 2 LIMIT @most`;
    return prepared<[object], FoundPlace>(this.#db, sql).all({ account, market, most: this.#mostPlaces });
  }

  /** The tokens of the market are known to the successor before they come. */
  #want(market: number, number: number): void {
    this.#deploys.want(market, this.#work.market(market).uuid as Hex, this.successor(number), true);
  }

  /** Accounts without a wallet have nothing there. Records have positive sequences. */
  #add(kind: NewWork['kind'], exchange: number, places: readonly Place[]): void {
    const sql = 'SELECT min(sequence) FROM work WHERE shard = 0 AND kind = ?';
    const lowest = preparedValue<[number], number | null>(this.#db, sql).get(kind) ?? 0;
    const sequence = Math.min(lowest, 0) - 1;
    for (const [part, { account, market }] of places.entries()) {
      if (account !== FEE_ACCOUNT && this.#work.escrow(account) === null) continue;
      this.#work.add({ kind, shard: 0, sequence, part, amount: 0, exchange, account, market, ...NO_TRADE });
    }
  }

  #row(number: number): Row {
    return this.#rows().find((row) => row.number === number)!;
  }

  #rows(): Row[] {
    return this.#all.all();
  }
}

/** Its funds move, or have moved. */
function isLeft(state: State): boolean {
  return state === 'moving' || state === 'moved';
}
