/**
 * Gives a part of a bench processors of its own, as if that part ran on another machine. A started program inherits the
 * processors of its starter.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Scope } from '../test/support/server.ts';

/** Why parts cannot have processors of their own, or false. */
export const NO_AFFINITY = reason();

/**
 * Starts programs on the last processor alone. Everything started later has the other processors, until the scope ends.
 */
export async function startApart<T>(scope: Scope, start: () => Promise<T>): Promise<T> {
  const all = allowed();
  scope.after(() => moveTo(all));
  moveTo(all.slice(-1));
  const started = await start();
  moveTo(all.slice(0, -1));
  return started;
}

/** The processors of this process, by their numbers on the machine. */
function allowed(): number[] {
  const [, list] = taskset('-cp').split(': ');
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Moves the programs that this process starts from now on, and all of its own threads. */
function moveTo(processors: readonly number[]): void {
  taskset('-acp', processors.join());
}

function taskset(...args: string[]): string {
  return execFileSync('taskset', [...args, String(process.pid)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function reason(): string | false {
  if (availableParallelism() < 2) return 'there is one processor';
  try {
    taskset('-p');
    return false;
  } catch {
    return 'there is no taskset (util-linux)';
  }
}
