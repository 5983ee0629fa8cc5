/** Reads the rows that can be read from the databases of a directory, whatever is damaged in them. */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SqlitePages } from '../../../shared/base/sqlitePages.ts';

/** Every row that can be read from a database of the directory, or from one that was set aside. */
export function readable(directory: string): Set<string> {
  const rows = new Set<string>();
  for (const name of readdirSync(directory)) {
    if (!/^(?:control|ramp|journal-\d+)\.db/.test(name) || /-wal|-shm|-room|\.jsonl$/.test(name)) continue;
    const kind = name.startsWith('control') ? 'control' : name.slice(0, name.indexOf('.'));
    const pages = new SqlitePages(join(directory, name));
    for (const cell of pages.cells()) {
      const columns = pages.columnsOf(cell);
      if (columns === null) continue;
      const text = JSON.stringify(columns, (_, value) => (typeof value === 'bigint' ? String(value) : value));
      rows.add(`${kind} ${cell.rowid} ${createHash('sha256').update(text).digest('hex')} ${text.slice(0, 60)}`);
    }
    pages.close();
  }
  return rows;
}
