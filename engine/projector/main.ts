/**
 * Entry of the projector thread. It may be terminated at any moment: a batch is in read.db with its cursor or not at
 * all.
 */
import { workerData } from 'node:worker_threads';
import { NICE_FOLLOWER, stepBack } from '../../shared/background.ts';
import type { ProjectorOptions } from '../../shared/threads.ts';
import { BATCH_ROWS, Projector } from './projector.ts';

/** No wake-up is ever missed; looking once a second anyway bounds the harm should that be wrong. */
const LONGEST_SLEEP_MS = 1000;

/**
 * Nobody waits: what comes in meanwhile is one transaction, whose pages are written once, and the gateway has most of
 * it in its own log by then (SYNC_EVERY_MS there), so that little is written into the private tail.
 */
const LINGER_MS = 400;
/** How often a thread that lingers looks whether so much has come in that a reader would have to wait for it. */
const LOOK_MS = 50;

stepBack(NICE_FOLLOWER);
const projector = new Projector(workerData as ProjectorOptions);
const { progress } = projector;
for (;;) {
  const bell = progress.commitBell();
  projector.step(progress.isAwaited());
  if (projector.behind() === 0) progress.waitForCommit(bell, LONGEST_SLEEP_MS);
  for (let passedMs = 0; passedMs < LINGER_MS; passedMs += LOOK_MS) {
    if (progress.isAwaited() || projector.behind() >= BATCH_ROWS) break;
    progress.lingerUnlessAwaited(LOOK_MS);
  }
}
