/** Reads the rows that can be read from the databases of a directory, whatever is damaged in them. */
import { hash } from 'node:crypto';
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
      const text = JSON.stringify(columns.map(plain));
      rows.add(`${kind} ${cell.rowid} ${hash('sha256', text)} ${text.slice(0, 60)}`);
    }
    pages.close();
  }
  return rows;
}

/** JSON would write each byte of a record as a number of its own, and it knows no bigint. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'bigint' ? String(value) : value;
}
