/** Ends the thread of a shard as a disk does: a commit of its journal fails, and the thread is rebuilt from it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import type { TestServer } from './server.ts';

/** Sizes in SQLite's file format. */
const WAL_HEADER_BYTES = 32;
const WAL_FRAME_HEADER_BYTES = 24;

/** False where the program is missing that limits the files of another process. */
export const canLimit = spawnSync('prlimit', ['--version']).status === 0;

/** Shard 0 cannot write until its thread has ended. @param write has it write something, again and again */
export async function loseShard(server: TestServer, write: () => void = () => {}): Promise<void> {
  const wal = join(server.dataDir, 'journal-0.db-wal');
  await eventually('a shard that ends', async () => {
    // A checkpoint may restart the WAL far from an old end, so this is read again.
    const end = endOfWal(wal);
    if (end !== null) execFileSync('prlimit', ['--pid', String(server.pid), `--fsize=${end}:`]);
    write();
    return server.stdout.some((line) => line.includes('thread ended; it is rebuilt from its journal'));
  });
  execFileSync('prlimit', ['--pid', String(server.pid), '--fsize=unlimited:']);
  server.stdout.length = 0;
}

/**
 * The place of the next commit: after the last frame with the salt of the WAL's header; older frames follow. Null while
 * there is no WAL, for example when the shard has just been lost.
 */
function endOfWal(path: string): number | null {
  let wal: Buffer;
  try {
    wal = readFileSync(path);
  } catch {
    return null;
  }
  if (wal.length < WAL_HEADER_BYTES) return null;
  const frameBytes = WAL_FRAME_HEADER_BYTES + wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  let end = WAL_HEADER_BYTES;
  while (end + frameBytes <= wal.length && wal.subarray(end + 8, end + 16).equals(salt)) end += frameBytes;
  return end;
}
