/**
 * The tables of control.db in a cluster: whether their rows are records of the replicated log, the columns that
 * identify a row, and the stores that keep some rows in memory. A table without stores is read on demand.
 */
import { JOURNAL_HEADS } from '../../shared/crypto/journalHeads.ts';
import { AUDIT_HEAD, AUDIT_SHARED, HAS_JOURNALS } from './platform.ts';

/** A table that each member keeps for itself. */
const LOCAL = 'local';

/** The parts of Control that read rows again, each after the parts that it needs. */
export const RELOADED = [
  'platform',
  'contracts',
  'accounts',
  'operators',
  'accountStates',
  'nonceFloors',
  'keys',
  'sessionKeys',
  'sessions',
  'catalog',
  'liveScores',
  'indications',
  'movements',
  'rebateRates',
  'tradingTimeouts',
  'orderGroups',
  'openOrderBounds',
  'claimMarks',
  'readMarks',
  'onlineAccounts',
  'fiatSessions',
  'fiatWebhooks',
  'railTransactions',
] as const;

type Reloaded = (typeof RELOADED)[number];
type Table = { readonly key: readonly string[]; readonly stores: readonly Reloaded[] };

export const CONTROL_TABLES: { readonly [table: string]: Table | typeof LOCAL } = {
  record_end: LOCAL,
  record_queue: LOCAL,
  record_undo: LOCAL,
  row_sums: LOCAL,
  platform: { key: ['key'], stores: ['platform', 'contracts'] },
  users: { key: ['account_index'], stores: ['accounts'] },
  wallets: { key: ['address'], stores: ['accounts'] },
  grants: { key: ['number', 'maker'], stores: ['accounts'] },
  operators: { key: ['id'], stores: ['operators'] },
  approvals: { key: ['sequence'], stores: [] },
  account_states: { key: ['account_index'], stores: ['accountStates'] },
  account_exits: { key: ['account_index'], stores: ['accountStates'] },
  nonce_floors: { key: ['wallet'], stores: ['nonceFloors'] },
  identities: { key: ['issuer', 'subject'], stores: [] },
  api_keys: { key: ['key_id'], stores: ['keys'] },
  session_keys: { key: ['kid'], stores: ['sessionKeys'] },
  sessions: { key: ['id'], stores: ['sessions'] },
  used_refresh_tokens: { key: ['session_id'], stores: ['sessions'] },
  events: { key: ['event_index'], stores: ['catalog'] },
  markets: { key: ['market_index'], stores: ['catalog'] },
  deployments: { key: ['market_index'], stores: ['catalog'] },
  catalogue_revision: { key: ['id'], stores: ['catalog'] },
  live_scores: { key: ['event_index'], stores: ['liveScores'] },
  indications: { key: ['market_index'], stores: ['indications'] },
  movements: { key: ['id'], stores: ['movements'] },
  rebate_rates: { key: ['market_index'], stores: ['rebateRates'] },
  armed_switches: { key: ['account_index'], stores: [] },
  triggered_switches: { key: ['account_index'], stores: [] },
  cancelled_shards: { key: ['account_index', 'shard'], stores: [] },
  gaming_preferences: { key: ['account_index'], stores: ['tradingTimeouts'] },
  trading_timeouts: { key: ['id'], stores: ['tradingTimeouts'] },
  order_groups: { key: ['group_index'], stores: ['orderGroups'] },
  open_order_bounds: { key: ['account_index'], stores: ['openOrderBounds'] },
  public_profiles: { key: ['account_index'], stores: [] },
  notices: { key: ['sequence'], stores: [] },
  claim_marks: { key: ['account_index', 'market_index'], stores: ['claimMarks'] },
  read_marks: { key: ['account_index'], stores: ['readMarks'] },
  single_reads: { key: ['account_index'], stores: ['readMarks'] },
  achievements: { key: ['account_index'], stores: [] },
  online_hours: { key: ['hour_ms'], stores: ['onlineAccounts'] },
  fiat_sessions: { key: ['id'], stores: ['fiatSessions'] },
  fiat_intents: { key: ['session_id'], stores: [] },
  fiat_envelopes: { key: ['sequence'], stores: [] },
  fiat_claims: { key: ['tx_hash'], stores: [] },
  fiat_transitions: { key: ['sequence'], stores: [] },
  fiat_webhooks: { key: ['provider'], stores: ['fiatWebhooks'] },
  fiat_statements: { key: ['provider', 'day'], stores: [] },
  fiat_stated: { key: ['session_id'], stores: [] },
  fiat_differences: { key: ['sequence'], stores: [] },
  rail_transactions: { key: ['tx_hash'], stores: ['railTransactions'] },
};

/** Texts of `platform` about the files of one member. */
const LOCAL_TEXTS: ReadonlySet<unknown> = new Set([JOURNAL_HEADS, AUDIT_HEAD, AUDIT_SHARED, HAS_JOURNALS]);

/** True for the rows that each member keeps for itself. @param first the first value of the statement */
export function isLocalRow(table: string, first: unknown): boolean {
  return CONTROL_TABLES[table] === LOCAL || (table === 'platform' && LOCAL_TEXTS.has(first));
}

/** The columns that identify the rows of recorded tables which a store has in memory. */
export function keptColumns(): { [table: string]: readonly string[] } {
  const columns: { [table: string]: readonly string[] } = {};
  for (const [table, each] of Object.entries(CONTROL_TABLES)) {
    if (each !== LOCAL && each.stores.length > 0) columns[table] = each.key;
  }
  return columns;
}

/** The stores that keep rows of these tables, in the order of RELOADED. */
export function storesOf(tables: readonly string[]): readonly Reloaded[] {
  const touched = new Set(
    tables.flatMap((table) => {
      const each = CONTROL_TABLES[table];
      return each === undefined || each === LOCAL ? [] : each.stores;
    }),
  );
  return RELOADED.filter((store) => touched.has(store));
}
