/**
 * The processor time of a test process and of all that it starts, for `npm test -- --times`. Linux counts it: what a
 * process has used is in /proc/<pid>/stat, with that of its children that have ended and were waited for. It says what
 * a test costs on a machine that is busy with other things as well, which the time on the clock does not.
 *
 * For `--import` in a test process; it writes what it has counted after each file, so that a process that is ended for
 * its time leaves that, and when it exits. In a group that runs its files one after the other each has a line.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

/** Names the directory to write to. It is taken out of the environment, for children count with their parent. */
export const DIRECTORY_SETTING = 'TEST_PROCESSOR_TIME_DIRECTORY';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The unit of /proc on all Linux machines. */
const TICKS_PER_SECOND = 100;

type FileTime = { readonly file: string; readonly seconds: number };

const counted: FileTime[] = [];
let countedTicks = 0;
const directory = isMainThread ? process.env[DIRECTORY_SETTING] : undefined;

if (directory !== undefined) {
  delete process.env[DIRECTORY_SETTING];
  const entry = relative(ROOT, process.argv[1] ?? '');
  process.on('exit', () => endFile(entry));
}

/** Charges this file with the time used since the last call. */
export function endFile(file: string): void {
  if (directory === undefined) return;
  const ticks = usedTicks();
  // The sum may decrease: a process below has ended without being waited for, like those of a browser.
  counted.push({ file, seconds: Math.max(0, ticks - countedTicks) / TICKS_PER_SECOND });
  countedTicks = ticks;
  writeFileSync(join(directory, `${process.pid}.json`), JSON.stringify(counted));
}

export const isCounting = directory !== undefined;

export function timesIn(from: string): FileTime[] {
  const times: FileTime[] = readdirSync(from).flatMap((name) => JSON.parse(readFileSync(join(from, name), 'utf8')));
  return times.sort((a, b) => b.seconds - a.seconds);
}

/** Ticks of this process, of its ended children, and of running ones with everything below them. */
function usedTicks(): number {
  const children = new Map<number, ProcessTime[]>();
  for (const one of readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(processTime)) {
    children.set(one.parent, [...(children.get(one.parent) ?? []), one]);
  }
  const below = (pid: number): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + child.ticks + below(child.pid), 0);
  return processTime(String(process.pid))[0]!.ticks + below(process.pid);
}

type ProcessTime = { readonly pid: number; readonly parent: number; readonly ticks: number };

function processTime(pid: string): ProcessTime[] {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return []; // It has ended since it was listed.
  }
  // The name of the program is in parentheses and may contain spaces.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ticks = fields[11]! + fields[12]! + fields[13]! + fields[14]!;
  return [{ pid: Number(pid), parent: fields[1]!, ticks }];
}
