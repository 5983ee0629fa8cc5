/** The tables of data/docs/damages.md: what must be seen of each file and damage. */
import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../data/docs/damages.md', import.meta.url);
const HEADING = /^## `([^`]+)`/;
/** The folder of a release before the file, and its repair. */
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

export function rowsOfTable(): Row[] {
  const rows: Row[] = [];
  let [file, command] = ['', ''];
  for (const line of readFileSync(DOCUMENT, 'utf8').split('\n')) {
    file = HEADING.exec(line)?.[1] ?? (line.startsWith('## ') ? '' : file);
    command = REPAIR.exec(line)?.[1] ?? command;
    const cells = line.split('|').map((cell) => cell.trim());
    if (file === '' || cells.length !== 8 || cells[1] === 'damage' || /^-+$/.test(cells[1]!)) continue;
    const [, damage, start, says, verify, audit, repair] = cells as [string, ...string[]];
    rows.push({
      file,
      ...({ damage, start, says, verify, audit, repair } as Omit<Row, 'file' | 'command'>),
      command: command.split(' '),
    });
  }
  return rows;
}

/** `…` stands for anything; marks of code do not count. */
export function isSaid(says: string, text: string): boolean {
  const plain = (words: string): string => words.replaceAll('`', '');
  const parts = plain(says)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('[^\\n]*')).test(plain(text));
}
