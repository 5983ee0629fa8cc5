/** The published files of a public history, and its state. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { publishedDays } from '../../engine/history/writer.ts';
import type { HistoryState } from '../../shared/base/historyTables.ts';

/** The sums of all published files, by path. */
export function historySums(historyDir: string): Record<string, string> {
  const paths = publishedDays(historyDir).flatMap((day) =>
    readdirSync(join(historyDir, day), { recursive: true }).map((path) => join(day, String(path))),
  );
  const files = paths.filter((path) => statSync(join(historyDir, path)).isFile()).sort();
  const sumOf = (path: string): string =>
    createHash('sha256')
      .update(readFileSync(join(historyDir, path)))
      .digest('hex');
  return Object.fromEntries(files.map((path) => [path, sumOf(path)]));
}

export function historyState(historyDir: string): HistoryState {
  return JSON.parse(readFileSync(join(historyDir, 'state.json'), 'utf8'));
}
