/**
 * Entry point of the projector thread. It may end at any moment: a batch is in read.db with its cursor or not at all.
 */
import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { setAside } from '../../shared/base/setAside.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import type { ProjectorMessage, ProjectorPort } from '../../shared/wire/projectorThread.ts';
import type { ProjectorOptions } from '../../shared/wire/threads.ts';
import { JournalReader } from '../journal/reader.ts';
import { type Keyed, ShardKey } from '../journal/shardKey.ts';
import type { CatalogSource } from './catalog.ts';
import { USUAL_PACE } from './orderArchive.ts';
import type { OnDifference } from './positions.ts';
import { BATCH_RECORDS, Projector } from './projector.ts';
import { givesPagesBack } from './readDb.ts';

/** Bounds the effect of a lost wake-up. */
const LONGEST_SLEEP_MS = 1000;

/**
 * Time for which records are collected while no query waits for them. They become one transaction, whose pages are
 * written once. Meanwhile the gateway writes most private frames to its own log (SYNC_EVERY_MS there), so that few go
 * into the private tail.
 */
const LINGER_MS = 400;
/** Interval of checks of the number of waiting records, so that no query has to wait long for them. */
const LOOK_MS = 50;
/**
 * The last bytes of a disk are reserved for the journals: with less free space, read.db waits. It is not written until
 * its transaction fails, because space taken by a failed transaction stays taken.
 */
const LAST_BYTES = 4 << 20;
const ROOM_LOOK_MS = 250;
/** The archive leaves more free: for a time its orders are in read.db and in a file. */
const ARCHIVE_BYTES = 256 << 20;
/** The pause after a file of the archive could not be written or read. */
const ARCHIVE_RETRY_MS = 60_000;
const KEEPS_PAGES =
  'read.db is of an older version: the space of rows that leave it is used again, but is returned to the system only ' +
  'by a copy of it (projections backup, then projections rebuild --from)';

stepBack(NICE_FOLLOWER);
const options: ProjectorOptions & ProjectorPort = workerData;
const { catalogPort } = options;
// The loop below waits in Atomics.wait, so the port is read where its messages are wanted.
const catalog: CatalogSource = {
  ask: (question) => catalogPort.postMessage(question),
  receive: () => receiveMessageOnPort(catalogPort)?.message ?? null,
};
const say = (message: ProjectorMessage): void => parentPort?.postMessage(message);
const onDifference: OnDifference = (difference) => say({ difference });
const onMadeAnew = (journalPath: string): void => say({ doesNotGoOnWith: journalPath });
const keyed = await ShardKey.forAll(options);
const pace = { ...USUAL_PACE, keptMs: options.unfilledKeptMs };
let archiveAtMs = 0;
const openingState = isAnyTrimmed(keyed) ? await import('./openingState.ts') : null;
if (options.makesAnew) setAside(options.readDbPath);
try {
  const projector = new Projector(keyed, catalog, onDifference, openingState?.readOpeningState, onMadeAnew);
  say({ refused: null });
  sayIfPagesStay();
  await follow(projector);
} catch (error) {
  const refused = accessProblem(options.readDbPath, error);
  if (refused !== null) say({ refused });
  // The next run rebuilds it. The queries keep using the damaged file until that run has opened its own.
  if (isDamaged(error)) setAside(options.readDbPath);
  throw error;
}

function sayIfPagesStay(): void {
  const db = openDatabase(options.readDbPath, { readonly: true });
  if (!givesPagesBack(db)) say({ news: KEEPS_PAGES });
  db.close();
}

async function follow(projector: Projector): Promise<never> {
  const { progress } = projector;
  for (;;) {
    const bell = progress.commitBell();
    const mayWrite = hasRoom(LAST_BYTES);
    projector.step(progress.isAwaited(), mayWrite);
    if (projector.isDoubted) throw new Error('database disk image is malformed: a query has found it');
    if (!mayWrite) await sleep(ROOM_LOOK_MS);
    else if (projector.behind() === 0 && !archives(projector)) progress.waitForCommit(bell, LONGEST_SLEEP_MS);
    for (let passedMs = 0; mayWrite && passedMs < LINGER_MS; passedMs += LOOK_MS) {
      if (progress.isAwaited() || projector.isReadingCatalog || projector.behind() >= BATCH_RECORDS) break;
      if (!archives(projector)) progress.lingerUnlessAwaited(LOOK_MS);
    }
    // For the finalizers of native objects, and V8's own tasks.
    await nextTurn();
  }
}

function hasRoom(bytes: number): boolean {
  const { bavail, bsize } = statfsSync(dirname(options.readDbPath));
  return bavail * bsize >= bytes;
}

/** Takes a step of the archive. @returns whether there is more to do; not for a while after one has failed */
function archives(projector: Projector): boolean {
  if (performance.now() < archiveAtMs || !hasRoom(ARCHIVE_BYTES)) return false;
  try {
    return projector.archive(pace);
  } catch (error) {
    if (isDamaged(error)) throw error;
    archiveAtMs = performance.now() + ARCHIVE_RETRY_MS;
    say({ news: `orders stay in read.db and are archived later: ${errorMessage(error)}` });
    return false;
  }
}

/** A journal that is trimmed later is one that read.db continues. */
function isAnyTrimmed({ journalPaths, keys }: Keyed<ProjectorOptions>): boolean {
  return journalPaths.some((path, shard) => existsSync(path) && isTrimmed(path, keys[shard]));
}

function isTrimmed(path: string, key: ShardKey): boolean {
  let reader: JournalReader | undefined;
  try {
    reader = new JournalReader(path, key);
    return reader.facts().firstSequence > 1;
  } catch {
    // A file that its shard is just creating has no tables yet. An unreadable file stops its shard.
    return false;
  } finally {
    reader?.close();
  }
}
