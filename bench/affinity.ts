/**
 * Processors of this machine for a part of a bench, as if that part ran on a machine of its own. A program that is
 * started keeps the processors of the one that starts it.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Scope } from '../test/support/server.ts';

/** Why parts cannot have processors of their own, or false. */
export const NO_AFFINITY = reason();

/** Starts programs on the last processor alone. All that is started afterwards has the others, until the scope ends. */
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

/** The programs that this process starts from now on, and all of its own threads. */
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
