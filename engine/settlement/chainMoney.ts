/**
 * Movements that happen on the chain first and in the ledger second: deposits, full sets that a wallet has made, and
 * exits. Each movement is one row: it is found once, reported to the gateway, and done when the journals have it.
 *
 *   found ──news──► accepted: its account is known ──FUNDS command──► journal ──follower──► done
 *     └──► waiting, with the reason, and reported again every half minute
 *
 * Invariants:
 *   CHAINMONEY-1  A log is one row for ever, by its transaction and its number in the block.
 *   CHAINMONEY-2  Its name in the ledger follows from the row and the account: however often it is reported, the ledger
 *                 carries it out once.
 *   CHAINMONEY-3  A withdrawal that the chain has carried out is known as such (`mirrored`) before the ledger has it.
 *   CHAINMONEY-4  A claim of a wallet on the chain is reported while the ledger still has the tokens that it paid.
 */
import type Database from 'better-sqlite3';
import { FEE_ACCOUNT, FUND_MOVEMENT, MOVEMENT } from '../../shared/base/codes.ts';
import { type Hex, toHex } from '../../shared/base/hex.ts';
import { prepared } from '../../shared/base/prepared.ts';
import type { PlacedLog } from '../../shared/chain/node.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { CHAIN_MONEY_KINDS, type ChainMoneyKind, type TakenOver } from '../../shared/wire/chainQuestions.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import type { ChainEvent } from './chainEvents.ts';
import type { Markets } from './chainMarkets.ts';
import type { News } from './news.ts';
import type { Rotation } from './rotation.ts';
import type { WorkRows } from './work.ts';

/**
 * These kinds (tokens that left or came back, payouts) change nothing in the ledger; a row only records that they were
 * counted. Such rows are done at once and have no reference, so no query finds them.
 */
type Counted = 'tokensOut' | 'tokensBack' | 'claim' | 'swept';

export type MoneyRow = {
  readonly id: number;
  readonly kind: ChainMoneyKind;
  readonly block: number;
  readonly tx_hash: string;
  readonly log_index: number;
  readonly wallet: Hex;
  readonly condition: Hex | null;
  readonly amount: string;
  readonly account: number | null;
  readonly reference: string | null;
  /** The contract that emitted the log; null if there is none. */
  readonly exchange: Hex | null;
  readonly status: 'found' | 'accepted' | 'waiting' | 'done';
  readonly reason: string | null;
  readonly found_ms: number;
  /** The fee that the account has paid, for a withdrawal that `admin chain adopt` took over. */
  readonly fee_micro: number;
};

/** By then the wallet may have been linked, or the market opened. */
const AGAIN_AFTER_MS = 30_000;
const MOST_AGAIN = 20;

type ChainMoneyOptions = {
  readonly db: StoreDatabase;
  readonly work: WorkRows;
  readonly markets: Markets;
  readonly news: News;
  readonly rotation: Pick<Rotation, 'bring' | 'numberOfSets'>;
  readonly nowMs: () => number;
};
/** Tokens that the chain has to pay, and the number of the contract that holds them. */
export type PaidSets = { readonly market: number; readonly exchange: number };

export class ChainMoney {
  readonly #options: ChainMoneyOptions;

  constructor(options: ChainMoneyOptions) {
    this.#options = options;
  }

  /**
   * Takes an event of a final block, inside the transaction of the scanner. A repeat changes nothing (CHAINMONEY-1).
   */
  take(exchange: Hex, event: ChainEvent): void {
    switch (event.is) {
      case 'deposited':
        this.#found('deposit', exchange, event, event.amount);
        break;
      case 'split':
        this.#found('sets', exchange, event, event.amount, event.condition);
        break;
      case 'held':
        if (event.assetId === 0n) this.#found('deposit', exchange, event, event.amount);
        else this.#cameBack(exchange, event);
        break;
      case 'exited':
        if (event.amount === 0n) break;
        if (event.assetId === 0n) this.#found('exit', exchange, event, event.amount);
        else this.#count('tokensOut', exchange, event, event.wallet, event.assetId, event.amount);
        break;
      case 'feesSwept':
        this.#count('swept', exchange, event, exchange, event.assetId, event.amount);
        break;
      case 'claimed':
        this.#claimed(exchange, event);
        break;
    }
  }

