/**
 * Processors of this machine for a part of a bench, as if that part ran on a machine of its own. A program that is
 * started keeps the processors of the one that starts it.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Why parts cannot have processors of their own, or false. */
export const NO_AFFINITY = reason();

/** Starts programs on the last processor alone. All that is started afterwards has the others. */
export async function startApart<T>(start: () => Promise<T>): Promise<{ started: T; restore: () => void }> {
  const all = availableParallelism();
  moveTo(`${all - 1}`);
  try {
    return { started: await start(), restore: () => moveTo(`0-${all - 1}`) };
  } finally {
    moveTo(`0-${all - 2}`);
  }
}

/** The programs that this process starts from now on, and all of its own threads. */
function moveTo(processors: string): void {
  execFileSync('taskset', ['-apc', processors, String(process.pid)], { stdio: 'ignore' });
}

function reason(): string | false {
  if (availableParallelism() < 2) return 'there is one processor';
  try {
    execFileSync('taskset', ['-p', String(process.pid)], { stdio: 'ignore' });
    return false;
  } catch {
    return 'there is no taskset (util-linux)';
  }
}
