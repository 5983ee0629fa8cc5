/**
 * The exchange contracts in order, and the move of funds from one to the next.
 *
 *   open ──all work of it is settled──► claiming ──claims are settled──► moving ──moves are settled──► moved
 *
 * Invariants:
 *   MOVE-1  Work belongs to the contract that its shard had at that record. Only two kinds of work are sent: work of
 *           the first contract that is not `moved`, and late moves from its predecessors. All later work waits, in
 *           order. A payment that the chain refuses delays no move: the next contract makes it.
 *   MOVE-2  Tokens of a market that was decided at a contract are claimed there, for all accounts, before its funds
 *           move: no other contract receives their payout.
 *   MOVE-3  Every step is derived from rows, and a repeated move moves nothing: the thread may end at any time.
 *   MOVE-4  Money that a contract receives after its funds began to move has a row of its own, which moves it. That row
 *           exists before the ledger has the money, so it is sent before anything that spends it, and no other work
 *           waits for it.
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
  /** The time at which the ledger changed to it; 0 for the first contract. */
  readonly added_ms: number;
  /** The last place whose claims or moves have rows of work; null once all places have. */
  readonly after_account: number | null;
  readonly after_market: number | null;
};
const FIRST = 1;
const NEXT = { open: 'claiming', claiming: 'moving', moving: 'moved', moved: 'moved' } as const;
/** An account's USDC, with NO_MARKET, or its tokens of a market. */
type Place = { readonly account: number; readonly market: number };
type FoundPlace = Place & {
  /** The number of the contract at which the market was decided. */
  readonly decided_at: number | null;
};
/** The number of places that one transaction checks: it takes about ten milliseconds. */
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

  /** @param first the contract in the settings; the contract of the first start stays the first */
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

  /** Called once, when this process starts to send. A standby already has the row of the process that sent before. */
  begin(): void {
    if (this.#rows().length === 0) this.add(this.#settings, 0);
  }

  /**
   * Adds a contract; a repeat changes nothing.
   * @param timeMs the time of the record with the change
   */
  add(exchange: Hex, timeMs: number): void {
    prepared(this.#db, 'INSERT OR IGNORE INTO exchanges (exchange, added_ms) VALUES (?, ?)').run(exchange, timeMs);
  }

  /** @param exchange null for the first contract */
  numberOf(exchange: Hex | null): number {
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

  /** False on a standby that has no record of a leader yet: then none of the questions below can be answered. */
  get isKnown(): boolean {
    return this.#rows().length > 0;
  }

  /** The contract whose work is sent (MOVE-1). */
  get active(): Row {
    const rows = this.#rows();
    return rows.find(({ state }) => state !== 'moved') ?? rows.at(-1)!;
  }

  /** The contract that receives the funds of this one. */
  successor(number: number): Hex {
    return this.#row(number + 1).exchange;
  }

  /** The contract to which a claim belongs; null if the claim was made for all accounts (MOVE-2). */
  numberOfClaim(market: number, now: number): number | null {
    const sql = `SELECT exchange FROM work WHERE market = ? AND kind = ${KIND.RESOLUTION} LIMIT 1`;
    const decidedAt = preparedValue<[number], number>(this.#db, sql).get(market) ?? now;
    if (decidedAt === now) return now;
    return this.#row(decidedAt).state === 'open' ? decidedAt : null;
  }

  /**
   * The contract that holds full sets that a wallet has made at this contract, of a market that was decided meanwhile.
   */
  numberOfSets(exchange: Hex, { account, market }: Place): number {
    const number = this.#number.get(exchange)!;
    const sql = `SELECT 1 FROM work WHERE market = ? AND kind = ${KIND.LATE_MOVE} AND account = ? AND exchange = ?`;
    const hasMoved = prepared(this.#db, sql).get(market, account, number) !== undefined;
    return hasMoved ? this.active.number : number;
  }

  /**
   * Money has reached this contract after its funds were moved (MOVE-4). Called in the transaction that credits the
   * account.
   */
  bring(exchange: Hex, { account, market }: Place): void {
    const number = this.#number.get(exchange);
    if (number === undefined || !isLeft(this.#row(number).state)) return;
    const isDecided = market !== NO_MARKET && this.#work.market(market).payout_yes_ppm !== null;
    // The contract receives the payout, which is then moved in turn.
    const kind = isDecided ? KIND.CLAIM : KIND.LATE_MOVE;
    const sql = `SELECT 1 FROM work WHERE exchange = ? AND kind = ? AND account = ? AND market = ?
      AND status <> 'settled' AND status = 'pending' LIMIT 1`;
    if (prepared(this.#db, sql).get(number, kind, account, market) !== undefined) return;
    if (market !== NO_MARKET && !isDecided) this.#want(market, number);
    this.#add(kind, number, [{ account, market }]);
  }

  /** A late move is final at the next contract, which may itself have been left by now. */
  brought({ exchange, account, market }: Place & { readonly exchange: number }): void {
    this.bring(this.successor(exchange), { account, market });
  }

  /**
   * Proceeds by one slice.
   * @param followed the numbers of the contracts that the shards are at
   * @param isQuiet true if every transaction is final: no reorganisation can carry out a refused payment
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

  /** MOVE-4: money that came while the funds moved delays nothing. */
  #hasUnsettled(number: number, state: State): boolean {
    return state === 'moving' ? this.#work.hasUnsettledMove(number) : this.#work.hasUnsettled(number);
  }

  /** @returns the last place of a slice if more may follow; null after the last slice */
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

  /** Ordered by account; each account's USDC comes after its tokens. */
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

  /** The successor must know the market's tokens before they arrive. */
  #want(market: number, number: number): void {
    this.#deploys.want(market, this.#work.market(market).uuid, this.successor(number), true);
  }

  /** Accounts without a wallet have nothing on the chain. Records have positive sequence numbers. */
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

/** True if the contract's funds are moving, or have moved. */
function isLeft(state: State): boolean {
  return state === 'moving' || state === 'moved';
}
