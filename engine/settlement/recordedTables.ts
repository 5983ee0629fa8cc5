/**
 * The tables of settlement.db in a cluster (RULES.md 18.12).
 *
 *   recorded   rows come only from records: what the leader has read from the chain, signed, or been asked for
 *   derived    rows come from records too, and from following the journals, which each member does by itself
 *   local      each member has its own rows: they are derived from other rows, or are about its file
 */
const TABLES: { readonly [table: string]: 'recorded' | 'derived' | 'local' } = {
  ahead: 'recorded',
  chain_money: 'derived',
  claims: 'derived',
  decisions: 'recorded',
  delegates: 'derived',
  deploy_jobs: 'recorded',
  deploys: 'derived',
  ended_delegates: 'recorded',
  envelope_attempts: 'recorded',
  envelopes: 'recorded',
  escrows: 'derived',
  exchanges: 'derived',
  exits: 'recorded',
  followed: 'derived',
  history: 'derived',
  holders: 'derived',
  jobs: 'recorded',
  ledger_tokens: 'derived',
  ledger_usdc: 'derived',
  market_tokens: 'local',
  markets: 'derived',
  marks: 'recorded',
  mirrored: 'recorded',
  news: 'derived',
  orders: 'derived',
  outside: 'derived',
  record_end: 'local',
  record_queue: 'local',
  record_undo: 'local',
  releases: 'recorded',
  scans: 'derived',
  taken_over: 'local',
  work: 'derived',
};

export function isLocalTable(table: string): boolean {
  return TABLES[table] === 'local';
}

/** False for tables that no journal may change: otherwise the members would disagree. */
export function mayDerive(table: string): boolean {
  return TABLES[table] === 'derived';
}

/** For a test: every table is declared. */
export function declaredTables(): readonly string[] {
  return Object.keys(TABLES);
}
