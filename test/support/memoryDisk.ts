/**
 * Temporary directories in memory, for `npm test`: hundreds of small databases are made there, and its processes would
 * wait long for the one disk to sync each write. The suite's tests are valid in memory as well: a killed process loses
 * nothing that it has written, and faults of a disk are simulated by other means. The long tests, the soak, and files
 * that run alone are on the disk.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { availableMemory } from 'node:process';

const PATH = '/dev/shm';
/** A run of the suite has needed 1.2 GB. */
const NEEDED_BYTES = 6 * 2 ** 30;

/** Unless the caller has chosen a directory, or this machine has none in memory with enough room. */
export function keepTemporaryFilesInMemory(): void {
  if (hasRoom()) process.env['TMPDIR'] ??= PATH;
}

function hasRoom(): boolean {
  if (process.platform !== 'linux' || availableMemory() < NEEDED_BYTES) return false;
  try {
    // Containers may forbid to run programs from there, and the tests write some.
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === PATH);
    if (mount === undefined || mount.includes('noexec')) return false;
    const { bavail, bsize } = statfsSync(PATH);
    return bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}
