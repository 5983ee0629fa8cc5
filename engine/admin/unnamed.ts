/** Accounts and markets of the journals that control.db does not have: it is older than they are, or has lost rows. */
import type Database from 'better-sqlite3';
import type { ShardFile } from './directory.ts';
import { currentState } from './replica.ts';

/** @param files whole journals. @returns a line for the operator, null where nothing is missing */
export function unnamedIn(control: Database.Database, files: readonly ShardFile[]): string | null {
  const tables = control.prepare<[], number>("SELECT count(*) FROM sqlite_schema WHERE name IN ('users', 'markets')");
  if (tables.pluck().get() !== 2) return null;
  const highest = (table: string, column: string): number =>
    control.prepare<[], number>(`SELECT ifnull(max(${column}), -1) FROM ${table}`).pluck().get() ?? -1;
  const [account, market] = [Math.max(0, highest('users', 'account_index')), highest('markets', 'market_index')];
  let [accounts, markets] = [0, 0];
  for (const file of files) {
    const { ledger, markets: made } = currentState(file).engine.state;
    for (let each = account + 1; each < ledger.accountCapacity; each++) if (ledger.netMicro[each] !== 0) accounts++;
    for (const { index } of made.all()) if (index > market) markets++;
  }
  if (accounts === 0 && markets === 0) return null;
  const lacking = `${accounts} accounts with money and ${markets} markets`;
  return `it is older than the journals: ${lacking} of theirs are not in it`;
}
