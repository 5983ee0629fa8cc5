/**
 * settlement.db: everything that settlement knows. Each commit is on disk before it returns, because the transaction
 * sent next to the chain cannot be undone.
 *
 *   exchanges   the exchange contracts in their order, and how far their funds have moved on
 *   followed    the position up to which the journal of a shard was followed
 *   orders      signed orders that may still trade, or whose trades are not settled; `slot` is null once it is closed
 *   work        trades and movements of the ledger that the chain has to do as well, by `id` in their order
 *   history     the statuses of work, each with its time
 *   jobs        transactions, each with the work that it does; hash and block are known once it is mined
 *   markets     the markets of the journals, with the payout of Yes in millionths once they are decided
 *   decisions   markets that the chain decides before the ledger, until the ledger has followed
 *   holders     accounts that have tokens of a market
 *   deploys     markets that an exchange contract has to know; `not_before_ms` is the time of a retry
 *   deploy_jobs transactions of the deployer, each with its deployment
 *   escrows     the wallet of an account, under which the chain holds its funds
 *   news        news for the gateway that it has not acknowledged
 *   marks       one number, which grows with every change that must not be lost and is not in the journals
 *   mirrored    references of withdrawals that the chain has done before the ledger: they are not done again
 */
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { checkedVersion, openDatabase, setUserVersion, userVersion } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { addEnvelopeTables } from '../../shared/chain/envelopeRows.ts';
import { JournalHead } from '../journal/row.ts';
import { DECISION_TABLES } from './decisionRows.ts';
import { addMoneyTables } from './moneyTables.ts';

/** Earlier versions were never released. */
export const FIRST = 3;
/** The version of the tables. */
const VERSION = FORMATS.settlement.newest;
/**
 * Each migration brings the file from one version to the next, beginning with FIRST. A released migration is never
 * edited.
 */
const MIGRATIONS: readonly string[] = ['settlement-004.sql'];

assert(FIRST + MIGRATIONS.length === VERSION, 'settlement: members of a cluster say which tables they know');

