/**
 * A process with all that it has started, and the memory that they take, as Linux tells it. On other systems nothing is
 * known, and a tree seems to take no memory.
 */
import { readdirSync, readFileSync } from 'node:fs';

const BYTES_OF_KB = 1024;

type Tree = { readonly pids: readonly number[]; readonly bytes: number };

/** A child may have a group of its own, so all processes with a parent in the tree belong to it too. */
export function treeOf(root: number): Tree {
  const running = processes();
  const pids = new Set(running.filter(({ pid, group }) => pid === root || group === root).map(({ pid }) => pid));
  for (let known = 0; known < pids.size; ) {
    known = pids.size;
    for (const { pid, parent } of running) if (pids.has(parent)) pids.add(pid);
  }
  return { pids: [...pids], bytes: [...pids].reduce((sum, pid) => sum + ownBytes(pid), 0) };
}

/** Ends all of a tree at once. */
export function endTree({ pids }: Tree): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

function processes(): { readonly pid: number; readonly parent: number; readonly group: number }[] {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = textOf(`/proc/${name}/stat`);
      // Behind the name, which may have any characters: the state, the parent, the group.
      const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return stat === '' ? [] : [{ pid: Number(name), parent: Number(parent), group: Number(group) }];
    });
}

/** Resident memory, without what processes share: servers of a database share most of theirs. */
function ownBytes(pid: number): number {
  const [, kb] = /^RssAnon:\s*(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`)) ?? [];
  return Number(kb ?? 0) * BYTES_OF_KB;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Empty if the process has ended in the meantime. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
