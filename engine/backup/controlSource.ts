/**
 * Gets control.db for a backup, and the cut that belongs to it (BACKUPPOINT-1): over the socket of the exchange that
 * runs on the directory, or from the file itself if no exchange runs.
 *
 * Invariants:
 *   CONTROLSOURCE-1  An exchange that starts, stops or is killed meanwhile only makes this take longer: the next answer
 *                    is as good, and nothing from an answer that broke off is used.
 *   CONTROLSOURCE-2  The lock of the file is held only for a moment, and a start waits that long: a backup never
 *                    prevents the start of an exchange. A copy is discarded if an exchange started while it was made.
 */
import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { CONTROL_COPY_SOCKET, type ControlCopyNews, withSocketPath } from '../../shared/wire/controlCopy.ts';
import { JournalReader } from '../journal/reader.ts';
import type { ControlCut } from './make.ts';
import type { BackupShard } from './segments.ts';
import { BackupError } from './store.ts';

type ControlSourceOptions = {
  readonly directory: string;
  readonly shards: readonly BackupShard[];
  /** A path at which a copy may be made. */
  readonly temporary: string;
  /**
   * Calls `work` with control.db and its lock, or with null if the file does not exist.
   * @returns false while a server has the lock.
   */
  readonly withLock: (work: (control: Database.Database | null) => void) => Promise<boolean>;
  readonly nowMs: () => number;
  readonly print: (line: string) => void;
};

type Work = (cut: ControlCut) => Promise<void>;

/** control.db, and its write-ahead log if a server was killed. */
const FILE_ENDS = ['', '-wal'] as const;
/** An exchange with long journals may take this long to start. */
const PATIENCE_MS = 900_000;
const AGAIN_MS = 200;

export async function withControl(options: ControlSourceOptions, work: Work): Promise<void> {
  const { directory, print } = options;
  let isWaiting = false;
  for (const deadlineMs = performance.now() + PATIENCE_MS; performance.now() < deadlineMs; ) {
    if (existsSync(join(directory, CONTROL_COPY_SOCKET)) && (await fromExchange(directory, work))) return;
    if (await fromFile(options, work)) return;
    if (!isWaiting) print('waits for the exchange, which starts or gives a copy to another command');
    isWaiting = true;
    await sleep(AGAIN_MS);
  }
  throw new BackupError('the exchange holds control.db, and does not give a copy of it');
}

/** @returns false if no exchange answers, or if it breaks off before it has given a copy. */
async function fromExchange(directory: string, work: Work): Promise<boolean> {
  const socket = withSocketPath(directory, (path) => connect(path));
  try {
    const news = await firstNews(socket);
    if (news === null || 'busy' in news) return false;
    if ('failed' in news) throw new BackupError(`the exchange could not copy control.db: ${news.failed}`);
    const { copied, cuts, takenMs } = news;
    const path = join(directory, copied);
    // An exchange that was killed and has started again has deleted the copy.
    if (!existsSync(path)) return false;
    await work({ path, cuts, takenMs, wasRunning: true });
    return true;
  } finally {
    socket.destroy();
  }
}

/**
 * Resolves to null if the connection ends early. Once the answer is there, the connection does not matter: the copy is
 * a file.
 */
function firstNews(socket: Socket): Promise<ControlCopyNews | null> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('error', () => resolve(null));
    socket.on('close', () => resolve(null));
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(JSON.parse(text));
    });
  });
}

/** CONTROLSOURCE-2. @returns false while a server has the file, or if a server had it before the copy was complete. */
async function fromFile(options: ControlSourceOptions, work: Work): Promise<boolean> {
  const { shards, temporary, withLock, nowMs, directory } = options;
  const path = join(directory, 'control.db');
  let cut: ControlCut | null = null;
  let before = '';
  const isFree = await withLock((control) => {
    if (control === null) throw new BackupError(`${directory} has no control.db`);
    cut = { path: temporary, cuts: shards.map(endOf), takenMs: nowMs(), wasRunning: false };
    before = stateOf(path);
  });
  if (!isFree || cut === null) return false;
  for (const end of FILE_ENDS) {
    rmSync(`${temporary}${end}`, { force: true });
    if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${temporary}${end}`);
  }
  if (stateOf(path) !== before) return false;
  joinLog(temporary);
  await work(cut);
  return true;
}

/** Identifies the content: the result differs after any write. */
function stateOf(path: string): string {
  return FILE_ENDS.map((end) => {
    const stats = statSync(`${path}${end}`, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? 'none' : `${stats.size} bytes of ${stats.mtimeNs}`;
  }).join();
}

/** Makes the copy of a killed server's file complete: the copy absorbs its write-ahead log. */
function joinLog(path: string): void {
  const copy = new Database(path);
  copy.pragma('wal_checkpoint(TRUNCATE)');
  copy.close();
}

function endOf({ journalPath, key }: BackupShard): number {
  const reader = new JournalReader(journalPath, key);
  try {
    return reader.facts().lastSequence;
  } finally {
    reader.close();
  }
}
