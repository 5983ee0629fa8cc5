/** A disk that can be full: a small file system, in memory or in a file. Mounting one needs the rights of root. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './directory.ts';
import type { Scope } from './server.ts';

const MB = 1_000_000;
const CHUNK = new Uint8Array(65_536);

export class SmallDisk {
  readonly path: string;

  /** Null if this process may not mount a disk. */
  static mount(scope: Scope, megabytes: number): SmallDisk | null {
    const path = temporaryDirectory();
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes * MB}`, 'tmpfs', path]);
    if (status !== 0) return null;
    // Lazily: the server that still writes there is ended by a clean-up of its own.
    scope.after(() => void spawnSync('umount', ['--lazy', path]));
    return new SmallDisk(path);
  }

  /** A disk with ext4, as servers have it. */
  static mountExt4(scope: Scope, megabytes: number): SmallDisk | null {
    const [image, path] = [join(temporaryDirectory(), 'image'), temporaryDirectory()];
    writeFileSync(image, '');
    truncateSync(image, megabytes * MB);
    const run = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
    // Without blocks that only root may use: the tests run as root.
    if (!run('mkfs.ext4', '-q', '-m', '0', image) || !run('mount', '-o', 'loop', image, path)) return null;
    scope.after(() => void run('umount', '--lazy', path));
    return new SmallDisk(path);
  }

  private constructor(path: string) {
    this.path = path;
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Somebody else writes until about so much room is left, or none at all. */
  fill(leaveBytes = 0): void {
    const fd = openSync(join(this.path, 'filler'), 'a');
    try {
      while (this.freeBytes > leaveBytes) {
        writeSync(fd, CHUNK, 0, Math.min(CHUNK.length, this.freeBytes - leaveBytes));
      }
    } catch (error) {
      // The server writes at the same time: the last bytes may be its own.
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    } finally {
      closeSync(fd);
    }
  }

  /** There is room again. */
  clear(): void {
    rmSync(join(this.path, 'filler'));
  }
}
