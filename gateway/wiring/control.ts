/** Opens control.db and every store in it, each after the stores that it needs. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { takeRoomBack, takeRoomsBack } from '../../shared/base/keptRoom.ts';
import { isResharding } from '../../shared/base/resharding.ts';
import { rowsThatDiffer } from '../../shared/base/rowSums.ts';
import { WalReserve } from '../../shared/base/walReserve.ts';
import { deriveAuditKey } from '../../shared/crypto/auditChain.ts';
import { JOURNAL_KEY_FILE } from '../../shared/crypto/journalKeyFile.ts';
import { MASTER_KEY_FILE, NEXT } from '../../shared/crypto/masterKey.ts';
import { Approvals } from '../access/approvals.ts';
import { ApiKeys } from '../access/keys.ts';
import { Operators } from '../access/operators.ts';
import { AccountStates } from '../account/accountStates.ts';
import { Accounts } from '../account/accounts.ts';
import { Achievements } from '../account/achievementsStore.ts';
import { ClaimMarks } from '../account/claimMarksStore.ts';
import { Identities } from '../account/identitiesStore.ts';
import { Movements } from '../account/movements.ts';
import { NonceFloors } from '../account/nonceFloors.ts';
import { Notices } from '../account/noticesStore.ts';
import { Pseudonyms } from '../account/pseudonymsStore.ts';
import { PublicProfiles } from '../account/publicProfiles.ts';
import { ReadMarks } from '../account/readMarksStore.ts';
import { RebateRates } from '../account/rebateRatesStore.ts';
import { SessionKeys } from '../account/sessionKeysStore.ts';
import { SessionStore } from '../account/sessionsStore.ts';
import { type Config, ConfigError } from '../base/config.ts';
import { copyControl } from '../base/controlCopy.ts';
import { ControlRecords } from '../base/controlRecords.ts';
import {
  type ControlDatabase,
  explained,
  keepTornLog,
  lockControlDatabase,
  requireNoCluster,
  withNewestTables,
} from '../base/database.ts';
import { refuseJournals, requireJournals } from '../base/journalFiles.ts';
import { JournalHeads } from '../base/journalHeads.ts';
import { giveJournalKey, openJournalKey, takeJournalKey } from '../base/journalKey.ts';
import { LaterSync } from '../base/laterSync.ts';
import { Platform } from '../base/platform.ts';
import { openAdminToken, openMasterKey, openPseudonymSecret, openSessionSecret } from '../base/secrets.ts';
import { requireSettlementMode } from '../chain/settlementMode.ts';
import { FiatSessions } from '../fiat/fiatSessionsStore.ts';
import { FiatStatements } from '../fiat/fiatStatementsStore.ts';
import { FiatTransfers } from '../fiat/fiatTransfersStore.ts';
import { FiatWebhooks } from '../fiat/fiatWebhooksStore.ts';
import { RailTransactions } from '../fiat/railTransactionsStore.ts';
import { Catalog } from '../markets/catalog.ts';
import { ContractStore } from '../markets/contracts.ts';
import { Indications } from '../markets/indications.ts';
import { LiveScores } from '../markets/liveScores.ts';
import { chainTokens, LEDGER_TOKENS, requireTokens, type TokenSource } from '../markets/marketTokensStore.ts';
import { OnlineAccounts } from '../markets/onlineAccountsStore.ts';
import { ArmedSwitches } from '../trading/armedSwitchesStore.ts';
import { OpenOrderBoundsStore } from '../trading/openOrderBoundsStore.ts';
import { OrderGroups } from '../trading/orderGroupsStore.ts';
import { TradingTimeouts } from '../trading/tradingTimeoutsStore.ts';

/** The file with its stores. */
export type Control = ReturnType<typeof openStores>;

/** SQLite copies the WAL into the file whenever the WAL has reached this size. */
const WAL_CYCLE_BYTES = 1000 * 4096;

/** A start checks this many rows, in a third of a second; `journal verify` checks all. */
const MOST_CHECKED_ROWS = 100_000;

type Cluster = { readonly isFollowing: boolean } | null;

/**
 * @param cluster null: this exchange is one process.
 * @param onTorn called if the write-ahead log is damaged: changes behind the damage are left out; it says which, and
 * where they are
 */
export function openControl(config: Config, cluster: Cluster = null, onTorn?: (text: string) => void): Control {
  const path = join(config.dataDir, 'control.db');
  // This has to be known before the file is made.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) refuseJournals(config.dataDir);
  takeRoomBack(path);
  const raw = lockControlDatabase(path);
  try {
    takeRoomsBack(config.dataDir);
    const torn = keepTornLog(path);
    if (torn !== null) onTorn?.(torn);
    if (cluster === null) requireNoCluster(raw, path);
    const control = withNewestTables(raw, () => openStores(config, cluster, raw, path));
    control.reserve.refill();
    return control;
  } catch (error) {
    raw.close();
    throw explained(path, error);
  }
}

