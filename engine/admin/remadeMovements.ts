/**
 * Recreates deposits and withdrawals that control.db has lost, from the journal records that carried them out. A record
 * has the account, the amount and the time, but only the hash of the reference. If the chain carried out the movement
 * first, its reference comes from the chain, and settlement.db knows it.
 *
 * Invariant:
 *   REMADE-1  A movement keeps the name in its record, which is the hash of its reference: a client that repeats the
 *             movement with the same reference finds it, and nothing moves twice.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { MOVEMENT_NAMES } from '../../shared/base/codes.ts';
import { toHex } from '../../shared/base/hex.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import { referenceOf } from '../settlement/chainMoney.ts';
import type { UnnamedMovement } from './unnamed.ts';

type NameOnChain = { readonly tx_hash: string; readonly log_index: number };

/** @returns one line per movement */
export function remakeMovements(
  control: Database.Database,
  directory: string,
  movements: readonly UnnamedMovement[],
): string[] {
  const columns = control.prepare<[], string>("SELECT name FROM pragma_table_info('movements')").pluck().all();
  // A file of an older version cannot store a movement without its reference.
  if (movements.length === 0 || !columns.includes('market_index')) return movements.map(lostText);
  const names = namesOnChain(directory, movements);
  const add = control.prepare(
    `INSERT INTO movements (id, account_index, kind, amount_micro, reference, status, created_ms, reference_hash,
       market_index)
     VALUES (?, ?, ?, ?, ?, 'completed', ?, ?, ?)`,
  );
  // A movement with a fee occurs only in a file that has a column for fees.
  const setFee = columns.includes('fee_micro') && control.prepare('UPDATE movements SET fee_micro = ? WHERE id = ?');
  return movements.map((moved, index) => {
    const { shard, sequence, timeMs, account, market, movement, amountMicro, feeMicro, hash } = moved;
    const id = randomUUID();
    const known = names[index] ?? null;
    const reference = known ?? `record ${shard}:${sequence}`;
    add.run(id, account, movement, amountMicro, reference, timeMs, hash, market === NO_MARKET ? null : market);
    if (setFee !== false) setFee.run(feeMicro, id);
    const lost = known === null ? 'its id and its reference' : 'its id';
    const now = `its id is ${id} and its reference "${reference}" now`;
    return `${textOf({ account, movement, amountMicro })} has lost ${lost}: ${now}, compare it with your books`;
  });
}

function textOf({ account, movement, amountMicro }: Pick<UnnamedMovement, 'account' | 'movement' | 'amountMicro'>) {
  return `a ${MOVEMENT_NAMES[movement]} of ${amountMicro} micro-USDC of account ${account}`;
}

function lostText(movement: UnnamedMovement): string {
  return `${textOf(movement)} is lost: record ${movement.sequence} of journal ${movement.shard} has it`;
}

function namesOnChain(directory: string, movements: readonly UnnamedMovement[]): (string | null)[] {
  const path = join(directory, 'settlement.db');
  if (!existsSync(path)) return [];
  const db = openDatabase(path, { readonly: true });
  try {
    const read = db.prepare<[string], NameOnChain>('SELECT tx_hash, log_index FROM chain_money WHERE reference = ?');
    return movements.map(({ hash }) => {
      const row = read.get(toHex(hash));
      return row === undefined ? null : referenceOf(row);
    });
  } catch (error) {
    // If the file is damaged or has no such table, the names in the records are used.
    if (!(error instanceof Database.SqliteError)) throw error;
    return [];
  } finally {
    db.close();
  }
}
