/** Entry point of a checkpointer thread (checkpointer.ts). It may end at any moment: every page is in the WAL. */
import { workerData } from 'node:worker_threads';
import { keepCheckpointed } from './checkpointer.ts';
import type { HelperOptions } from './helperThread.ts';

keepCheckpointed(workerData as HelperOptions);