function openStores(config: Config, cluster: Cluster, raw: Database, path: string) {
  const records = cluster === null ? null : new ControlRecords(raw, cluster.isFollowing);
  const database: ControlDatabase = records?.database ?? raw;
  const options = { reserveBytes: config.journalReserveBytes, cycleBytes: WAL_CYCLE_BYTES };
  const reserve = new WalReserve(raw, path, options);
  const changes = new LaterSync({ database: raw, walPath: `${path}-wal` });
  if (records !== null) changes.share(records);
  const platform = new Platform(database);
  requireNoRotation(config.dataDir);
  requireNoReshard(config.dataDir);
  const masterKey = openMasterKey(config, join(config.dataDir, MASTER_KEY_FILE), platform);
  const shards = openShards(config, platform);
  requireSettlementMode(config, platform, cluster);
  const areNew = !platform.hasJournals;
  if (records !== null) takeJournalKey(config.dataDir, platform);
  const journalKey = openJournalKey({ dataDir: config.dataDir, masterKey, shards, areNew });
  if (cluster?.isFollowing === false) giveJournalKey(config.dataDir, platform);
  const contracts = new ContractStore(config, platform);
  const catalog = new Catalog(database, shards, changes, tokensOf(config, contracts));
  requireTokens(catalog);
  const accounts = new Accounts(database, changes);
  const idOf = (account: number): string => accounts.idOf(account);
  const pseudonyms = new Pseudonyms(openPseudonymSecret(masterKey, platform), platform.floors);
  const control = {
    database,
    /** Copies the file for a backup, in its state at the turn in which the promise resolves. */
    copyTo: (path: string) => copyControl(raw, path),
    /** Rows whose checksum is wrong (shared/base/rowSums.ts), a line for each, among the rows that a start checks. */
    damagedRows: rowsThatDiffer(raw, MOST_CHECKED_ROWS),
    // `records` is null without a cluster, and `reserve` is disk space for withdrawals on a full disk.
    ...{ records, reserve, changes, platform, contracts, shards, journalKey },
    journalHeads: new JournalHeads(platform, masterKey, shards, areNew),
    adminToken: openAdminToken(config, masterKey, platform),
    auditKey: deriveAuditKey(masterKey),
    operators: new Operators(database),
    approvals: new Approvals(database),
    accounts,
    accountStates: new AccountStates(database),
    nonceFloors: new NonceFloors(database, changes),
    identities: new Identities(database),
    keys: new ApiKeys(database, masterKey, idOf),
    sessionKeys: new SessionKeys(database, masterKey, Date.now()),
    sessionSecret: openSessionSecret(masterKey, platform),
    sessions: new SessionStore(database, idOf, changes),
    catalog,
    liveScores: new LiveScores(database, changes),
    indications: new Indications(database, changes),
    movements: new Movements(database, changes),
    rebateRates: new RebateRates(database),
    armedSwitches: new ArmedSwitches(database, changes),
    tradingTimeouts: new TradingTimeouts(database, changes),
    orderGroups: new OrderGroups(database, changes),
    openOrderBounds: new OpenOrderBoundsStore(database, config.openOrders),
    publicProfiles: new PublicProfiles(database, pseudonyms, idOf, changes),
    notices: new Notices(database, changes),
    claimMarks: new ClaimMarks(database, changes),
    readMarks: new ReadMarks(database, shards, changes),
    achievements: new Achievements(database, changes),
    onlineAccounts: new OnlineAccounts(database, changes),
    fiatSessions: new FiatSessions(database, changes),
    fiatStatements: new FiatStatements(database, changes),
    fiatTransfers: new FiatTransfers(database),
    fiatWebhooks: new FiatWebhooks(database, changes),
    railTransactions: new RailTransactions(database, changes),
  };
  records?.attach(control);
  return control;
}

function tokensOf({ chain }: Pick<Config, 'chain'>, { current }: ContractStore): TokenSource {
  if (chain === null) return LEDGER_TOKENS;
  return chainTokens({ marketFactory: current.marketFactory, collateral: current.usdc });
}

/** See ROTATE-1 in engine/admin/keyRotation.ts. */
function requireNoRotation(dataDir: string): void {
  const left = [MASTER_KEY_FILE, JOURNAL_KEY_FILE].find((name) => existsSync(join(dataDir, name + NEXT)));
  if (left === undefined) return;
  throw new ConfigError(`${left}${NEXT}: a rotation was interrupted; finish it with: npm run admin -- keys rotate`);
}

/** See engine/admin/reshard.ts. */
function requireNoReshard(dataDir: string): void {
  if (!isResharding(dataDir)) return;
  throw new ConfigError('a reshard was interrupted; finish it with: npm run admin -- reshard N');
}

/**
 * A market belongs to the shard that its id hashes to, so the first start fixes the number of shards (RULES.md 10.6).
 */
function openShards(config: Pick<Config, 'dataDir' | 'shards' | 'defaultShards'>, platform: Platform): number {
  const made = platform.shards;
  if (made === undefined) {
    refuseJournals(config.dataDir);
    const shards = config.shards ?? config.defaultShards;
    platform.fixShards(shards);
    return shards;
  }
  if (config.shards !== null && config.shards !== made) {
    throw new ConfigError(`SHARDS: this data directory was made with ${made}`);
  }
  if (platform.hasJournals) requireJournals(config.dataDir, made);
  return made;
}
