/**
 * The amounts under way at a block: done by the ledger and not yet by the chain, or the other way round. The escrow
 * must hold the ledger's balance plus these amounts.
 */
import type Database from 'better-sqlite3';
import { FEE_ACCOUNT, OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { bpsFloor } from '../../shared/base/int.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { Markets } from './chainMarkets.ts';
import { isPaidOut, type MoneyRow } from './chainMoney.ts';
import { KIND, type Work } from './work.ts';

/** USDC, or a token as `market * 2 + outcome`. */
export type Asset = number;
export const USDC: Asset = -1;

export function tokenAsset(market: number, outcome: number): Asset {
  return market * 2 + outcome;
}

export function outcomeOfAsset(asset: Asset): { readonly market: number; readonly outcome: number } {
  return { market: Math.floor(asset / 2), outcome: asset % 2 };
}

/** Work that is not done by a transaction in a block up to this one. Settled work is in an earlier block. */
const NOT_ON_CHAIN = `
  SELECT work.* FROM work LEFT JOIN jobs ON jobs.id = work.job
  WHERE status IN ('pending', 'submitted', 'mined') AND (status <> 'mined' OR jobs.block_number > ?)
  UNION ALL
  SELECT * FROM work WHERE status = 'failed' AND unwound_ms IS NULL`;

type Party = {
  readonly side: number;
  readonly outcome: number;
  readonly fee_bps: number;
  readonly received: number;
};
/** Micro-USDC paid for the tokens of an account. */
type OpenClaim = {
  readonly account: number;
  readonly market: number;
  readonly ledger_micro: number;
  readonly chain_micro: number;
};
/** An order with fills that are not on the chain, and the amount that it receives in them, before fees. */
type PartlySettled = Party & { readonly account: number; readonly asset: Asset; missing: number };

export class UnderWay {
  readonly #db: StoreDatabase;
  readonly #markets: Markets;
  /** By account and asset. */
  readonly #amounts = new Map<number, Map<Asset, bigint>>();
  readonly #orders = new Map<number, PartlySettled>();
  readonly #ticks = new Map<number, number>();
  readonly #party: Database.Statement<[number], Party>;

  constructor(db: StoreDatabase, markets: Markets, block: number) {
    this.#db = db;
    this.#markets = markets;
    this.#party = prepared(db, 'SELECT side, outcome, fee_bps, received FROM orders WHERE id = ?');
    for (const work of prepared<[number], Work>(db, NOT_ON_CHAIN).iterate(block)) this.#undo(work);
    this.#undoFees();
    for (const row of prepared<[], MoneyRow>(db, `SELECT * FROM chain_money WHERE status <> 'done'`).all())
      this.#follow(row);
    this.#addClaims();
    this.#addOutside();
  }

  of(account: number, asset: Asset): bigint {
    return this.#amounts.get(account)?.get(asset) ?? 0n;
  }

  total(asset: Asset): bigint {
    let sum = 0n;
    for (const amounts of this.#amounts.values()) sum += amounts.get(asset) ?? 0n;
    return sum;
  }

  #add(account: number, asset: Asset, amount: bigint | number): void {
    const amounts = this.#amounts.get(account) ?? new Map<Asset, bigint>();
    this.#amounts.set(account, amounts);
    amounts.set(asset, (amounts.get(asset) ?? 0n) + BigInt(amount));
  }

  #undo(work: Work): void {
    const { account, market, amount } = work;
    switch (work.kind) {
      case KIND.TRADE:
        this.#undoTrade(work);
        break;
      case KIND.SPLIT:
      case KIND.MERGE: {
        const sets = work.kind === KIND.SPLIT ? amount : -amount;
        this.#add(account, USDC, sets);
        for (const outcome of [OUTCOME.YES, OUTCOME.NO]) this.#add(account, tokenAsset(market, outcome), -sets);
        break;
      }
      case KIND.WITHDRAWAL:
      case KIND.RELEASE:
        this.#add(account, USDC, amount);
        break;
    }
    if (work.fee_micro === 0) return;
    this.#add(account, USDC, work.fee_micro);
    this.#add(FEE_ACCOUNT, USDC, -work.fee_micro);
  }

  #undoTrade(work: Work): void {
    this.#undoParty(work, work.maker_order!, work.account);
    this.#undoParty(work, work.taker_order!, work.taker_account!);
  }

  #undoParty(work: Work, order: number, account: number): void {
    const { market, amount: lots } = work;
    const known = this.#orders.get(order);
    const party = known ?? this.#party.get(order)!;
    const { side, outcome } = party;
    const ticksPerUnit = this.#ticksPerUnit(market);
    const ticks = outcome === OUTCOME.YES ? work.yes_ticks! : ticksPerUnit - work.yes_ticks!;
    const [tokens, micro, token] = [lots * ticksPerUnit, lots * ticks, tokenAsset(market, outcome)];
    const sign = side === SIDE.BUY ? 1 : -1;
    this.#add(account, USDC, sign * micro);
    this.#add(account, token, -sign * tokens);
    const asset = side === SIDE.BUY ? token : USDC;
    const received = side === SIDE.BUY ? tokens : micro;
    if (known === undefined) this.#orders.set(order, { ...party, account, asset, missing: received });
    else known.missing += received;
  }

  /** The contract's fee depends on everything that the order has received, not on the single fill. */
  #undoFees(): void {
    for (const { account, asset, fee_bps, received, missing } of this.#orders.values()) {
      const fee = bpsFloor(received, fee_bps) - bpsFloor(received - missing, fee_bps);
      this.#add(account, asset, fee);
      this.#add(FEE_ACCOUNT, asset, -fee);
    }
    this.#orders.clear();
  }

  #ticksPerUnit(market: number): number {
    const known = this.#ticks.get(market);
    if (known !== undefined) return known;
    const sql = 'SELECT ticks_per_unit FROM markets WHERE market = ?';
    const ticks = preparedValue<[number], number>(this.#db, sql).get(market)!;
    this.#ticks.set(market, ticks);
    return ticks;
  }

  /** A movement that the chain has made and the ledger has not. */
  #follow({ kind, wallet, account, amount, condition, fee_micro }: MoneyRow): void {
    const owner = account ?? this.#accountOf(wallet);
    if (owner === null) return;
    if (kind === 'deposit') this.#add(owner, USDC, BigInt(amount));
    else if (isPaidOut(kind)) this.#add(owner, USDC, -BigInt(amount) - BigInt(fee_micro));
    if (fee_micro > 0) this.#add(FEE_ACCOUNT, USDC, fee_micro);
    const market = condition === null ? null : this.#markets.withCondition(condition);
    if (market === null) return;
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) this.#add(owner, tokenAsset(market, outcome), BigInt(amount));
  }

  /** A payout that only one side has made. Once both have, it is compared, unless more parts are to come. */
  #addClaims(): void {
    const open = prepared<[], OpenClaim>(this.#db, 'SELECT * FROM claims WHERE ledger_micro <> chain_micro');
    for (const claim of open.all()) {
      const { account, ledger_micro, chain_micro } = claim;
      const isOneSided = ledger_micro === 0 || chain_micro === 0;
      if (isOneSided || this.#isPaidInParts(claim)) this.#add(account, USDC, chain_micro - ledger_micro);
    }
  }

  /**
   * Returns true for the fee account, whose rounding remainder stays until the last tokens of a market are claimed, and
   * for an account with full sets that its wallet made before the decision: the ledger holds them as USDC, and the
   * chain pays them together with its other tokens.
   */
  #isPaidInParts({ account, market }: OpenClaim): boolean {
    if (account === FEE_ACCOUNT) return true;
    const sql = `
      SELECT 1 FROM ledger_tokens WHERE account = @account AND market = @market AND (yes <> 0 OR no <> 0)
      UNION ALL
      SELECT 1 FROM work WHERE market = @market AND account = @account AND kind = ${KIND.CLAIM} AND status <> 'settled'
      UNION ALL
      SELECT 1 FROM chain_money JOIN escrows ON escrows.address = wallet
        WHERE escrows.account = @account AND kind = 'sets' AND status <> 'done'
      LIMIT 1`;
    return prepared<[object]>(this.#db, sql).get({ account, market }) !== undefined;
  }

  #addOutside(): void {
    const rows = prepared<[], { wallet: string; token_id: string; amount: number }>(
      this.#db,
      'SELECT * FROM outside',
    ).all();
    if (rows.length === 0) return;
    const fees = new Set(preparedValue<[], string>(this.#db, 'SELECT exchange FROM scans').all());
    for (const { wallet, token_id, amount } of rows) {
      const owner = fees.has(wallet) ? FEE_ACCOUNT : this.#accountOf(wallet);
      const asset = token_id === '0' ? USDC : this.#assetOf(token_id);
      if (owner !== null && asset !== null) this.#add(owner, asset, -amount);
    }
  }

  /** Every market that was ever compared has its tokens here. */
  #assetOf(tokenId: string): Asset | null {
    const sql = 'SELECT market, yes = @tokenId AS isYes FROM market_tokens WHERE yes = @tokenId OR no = @tokenId';
    const found = prepared<[object], { market: number; isYes: number }>(this.#db, sql).get({ tokenId });
    return found === undefined ? null : tokenAsset(found.market, found.isYes === 1 ? OUTCOME.YES : OUTCOME.NO);
  }

  #accountOf(wallet: string): number | null {
    const found = preparedValue<[string], number>(this.#db, 'SELECT account FROM escrows WHERE address = ?').get(
      wallet,
    );
    return found ?? null;
  }
}
