/**
 * Entry of the projector thread. It may be terminated at any moment: a batch is in read.db with its cursor or not at
 * all.
 */
import { workerData } from 'node:worker_threads';
import type { ProjectorOptions } from '../../shared/threads.ts';
import { Projector } from './projector.ts';

/** No wake-up is ever missed; looking once a second anyway bounds the harm should that be wrong. */
const LONGEST_SLEEP_MS = 1000;

/** How far the read model may be behind while nobody waits for it. */
const LINGER_MS = 50;

const projector = new Projector(workerData as ProjectorOptions);
for (;;) {
  const bell = projector.progress.commitBell();
  if (!projector.step()) projector.progress.waitForCommit(bell, LONGEST_SLEEP_MS);
  projector.progress.lingerUnlessAwaited(LINGER_MS);
}