  /**
   * Sets the account of a row, which also determines the row's reference in the ledger (CHAINMONEY-2). The wallet
   * becomes the account's escrow.
   * @returns the mark that the gateway has to keep before the ledger has it.
   */
  accept(id: number, account: number): number {
    const { db, work, markets, rotation } = this.#options;
    const row = this.get(id);
    if (row === undefined || row.status === 'done') return work.mark;
    const reference = toHex(referenceHash(account, movementOf(row.kind), referenceOf(row)));
    const accepted = db.transaction(() => {
      work.setEscrow(account, row.wallet);
      if (isPaidOut(row.kind)) work.addMirrored(reference);
      else if (row.account === null && row.kind !== 'taken') {
        const market = row.condition === null ? NO_MARKET : markets.withCondition(row.condition);
        if (market !== null) rotation.bring(row.exchange!, { account, market });
      }
      const isAhead = this.#sql('SELECT 1 FROM ahead WHERE reference = ?').get(reference) !== undefined;
      this.#sql('UPDATE chain_money SET status = ?, reason = NULL, account = ?, reference = ? WHERE id = ?').run(
        isAhead ? 'done' : 'accepted',
        account,
        reference,
        id,
      );
      return row.account === null ? work.nextMark() : work.mark;
    });
    return accepted();
  }

  wait(id: number, reason: string): void {
    const { nowMs } = this.#options;
    const sql = `UPDATE chain_money SET status = 'waiting', reason = ?, asked_ms = ? WHERE id = ? AND status <> 'done'`;
    this.#sql(sql).run(reason, nowMs(), id);
  }

  /** Reports again the movements that have waited for a while. */
  remind(): void {
    const { db, nowMs } = this.#options;
    const sql = `SELECT * FROM chain_money WHERE status = 'waiting' AND asked_ms <= ? ORDER BY asked_ms LIMIT ?`;
    const rows = this.#sql<MoneyRow>(sql).all(nowMs() - AGAIN_AFTER_MS, MOST_AGAIN);
    if (rows.length === 0) return;
    db.transaction(() => {
      for (const row of rows) {
        this.#sql('UPDATE chain_money SET asked_ms = ? WHERE id = ?').run(nowMs(), row.id);
        this.#report(row);
      }
    })();
  }

  /**
   * Called when the journals have a movement with this reference.
   * @returns full sets that became USDC because their market was decided; otherwise null.
   */
  followed(reference: string, isOfSets: boolean): PaidSets | null {
    const row = this.#sql<MoneyRow>('SELECT * FROM chain_money WHERE reference = ?').get(reference);
    if (row === undefined) return null;
    this.#sql(`UPDATE chain_money SET status = 'done', reason = NULL WHERE id = ?`).run(row.id);
    if (row.kind !== 'sets' || isOfSets) return null;
    const market = this.#options.markets.withCondition(row.condition!)!;
    const place = { account: row.account!, market };
    // The USDC of the deposit stands for the payout that the chain makes together with the account's other tokens.
    this.#addClaim(row.account!, market, Number(row.amount), 0);
    return { market, exchange: this.#options.rotation.numberOfSets(row.exchange!, place) };
  }

  /**
   * Called when the ledger has paid an account for its tokens of a decided market. Tokens that have left the escrow are
   * paid to the wallet on the chain, so the ledger gives up the amount that it paid for them.
   */
  ledgerClaimed(account: number, market: number, micro: number, record: string): void {
    this.#addClaim(account, market, micro, 0);
    const wallet = this.#options.work.escrow(account);
    if (wallet === null || account === FEE_ACCOUNT) return;
    if (this.#sql('SELECT 1 FROM outside WHERE wallet = ? LIMIT 1').get(wallet) === undefined) return;
    const left = this.#options.markets.tokensOf(market);
    const [yes, no] = left.map((token) => this.outside(wallet, token));
    if (yes + no === 0) return;
    const paid = this.#options.markets.payoutMicro(market, yes, no);
    for (const token of left) this.#sql('DELETE FROM outside WHERE wallet = ? AND token_id = ?').run(wallet, token);
    if (paid === 0n) return;
    this.#addClaim(account, market, 0, Number(paid));
    const log = { transactionHash: `left:${record}`, logIndex: 0, blockNumber: 0 };
    this.#report(this.get(this.#insert('exit', null, log, wallet, paid, null)!)!);
  }

  /**
   * Stores a movement that the exchange had sent to the chain before its data was restored to an earlier time (`admin
   * chain adopt`). Called in the order of the chain; a repeat changes nothing (CHAINMONEY-1).
   * @param taken null if USDC of the wallet was paid out
   */
  takeOver(
    exchange: Hex,
    log: Pick<PlacedLog, 'transactionHash' | 'logIndex' | 'blockNumber'>,
    of: { readonly wallet: string; readonly amount: bigint; readonly feeMicro: bigint },
    taken: TakenOver | null,
  ): void {
    const id = this.#insert(taken === null ? 'paid' : 'taken', exchange, log, of.wallet, of.amount, null);
    if (id === null) return;
    if (of.feeMicro > 0n) this.#sql('UPDATE chain_money SET fee_micro = ? WHERE id = ?').run(Number(of.feeMicro), id);
    if (taken !== null) this.#sql('INSERT INTO taken_over VALUES (?, ?)').run(id, JSON.stringify(taken));
    this.#report(this.get(id)!);
  }

  get(id: number): MoneyRow | undefined {
    return this.#sql<MoneyRow>('SELECT * FROM chain_money WHERE id = ?').get(id);
  }

  /** Returns the movements that the ledger does not have yet. */
  open(limit: number, offset = 0): MoneyRow[] {
    const sql = `SELECT * FROM chain_money WHERE status <> 'done' ORDER BY id LIMIT ? OFFSET ?`;
    return this.#sql<MoneyRow>(sql).all(limit, offset);
  }

  countOpen(): number {
    return this.#sql<{ n: number }>(`SELECT count(*) AS n FROM chain_money WHERE status <> 'done'`).get()!.n;
  }

  countWaiting(): number {
    return this.#sql<{ n: number }>(`SELECT count(*) AS n FROM chain_money WHERE status = 'waiting'`).get()!.n;
  }

  /**
   * Returns true while the ledger has to follow an exit of the wallet, or still has tokens that the exit took along.
   */
  owesExit(wallet: string): boolean {
    const open = this.#sql(`SELECT 1 FROM chain_money WHERE wallet = ? AND kind = 'exit' AND status <> 'done' LIMIT 1`);
    return (
      open.get(wallet) !== undefined || this.#sql('SELECT 1 FROM outside WHERE wallet = ?').get(wallet) !== undefined
    );
  }

  outside(wallet: string, tokenId: string): number {
    const sql = 'SELECT amount FROM outside WHERE wallet = ? AND token_id = ?';
    return this.#sql<{ amount: number }>(sql).get(wallet, tokenId)?.amount ?? 0;
  }

  #found(
    kind: ChainMoneyKind,
    exchange: Hex,
    { log, wallet }: Extract<ChainEvent, { wallet: string }>,
    amount: bigint,
    condition: string | null = null,
  ): void {
    const id = this.#insert(kind, exchange, log, wallet, amount, condition);
    if (id !== null) this.#report(this.get(id)!);
  }

  /** @returns true if the log was not known before. */
  #count(kind: Counted, exchange: Hex, { log }: ChainEvent, wallet: string, assetId: bigint, amount: bigint): boolean {
    if (this.#insert(kind, exchange, log, wallet, amount, null) === null) return false;
    const token = String(assetId);
    const left = this.outside(wallet, token) + Number(amount);
    if (left === 0) this.#sql('DELETE FROM outside WHERE wallet = ? AND token_id = ?').run(wallet, token);
    else this.#sql('INSERT OR REPLACE INTO outside VALUES (?, ?, ?)').run(wallet, token, left);
    return true;
  }

  #cameBack(exchange: Hex, event: ChainEvent & { is: 'held' | 'exited' }): void {
    const { wallet, assetId, amount } = event;
    if (!this.#count('tokensBack', exchange, event, wallet, assetId, -amount)) return;
    const [account, market] = [this.#accountOf(wallet), this.#options.markets.withToken(String(assetId))];
    if (account !== null && market !== null) this.#options.rotation.bring(exchange, { account, market });
  }

  #claimed(exchange: Hex, event: ChainEvent & { is: 'claimed' }): void {
    const { log, wallet, amount, condition } = event;
    if (this.#insert('claim', exchange, log, wallet, amount, condition) === null) return;
    const market = this.#options.markets.withCondition(condition);
    const account = wallet === exchange ? FEE_ACCOUNT : this.#accountOf(wallet);
    if (market === null || account === null) return;
    this.#addClaim(account, market, 0, Number(amount));
    if (amount > 0n) this.#options.rotation.bring(exchange, { account, market: NO_MARKET });
    if (account !== FEE_ACCOUNT && this.#hasTokens(account, market))
      this.#options.news.add('claimed', { account, market });
  }

  /** Returns true if the ledger has the tokens. Usually it has paid before the operator claims on the chain. */
  #hasTokens(account: number, market: number): boolean {
    const sql = 'SELECT 1 FROM ledger_tokens WHERE account = ? AND market = ? AND (yes <> 0 OR no <> 0)';
    return this.#sql(sql).get(account, market) !== undefined;
  }

  #addClaim(account: number, market: number, ledgerMicro: number, chainMicro: number): void {
    this.#sql(
      `INSERT INTO claims VALUES (@account, @market, @ledger, @chain) ON CONFLICT DO UPDATE SET
         ledger_micro = ledger_micro + @ledger, chain_micro = chain_micro + @chain`,
    ).run({ account, market, ledger: ledgerMicro, chain: chainMicro });
  }

  #accountOf(wallet: string): number | null {
    const sql = 'SELECT account FROM escrows WHERE address = ?';
    return this.#sql<{ account: number }>(sql).get(wallet)?.account ?? null;
  }

  /** Returns null if the log is already known. */
  #insert(
    kind: ChainMoneyKind | Counted,
    exchange: Hex | null,
    log: { readonly transactionHash: string; readonly logIndex: number; readonly blockNumber: number },
    wallet: string,
    amount: bigint,
    condition: string | null,
  ): number | null {
    const { nowMs } = this.#options;
    const isFollowed = CHAIN_MONEY_KINDS.some((each) => each === kind);
    const added = this.#sql(
      `INSERT OR IGNORE INTO chain_money (kind, block, tx_hash, log_index, wallet, condition, amount, status, found_ms,
         exchange) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      kind,
      log.blockNumber,
      log.transactionHash,
      log.logIndex,
      wallet,
      condition,
      String(amount),
      isFollowed ? 'found' : 'done',
      nowMs(),
      exchange,
    );
    return added.changes === 0 ? null : Number(added.lastInsertRowid);
  }

  #report(row: MoneyRow): void {
    const { markets, news } = this.#options;
    const market = row.condition === null ? null : markets.withCondition(row.condition);
    news.add('money', {
      event: row.id,
      kind: row.kind,
      wallet: row.wallet,
      amount: row.amount,
      reference: referenceOf(row),
      market,
      ...(row.fee_micro === 0 ? {} : { feeMicro: row.fee_micro }),
      ...(row.kind === 'taken' ? { taken: this.#takenOver(row.id) } : {}),
    });
  }

  #takenOver(id: number): TakenOver {
    const { facts } = this.#sql<{ facts: string }>('SELECT facts FROM taken_over WHERE money = ?').get(id)!;
    return JSON.parse(facts);
  }

  #sql<Row>(sql: string): Database.Statement<unknown[], Row> {
    return prepared(this.#options.db, sql);
  }
}

/** The kind of movement with which the ledger follows this kind of row. */
function movementOf(kind: ChainMoneyKind): number {
  if (kind === 'taken') return FUND_MOVEMENT.UNWINDING;
  return isPaidOut(kind) ? MOVEMENT.WITHDRAWAL : MOVEMENT.DEPOSIT;
}

/** Returns true if USDC has left the escrow of its wallet. */
export function isPaidOut(kind: MoneyRow['kind']): boolean {
  return kind === 'exit' || kind === 'paid';
}

/** The reference by which a client finds the movement: the transaction hash and the index of the log in it. */
export function referenceOf({ tx_hash, log_index }: Pick<MoneyRow, 'tx_hash' | 'log_index'>): string {
  return `chain:${tx_hash}:${log_index}`;
}
