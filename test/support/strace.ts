/** Faults in the system calls of a running process, through strace: where it is installed and may trace. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const isTraceable = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/** For the `skip` of a test. */
export const skipWithoutStrace = isTraceable ? false : 'strace is not here or may not trace';

/** Resolves once every thread of the processes is traced. The tracer ends with them, or leaves them when killed. */
export async function attachStrace(
  pids: number | readonly number[],
  options: readonly string[],
): Promise<ChildProcess> {
  const all = [pids].flat();
  const traced = all.flatMap((pid) => ['-p', String(pid)]);
  const tracer = spawn('strace', ['-f', ...options, ...traced], { stdio: ['ignore', 'ignore', 'pipe'] });
  let attached = 0;
  for await (const line of createInterface({ input: tracer.stderr })) {
    if (line.includes(' attached') && ++attached === all.length) return tracer;
  }
  assert.fail(`strace could not attach to ${all.join(', ')}`);
}

export async function straceEnded(tracer: ChildProcess): Promise<void> {
  if (tracer.exitCode === null && tracer.signalCode === null) await once(tracer, 'exit');
}
