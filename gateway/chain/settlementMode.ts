/**
 * A data directory settles on a chain from its first start on, or never (RULES.md 17.2). Settlement needs every journal
 * from its first record on, and trades made without it have no counterpart on the chain. Settlement does not go on
 * without settlement.db either, or with one older than the journals: the journals alone do not say which withdrawals
 * were already made on the chain, and these would be paid a second time.
 *
 * In a cluster control.db may be ahead of settlement.db on a machine that went down: the log has the rest. There the
 * age of the file is checked by the member that is about to lead, which has everything that the log holds.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { SETTLEMENT_REMEDY } from '../../shared/base/settlementRemedy.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { SETTLEMENT_MARK } from '../account/movements.ts';
import { type Config, ConfigError } from '../base/config.ts';
import type { Platform } from '../base/platform.ts';

const SETTLES = 'settles_on_chain';
export const SETTLEMENT_FILE = 'settlement.db';
/**
 * Tables that cannot be made again from the journals. They have few rows for each account, which a start reads whole.
 */
const NOT_IN_JOURNALS: ReadonlySet<string> = new Set([
  ...['marks', 'exchanges', 'followed', 'escrows', 'delegates', 'mirrored', 'ahead', 'releases', 'exits', 'scans'],
]);
const MEMBER_REMEDY = 'set this directory aside and start with an empty one: it gets a copy of another member';

/** Throws ConfigError if the settings want the other mode. @param cluster null: this exchange is one process */
export function requireSettlementMode(
  { chain, dataDir }: Pick<Config, 'chain' | 'dataDir'>,
  platform: Platform,
  cluster: { readonly isFollowing: boolean } | null = null,
): void {
  const settles = platform.read(SETTLES) === 'yes';
  if (settles && chain === null) {
    throw new ConfigError('RPC_URL: this data directory settles on a chain, and cannot go on without one');
  }
  // A first start makes the file before it records that there are journals.
  const path = join(dataDir, SETTLEMENT_FILE);
  const next = cluster === null ? SETTLEMENT_REMEDY : MEMBER_REMEDY;
  if (settles && platform.hasJournals) {
    if (!existsSync(path)) throw new ConfigError(`${SETTLEMENT_FILE} is missing: ${next}`);
    const damage = damageOf(path);
    if (damage !== null) throw new ConfigError(`${SETTLEMENT_FILE} is damaged (${damage}): ${next}`);
  }
  if (platform.restored?.isChainAhead === true) {
    throw new ConfigError(
      'this directory was restored to an earlier time, and the chain went on: review its payments since then with ' +
        '`npm run admin -- chain adopt`, before anything is sent',
    );
  }
  if (settles && cluster === null) requireNewestSettlement(dataDir, platform);
  if (settles || chain === null) return;
  if (platform.hasJournals) {
    throw new ConfigError('RPC_URL: this data directory was started without a chain; a chain needs a new one');
  }
  if (cluster?.isFollowing !== true) platform.write(SETTLES, 'yes');
}

/** Null if everything in the file that the journals do not say can be read. */
function damageOf(path: string): string | null {
  if (statSync(path).size === 0) return 'it is empty';
  try {
    const db = openDatabase(path, { readonly: true });
    try {
      const names = db.prepare<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`).pluck().all();
      const found = names
        .filter((name) => NOT_IN_JOURNALS.has(name))
        .map((name) => String(db.pragma(`integrity_check('${name}')`, { simple: true })));
      return found.find((each) => each !== 'ok')?.replaceAll('\n', ' ') ?? null;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDamaged(error)) return errorMessage(error);
    throw error;
  }
}

/** Throws ConfigError if settlement.db is older than control.db says. */
export function requireNewestSettlement(dataDir: string, platform: Platform): void {
  const mark = Number(platform.read(SETTLEMENT_MARK) ?? 0);
  if (mark === 0 || markOf(join(dataDir, SETTLEMENT_FILE)) >= mark) return;
  throw new ConfigError(
    `${SETTLEMENT_FILE} is older than these journals: put back the newest one, or bring this one up to them with ` +
      '`npm run admin -- chain adopt`',
  );
}

/** Returns 0 for a file without a mark. */
function markOf(path: string): number {
  const db = openDatabase(path, { readonly: true });
  try {
    return db.prepare<[], number>('SELECT number FROM marks').pluck().get() ?? 0;
  } catch (error) {
    if (/^no such table: /.test(errorMessage(error))) return 0;
    throw error;
  } finally {
    db.close();
  }
}
