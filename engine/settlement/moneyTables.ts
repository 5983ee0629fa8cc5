/**
 * The tables of settlement.db about money that moves between chain and ledger.
 *
 *   scans          by contract: the first block whose logs were not read yet, and the first not read a second time
 *   chain_money    what the chain has done and the ledger follows, by `id` in the order of the chain; `exchange` is
 *                  null where no log says it
 *   taken_over     by such a row of kind `taken`: how it changes balances (chainQuestions.ts, TakenOver)
 *   exits          wallets that leave or have left
 *   outside        what the ledger still has although it has left the escrow of this wallet: tokens of an exit, fees
 *   ledger_usdc    the USDC of an account in a shard, available and reserved; the sum over shards is what it has
 *   ledger_tokens  the tokens of an account in a market, in the same way
 *   claims         what the tokens of an account in a decided market were paid, by the ledger and on the chain
 *   delegates      those that wallets have named
 *   releases       references of withdrawals that end in the unheld escrow of the wallet
 *   ahead          references of movements that the journals had before this file (`admin chain adopt`)
 *   market_tokens  the ids of outcome tokens
 */
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';

export function addMoneyTables(db: Pick<StoreDatabase, 'exec'>): void {
  db.exec(TABLES);
}

/** Tables of the first version; later ones come from migrations (settlementDb.ts). */
const TABLES = `
  CREATE TABLE IF NOT EXISTS scans (
    exchange TEXT PRIMARY KEY, next_block INTEGER, checked_block INTEGER) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS chain_money (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, block INTEGER NOT NULL, tx_hash TEXT NOT NULL,
    log_index INTEGER NOT NULL, wallet TEXT NOT NULL, condition TEXT, amount TEXT NOT NULL,
    account INTEGER, reference TEXT, exchange TEXT,
    status TEXT NOT NULL DEFAULT 'found' CHECK (status IN ('found', 'accepted', 'waiting', 'done')),
    reason TEXT, asked_ms INTEGER NOT NULL DEFAULT 0, found_ms INTEGER NOT NULL,
    UNIQUE (tx_hash, log_index)) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS chain_money_by_reference ON chain_money (reference) WHERE reference IS NOT NULL;
  CREATE INDEX IF NOT EXISTS chain_money_open ON chain_money (wallet, kind) WHERE status <> 'done';
  CREATE INDEX IF NOT EXISTS chain_money_waiting ON chain_money (asked_ms) WHERE status = 'waiting';
  CREATE INDEX IF NOT EXISTS jobs_by_block ON jobs (block_number);
  CREATE INDEX IF NOT EXISTS escrows_by_wallet ON escrows (address);
  CREATE TABLE IF NOT EXISTS taken_over (money INTEGER PRIMARY KEY, facts TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS exits (
    wallet TEXT PRIMARY KEY, block INTEGER NOT NULL, log_index INTEGER NOT NULL, exitable_at TEXT NOT NULL,
    is_final INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('leaving', 'returning', 'staying')))
    WITHOUT ROWID, STRICT;
  CREATE INDEX IF NOT EXISTS exits_open ON exits (wallet) WHERE state <> 'staying';
  CREATE TABLE IF NOT EXISTS outside (
    wallet TEXT NOT NULL, token_id TEXT NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (wallet, token_id)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS ledger_usdc (
    account INTEGER NOT NULL, shard INTEGER NOT NULL, micro INTEGER NOT NULL,
    PRIMARY KEY (account, shard)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS ledger_tokens (
    account INTEGER NOT NULL, market INTEGER NOT NULL, yes INTEGER NOT NULL, no INTEGER NOT NULL,
    PRIMARY KEY (account, market)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS claims (
    account INTEGER NOT NULL, market INTEGER NOT NULL, ledger_micro INTEGER NOT NULL DEFAULT 0,
    chain_micro INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (account, market)) WITHOUT ROWID, STRICT;
  CREATE INDEX IF NOT EXISTS claims_open ON claims (account) WHERE ledger_micro <> chain_micro;
  CREATE TABLE IF NOT EXISTS delegates (
    maker TEXT NOT NULL, signer TEXT NOT NULL, PRIMARY KEY (maker, signer)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS ended_delegates (
    tx_hash TEXT NOT NULL, log_index INTEGER NOT NULL, PRIMARY KEY (tx_hash, log_index)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS releases (reference TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS ahead (reference TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS market_tokens (
    market INTEGER PRIMARY KEY, yes TEXT NOT NULL, no TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS market_tokens_yes ON market_tokens (yes);
  CREATE INDEX IF NOT EXISTS market_tokens_no ON market_tokens (no);
`;
