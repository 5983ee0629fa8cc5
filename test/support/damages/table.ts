/** The tables of data/docs/damages.md: what must be seen of each file and damage. */
import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../data/docs/damages.md', import.meta.url);
/** The words before the name say to what the file belongs, unless it is in a data directory. */
const HEADING = /^## (?:(\S.*): )?`([^`]+)`/;
const REPAIR = /^\| damage \| start \| says \| verify \| audit \| `([a-z ]+)` \|$/;

export type Row = {
  readonly file: string;
  readonly damage: string;
  readonly start: string;
  /** Words of the start's lines, or of `journal verify`; '' where nothing is said. */
  readonly says: string;
  readonly verify: string;
  readonly audit: string;
  readonly repair: string;
  /** The words of the command. */
  readonly command: readonly string[];
};

/** A row about a folder of backups. */
export type BackupRow = {
  readonly file: string;
  readonly damage: string;
  readonly list: string;
  readonly says: string;
  readonly verify: string;
  readonly restore: string;
  readonly backup: string;
};

type Line = { readonly file: string; readonly command: string; readonly cells: readonly string[] };

/** @param of the first words of the headings; undefined: of files of any data directory */
function linesOf(of?: string): Line[] {
  const lines: Line[] = [];
  let [file, command] = ['', ''];
  for (const line of readFileSync(DOCUMENT, 'utf8').split('\n')) {
    const heading = HEADING.exec(line);
    if (line.startsWith('## ')) file = heading !== null && heading[1] === of ? heading[2]! : '';
    command = REPAIR.exec(line)?.[1] ?? command;
    const cells = line.split('|').map((cell) => cell.trim());
    if (file === '' || cells.length !== 8 || cells[1] === 'damage' || /^-+$/.test(cells[1]!)) continue;
    lines.push({ file, command, cells: cells.slice(1) });
  }
  return lines;
}

export function rowsOfTable(of?: string): Row[] {
  return linesOf(of).map(({ file, command, cells }) => {
    const [damage, start, says, verify, audit, repair] = cells as [string, string, string, string, string, string];
    return { file, damage, start, says, verify, audit, repair, command: command.split(' ') };
  });
}

export function rowsOfBackups(): BackupRow[] {
  return linesOf('Backups').map(({ file, cells }) => {
    const [damage, list, says, verify, restore, backup] = cells as [string, string, string, string, string, string];
    return { file, damage, list, says, verify, restore, backup };
  });
}

/** `…` stands for anything; marks of code do not count. */
export function isSaid(says: string, text: string): boolean {
  const plain = (words: string): string => words.replaceAll('`', '');
  const parts = plain(says)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('[^\\n]*')).test(plain(text));
}
