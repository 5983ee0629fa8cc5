/** Where a journal's file begins. A row has the number of its last record as key, so the key alone does not say it. */
import Database from 'better-sqlite3';
import { firstSequenceOf, type Row } from '../../engine/journal/row.ts';

/** The number of the oldest record in the file; above 1 once the journal was trimmed. */
export function firstRecord(path: string): number {
  const db = new Database(path, { readonly: true });
  try {
    const oldest = db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence LIMIT 1').get();
    return oldest === undefined ? 1 : firstSequenceOf(oldest);
  } finally {
    db.close();
  }
}