export function openSettlementDb(path: string): Database.Database {
  const db = openDatabase(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  const version = checkedVersion(db, VERSION);
  if (version > VERSION) throw new Error(`${path} was written by a newer version`);
  if (version !== 0 && version < FIRST) throw new Error(`${path} has layout ${version}, and the first is ${FIRST}`);
  db.transaction(() => bring(db, VERSION)).immediate();
  return db;
}

/** An empty database in memory with the tables of a version, as members of an older one have them. */
export function emptySettlementDb(version: number): Database.Database {
  const db = new Database(':memory:');
  bring(db, version);
  return db;
}

function bring(db: Database.Database, to: number): void {
  db.exec(TABLES);
  db.exec(DECISION_TABLES);
  addMoneyTables(db);
  addEnvelopeTables(db);
  for (const name of MIGRATIONS.slice(Math.max(0, versionOf(db) - FIRST), to - FIRST)) {
    db.exec(readFileSync(new URL(`../../data/schema/${name}`, import.meta.url), 'utf8'));
  }
  setUserVersion(db, to);
}

function versionOf(db: Database.Database): number {
  return userVersion(db);
}

/** Opens the file for a tool, which writes nothing. Returns null if the file has another layout. */
export function readSettlementDb(path: string): Database.Database | null {
  const db = openDatabase(path, { readonly: true, fileMustExist: true });
  if (versionOf(db) === VERSION) return db;
  db.close();
  return null;
}

/** The position in the journal of a shard at which settlement continues. */
export function followedHead(db: Database.Database, shard: number): JournalHead {
  const select = prepared<[number], { sequence: number; low: number; high: number }>(
    db,
    'SELECT sequence, chain_low AS low, chain_high AS high FROM followed WHERE shard = ?',
  );
  const { sequence, low, high } = select.get(shard) ?? { sequence: 0, low: 0, high: 0 };
  return new JournalHead(sequence, low, high);
}

/** Tables of the first version; later ones come from migrations. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS exchanges (
    number INTEGER PRIMARY KEY, exchange TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'claiming', 'moving', 'moved')),
    added_ms INTEGER NOT NULL, after_account INTEGER, after_market INTEGER) STRICT;
  CREATE TABLE IF NOT EXISTS followed (
    shard INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, chain_low INTEGER NOT NULL, chain_high INTEGER NOT NULL,
    exchange TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS markets (
    market INTEGER PRIMARY KEY, uuid TEXT NOT NULL, ticks_per_unit INTEGER NOT NULL,
    payout_yes_ppm INTEGER) STRICT;
  CREATE TABLE IF NOT EXISTS holders (
    market INTEGER NOT NULL, account INTEGER NOT NULL, PRIMARY KEY (market, account)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS deploys (
    id INTEGER PRIMARY KEY, market INTEGER NOT NULL, uuid TEXT NOT NULL, exchange TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'wanted'
      CHECK (status IN ('wanted', 'submitted', 'mined', 'final', 'failed', 'given_up')),
    is_needed INTEGER NOT NULL, failures INTEGER NOT NULL DEFAULT 0, not_before_ms INTEGER NOT NULL DEFAULT 0,
    job INTEGER, reason TEXT, UNIQUE (market, exchange)) STRICT;
  CREATE INDEX IF NOT EXISTS deploys_due ON deploys (not_before_ms) WHERE status IN ('wanted', 'failed');
  CREATE TABLE IF NOT EXISTS deploy_jobs (id INTEGER PRIMARY KEY, deploy INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS escrows (account INTEGER PRIMARY KEY, address TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS mirrored (reference TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS marks (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO marks VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS news (
    number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, facts TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS news_by_kind ON news (kind, number);
  CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shard INTEGER NOT NULL, slot INTEGER, outcome INTEGER NOT NULL, exchange TEXT,
    hash TEXT NOT NULL, salt TEXT NOT NULL, maker TEXT NOT NULL, signer TEXT NOT NULL, token_id TEXT NOT NULL,
    maker_amount INTEGER NOT NULL, taker_amount INTEGER NOT NULL, expiration_sec INTEGER NOT NULL,
    nonce INTEGER NOT NULL, fee_bps INTEGER NOT NULL, min_taker_net INTEGER NOT NULL, side INTEGER NOT NULL,
    signature TEXT NOT NULL, received INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS orders_open ON orders (shard, slot) WHERE slot IS NOT NULL;
  CREATE TABLE IF NOT EXISTS work (
    id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, shard INTEGER NOT NULL, sequence INTEGER NOT NULL,
    part INTEGER NOT NULL, account INTEGER NOT NULL, market INTEGER NOT NULL, amount INTEGER NOT NULL,
    maker_order INTEGER, taker_order INTEGER, yes_ticks INTEGER, match_type INTEGER,
    taker_account INTEGER, created_ms INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'submitted', 'mined', 'settled', 'failed')),
    job INTEGER, failures INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0, reason TEXT,
    exchange INTEGER NOT NULL DEFAULT 1, matched_ms INTEGER, is_held INTEGER NOT NULL DEFAULT 0, unwound_ms INTEGER,
    UNIQUE (shard, kind, sequence, part)) STRICT;
  CREATE INDEX IF NOT EXISTS work_pending ON work (id) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS work_payments ON work (account, id) WHERE status = 'pending' AND kind IN (3, 6);
  CREATE INDEX IF NOT EXISTS work_paid ON work (job) WHERE kind IN (3, 6) AND job IS NOT NULL;
  CREATE INDEX IF NOT EXISTS work_waited ON work (created_ms, kind) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS work_unsettled ON work (status) WHERE status IN ('pending', 'submitted', 'mined');
  CREATE INDEX IF NOT EXISTS work_failed ON work (id) WHERE status = 'failed';
  CREATE INDEX IF NOT EXISTS work_resolutions ON work (market) WHERE kind = 4;
  CREATE INDEX IF NOT EXISTS work_of_exchange ON work (exchange) WHERE status <> 'settled';
  CREATE INDEX IF NOT EXISTS work_open ON work (market, id) WHERE status <> 'settled';
  CREATE INDEX IF NOT EXISTS work_of_makers ON work (maker_order) WHERE status <> 'settled';
  CREATE INDEX IF NOT EXISTS work_of_takers ON work (taker_order) WHERE status <> 'settled';
  CREATE TABLE IF NOT EXISTS history (
    work INTEGER NOT NULL, step INTEGER NOT NULL, status TEXT NOT NULL, at_ms INTEGER NOT NULL,
    PRIMARY KEY (work, step)) WITHOUT ROWID, STRICT;
  CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, exchange TEXT NOT NULL, work TEXT NOT NULL, batch TEXT, hash TEXT,
    block_number INTEGER, is_final INTEGER NOT NULL DEFAULT 0) STRICT;
`;
